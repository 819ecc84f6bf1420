"""Extended attributes as they stand on an open file or directory, or at a name that cannot be opened (a link).

Rules (spec/tree.md, Details):
1. Values are read of what `formats.tree.attributes` keeps, up to its limit; of the rest the name alone.
2. A file system without attributes, and a name that has gone, have none. Names that cannot be listed are told as one
   that stands for them; no OSError leaves this module.
"""

from __future__ import annotations

import errno
import os

from docket.formats.tree.attributes import MAX_KEPT_BYTES, UNLISTED, Attributes, is_kept, remembered

_NONE = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENODATA, errno.ENOENT, errno.ENOSYS, errno.ENOTDIR)


def attributes_open(descriptor: int) -> Attributes:
    """Return the attributes of an open file or directory."""
    return _attributes(descriptor, follow=True)


def attributes_at(parent: int, name: str) -> Attributes:
    """Return the attributes of what stands at a name in an open directory, itself if it is a link."""
    return _attributes(f"/proc/self/fd/{parent}/{name}", follow=False)


def remembered_open(descriptor: int) -> bytes:
    """Return what a cache remembers of an open file's attributes; empty for none."""
    try:
        if not os.listxattr(descriptor):
            return b""
    except OSError:
        pass
    return remembered(attributes_open(descriptor))


def _attributes(target: int | str, *, follow: bool) -> Attributes:
    try:
        names = os.listxattr(target, follow_symlinks=follow)
    except OSError as error:
        return () if error.errno in _NONE else ((UNLISTED, None),)
    if not names:
        return ()
    left = MAX_KEPT_BYTES
    found: list[tuple[bytes, bytes | int | None]] = []
    for name, text in sorted((os.fsencode(text), text) for text in names):
        value = _value(target, text, follow=follow) if is_kept(name) else None
        if value is not None and len(value) > left:
            found.append((name, len(value)))
            continue
        left -= len(value or b"")
        found.append((name, value))
    return tuple(found)


def _value(target: int | str, name: str, *, follow: bool) -> bytes | None:
    try:
        return os.getxattr(target, name, follow_symlinks=follow)
    except OSError:
        return None
