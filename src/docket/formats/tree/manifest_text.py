"""From a listing and its details to the text of a manifest, without an object for each entry.

A snapshot of a hundred thousand files is written before an agent starts: the listing's lines are spliced, and what
they leave out (times, groups of links, holes, attributes) is set in between in the canonical order of members.
`formats.tree.manifest` reads it back.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterator, Mapping

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue, encode, spelled, utf8
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.formats.tree.attributes import ACCESS_ACL, DEFAULT_ACL, OWN_PREFIX, is_acl
from docket.formats.tree.details import Detail, Details
from docket.formats.tree.listing import Listing, Omission, path_member
from docket.formats.tree.manifest import ManifestHead
from docket.formats.tree.not_preserved import not_preserved
from docket.formats.visible import base64_text

_TEXT = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_PATH, _TARGET = rf'("path(?:_b64)?":{_TEXT})', rf'("target(?:_b64)?":{_TEXT})'
_FILE = re.compile(
    rf'\{{"kind":"file","mode":([0-9]+),{_PATH},"sha256":"([0-9a-f]{{2}})([0-9a-f]{{62}})","size":([0-9]+)\}}',
    re.DOTALL,
)
_DIRECTORY = re.compile(rf'\{{"kind":"directory","mode":([0-9]+),{_PATH}\}}', re.DOTALL)
_SYMLINK = re.compile(rf'\{{"kind":"symlink",{_PATH},{_TARGET}\}}', re.DOTALL)
_OMISSION = re.compile(
    rf'\{{"kind":"[a-z-]+",(?:"mode":[0-9]+,)?{_PATH},"reason":"[a-z-]+"(?:,"size":[0-9]+)?\}}', re.DOTALL
)
_TOO_LARGE = "it is larger than the snapshot takes"
_DEPTH = 2
_WAITING_ITEMS = 1024
_NO_EXTRAS = "", "", ""
_ACLS = {ACCESS_ACL: "acl", DEFAULT_ACL: "default_acl"}


class _Array:
    """A list's text: its items are encoded many at a time, so that few of them are held."""

    __slots__ = ("_text", "_waiting")

    def __init__(self) -> None:
        self._text = bytearray(b"[")
        self._waiting: list[str] = []

    def append(self, item: str) -> None:
        self._waiting.append(item)
        if len(self._waiting) == _WAITING_ITEMS:
            self._encode()

    def _encode(self) -> None:
        if self._waiting:
            self._text += b"," if len(self._text) > 1 else b""
            self._text += ",".join(self._waiting).encode("utf-8")
            self._waiting.clear()

    def text(self) -> bytearray:
        """Return the whole list; nothing is appended to it afterwards."""
        self._encode()
        self._text += b"]"
        return self._text


@dataclass(slots=True)
class _Lists:
    """The texts of the entries, list by list."""

    entries: _Array = field(default_factory=_Array)
    directories: _Array = field(default_factory=_Array)
    symlinks: _Array = field(default_factory=_Array)
    not_covered: _Array = field(default_factory=_Array)


def manifest_text(head: ManifestHead, listing: Listing) -> bytes:
    """Return the manifest of what `listing`, observed with its details, saw; files beyond the limit are not covered."""
    details = {path_member(item.path.raw): item for item in listing.details.paths}
    lists = _lists(head, listing, details, _groups(listing.details))
    members: dict[str, bytes | bytearray] = {
        name: utf8(spelled(value, _DEPTH)) for name, value in head.members().items()
    }
    members |= {
        "entries": lists.entries.text(),
        "directories": lists.directories.text(),
        "symlinks": lists.symlinks.text(),
        "not_covered": lists.not_covered.text(),
        "not_preserved": utf8(spelled(not_preserved(listing.details), _DEPTH)),
    }
    pieces: list[bytes | bytearray] = []
    for name in sorted(members):
        pieces += (b"," if pieces else b"{", b'"%s":' % name.encode("ascii"), members[name])
    return b"".join((*pieces, b"}\n"))


def _lists(
    head: ManifestHead, listing: Listing, details: Mapping[str, Detail], groups: Mapping[tuple[int, int], int]
) -> _Lists:
    found = _Lists()
    omissions = {path_member(item.path.raw): item for item in listing.omissions}
    times = (
        _numbers(listing.mtimes), _numbers(listing.details.directory_mtimes), _numbers(listing.details.symlink_mtimes)
    )  # fmt: skip
    of_file, limit, entry = _FILE.fullmatch, head.limits.max_file_bytes, found.entries.append
    for line in listing.texts():
        if file := of_file(line):
            mode, member, first, rest, size = file.groups()
            (mtime_ns,) = next(times[0])
            if int(size) > limit:
                found.not_covered.append(_beyond(mode, member, first + rest, size))
                continue
            acls, before, after = _extras(details[member], groups) if member in details else _NO_EXTRAS
            # The blob's name is `formats.tree.address.blob_name` of the digest.
            entry(
                f'{{{acls}"blob":"{first}/{rest}",{before}"mode":{mode},"mtime_ns":"{mtime_ns}",{member},'
                f'"sha256":"{first}{rest}","size":{size}{after}}}'
            )
        elif directory := _DIRECTORY.fullmatch(line):
            mode, member = directory.groups()
            (mtime_ns,) = next(times[1])
            acls, _, after = _extras(details[member], groups) if member in details else _NO_EXTRAS
            found.directories.append(f'{{{acls}"mode":{mode},"mtime_ns":"{mtime_ns}",{member}{after}}}')
        elif symlink := _SYMLINK.fullmatch(line):
            member, target = symlink.groups()
            (mtime_ns,) = next(times[2])
            found.symlinks.append(f'{{"mtime_ns":"{mtime_ns}",{member},{target}}}')
        else:
            found.not_covered.append(_omitted(line, omissions))
    return found


def _numbers(packed: bytes) -> Iterator[tuple[int]]:
    return struct.iter_unpack("<q", packed)


def _groups(details: Details) -> dict[tuple[int, int], int]:
    """Return a number, from 1 in tree order, for each file of which the tree has several names."""
    seen = Counter(item.identity for item in details.paths if item.identity is not None)
    shared = (item.identity for item in details.paths if item.identity is not None and seen[item.identity] > 1)
    return {identity: number for number, identity in enumerate(dict.fromkeys(shared), start=1)}


def _extras(detail: Detail, groups: Mapping[tuple[int, int], int]) -> tuple[str, str, str]:
    """Return the optional members of an entry: those in front, those right before `mode`, those at the end."""
    group = None if detail.identity is None else groups.get(detail.identity)
    before = "" if group is None else f'"link_group":{group},'
    after = "" if detail.allocated_bytes is None else ',"sparse":true'
    acls, own = "", []
    for name, value in detail.xattrs:
        if not isinstance(value, bytes):
            continue
        if name.startswith(OWN_PREFIX):
            own.append({"name": base64_text(name), "value": base64_text(value)})
        elif is_acl(value):
            acls += f'"{_ACLS[name]}":"{base64_text(value)}",'
    return acls, before, after + (f',"xattrs":{spelled(own, _DEPTH)}' if own else "")


def _beyond(mode: str, member: str, digest: str, size: str) -> str:
    return (
        f'{{"detail":"{_TOO_LARGE}","kind":"file","mode":{mode},{member},"reason":"{Reason.TOO_LARGE}",'
        f'"sha256":"{digest}","size":{size}}}'
    )


def _omitted(line: str, omissions: Mapping[str, Omission]) -> str:
    """Return an omission's line with the prose that the listing leaves out."""
    member = _member_of(line)
    omission = omissions.get(member)
    if omission is None:
        raise InvalidDocumentError(Reason.MISSING_MEMBER, "a line of the listing is neither an entry nor an omission")
    members: dict[str, JsonValue] = dict(omission.path.members())
    members["reason"] = str(omission.reason)
    optional = {
        "detail": omission.detail,
        "kind": None if omission.kind is None else str(omission.kind),
        "mode": omission.mode,
        "size": omission.size,
    }
    members |= {name: value for name, value in optional.items() if value is not None}
    return encode(members).decode("utf-8")


def _member_of(line: str) -> str:
    found = _OMISSION.fullmatch(line)
    return "" if found is None else found[1]
