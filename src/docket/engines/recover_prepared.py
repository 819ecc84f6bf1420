"""What a killed run had prepared: a receipt that is vouched for, and the space that was set aside for one.

A run that somebody vouches for signs before its ledger says that it ended, so that whoever kills it can leave no
ledger with an end and no signature. What it signed waits in the reserve of its receipt, or stands as the receipt.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from docket.errors import DocketError
from docket.formats.canonical import JsonObject, encode_document
from docket.formats.dataclass import dataclass
from docket.host.disk import Disk
from docket.rules.proof.prepared import Prepared, prepared_for
from docket.rules.receipt.proof import announces_a_key
from docket.stores.layout import RECEIPTS, Layout, receipt_name
from docket.stores.receipts import ReceiptReserve
from docket.stores.unfinished import temporaries_of

_VOUCHED_BYTES = 64 * 1024  # more than a seal, a signature and a checkpoint take


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadRun:
    """A run that was killed, by its names."""

    layout: Layout
    session_id: str
    docket_number: str

    @property
    def receipt_path(self) -> Path:
        """Where a person finds its receipt."""
        return self.layout.docket_dir / RECEIPTS / receipt_name(self.docket_number)

    @property
    def receipts(self) -> Path:
        """The folder out of the tree's reach in which its receipt is to stand."""
        return self.layout.state / RECEIPTS

    def reserves(self, disk: Disk) -> Iterator[Path]:
        """Yield the files in which it had set space aside."""
        begins = f".{receipt_name(self.docket_number)}."
        for path in temporaries_of(self.layout, self.session_id, self.docket_number, disk):
            if path.parent == self.receipts and path.name.startswith(begins):
                yield path


def find_prepared(run: DeadRun, derived: JsonObject, disk: Disk) -> Prepared | None:
    """Return the receipt that the run had signed or sealed, where it is one of this ledger; `derived` is without."""
    if not announces_a_key(derived):
        return None
    limit_bytes = len(encode_document(derived)) + _VOUCHED_BYTES
    for path in (run.receipts / receipt_name(run.docket_number), *run.reserves(disk)):
        with suppress(DocketError), disk.folder(path.parent) as folder, folder.open(path.name) as file:
            found = prepared_for(derived, file.read(0, limit_bytes))
            if found is not None:
                return found
    return None


def adopt_reserve(run: DeadRun, receipt: bytes, disk: Disk) -> ReceiptReserve | None:
    """Return the space that the run had set aside for its receipt, with that in it or empty: the disk may be full."""
    for path in run.reserves(disk):
        with suppress(DocketError):
            found = ReceiptReserve.adopt(run.layout, path.name, prepared=receipt, disk=disk)
            if found is not None:
                return found
    return None
