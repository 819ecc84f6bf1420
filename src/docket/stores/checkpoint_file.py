"""The file of a run's checkpoints beside its ledger (spec/checkpoint.md).

Rules:
1. A line is durable before anything else is told of it. One that was begun and could not be made durable is cut off
   again; where even that fails the file takes no more (`is_given_up`).
2. Space for the next line is reserved with each one, so that a full disk still takes the last.

It knows neither heads nor keys. One thread at a time.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from docket.errors import DocketError, UnavailableError
from docket.formats.proof.checkpoint import CHECKPOINTS_SUFFIX, checkpoint_line, read_checkpoint, read_checkpoints
from docket.formats.reason import Reason
from docket.host.disk import SYSTEM_DISK, Disk, Folder
from docket.host.durable import displace
from docket.stores.ledger_reader import cut_torn_tail

_RESERVE_BYTES = 4096


def checkpoints_path(ledger: Path) -> Path:
    """Where the checkpoints of a ledger stand."""
    return ledger.with_suffix(CHECKPOINTS_SUFFIX)


def mend_checkpoints(ledger: Path, last: str | None, now: str, disk: Disk, *, told: bool = True) -> tuple[str, ...]:
    """Leave a killed run's file as it should be, for a caller that holds the run's lock; say what was wrong with it.

    A checkpoint that was being written is put aside. `last` is the one over the whole of a ledger that has its
    end, where it is known: it is written, if it does not stand there. A file without a line goes where the ledger
    tells of none (`told`): the run was killed before its first. `now` is an RFC 3339 instant.
    """
    path = checkpoints_path(ledger)
    try:
        with disk.folder(path.parent) as folder:
            if folder.identity(path.name) is None:
                return ()
            torn = cut_torn_tail(path, now, disk=disk)
            if last is not None:
                _complete(folder, path.name, last)
            elif not told:
                _drop_blank(folder, path.name)
    except DocketError as error:
        return (error.detail,)
    return () if torn is None else (f"a checkpoint was being written: its part is {torn}",)


def _drop_blank(folder: Folder, name: str) -> None:
    with folder.open(name) as file:
        is_blank = file.size() == 0
    if is_blank:
        folder.remove(name)


def _complete(folder: Folder, name: str, last: str) -> None:
    with folder.open(name, writable=True) as file:
        kept = read_checkpoints(file.read(0, file.size())) if file.size() else []
        if not kept or kept[-1].head.size < read_checkpoint(last)[0].size:
            file.append(checkpoint_line(len(kept) + 1, last))
            file.sync()


class CheckpointFile:
    """An open file of checkpoints; `lines` are durable."""

    def __init__(self, ledger: Path, *, disk: Disk = SYSTEM_DISK) -> None:
        """Create the file durably; UnavailableError (ALREADY_EXISTS, NO_SPACE, …)."""
        self.path = checkpoints_path(ledger)
        self.lines = 0
        self.is_given_up = False
        self._disk = disk
        self._ends = [0]
        with disk.folder(self.path.parent) as folder:
            self._file = folder.create(self.path.name)
            folder.sync()

    def append(self, note: str) -> int:
        """Make the next line durable and return its number; UnavailableError leaves the file as it was."""
        if self.is_given_up:
            raise UnavailableError(Reason.WRITE_FAILED, f"{self.path} ends in a part of a line")
        line = checkpoint_line(self.lines + 1, note)
        end = self._ends[-1] + len(line)
        try:
            self._file.preallocate(end + _RESERVE_BYTES)
        except UnavailableError:
            self._file.preallocate(end)
        try:
            self._file.append(line)
            self._file.sync()
        except DocketError:
            self._cut()
            raise
        self._ends.append(end)
        self.lines += 1
        return self.lines

    def drop_last(self) -> None:
        """Take the last line back: what was to be told of it could not be."""
        self._ends.pop()
        self.lines -= 1
        self._cut()

    def close(self) -> None:
        """Give back what was reserved, and the descriptor."""
        with suppress(DocketError):
            self._file.truncate(self._ends[-1])
        self._file.close()

    def put_aside(self) -> Path:
        """Close the file and move it aside, for it does not say what it should; return where it is."""
        self.close()
        with self._disk.folder(self.path.parent) as folder:
            return self.path.with_name(displace(folder, self.path.name))

    def _cut(self) -> None:
        try:
            self._file.truncate(self._ends[-1])
            self._file.sync()
        except DocketError:
            self.is_given_up = True
