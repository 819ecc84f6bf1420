"""The disk as a port: the few operations that make something last, and nothing beside them.

Whatever docket keeps (ledger, receipt, state) is created, written, synced, renamed and removed through a `Folder` or
a `StoredFile`, so a test that stops at the n-th call stops at the n-th durable step. Every method raises
UnavailableError with a reason. The machine's own disk is `host.disk`.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from docket.formats.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FileIdentity:
    """Which file a name or a descriptor stands for."""

    device: int
    inode: int


@dataclass(frozen=True, slots=True)
class FileFigures:
    """What the file system says of a name: which file, how large, of how many names, changed when."""

    identity: FileIdentity
    is_file: bool
    is_folder: bool
    size_bytes: int
    links: int
    mtime_ns: int


class StoredFile(Protocol):
    """An open regular file of docket's own."""

    @property
    def path(self) -> Path:
        """Where it was opened, for messages."""
        ...

    def append(self, data: bytes) -> None:
        """Write all of `data` at the end; on an error any part of it may stand there."""
        ...

    def read(self, offset: int, size: int) -> bytes:
        """Return up to `size` bytes from `offset`; fewer only at the end."""
        ...

    def size(self) -> int:
        """Return the size in bytes."""
        ...

    def sync(self) -> None:
        """Return when the content and the size would survive a power cut."""
        ...

    def truncate(self, size: int) -> None:
        """Cut the file to `size` bytes; space preallocated beyond is given back."""
        ...

    def preallocate(self, size: int) -> bool:
        """Reserve blocks up to `size` bytes without changing the file's size; False where this is unsupported."""
        ...

    def free_bytes(self) -> int | None:
        """Return how many bytes the file system has left for an ordinary user, None where it does not say."""
        ...

    def copy_into(self, descriptor: int, offset: int, size: int) -> bool:
        """Make another, empty open file share or hold `size` bytes from `offset` without their passing through here.

        False where that cannot be done: then nothing was written. What was copied nobody has checked.
        """
        ...

    def identity(self) -> FileIdentity | None:
        """Return the identity of the open file, None once its last name is gone."""
        ...

    def close(self) -> None:
        """Give the descriptor back; a second call does nothing."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Held(Protocol):
    """A lock that is held; its process' end gives it up too."""

    def release(self) -> None:
        """Give it up; a second call does nothing."""
        ...


class Folder(Protocol):
    """An open folder; names are single path components."""

    @property
    def path(self) -> Path:
        """Where it was opened, for messages."""
        ...

    def folder(self, name: str, *, create: bool = False, durable: bool = True) -> Folder:
        """Open a folder inside, made first where `create` asks for it and it is missing.

        One that is made with `durable` false stands for good only once this folder is synced.
        """
        ...

    def create(self, name: str) -> StoredFile:
        """Create a file that must not exist (ALREADY_EXISTS)."""
        ...

    def open(self, name: str, *, writable: bool = False) -> StoredFile:
        """Open an existing regular file."""
        ...

    def replace(self, name: str, new_name: str) -> None:
        """Give `name` the name `new_name`, whatever stood there, in one step."""
        ...

    def claim(self, name: str, new_name: str) -> None:
        """Give `name` the name `new_name`, which must be free (ALREADY_EXISTS)."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file's name."""
        ...

    def make_private(self) -> None:
        """Give a folder that stood here already the mode 0700; NOT_OURS if it belongs to another user."""
        ...

    def names(self) -> tuple[str, ...]:
        """Return the names inside, sorted."""
        ...

    def identity(self, name: str) -> FileIdentity | None:
        """Return what `name` stands for, not followed; None if nothing does."""
        ...

    def sync(self) -> None:
        """Return when the names inside would survive a power cut."""
        ...

    def sync_everything(self) -> None:
        """Return when whatever was written to the folder's file system would survive a power cut, other files too."""
        ...

    def hold(self, name: str, *, exclusive: bool, wait_seconds: float = 0.0) -> Held:
        """Hold the lock file `name`, made if missing: alone, or with others who share it; LOCKED after the wait.

        Where it cannot be made because nothing can be written, sharing needs no lock: nobody can hold it alone.
        """
        ...

    def move(self, name: str, into: Folder, new_name: str) -> None:
        """Give `name` a new name in another folder of the same file system, whatever stood there, in one step."""
        ...

    def link(self, name: str, into: Folder, new_name: str) -> None:
        """Give the file `name` a further name, which must be free (ALREADY_EXISTS).

        TOO_MANY_LINKS where the file may have no more, NOT_PERMITTED or WRITE_FAILED where it may have no second one.
        """
        ...

    def look(self, name: str) -> FileFigures | None:
        """Return the figures of what `name` stands for, not followed; None if nothing does."""
        ...

    def remove_folder(self, name: str) -> None:
        """Remove an empty folder (NOT_EMPTY)."""
        ...

    def close(self) -> None:
        """Give the descriptor back; a second call does nothing."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Disk(Protocol):
    """Where folders are found by absolute or relative path."""

    def folder(self, path: Path, *, create: bool = False) -> Folder:
        """Open a folder; with `create`, missing ones on the way are made and synced. Its last name is not followed."""
        ...
