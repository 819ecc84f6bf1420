"""Giving a file or directory the attributes that a plan names: users' own and POSIX ACLs, and no others.

Rules:
1. What is there and is not named is taken away; `security.` and `trusted.` attributes are left alone.
2. What the kernel or the file system does not let an ordinary user set is told, and stops nothing.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable

from docket.formats.tree.attributes import ACCESS_ACL, DEFAULT_ACL, is_kept
from docket.formats.tree.steps import Xattr
from docket.host.tree_calls import TreeCalls, open_for_attributes

_NOT_KEPT = (
    errno.EOPNOTSUPP,
    errno.EPERM,
    errno.EACCES,
    errno.ENOSPC,
    errno.E2BIG,
    errno.ERANGE,
    errno.EINVAL,
)


def attributes_of(descriptor: int) -> tuple[Xattr, ...]:
    """Return users' own attributes and ACLs of what a descriptor stands for, in order of name; none if unreadable."""
    target = open_for_attributes(descriptor)
    try:
        names = sorted(os.fsencode(item) for item in os.listxattr(target))
        return tuple(Xattr(item, os.getxattr(target, item)) for item in names if is_kept(item))
    except OSError:
        return ()


def set_attributes(calls: TreeCalls, descriptor: int, wanted: Iterable[Xattr]) -> tuple[str, ...]:
    """Make these the attributes of what a descriptor stands for; return the names that could not be set or taken."""
    lost = []
    present = {item.name: item.value for item in attributes_of(descriptor)}
    values = {item.name: item.value for item in wanted}
    for name, value in sorted(values.items()):
        if present.get(name) != value and not set_attribute(calls, descriptor, name, value):
            lost.append(name)
    lost += [name for name in present if name not in values and not _taken(calls, descriptor, name)]
    return tuple(name.decode("utf-8", "backslashreplace") for name in lost)


def shed_inherited(calls: TreeCalls, parent: int, descriptor: int) -> None:
    """Take from a new thing the ACLs that its directory gave it. May raise OSError."""
    if has_default_acl(parent):
        for name in (ACCESS_ACL, DEFAULT_ACL):
            if _has(descriptor, name):
                calls.remove_xattr(descriptor, name)


def has_default_acl(descriptor: int) -> bool:
    """Whether new things in an open directory begin with an ACL."""
    return _has(descriptor, DEFAULT_ACL)


def not_kept(error: OSError) -> bool:
    """Whether an error says that this user or file system cannot have it, rather than that something is broken."""
    return error.errno in _NOT_KEPT


def _has(descriptor: int, name: bytes) -> bool:
    try:
        os.getxattr(open_for_attributes(descriptor), name)
    except OSError:
        return False
    return True


def set_attribute(calls: TreeCalls, descriptor: int, name: bytes, value: bytes) -> bool:
    """Set one; False where this user or file system cannot have it."""
    try:
        calls.set_xattr(descriptor, name, value)
    except OSError as error:
        if not not_kept(error):
            raise
        return False
    return True


def _taken(calls: TreeCalls, descriptor: int, name: bytes) -> bool:
    try:
        calls.remove_xattr(descriptor, name)
    except OSError as error:
        if error.errno != errno.ENODATA and not not_kept(error):
            raise
        return error.errno == errno.ENODATA
    return True
