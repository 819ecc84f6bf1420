"""The receipt vectors of the specification, read, and put on the disk as `docket verify` is given them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docket.engines.verify import VerifyRequest
from docket.formats.proof.checkpoint import read_head_words
from docket.formats.proof.pins import PinnedKey, PinnedSeal, Pins
from docket.formats.proof.verifier_state import read_state

FOLDER = Path(__file__).parents[1] / "spec" / "vectors"
Vector = dict[str, Any]


def receipt_vectors() -> Iterator[tuple[str, Vector]]:
    """Yield each vector under its name, its receipt and its ledger as bytes."""
    for path in sorted(FOLDER.glob("receipt-*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        assert document["format"] == "docket/vectors/receipt/v1"
        for vector in document["vectors"]:
            texts = {part: _bytes_of(document["texts"], vector[part]) for part in ("receipt", "ledger")}
            yield f"{path.stem}: {vector['name']}", vector | texts


def _bytes_of(texts: dict[str, str], told: dict[str, Any] | None) -> bytes | None:
    """A text of the vectors: one of `texts` as it stands, or with `cut` characters at `at` replaced by `put`."""
    if told is None:
        return None
    text, at = texts[told["of"]], told.get("at", 0)
    return (text[:at] + told.get("put", "") + text[at + told.get("cut", 0) :]).encode("utf-8")


def request_of(vector: Vector, folder: Path) -> VerifyRequest:
    """What is asked of a vector, its files in the folder."""
    files: dict[str, Path | None] = {"ledger": None, "checkpoints": None}
    for part, name in (("ledger", "run.jsonl"), ("checkpoints", "named.checkpoints")):
        told = vector.get(part)
        if told is not None:
            files[part] = folder / name
            (folder / name).write_bytes(told if isinstance(told, bytes) else told.encode("utf-8"))
    return VerifyRequest(
        receipt=vector["receipt"],
        ledger_path=files["ledger"],
        checkpoints_path=files["checkpoints"],
        pins=Pins(
            signers=tuple(PinnedKey(public_key=bytes.fromhex(key)) for key in vector.get("public_keys", ())),
            seals=tuple(PinnedSeal(key=bytes.fromhex(key)) for key in vector.get("seal_keys", ())),
        ),
        heads=tuple(read_head_words(head) for head in vector.get("heads", ())),
        remembered=None if vector.get("state") is None else read_state(vector["state"]),
    )
