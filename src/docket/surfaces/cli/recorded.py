"""Which record a command reads: the receipt a person names, and the ledger that belongs to it."""

from __future__ import annotations

from pathlib import Path

from docket.formats.canonical import JsonObject
from docket.formats.dataclass import dataclass
from docket.stores.receipts import ledger_of
from docket.surfaces.cli import console
from docket.surfaces.cli.commands.report import receipt_at
from docket.surfaces.cli.project import ledger_named, receipt_asked_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A receipt that was read, and its ledger's path where one is named or stands beside it."""

    path: Path
    document: JsonObject
    ledger: Path | None


def named_record(receipt: str | None, ledger: Path | None, docket_dir: Path | None) -> Named:
    """Return the record a person means: a receipt's path, a docket number, or the project's newest."""
    path = receipt_asked_for(receipt, docket_dir)
    document = receipt_at(path)
    return Named(path=path, document=document, ledger=ledger_named(ledger) or ledger_of(path, document))


def warn_of_ledger(path: Path, *, is_its_ledger: bool | None) -> None:
    """Say that there was no ledger, or that it is another one than the receipt names."""
    if is_its_ledger is None:
        console.warn(console.plain(f"{path}: no ledger stands beside it; only its usage rows were looked at"))
    elif not is_its_ledger:
        console.warn(console.plain(f"{path} names another ledger than the one that was read: docket verify says more"))
