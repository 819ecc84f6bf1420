"""What a walk takes down of an entry beside its line, where there is anything, and the lines that few walks write.

Beside a line stand further names, holes, attributes, owner.
Nothing is asked of the machine for a file whose attributes are remembered with its digest (stores.statcache).
"""

from __future__ import annotations

from stat import S_IMODE, S_ISDIR, S_ISREG

from docket.engines.segment import Seen
from docket.engines.walk_request import UNKNOWN_DIGEST
from docket.formats.canonical import MAX_INTEGER
from docket.formats.relpath import RelPath
from docket.formats.tree.attributes import Attributes, recalled
from docket.formats.tree.listing import Kind, Omission
from docket.formats.tree.status_listing import FileStatus, status_line
from docket.formats.tree.surface import LeftOut
from docket.host import tree
from docket.host.attributes import attributes_at
from docket.host.tree import Row, Status, Unread, file_key


def seen_beside(path: bytes, status: Status, attributes: Attributes, reader: int) -> Seen | None:
    """Return the details of a path, None where it has none. `reader` is the user who reads."""
    mode, allocated_bytes, identity = status.st_mode, None, None
    if not S_ISDIR(mode):
        identity = tree.identity_of(status) if status.st_nlink > 1 else None
        held = tree.allocated_bytes(status)
        allocated_bytes = held if S_ISREG(mode) and held < status.st_size else None
    owner = None if status.st_uid == reader else status.st_uid
    if not attributes and identity is None and allocated_bytes is None and owner is None:
        return None
    kind = str(tree.kind_of(mode))
    return path, kind, status.st_size, identity, status.st_nlink, allocated_bytes, attributes, owner


def omission_of(path: bytes, why: Unread | LeftOut, status: Status | None) -> Omission:
    """Return the omission of a path, with whatever was seen of it."""
    kind = None if status is None else tree.kind_of(status.st_mode)
    size = status.st_size if status is not None and kind is Kind.FILE and status.st_size <= MAX_INTEGER else None
    return Omission(
        path=RelPath(path),
        reason=why.reason,
        detail=why.detail,
        kind=kind,
        mode=None if status is None else S_IMODE(status.st_mode),
        size=size,
    )


def line_of_status(member: str, status: Status, digest: bytes) -> str:
    """Return a file's line in a status listing, without its digest where that is UNKNOWN_DIGEST."""
    numbers = status.st_size, S_IMODE(status.st_mode), status.st_ino, status.st_mtime_ns, status.st_ctime_ns
    told = FileStatus._make(numbers)
    return status_line(member, told, None if digest == UNKNOWN_DIGEST else digest.hex())


def attributes_known(parent: int, row: Row, packed: bytes) -> Attributes | None:
    """Return a file's attributes, from what is remembered of them or from the file; None if it is another by now."""
    known = recalled(packed)
    if known is not None:
        return known
    _, name, status = row
    found, again = attributes_at(parent, name), tree.status_at(parent, name)
    if again is None or isinstance(again, Unread):
        return None
    return found if file_key(again) == file_key(status) else None
