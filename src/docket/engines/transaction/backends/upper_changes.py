"""Which paths an overlay's upper directory says may have changed.

Rules:
1. A directory of the upper side that stands over one of the base, with the same mode and attributes, is gone into;
   every other thing there is named: new or copied up, hidden, opaque, replaced.
2. A directory that cannot be read or compared is named itself, so that nothing below it is missed.
3. Only what the upper side holds is visited, and the base is looked at in those places alone.
4. A directory of an overlay whose lower side was removed since lists nothing of either side, without any error
   (`is_hidden`). An overlay that is mounted anew shows the upper one.

What stands at the named paths is observed by the one scanner (engines.observe), not here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from stat import S_IMODE, S_ISCHR, S_ISDIR

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


def is_hidden(path: RelPath, upper: bytes, shown: bytes) -> bool:
    """Whether the overlay mounted at `shown` lists nothing where its upper directory holds something at or below."""
    for folder, folders, files in os.walk(os.path.join(upper, path.raw)):  # noqa: PTH118 - paths of bytes
        if folders or any(not _is_whiteout(os.path.join(folder, name)) for name in files):  # noqa: PTH118
            try:
                with os.scandir(shown + folder[len(upper) :]) as found:
                    if next(found, None) is None:
                        return True
            except OSError:
                return True
    return False


def _is_whiteout(path: bytes) -> bool:
    status = os.lstat(path)
    return S_ISCHR(status.st_mode) and status.st_rdev == 0


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
