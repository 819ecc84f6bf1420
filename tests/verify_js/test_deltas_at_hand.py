"""Deltas beside a ledger are compared by both verifiers with what the receipt names."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from docket.engines.verify import VerifyRequest, verify_receipt
from docket.formats.canonical import encode_document
from docket.formats.digest import sha256
from docket.formats.relpath import RelPath
from docket.formats.run.verdict import Status
from docket.formats.windows.delta import Actor, Delta, FileDelta, Limits, Span, ToolUse, encode_delta
from docket.formats.windows.names import Hashes, Operation, Scope
from docket.formats.windows.names import Status as DeltaStatus
from golden_ledgers import samples
from golden_ledgers.build import LedgerBuilder
from golden_ledgers.judging import bodies, chained, lines_of, named, receipt_of
from verify_js.in_node import Pair, disagreements, needs_node

pytestmark = needs_node
Deltas = dict[str, bytes]


def file(path: bytes) -> FileDelta:
    return FileDelta(
        path=RelPath.parse(path), operation=Operation.CREATE, before_hash="0" * 40, after_hash="1" * 40,
        before_mode="000000", after_mode="100644",
    )  # fmt: skip


def delta(*ids: str, paths: tuple[bytes, ...] = (b"a",)) -> Delta:
    """A complete delta of these tool uses."""
    return Delta(
        scope=Scope.TOOL if len(ids) == 1 else Scope.CONCURRENT_GROUP,
        status=DeltaStatus.COMPLETE,
        window=Span(started_at="2026-10-01T12:00:00.000Z", completed_at="2026-10-01T12:00:01.000Z", duration_ms=1000),
        actors=(Actor(provider="claude", session_id="s", turn_id="t"),),
        tool_uses=tuple(ToolUse(tool_use_id=id_, tool_name="Bash", event_id="e", actor=0) for id_ in ids),
        files=tuple(file(path) for path in paths),
        limits=Limits(files_observed=9),
        hashes=Hashes.SHA1,
    )


ALONE = encode_delta(delta("toolu_01"))
TOGETHER = encode_delta(delta("toolu_02", "toolu_03", paths=(b"a", b"b", b"c\xff")))
LOST = encode_delta(
    replace(delta("toolu_04", paths=()), status=DeltaStatus.PARTIAL, reason="process_gone", hashes=None)
)


def named_by_digests() -> bytes:
    """The golden ledger of windows, whose deltas are the ones above."""
    names = {"e1" * 32: ALONE, "e2" * 32: TOGETHER, "e3" * 32: LOST}
    good = samples.windowed()
    items = bodies(good.events)
    for _, _, data in items:
        if data.get("delta_sha256") in names:
            data["delta_sha256"] = sha256(names[data["delta_sha256"]])
    built = LedgerBuilder()
    built.events = chained(items, good.events)
    return lines_of(built.events)


def as_they_are(deltas: Deltas) -> None:
    pass


def changed(change: Callable[[dict[str, Any]], object]) -> Callable[[Deltas], None]:
    """Something else under the name of the first delta."""

    def apply(deltas: Deltas) -> None:
        document = json.loads(ALONE)
        change(document)
        deltas[sha256(ALONE)] = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()

    return apply


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (as_they_are, Status.PASS),
        (lambda deltas: deltas.pop(sha256(ALONE)), Status.PASS),
        (lambda deltas: deltas.clear(), Status.SKIP),
        (changed(lambda document: document.update(version=2)), Status.FAIL),
        (lambda deltas: deltas.update({sha256(ALONE): TOGETHER}), Status.FAIL),
        (lambda deltas: deltas.update({sha256(TOGETHER): b""}), Status.FAIL),
    ],
)
def test_what_stands_beside_the_ledger(change: Callable[[Deltas], None], status: Status, tmp_path: Path) -> None:
    deltas = {sha256(one): one for one in (ALONE, TOGETHER, LOST)}
    change(deltas)
    compared(named_by_digests(), deltas, status, tmp_path)


@pytest.mark.parametrize(
    "other",
    [
        encode_delta(delta("toolu_09")),
        encode_delta(delta("toolu_01", paths=(b"a", b"b"))),
        encode_delta(delta("toolu_01", "toolu_09")),
        LOST,
        b"{}",
        ALONE + b"\n",
        ALONE.replace(b'"create"', b'"edit"'),
    ],
)
def test_a_delta_that_the_receipt_names_and_that_says_otherwise(other: bytes, tmp_path: Path) -> None:
    raw = named_by_digests()
    digest = sha256(other)
    items = [json.loads(line) for line in raw.splitlines()]
    triples = [(item["type"], item["ts"], item["data"]) for item in items]
    for _, _, data in triples:
        if data.get("delta_sha256") == sha256(ALONE):
            data["delta_sha256"] = digest
    compared(lines_of(chained(triples)), {digest: other}, Status.FAIL, tmp_path)


def compared(raw: bytes, deltas: Deltas, status: Status, folder: Path) -> None:
    """Both verifiers end the check with this status."""
    ledger = folder / "runs" / "0123456789ab.jsonl"
    beside = folder / "windows" / "deltas"
    for path in (ledger.parent, beside):
        path.mkdir(parents=True)
    ledger.write_bytes(raw)
    for digest, document in deltas.items():
        (beside / f"{digest}.json").write_bytes(document)
    receipt = encode_document(receipt_of(raw))
    verdict = verify_receipt(VerifyRequest(receipt=receipt, ledger_path=ledger))
    assert named(verdict, "tool-deltas").status is status
    assert disagreements([Pair("deltas", receipt, raw, verdict, deltas=deltas)]) == []
