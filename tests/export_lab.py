"""Records in files, for the tests of the exports: a golden ledger with its receipt, as a run leaves them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from docket.formats.canonical import encode_document
from docket.surfaces.cli.root import run
from golden_ledgers import elsewhere, proven
from golden_ledgers.build import LedgerBuilder
from golden_ledgers.judging import receipt_of


def written(folder: Path, built: LedgerBuilder, *, ledger: bool = True) -> Path:
    """Write a receipt, and its ledger beside it; return the receipt's path."""
    return _placed(folder, receipt_of(built.data()), built.data() if ledger else None)


def written_elsewhere(folder: Path, *, ledger: bool = True) -> Path:
    """The same for a record of another writer."""
    built = elsewhere.ledger()
    return _placed(folder, elsewhere.receipt(built), built.data() if ledger else None)


def _placed(folder: Path, receipt: dict[str, Any], raw: bytes | None) -> Path:
    for name in ("receipts", "runs"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    path = folder / "receipts" / f"{receipt['docket_number']}.receipt.json"
    path.write_bytes(encode_document(receipt))
    if raw is not None:
        (folder / "runs" / f"{receipt['session']['id']}.jsonl").write_bytes(raw)
    return path


def written_signed(folder: Path) -> Path:
    """The same for a record that golden_ledgers.proven's key signed, and no seal."""
    built = proven.vouched_for(seal=False)
    return _placed(folder, proven.signed(receipt_of(built.data())), built.data())


def ledger_of(receipt: Path) -> Path:
    """The ledger beside a receipt that was written here."""
    return next((receipt.parent.parent / "runs").glob("*.jsonl"))


def exported(capsysbinary: pytest.CaptureFixture[bytes], *arguments: str | Path) -> bytes:
    """What `docket export` prints on standard output; it ends with 0."""
    assert run(["export", *map(str, arguments)]) == 0, capsysbinary.readouterr().err.decode()
    return capsysbinary.readouterr().out


def document(capsysbinary: pytest.CaptureFixture[bytes], *arguments: str | Path) -> dict[str, Any]:
    """The same as the JSON object that it is."""
    found = json.loads(exported(capsysbinary, *arguments))
    assert isinstance(found, dict)
    return found
