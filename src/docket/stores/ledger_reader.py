"""Reading a ledger file: streaming, comparing with memory, and putting a torn tail aside.

Rules (spec/ledger.md):
1. A ledger is a regular file that is reached without a symbolic link in its last name, read in flat memory.
2. A torn tail is never repaired silently: its bytes are durable in a file beside the ledger before the ledger is cut.
3. A ledger that a run holds open is not cut.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.dataclass import dataclass
from docket.formats.ledger.event import Event
from docket.formats.ledger.lines import TornTail, follow
from docket.formats.reason import Reason
from docket.host.disk import SYSTEM_DISK, Disk, Folder, StoredFile
from docket.host.durable import chunks, copy_range, settle, temporary_name
from docket.host.locks import FileLock

LOCK_SUFFIX = ".lock"
_SEARCH_BYTES = 64 * 1024


class Lock(Protocol):
    """A held lock."""

    def release(self) -> None:
        """Let it go."""
        ...


AcquireLock = Callable[[Path], Lock]


@dataclass(frozen=True, slots=True)
class Recheck:
    """How a ledger file compares with what its writer remembers; `first_difference` is a seq, None if all is alike."""

    first_difference: int | None
    reason: Reason | None = None
    detail: str = ""


def read_ledger(path: Path, *, disk: Disk = SYSTEM_DISK) -> Iterator[Event | TornTail]:
    """Yield the events of a ledger, chain checked, and at most one TornTail, last.

    UnavailableError where there is no such regular file; InvalidDocumentError at the first event that is wrong.
    """
    yield from follow(read_chunks(path, disk=disk))


def read_chunks(path: Path, *, disk: Disk = SYSTEM_DISK) -> Iterator[bytes]:
    """Yield a ledger file's bytes in pieces; UnavailableError where there is no such regular file."""
    with disk.folder(path.parent) as folder, folder.open(path.name) as file:
        yield from chunks(file)


def existing_events(file: StoredFile) -> Iterator[Event]:
    """Yield the events of a ledger that is to be continued; InvalidDocumentError(LEDGER_DAMAGED, TORN_TAIL)."""
    try:
        for item in follow(chunks(file)):
            if isinstance(item, TornTail):
                raise InvalidDocumentError(
                    Reason.TORN_TAIL,
                    f"{file.path} ends in {len(item.data)} bytes that are no whole event",
                    hint="docket recover puts them aside",
                )
            yield item
    except InvalidDocumentError as error:
        if error.reason == Reason.TORN_TAIL:
            raise
        raise InvalidDocumentError(Reason.LEDGER_DAMAGED, f"{file.path} is damaged: {error.detail}") from error


def quarantine_torn_tail(
    path: Path, now: str, *, disk: Disk = SYSTEM_DISK, acquire_lock: AcquireLock = FileLock.acquire
) -> Path | None:
    """Move the bytes after the last LF to `<ledger>.torn-<stamp>`; None if there are none.

    `now` is an RFC 3339 instant. UnavailableError(LOCKED) while a run holds the ledger.
    """
    lock = acquire_lock(path.with_name(path.name + LOCK_SUFFIX))
    try:
        return cut_torn_tail(path, now, disk=disk)
    finally:
        lock.release()


def cut_torn_tail(path: Path, now: str, *, disk: Disk = SYSTEM_DISK) -> Path | None:
    """As `quarantine_torn_tail`, for a caller that holds the ledger's lock."""
    with disk.folder(path.parent) as folder, folder.open(path.name, writable=True) as file:
        start = _tail_start(file)
        if start == file.size():
            return None
        name = _put_aside(folder, file, start, f"{path.name}.torn-{_stamp(now)}")
        file.truncate(start)
        file.sync()
        return path.with_name(name)


def compare(folder: Folder, name: str, hashes: Sequence[str], file_sha256: str) -> Recheck:
    """Compare a ledger file with the hashes of its events and the digest of its bytes."""
    try:
        with folder.open(name) as file:
            digest = hashlib.sha256()
            for chunk in chunks(file):
                digest.update(chunk)
            if digest.hexdigest() == file_sha256:
                return Recheck(None)
            return _first_difference(follow(chunks(file)), hashes)
    except UnavailableError as error:
        return Recheck(0, Reason(error.reason), error.detail)


def _first_difference(items: Iterable[Event | TornTail], hashes: Sequence[str]) -> Recheck:
    seq = 0
    try:
        for item in items:
            if isinstance(item, TornTail):
                return Recheck(seq, Reason.TORN_TAIL, f"event {seq}: the file ends in a part of a line")
            if seq >= len(hashes):
                return Recheck(seq, Reason.LEDGER_DAMAGED, f"event {seq}: the file holds an event that was not written")
            if item.hash != hashes[seq]:
                return Recheck(seq, Reason.LEDGER_DAMAGED, f"event {seq}: the file holds another event")
            seq += 1
    except InvalidDocumentError as error:
        return Recheck(seq, Reason(error.reason), error.detail)
    return Recheck(seq, Reason.LEDGER_DAMAGED, f"event {seq}: the file ends before it")


def _put_aside(folder: Folder, file: StoredFile, start: int, wanted: str) -> str:
    temporary = temporary_name(wanted)
    with folder.create(temporary) as aside:
        copy_range(file, aside, start)
        aside.sync()
    name, attempt = wanted, 1
    while folder.identity(name) is not None:
        attempt += 1
        name = f"{wanted}-{attempt}"
    settle(folder, temporary, name, overwrite=False)
    return name


def _tail_start(file: StoredFile) -> int:
    end = file.size()
    while end > 0:
        start = max(end - _SEARCH_BYTES, 0)
        found = file.read(start, end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _stamp(now: str) -> str:
    return "".join(character for character in now if character.isalnum())
