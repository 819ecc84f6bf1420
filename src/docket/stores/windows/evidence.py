"""What is kept of windows for good: deltas, closed windows, tombstones, pending partials, final states of groups.

Rules (spec/windows.md, Where it stands):
1. Each is a document of its own under a name that says whose it is, published whole. The first one stands: whoever
   writes a second reads the first.
2. No lock is needed for any of them.
3. What cannot be read is an error, never taken for absent: a probe that fails lets nothing happen a second time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from docket.errors import DocketError, InvalidDocumentError, UnavailableError
from docket.formats.canonical import JsonObject, decode, encode
from docket.formats.digest import Digest, sha256
from docket.formats.reason import Reason
from docket.formats.visible import raw_of, text_members
from docket.formats.windows.records import (
    MAX_RECORD_BYTES,
    ClosedWindow,
    GroupFinal,
    PendingPartial,
    Record,
    Tombstone,
    decode_record,
    encode_record,
)
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.durable import publish

if TYPE_CHECKING:
    from docket.formats.windows.delta import Delta

DELTAS, CLOSED, TOMBSTONES, PARTIALS, FINALS = "deltas", "closed", "tombstones", "partials", "finals"
LEDGERS, LEDGER_SCHEMA = "ledgers", "docket/windows-ledger/v1"
MAX_UNKNOWN = 1024
"""How many shapes of payloads are kept; of more than so many nobody would look at each."""
UNKNOWN, UNKNOWN_SCHEMA = "unknown", "docket/windows-unknown/v1"
CLAIMS, CLAIM_SCHEMA = "claims", "docket/windows-claim/v1"
_SUFFIX = ".json"
_Any = TypeVar("_Any", GroupFinal, Tombstone, PendingPartial, ClosedWindow)


class Evidence:
    """What is kept below the folder of windows."""

    def __init__(self, windows: Path, *, disk: Disk = SYSTEM_DISK) -> None:
        self._windows, self._disk = windows, disk

    def put_delta(self, document: bytes) -> Digest:
        """Keep a delta under its digest."""
        digest = sha256(document)
        self._publish(DELTAS, digest, document)
        return digest

    def delta(self, digest: Digest) -> Delta:
        """Read a delta; InvalidDocumentError where what stands there is not the one named."""
        from docket.formats.windows.delta import decode_delta  # noqa: PLC0415 - not light, and before a tool not needed

        return decode_delta(self.delta_document(digest))

    def delta_document(self, digest: Digest) -> bytes:
        """Read the bytes of a delta; InvalidDocumentError where they are not those named."""
        from docket.formats.windows.delta import MAX_DELTA_BYTES  # noqa: PLC0415 - as above

        document = self._read(DELTAS, digest, MAX_DELTA_BYTES)
        if document is None:
            raise UnavailableError(Reason.NOT_FOUND, f"there is no delta {digest}")
        if sha256(document) != digest:
            raise InvalidDocumentError(Reason.DOCUMENTS_DISAGREE, f"the delta {digest} is not what its name says")
        return document

    def close_window(self, record: ClosedWindow) -> ClosedWindow:
        """Take down that a window is over; return the first record of it."""
        return self._first(CLOSED, record.key.window_id, record)

    def closed(self, window_id: str) -> ClosedWindow | None:
        """Return the record of a window that is over, None where there is none."""
        return self._record(CLOSED, window_id, ClosedWindow)

    def every_closed(self) -> Iterator[ClosedWindow]:
        """Yield every window that is over; what cannot be read is passed over."""
        yield from self._every(CLOSED, ClosedWindow)

    def count_closed(self) -> int:
        """Return how many windows are over, those whose records cannot be read among them."""
        return len(self._names(CLOSED))

    def bury(self, tombstone: Tombstone) -> Tombstone:
        """Put up a tombstone; return the first one."""
        return self._first(TOMBSTONES, tombstone.key.window_id, tombstone)

    def tombstone(self, window_id: str) -> Tombstone | None:
        """Return a window's tombstone, None where it has none."""
        return self._record(TOMBSTONES, window_id, Tombstone)

    def every_tombstone(self) -> Iterator[Tombstone]:
        """Yield every tombstone that can be read."""
        yield from self._every(TOMBSTONES, Tombstone)

    def pend(self, partial: PendingPartial) -> PendingPartial:
        """Keep what a partial delta is to be made of; return the first."""
        return self._first(PARTIALS, partial.key.window_id, partial)

    def partial(self, window_id: str) -> PendingPartial | None:
        """Return what a window's partial delta is to be made of, None where there is nothing."""
        return self._record(PARTIALS, window_id, PendingPartial)

    def pending(self) -> Iterator[PendingPartial]:
        """Yield the partials that nobody has made yet."""
        yield from self._every(PARTIALS, PendingPartial)

    def settle_pending(self, window_id: str) -> None:
        """Remove what a partial was made of."""
        self._remove(PARTIALS, window_id)

    def settle_final(self, final: GroupFinal) -> GroupFinal:
        """Keep a group's final state; return the first."""
        return self._first(FINALS, final.group_id, final)

    def final(self, group_id: str) -> GroupFinal | None:
        """Return a group's final state, None where there is none."""
        return self._record(FINALS, group_id, GroupFinal)

    def remove_final(self, group_id: str) -> None:
        """Remove a group's final state, once the group is gone."""
        self._remove(FINALS, group_id)

    def claim(self, name: str, claimant: str) -> str:
        """Let `claimant` have a name that nobody has; return who has it."""
        self._publish(CLAIMS, name, encode({"schema": CLAIM_SCHEMA, "claimant": claimant}))
        return self.claimant(name) or claimant

    def claimant(self, name: str) -> str | None:
        """Return who has a name, None where it is free."""
        document = self._read(CLAIMS, name, MAX_RECORD_BYTES)
        if document is None:
            return None
        value = decode(document)
        found = value.get("claimant") if isinstance(value, Mapping) else None
        if not isinstance(found, str):
            raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"the claim to {name} is no {CLAIM_SCHEMA}")
        return found

    def note_ledger(self, session_id: str, ledger: Path) -> None:
        """Keep where the ledger of a run stands whose windows these are."""
        document = encode({"schema": LEDGER_SCHEMA, **text_members("path", os.fsencode(ledger))})
        self._publish(LEDGERS, session_id, document)

    def ledger_of(self, session_id: str) -> Path | None:
        """Return where a run said that its ledger stands, None where it said nothing that can be read."""
        with suppress(DocketError):
            document = self._read(LEDGERS, session_id, MAX_RECORD_BYTES)
            value = None if document is None else decode(document)
            raw = raw_of("path", value) if isinstance(value, Mapping) else None
            return None if raw is None else Path(os.fsdecode(raw))
        return None

    def note_unknown(self, provider: str, event: str, members: tuple[str, ...]) -> None:
        """Keep the shape of a payload that nobody knows, each shape once, MAX_UNKNOWN of them."""
        if len(self._names(UNKNOWN)) >= MAX_UNKNOWN:
            return
        document = encode({"schema": UNKNOWN_SCHEMA, "provider": provider, "event": event, "members": members})
        self._publish(UNKNOWN, sha256(document), document)

    def unknown(self) -> Iterator[JsonObject]:
        """Yield the shapes of the payloads that nobody knew."""
        for name in self._names(UNKNOWN):
            document = self._read(UNKNOWN, name, MAX_RECORD_BYTES)
            with suppress(DocketError):
                value = None if document is None else decode(document)
                if isinstance(value, Mapping):
                    yield value

    def _first(self, folder: str, name: str, record: _Any) -> _Any:
        kind = type(record)
        if not self._publish(folder, name, encode_record(record)):
            found = self._record(folder, name, kind)
            if found is not None:
                return found
        return record

    def _publish(self, folder: str, name: str, document: bytes) -> bool:
        with (
            self._disk.folder(self._windows, create=True) as windows,
            windows.folder(folder, create=True) as place,
        ):
            try:
                publish(place, f"{name}{_SUFFIX}", document, overwrite=False)
            except UnavailableError as error:
                if error.reason != Reason.ALREADY_EXISTS:
                    raise
                return False
        return True

    def _record(self, folder: str, name: str, kind: type[Record]) -> Record | None:
        document = self._read(folder, name, MAX_RECORD_BYTES)
        return None if document is None else decode_record(kind, document)

    def _read(self, folder: str, name: str, most: int) -> bytes | None:
        try:
            with self._disk.folder(self._windows / folder) as place, place.open(f"{name}{_SUFFIX}") as file:
                return file.read(0, most + 1)
        except UnavailableError as error:
            if error.reason == Reason.NOT_FOUND:
                return None
            raise

    def _every(self, folder: str, kind: type[Record]) -> Iterator[Record]:
        for name in self._names(folder):
            with suppress(DocketError):
                found = self._record(folder, name, kind)
                if found is not None:
                    yield found

    def _names(self, folder: str) -> list[str]:
        try:
            with self._disk.folder(self._windows / folder) as place:
                names = place.names()
        except UnavailableError as error:
            if error.reason == Reason.NOT_FOUND:
                return []
            raise
        return [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX) and not name.startswith(".")]

    def _remove(self, folder: str, name: str) -> None:
        with suppress(UnavailableError), self._disk.folder(self._windows / folder) as place:
            place.remove(f"{name}{_SUFFIX}")
