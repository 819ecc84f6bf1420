"""What stands at a name, told as a plan tells it, and whether it is what a step expects or leaves.

Rules:
1. A file's content is read through one descriptor, whole, and counts only if nothing changed meanwhile
   (host.tree); several times if it did.
2. Nothing is opened but regular files and directories.
3. A state is equal or it is not: content, size, mode and target are all compared.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable

from docket.formats.dataclass import dataclass, replace
from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import EntryState
from docket.formats.reason import Reason
from docket.formats.tree.changes import symlink_state, target_of
from docket.formats.tree.listing import Kind
from docket.formats.tree.plan import (
    Absent,
    Anything,
    Holds,
    Link,
    MakeDirectory,
    MakeSymlink,
    SetMode,
    Step,
    WriteFile,
    Xattr,
)
from docket.host.attribute_setting import attributes_of
from docket.host.reaching import Refusal
from docket.host.tree import DIGEST_BYTES, FileReader, Status, Unread, file_key, kind_of, read_link, status_at, text_of
from docket.host.tree_calls import open_name

_ATTEMPTS = 4
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_ORDINARY = (Kind.FILE, Kind.DIRECTORY, Kind.SYMLINK)


@dataclass(frozen=True, slots=True)
class Found:
    """What stands at a name: its state, whose digest is None where the content could not be read, and its status.

    `xattrs` are the attributes of a file or directory, where they were asked for.
    """

    state: EntryState
    status: Status
    unread: Unread | None = None
    xattrs: tuple[Xattr, ...] = ()

    @property
    def kind(self) -> Kind:
        """What kind of thing it is."""
        return Kind(self.state.kind)

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return self.kind is Kind.DIRECTORY


_THREAD = threading.local()


def _reader() -> FileReader:
    """Return this thread's reader: its buffer is too large to be made for each file."""
    reader: FileReader | None = getattr(_THREAD, "reader", None)
    if reader is None:
        reader = _THREAD.reader = FileReader()
    return reader


def look(parent: int, name: bytes, own_mode: Callable[[Status], int]) -> Found | Refusal | None:
    """Return what stands at a name, None for nothing; `own_mode` tells a directory's bits."""
    for _ in range(_ATTEMPTS):
        status = status_at(parent, name)
        if status is None:
            return None
        if isinstance(status, Unread):
            return Refusal(Reason.UNREADABLE, status.detail)
        found = _found(parent, name, status, own_mode)
        if found is not None:
            return found
    return Refusal(Reason.CHANGED_WHILE_READ, "it was another thing each time it was looked at")


def _found(parent: int, name: bytes, status: Status, own_mode: Callable[[Status], int]) -> Found | None:
    kind, mode = kind_of(status.st_mode), stat.S_IMODE(status.st_mode)
    match kind:
        case Kind.FILE:
            digest = _reader().digest(parent, text_of(name), status, file_key(status))
            if digest is None:
                return None
            unread = digest if isinstance(digest, Unread) else None
            sha256 = None if isinstance(digest, Unread) else Digest(digest[:DIGEST_BYTES].hex())
            state = EntryState(kind=kind.value, mode=mode, size=status.st_size, sha256=sha256)
            return Found(state, status, unread)
        case Kind.SYMLINK:
            target = read_link(parent, text_of(name))
            return Found(symlink_state(target), status) if isinstance(target, bytes) else None
        case Kind.DIRECTORY:
            return Found(EntryState(kind=kind.value, mode=own_mode(status)), status)
        case _:
            return Found(EntryState(kind=kind.value, mode=mode), status)


def unmet(step: Step, found: Found | None) -> Refusal | None:
    """Return why the step's precondition does not hold of what was found, None where it does."""
    if found is not None and found.kind not in _ORDINARY:
        return Refusal(Reason.SPECIAL_FILE, f"a {found.kind} stands there, which is never touched")
    match step.precondition:
        case Anything():
            return None
        case Absent():
            return None if found is None else _changed(f"nothing was expected there, and {told(found.state)} is")
        case Holds(state=expected):
            if found is None:
                return _changed(f"{told(expected)} was expected there, and nothing is")
            return _differs(step, expected, found)


def _differs(step: Step, expected: EntryState, found: Found) -> Refusal | None:
    if found.state == expected:
        return None
    known = (found.state.kind, found.state.mode, found.state.size)
    if found.kind is Kind.FILE and known == (expected.kind, expected.mode, expected.size):
        if isinstance(step, SetMode) and expected.sha256 is None:
            return None
        if found.unread is not None:
            return Refusal(found.unread.reason, f"its content cannot be compared: {found.unread.detail}")
    return _changed(f"{told(expected)} was expected there, and {told(found.state)} is")


def source_unmet(step: Link, found: Found | Refusal | None) -> Refusal | None:
    """Return why what was found is not the file that the step is to give another name, None where it is."""
    if step.holds is None or isinstance(found, Refusal):
        return found if isinstance(found, Refusal) else None
    if found is None or found.kind is not Kind.FILE:
        return _changed(f"{told(step.holds)} was expected at {step.to}, of which it is to be a name")
    refused = _differs(step, step.holds, found)
    if refused is None:
        return None
    return replace(refused, detail=f"{step.to}, of which it is to be a name: {refused.detail}")


def core_is_done(step: Step, found: Found | None) -> bool:
    """Whether the path holds what the step leaves, times and attributes left aside."""
    if found is None:
        return False
    state = found.state
    match step:
        case WriteFile():
            content = step.content
            return (state.kind, state.mode, state.size, state.sha256) == (
                Kind.FILE.value,
                step.mode,
                content.size,
                content.sha256,
            )
        case MakeDirectory():
            return (state.kind, state.mode) == (Kind.DIRECTORY.value, step.mode)
        case MakeSymlink():
            return state.kind == Kind.SYMLINK.value and target_of(state) == step.target
        case SetMode():
            return (state.kind, state.mode) == (Kind.FILE.value, step.mode)
        case _:
            return False


def has_entries(parent: int, name: bytes) -> bool:
    """Whether a directory holds anything; True where it cannot be told."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except OSError:
        return True
    try:
        with os.scandir(descriptor) as found:
            return next(found, None) is not None
    except OSError:
        return True
    finally:
        os.close(descriptor)


def attributes(parent: int, name: bytes) -> tuple[Xattr, ...]:
    """Return the attributes of a file or directory that a plan may name; none where they cannot be read."""
    try:
        descriptor = open_name(parent, name)
    except OSError:
        return ()
    try:
        return attributes_of(descriptor)
    finally:
        os.close(descriptor)


def told(state: EntryState) -> str:
    """Return a state in words."""
    match state.kind:
        case Kind.FILE:
            content = "unread content" if state.sha256 is None else f"content {state.sha256[:12]}"
            return f"a file of {state.size} bytes, mode {state.mode:o}, {content}"
        case Kind.DIRECTORY:
            return f"a directory of mode {state.mode:o}"
        case Kind.SYMLINK:
            return f"a link to {state.target}"
        case _:
            return f"a {state.kind}"


def _changed(detail: str) -> Refusal:
    return Refusal(Reason.CHANGED_SINCE, detail)


def open_file(parent: int, name: bytes) -> int:
    """Open a regular file for reading, without following or waiting. May raise OSError."""
    descriptor = os.open(name, _READ_FLAGS, dir_fd=parent)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))
