"""A file's extended attributes as manifests and plans tell them.

Rules (spec/plan.md, Steps; spec/snapshot.md, Manifest):
1. Name and value stand in base64, in byte order of the name, each once.
2. Only names of the `user.` namespace stand in a document: no attribute of another gives or takes powers by it.
"""

from __future__ import annotations

from collections.abc import Sequence

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.relpath import MAX_NAME_BYTES
from docket.formats.tree.steps import Xattr
from docket.formats.visible import base64_text

MAX_XATTR_VALUE_BYTES = 65_536
_NAMESPACE = b"user."


def xattr_members(xattrs: Sequence[Xattr]) -> list[JsonValue]:
    """Return the list that stands for attributes."""
    return [{"name": base64_text(item.name), "value": base64_text(item.value)} for item in xattrs]


def read_xattrs(reader: Reader) -> tuple[Xattr, ...]:
    """Read the member `xattrs`; InvalidDocumentError for what no file is to have, or not in this order."""
    found = []
    for index, value in enumerate(reader.items("xattrs")):
        item = Reader(value, f"{reader.where}.xattrs[{index}]")
        found.append(Xattr(item.base64("name"), item.base64("value")))
        item.close()
    check_xattrs(found, reader.where)
    return tuple(found)


def check_xattrs(xattrs: Sequence[Xattr], where: str) -> None:
    """Refuse attributes out of order, twice, of another namespace or too long."""
    names = [item.name for item in xattrs]
    if names != sorted(set(names)):
        raise InvalidDocumentError(Reason.NOT_CANONICAL, f"the attributes of {where} are not in order, once each")
    if not all(_is_plain(item) for item in xattrs):
        detail = f"an attribute of {where} is none of the user namespace, or too long"
        raise InvalidDocumentError(Reason.WRONG_VALUE, detail)


def _is_plain(item: Xattr) -> bool:
    is_own = item.name.startswith(_NAMESPACE) and b"\0" not in item.name
    fits = len(_NAMESPACE) < len(item.name) <= MAX_NAME_BYTES and len(item.value) <= MAX_XATTR_VALUE_BYTES
    return is_own and fits
