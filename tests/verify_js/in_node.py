"""The verdicts of verify-js on many receipts, and those of docket on the same ones, check by check."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from docket.formats.canonical import encode
from docket.formats.run.verdict import Verdict
from golden_ledgers.judging import judged

BATCH = Path(__file__).parents[2] / "verify-js" / "batch.mjs"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


@dataclass(frozen=True, slots=True)
class Pair:
    """A receipt and its ledger, what stands beside them, and what docket makes of all of it."""

    name: str
    receipt: bytes
    ledger: bytes | None
    verdict: Verdict
    responses: Mapping[str, bytes] | None = None
    deltas: Mapping[str, bytes] | None = None
    public_keys: tuple[str, ...] = ()
    seal_keys: tuple[str, ...] = ()
    checkpoints: bytes | None = None
    heads: tuple[str, ...] = ()
    state: bytes | None = None


def pair(name: str, document: dict[str, Any], ledger: bytes | None) -> Pair:
    """The pair of a document as it stands."""
    return Pair(name, encode(document), ledger, judged(document, ledger))


def disagreements(pairs: Iterable[Pair], theirs_at_hand: list[dict[str, Any]] | None = None) -> list[str]:
    """What the two verifiers say otherwise: the word, or the status of a check."""
    known = list(pairs)
    found = []
    for one, other in zip(known, theirs_at_hand or verdicts(known), strict=True):
        ours = {check.name: str(check.status) for check in one.verdict.checks}
        theirs = {check["name"]: check["status"] for check in other["checks"]}
        details = {check["name"]: check["detail"] for check in other["checks"]}
        if list(ours) != list(theirs):
            found.append(f"{one.name}: other checks: {sorted(set(ours) ^ set(theirs))}")
        found += [
            f"{one.name}: {name}: {ours[name]} here, {theirs[name]} there: {details[name]}"
            for name in ours
            if name in theirs and ours[name] != theirs[name]
        ]
        if str(one.verdict.word) != other["verdict"]:
            found.append(f"{one.name}: {one.verdict.word} here, {other['verdict']} there")
    return found


def verdicts(pairs: Iterable[Pair]) -> list[dict[str, Any]]:
    """What verify-js says of each, as `--json` prints it, from one process."""
    assert NODE is not None
    lines = "".join(f"{json.dumps(_asked(one))}\n" for one in pairs)
    done = subprocess.run([NODE, str(BATCH)], input=lines, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.split("\n")[:-1]]


def _asked(one: Pair) -> dict[str, Any]:
    def coded(data: bytes) -> str:
        return base64.b64encode(data).decode()

    def every(named: Mapping[str, bytes] | None) -> dict[str, str] | None:
        return None if named is None else {name: coded(data) for name, data in named.items()}

    return {
        "receipt": coded(one.receipt),
        "ledger": None if one.ledger is None else coded(one.ledger),
        "responses": every(one.responses),
        "deltas": every(one.deltas),
        "publicKeys": one.public_keys,
        "sealKeys": one.seal_keys,
        "checkpoints": None if one.checkpoints is None else coded(one.checkpoints),
        "heads": one.heads,
        "state": None if one.state is None else coded(one.state),
    }
