"""The file of one ledger: a chain that grows by whole batches and is known up to its last durable byte.

Rules (spec/ledger.md):
1. `seq`, `prev`, `hash` and `ts` are given here, in the order of the batch; `ts` never runs backwards, a clock
   that stepped back repeats the last instant.
2. A batch is one write and one sync. If either fails, `roll_back` cuts the file to the last durable byte and the
   chain goes on from the last durable event.
3. A spare copy without a name, which nothing else can open, takes the same bytes, unsynced: it tells what was written
   if another program rewrites the file in place. It is given up when it stands in the way of the record's end.
4. Space for the last events is reserved beyond the end of the file without changing its size, before ordinary
   events may use what lies in front of it. A full disk refuses an ordinary batch and still takes the final one.

Single-threaded; who may call when is `stores.ledger`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress

from docket.errors import UnavailableError
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.event import GENESIS, Draft, Event, seal
from docket.host.disk import StoredFile
from docket.host.durable import chunks

RESERVE_BYTES = 256 * 1024
_GROWTH_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """What a ledger will be with its last events, if they are written at the instant `now`."""

    now: str
    hashes: tuple[Digest, ...]
    _written: StoredFile
    _data: bytes

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes of the whole ledger to come; nothing may be written to it meanwhile."""
        yield from chunks(self._written)
        yield self._data


class ChainFile:
    """The open file and what is known of it in memory: the hash of every event, the digest of all bytes."""

    def __init__(self, file: StoredFile, spare: StoredFile | None = None) -> None:
        self.file = file
        self._spare = spare
        self.hashes: list[Digest] = []
        self.size_bytes = 0
        self.reserves = True
        self._ts = ""
        self._digest = hashlib.sha256()
        self._pending: list[Event] = []
        self._pending_bytes = b""
        self._allocated_bytes = 0
        self._is_dirty = False

    @property
    def head(self) -> Digest:
        """The hash of the last durable event, or GENESIS."""
        return self.hashes[-1] if self.hashes else GENESIS

    @property
    def file_sha256(self) -> Digest:
        """The SHA-256 of all durable bytes."""
        return Digest(self._digest.hexdigest())

    def adopt(self, event: Event) -> None:
        """Take over the next event that a checked file holds already."""
        self._digest.update(event.line + b"\n")
        self.size_bytes += len(event.line) + 1
        self.hashes.append(event.hash)
        self._ts = event.ts

    def write(self, drafts: Sequence[Draft], now: str, *, final: bool = False) -> list[Event]:
        """Seal the drafts and write them at the end, the final ones into the reserve; not durable before `sync`."""
        events, data = self._sealed(drafts, now)
        if not final:
            self.reserve(len(data))
        self._pending, self._pending_bytes = events, data
        self._is_dirty = True
        self.file.append(data)
        self._copy(data)
        return events

    def foresee(self, drafts: Sequence[Draft], now: str) -> Foreseen:
        """Return what the ledger will be once `write` took these drafts at this instant; nothing is written."""
        events, data = self._sealed(drafts, now)
        hashes = (*self.hashes, *(event.hash for event in events))
        return Foreseen(now=now, hashes=hashes, _written=self.intact_copy(), _data=data)

    def _sealed(self, drafts: Sequence[Draft], now: str) -> tuple[list[Event], bytes]:
        prev, seq, ts = self.head, len(self.hashes), max(now, self._ts)
        events = []
        for draft in drafts:
            event = seal(draft, seq=seq, ts=ts, prev=prev)
            events.append(event)
            prev, seq = event.hash, seq + 1
        return events, b"\n".join([event.line for event in events]) + b"\n"

    def sync(self) -> None:
        """Make the written batch durable and part of what is known."""
        self.file.sync()
        self._digest.update(self._pending_bytes)
        self.size_bytes += len(self._pending_bytes)
        self.hashes += [event.hash for event in self._pending]
        self._ts = self._pending[-1].ts
        self._pending, self._pending_bytes, self._is_dirty = [], b"", False

    def roll_back(self) -> None:
        """Cut off a batch that was begun and not synced; UnavailableError if the disk refuses even that."""
        if not self._is_dirty:
            return  # what another program added is evidence and stays
        self._drop_spare()  # on a full disk the end of the record needs its room
        self._pending, self._pending_bytes = [], b""
        self.file.truncate(self.size_bytes)
        self.file.sync()
        self._is_dirty = False
        self._allocated_bytes = 0  # truncating gave the reserve back
        with suppress(UnavailableError):
            self.reserve(0)

    def intact_copy(self) -> StoredFile:
        """Return a file that holds what was written, whatever was done to the ledger's own file meanwhile."""
        spare = self._spare
        if spare is None or spare.size() != self.size_bytes:
            return self.file
        digest = hashlib.sha256()
        for chunk in chunks(spare):
            digest.update(chunk)
        return spare if digest.hexdigest() == self.file_sha256 else self.file

    def _copy(self, data: bytes) -> None:
        if self._spare is not None:
            try:
                self._spare.append(data)
            except UnavailableError:
                self._drop_spare()

    def _drop_spare(self) -> None:
        if self._spare is not None:
            self._spare.close()
            self._spare = None

    def reserve(self, batch_bytes: int) -> None:
        """Have blocks for a batch of that size and for the final events behind it, or raise (NO_SPACE)."""
        if not self.reserves:
            return
        needed = self.size_bytes + batch_bytes + RESERVE_BYTES
        if needed <= self._allocated_bytes:
            return
        size = needed + _GROWTH_BYTES
        try:
            self.reserves = self.file.preallocate(size)
        except UnavailableError:
            size = needed
            self.reserves = self.file.preallocate(size)
        self._allocated_bytes = size

    def trim(self) -> None:
        """Give back what was reserved and not used."""
        if self._allocated_bytes > self.size_bytes and self.file.size() == self.size_bytes:
            self.file.truncate(self.size_bytes)
        self._allocated_bytes = 0
