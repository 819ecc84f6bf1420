"""Reading a ledger while its run writes it: whole lines as they come, and nothing else.

Rules (spec/ledger.md):
1. Nothing is locked, made or written, and no file stays open between two looks: the run and whoever tidies up after
   it do not notice.
2. Every event is checked as by any other reader. A last line that is not whole waits until it is.
3. A ledger that was cut, replaced or rewritten since the last look (a failed batch, a recovery, a copy put back) is
   read again from its beginning, and the reader is told. One that is wrong from its beginning is an error.
4. A ledger that has gone from one of its places is looked for in the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from pathlib import Path

from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.ledger.event import Event
from docket.formats.ledger.lines import Follower
from docket.formats.reason import Reason
from docket.host.disk import SYSTEM_DISK, Disk, StoredFile
from docket.host.disk_port import FileIdentity
from docket.host.durable import chunks


class Restarted(Enum):
    """What was read before is void; the events that follow begin anew."""

    RESTARTED = auto()


class LedgerTail:
    """Follows one ledger; `path` is where it was found at the last look, None where it was not."""

    def __init__(self, places: Sequence[Path], *, disk: Disk = SYSTEM_DISK) -> None:
        """Follow the ledger at the first of `places` that holds a file."""
        self.path: Path | None = None
        self._places, self._disk = tuple(places), disk
        self._identity: FileIdentity | None = None
        self._follower = Follower()

    def poll(self) -> Iterator[Event | Restarted]:
        """Yield what has come since the last look.

        Nothing where the ledger stands in none of its places. UnavailableError where it cannot be read;
        InvalidDocumentError where it is wrong though it was read from its beginning.
        """
        self.path = None
        for path in self._places:
            try:
                with self._disk.folder(path.parent) as folder, folder.open(path.name) as file:
                    self.path = path
                    yield from self._news(file)
                    return
            except UnavailableError as error:
                if error.reason != Reason.NOT_FOUND:
                    raise

    def _news(self, file: StoredFile) -> Iterator[Event | Restarted]:
        identity, start = file.identity(), self._follower.offset + len(self._follower.pending)
        known, self._identity = self._identity, identity
        if known is not None and (identity != known or file.size() < start):
            yield self._begin_again()
        elif start:
            try:
                yield from self._read(file)
                return
            except InvalidDocumentError:
                # A batch that the disk refused may have been seen before it was cut off again.
                yield self._begin_again()
        yield from self._read(file)

    def _read(self, file: StoredFile) -> Iterator[Event]:
        for chunk in chunks(file, self._follower.offset + len(self._follower.pending)):
            yield from self._follower.feed(chunk)

    def _begin_again(self) -> Restarted:
        self._follower = Follower()
        return Restarted.RESTARTED
