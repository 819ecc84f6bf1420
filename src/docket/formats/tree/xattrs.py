"""A file's extended attributes as manifests and plans tell them.

Rules (spec/plan.md, Steps; spec/snapshot.md, Manifest):
1. Name and value stand in base64, in byte order of the name, each once.
2. Only names of the `user.` namespace stand in a document, and in a plan POSIX ACLs by the kernel's names: no
   attribute of another gives or takes powers by it.
3. A plan's ACL says the permissions that the mode beside it says: setting one never widens the other.
4. What a path had is named by a step, from a manifest and from a pass alike, if a step may name it (`named_xattrs`).
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Collection, Sequence

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.relpath import MAX_NAME_BYTES
from docket.formats.tree.attributes import ACCESS_ACL, DEFAULT_ACL, Attributes, is_acl
from docket.formats.tree.listing import Kind
from docket.formats.tree.steps import MakeDirectory, SetMode, WriteFile, Xattr
from docket.formats.visible import base64_text

MAX_XATTR_VALUE_BYTES = 65_536
_NAMESPACE = b"user."
_ACL_HEAD_BYTES = 4
_ACL_ENTRY = struct.Struct("<HHI")
_ACLS: dict[str, tuple[bytes, ...]] = {Kind.FILE: (ACCESS_ACL,), Kind.DIRECTORY: (ACCESS_ACL, DEFAULT_ACL)}
_OWNER, _USER, _GROUP_OWNER, _GROUP, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20


def xattr_members(xattrs: Sequence[Xattr]) -> list[JsonValue]:
    """Return the list that stands for attributes."""
    return [{"name": base64_text(item.name), "value": base64_text(item.value)} for item in xattrs]


def read_xattrs(reader: Reader, acls: Collection[bytes] = ()) -> tuple[Xattr, ...]:
    """Read the member `xattrs`; InvalidDocumentError for what no path is to have, or not in this order."""
    found = []
    for index, value in enumerate(reader.items("xattrs")):
        item = Reader(value, f"{reader.where}.xattrs[{index}]")
        found.append(Xattr(item.base64("name"), item.base64("value")))
        item.close()
    check_xattrs(found, reader.where, acls)
    return tuple(found)


def check_xattrs(xattrs: Sequence[Xattr], where: str, acls: Collection[bytes] = ()) -> None:
    """Refuse attributes out of order, twice, of another namespace or too long; `acls` may stand among them."""
    names = [item.name for item in xattrs]
    if names != sorted(set(names)):
        raise InvalidDocumentError(Reason.NOT_CANONICAL, f"the attributes of {where} are not in order, once each")
    if not all(_is_plain(item) or (item.name in acls and is_acl(item.value)) for item in xattrs):
        detail = f"an attribute of {where} is none of the user namespace, or too long"
        raise InvalidDocumentError(Reason.WRONG_VALUE, detail)


def check_step_xattrs(step: WriteFile | MakeDirectory) -> None:
    """Refuse what the path of a step is not to have, and an ACL that says other permissions than its mode."""
    where = str(step.path)
    check_xattrs(step.xattrs or (), where, step_acls(step))
    for item in step.xattrs or ():
        if item.name == ACCESS_ACL and acl_mode(item.value) != step.mode & 0o777:
            raise InvalidDocumentError(Reason.WRONG_VALUE, f"the ACL of {where} says another mode than {step.mode:o}")
        if item.name == DEFAULT_ACL and acl_mode(item.value) is None:
            raise InvalidDocumentError(Reason.WRONG_VALUE, f"the default ACL of {where} is not a whole one")


def check_step_acl(step: SetMode) -> None:
    """Refuse an ACL that is none, or says other permissions than the mode of its step."""
    if step.acl is not None and not (is_acl(step.acl) and acl_mode(step.acl) == step.mode):
        detail = f"the ACL of {step.path} is none, or says another mode than {step.mode:o}"
        raise InvalidDocumentError(Reason.WRONG_VALUE, detail)


def step_acls(step: WriteFile | MakeDirectory) -> tuple[bytes, ...]:
    """Return the ACLs that the path of a step may have: a directory, its default one too."""
    return _ACLS[Kind.DIRECTORY if isinstance(step, MakeDirectory) else Kind.FILE]


def can_be_named(kind: str, name: bytes, value: bytes) -> bool:
    """Whether a step may give an attribute with this value to a path of this kind, if its mode agrees."""
    if name in _ACLS.get(kind, ()):
        return is_acl(value) and acl_mode(value) is not None
    return kind in _ACLS and _is_plain(Xattr(name, value))


def named_xattrs(kind: str, mode: int, attributes: Attributes) -> tuple[Xattr, ...] | None:
    """Return what a step names of the attributes that a path of this kind and mode had, None where it is nothing.

    An ACL that says another mode is left out: it was read at another moment, or nobody's.
    """
    found = [
        Xattr(name, value)
        for name, value in sorted(attributes, key=lambda item: item[0])
        if isinstance(value, bytes) and can_be_named(kind, name, value)
    ]
    return tuple(item for item in found if item.name != ACCESS_ACL or acl_mode(item.value) == mode & 0o777) or None


def named_acl(xattrs: Sequence[Xattr] | None) -> bytes | None:
    """Return the access ACL among attributes, None where there is none."""
    return next((item.value for item in xattrs or () if item.name == ACCESS_ACL), None)


def acl_mode(value: bytes) -> int | None:
    """Return the permission bits that an ACL (of that form) says a path has, None where it is not a whole one."""
    entries = list(_ACL_ENTRY.iter_unpack(value[_ACL_HEAD_BYTES:]))
    count = Counter(tag for tag, _, _ in entries)
    bits: dict[int, int] = {tag: permissions for tag, permissions, _ in entries}
    needs_mask = bool(count[_USER] or count[_GROUP])
    whole = all(count[tag] == 1 for tag in (_OWNER, _GROUP_OWNER, _OTHER)) and count[_MASK] in (needs_mask, 1)
    if not whole or not set(count) <= {_OWNER, _USER, _GROUP_OWNER, _GROUP, _MASK, _OTHER}:
        return None
    return bits[_OWNER] << 6 | bits.get(_MASK, bits[_GROUP_OWNER]) << 3 | bits[_OTHER]


def _is_plain(item: Xattr) -> bool:
    is_own = item.name.startswith(_NAMESPACE) and b"\0" not in item.name
    fits = len(_NAMESPACE) < len(item.name) <= MAX_NAME_BYTES and len(item.value) <= MAX_XATTR_VALUE_BYTES
    return is_own and fits
