"""Which paths an overlay's upper directory says may have changed.

Rules:
1. A directory of the upper side that stands over one of the base, with the same mode and attributes, is gone into;
   every other thing there is named: new or copied up, hidden, opaque, replaced.
2. A directory that cannot be read or compared is named itself, so that nothing below it is missed.
3. Only what the upper side holds is visited, and the base is looked at in those places alone.

What stands at the named paths is observed by the one scanner (engines.observe), not here.
"""

from __future__ import annotations

from collections.abc import Iterator
from stat import S_IMODE, S_ISDIR

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.host import overlay_folders, tree
from docket.host.tree import Unread

_Identity = tuple[int, int]


def changed_paths(base: int, upper: int) -> Iterator[RelPath]:
    """Yield paths relative to the open directories `base` and `upper`.

    UnavailableError (UNREADABLE) where the upper directory itself cannot be listed.
    """
    ahead: list[tuple[bytes, _Identity, _Identity]] = [(b"", _identity(base), _identity(upper))]
    while ahead:
        prefix, *identities = ahead.pop()
        lower, over = (
            tree.reach(root, prefix, identity) for root, identity in zip((base, upper), identities, strict=True)
        )
        try:
            if isinstance(lower, int) and isinstance(over, int) and (not prefix or _are_alike(lower, over)):
                yield from _named_in(prefix, lower, over, ahead)
            else:
                yield _path(prefix)
        finally:
            for descriptor in (lower, over):
                if isinstance(descriptor, int):
                    tree.close(descriptor)


def _named_in(
    prefix: bytes, lower: int, over: int, ahead: list[tuple[bytes, _Identity, _Identity]]
) -> Iterator[RelPath]:
    listed = tree.list_directory(over)
    if isinstance(listed, Unread):
        yield _path(prefix)
        return
    for raw, name, status in listed.rows:
        below = tree.status_at(lower, name) if S_ISDIR(status.st_mode) else None
        if raw in listed.gaps or below is None or isinstance(below, Unread) or not S_ISDIR(below.st_mode):
            yield RelPath(prefix + raw)
        else:
            ahead.append((prefix + raw + b"/", tree.identity_of(below), tree.identity_of(status)))


def _are_alike(lower: int, over: int) -> bool:
    modes = {S_IMODE(tree.directory_status(descriptor).st_mode) for descriptor in (lower, over)}
    attributes = {overlay_folders.own_attributes(descriptor) for descriptor in (lower, over)}
    return len(modes) == len(attributes) == 1 and not overlay_folders.is_opaque(over)


def _identity(descriptor: int) -> _Identity:
    return tree.identity_of(tree.directory_status(descriptor))


def _path(prefix: bytes) -> RelPath:
    if not prefix:
        raise UnavailableError(Reason.UNREADABLE, "the overlay's upper directory cannot be read")
    return RelPath(prefix[:-1])
