"""What a walk takes down beside a listing's entry, where there is anything: further names, holes, attributes, owner.

Nothing is asked of the machine for a file whose attributes are remembered with its digest (stores.statcache).
"""

from __future__ import annotations

from stat import S_ISDIR, S_ISREG

from docket.engines.segment import Seen
from docket.formats.tree.attributes import Attributes, recalled
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
