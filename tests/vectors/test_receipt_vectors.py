"""The receipt vectors of the specification: the verdict and the first failing check of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from docket.engines.verify import VerifyRequest, verify_receipt
from docket.formats.proof.pins import PinnedKey, PinnedSeal, Pins
from golden_ledgers.judging import first_failure

FOLDER = Path(__file__).resolve().parent.parent.parent / "spec" / "vectors"


def text_of(texts: dict[str, str], told: dict[str, Any] | None) -> str | None:
    """A text of the vectors: one of `texts` as it stands, or with `cut` characters at `at` replaced by `put`."""
    if told is None:
        return None
    text, at = texts[told["of"]], told.get("at", 0)
    return text[:at] + told.get("put", "") + text[at + told.get("cut", 0) :]


def vectors() -> list[Any]:
    found = []
    for path in sorted(FOLDER.glob("receipt-*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        assert document["format"] == "docket/vectors/receipt/v1"
        for vector in document["vectors"]:
            whole = vector | {part: text_of(document["texts"], vector[part]) for part in ("receipt", "ledger")}
            found.append(pytest.param(whole, id=f"{path.stem}: {vector['name']}"))
    assert len(found) > 60
    return found


@pytest.mark.parametrize("vector", vectors())
def test_each_vector_gets_its_verdict_and_its_first_failing_check(vector: dict[str, Any], tmp_path: Path) -> None:
    ledger = None
    if vector["ledger"] is not None:
        ledger = tmp_path / "run.jsonl"
        ledger.write_bytes(vector["ledger"].encode())
    receipt = vector["receipt"].encode("utf-8")
    pins = Pins(
        signers=tuple(PinnedKey(public_key=bytes.fromhex(key)) for key in vector.get("public_keys", ())),
        seals=tuple(PinnedSeal(key=bytes.fromhex(key)) for key in vector.get("seal_keys", ())),
    )
    verdict = verify_receipt(VerifyRequest(receipt=receipt, ledger_path=ledger, pins=pins))

    assert (str(verdict.word), first_failure(verdict) or None) == (vector["verdict"], vector["first_failure"])
