"""Extended attributes of a path: which are kept with their values, and how the stat cache remembers a file's.

Rules (spec/tree.md, Details):
1. Kept with their values are a user's own (`user.`) and POSIX ACLs, as the kernel gives them. Of others (`security.`,
   `trusted.`, ...) the name alone is told: no ordinary restore could set them.
2. The values of one path take at most `MAX_KEPT_BYTES` together; one that does not fit is told by its size.
3. What is remembered of a file is nothing where it has none, its attributes where they are few, or that it must be
   asked again (`ASK`).

It reads nothing (host.attributes) and restores nothing.
"""

from __future__ import annotations

import struct
from typing import TypeAlias

Attributes: TypeAlias = tuple[tuple[bytes, bytes | int | None], ...]
"""Names in byte order, each with its value, its size in bytes where that is too large to keep, or None (not read)."""

ACCESS_ACL, DEFAULT_ACL = b"system.posix_acl_access", b"system.posix_acl_default"
OWN_PREFIX = b"user."
UNLISTED = b"*"
"""Stands for the names where they could not be listed."""
MAX_KEPT_BYTES = 16 * 1024
MAX_REMEMBERED_BYTES = 255
ASK = b"?"
_NOT_READ, _MAX_PART_BYTES = 255, 254
_ACL_VERSION = 2
_ACL_HEAD, _ACL_ENTRY = struct.Struct("<I"), struct.Struct("<HHI")


def is_kept(name: bytes) -> bool:
    """Whether the value of an attribute is kept."""
    return name.startswith(OWN_PREFIX) or name in (ACCESS_ACL, DEFAULT_ACL)


def is_acl(value: bytes) -> bool:
    """Whether a value has the form of a POSIX ACL: version 2 and entries of tag, permissions and id (linux/acl)."""
    size = len(value) - _ACL_HEAD.size
    if not 0 < size <= MAX_KEPT_BYTES or size % _ACL_ENTRY.size or _ACL_HEAD.unpack_from(value) != (_ACL_VERSION,):
        return False
    return all(permissions <= 0o7 for _, permissions, _ in _ACL_ENTRY.iter_unpack(value[_ACL_HEAD.size :]))


def remembered(attributes: Attributes) -> bytes:
    """Return what a cache keeps of them: empty for none, `ASK` where they are too many or too large."""
    parts: list[bytes] = []
    for name, value in attributes:
        if isinstance(value, int) or len(name) > _MAX_PART_BYTES or len(value or b"") > _MAX_PART_BYTES:
            return ASK
        length = _NOT_READ if value is None else len(value)
        parts.append(bytes((len(name),)) + name + bytes((length,)) + (value or b""))
    packed = b"".join(parts)
    return packed if len(packed) <= MAX_REMEMBERED_BYTES else ASK


def recalled(packed: bytes) -> Attributes | None:
    """Return what `remembered` was given, None where the file must be asked."""
    found: list[tuple[bytes, bytes | None]] = []
    at = 0
    while at < len(packed):
        name, at = _part(packed, at)
        if at >= len(packed):
            return None
        if packed[at] == _NOT_READ:
            found.append((name, None))
            at += 1
            continue
        value, at = _part(packed, at)
        if at > len(packed):
            return None
        found.append((name, value))
    return tuple(found)


def _part(packed: bytes, at: int) -> tuple[bytes, int]:
    """Return the bytes that a length at `at` announces, and where they should end."""
    end = at + 1 + packed[at]
    return packed[at + 1 : end], end
