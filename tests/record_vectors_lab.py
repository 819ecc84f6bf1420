"""The scenarios of `spec/vectors/records`: each side's files, the keys that are named, and what must be said of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "spec" / "vectors" / "records"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One side of a scenario."""

    name: str
    receipt: bytes
    ledger: bytes | None
    keys: dict[str, list[str]]
    checkpoints: bytes | None
    heads: list[str]
    state: dict[str, Any] | None
    verdict: str
    first_failure: str | None


def sides() -> list[Told]:
    """Every side of every scenario, the accepted before the refused."""
    documents = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))}
    found = []
    for name, document in documents.items():
        assert document["format"] == "docket/vector/record/v1"
        accepted = document["accepted"]
        files = documents[accepted["files_of"]]["accepted"] if "files_of" in accepted else accepted
        receipt, ledger = _bytes(files["receipt"]), None if files["ledger"] is None else _bytes(files["ledger"])
        found.append(_side(f"{name}, accepted", receipt, ledger, accepted))
        if "refused" in document:
            refused = document["refused"]
            other = None if refused["ledger"] is None else _bytes(refused["ledger"], ledger or b"")
            found.append(_side(f"{name}, refused", _bytes(refused["receipt"], receipt), other, refused))
    return found


def _side(name: str, receipt: bytes, ledger: bytes | None, told: dict[str, Any]) -> Told:
    keys = {kind: told.get(kind, []) for kind in ("public_keys", "seal_keys")}
    kept = told.get("checkpoints")
    return Told(
        name=name, receipt=receipt, ledger=ledger, keys=keys,
        checkpoints=None if kept is None else kept.encode("utf-8"), heads=told.get("heads", []),
        state=told.get("state"), verdict=told["verdict"], first_failure=told["first_failure"],
    )  # fmt: skip


def _bytes(told: dict[str, Any], old: bytes = b"") -> bytes:
    """The bytes of a part: `text`, `hex`, or the lines of the accepted one with `edits`, the last first."""
    if "hex" in told:
        return bytes.fromhex(told["hex"])
    if "text" in told:
        return str(told["text"]).encode("utf-8")
    lines = old.decode("utf-8").split("\n")
    for line, number, others in told["edits"]:
        lines[line : line + number] = others
    return "\n".join(lines).encode("utf-8")
