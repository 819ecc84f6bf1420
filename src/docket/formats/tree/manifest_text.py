"""From a listing and its details to the text of a manifest, without an object for each entry.

A snapshot of a hundred thousand files is written before an agent starts: the listing's lines are spliced, and what
they leave out (times, groups of links, holes, attributes) is set in between in the canonical order of members.
`formats.tree.manifest` reads it back.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue, encode, spelled, utf8
from docket.formats.reason import Reason
from docket.formats.tree.address import blob_name
from docket.formats.tree.attributes import OWN_PREFIX
from docket.formats.tree.details import Detail, Details
from docket.formats.tree.listing import HEADER, Listing, Omission, path_member
from docket.formats.tree.manifest import ManifestHead
from docket.formats.tree.not_preserved import not_preserved
from docket.formats.visible import base64_text

_TEXT = r'"(?:[^"\\]|\\.)*"'
_PATH, _TARGET = rf'("path(?:_b64)?":{_TEXT})', rf'("target(?:_b64)?":{_TEXT})'
_FILE = re.compile(
    rf'\{{"kind":"file","mode":([0-9]+),{_PATH},"sha256":"([0-9a-f]{{64}})","size":([0-9]+)\}}', re.DOTALL
)
_DIRECTORY = re.compile(rf'\{{"kind":"directory","mode":([0-9]+),{_PATH}\}}', re.DOTALL)
_SYMLINK = re.compile(rf'\{{"kind":"symlink",{_PATH},{_TARGET}\}}', re.DOTALL)
_OMISSION = re.compile(
    rf'\{{"kind":"[a-z-]+",(?:"mode":[0-9]+,)?{_PATH},"reason":"[a-z-]+"(?:,"size":[0-9]+)?\}}', re.DOTALL
)
_TOO_LARGE = "it is larger than the snapshot takes"
_DEPTH = 2


@dataclass(slots=True)
class _Lists:
    """The texts of the entries, list by list."""

    entries: list[str] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)
    symlinks: list[str] = field(default_factory=list)
    not_covered: list[str] = field(default_factory=list)


def manifest_text(head: ManifestHead, listing: Listing) -> bytes:
    """Return the manifest of what `listing`, observed with its details, saw; files beyond the limit are not covered."""
    details = {path_member(item.path.raw): item for item in listing.details.paths}
    lists = _lists(head, listing, details, _groups(listing.details))
    members = {name: spelled(value, _DEPTH) for name, value in head.members().items()}
    members |= {
        "entries": _array(lists.entries),
        "directories": _array(lists.directories),
        "symlinks": _array(lists.symlinks),
        "not_covered": _array(lists.not_covered),
        "not_preserved": spelled(not_preserved(listing.details), _DEPTH),
    }
    return utf8("{" + ",".join(f'"{name}":{members[name]}' for name in sorted(members)) + "}\n")


def _array(items: Iterable[str]) -> str:
    return f"[{','.join(items)}]"


def _lists(
    head: ManifestHead, listing: Listing, details: Mapping[str, Detail], groups: Mapping[tuple[int, int], int]
) -> _Lists:
    found = _Lists()
    omissions = {path_member(item.path.raw): item for item in listing.omissions}
    times = (
        _numbers(listing.mtimes), _numbers(listing.details.directory_mtimes), _numbers(listing.details.symlink_mtimes)
    )  # fmt: skip
    for line in listing.document[len(HEADER) :].decode("utf-8").split("\n")[:-1]:
        if file := _FILE.fullmatch(line):
            mode, member, digest, size = file.groups()
            mtime_ns = next(times[0])
            if int(size) > head.limits.max_file_bytes:
                found.not_covered.append(_beyond(mode, member, digest, size))
                continue
            before, after = _extras(details.get(member), groups)
            found.entries.append(
                f'{{"blob":"{blob_name(digest)}",{before}"mode":{mode},"mtime_ns":"{mtime_ns}",{member},'
                f'"sha256":"{digest}","size":{size}{after}}}'
            )
        elif directory := _DIRECTORY.fullmatch(line):
            mode, member = directory.groups()
            found.directories.append(f'{{"mode":{mode},"mtime_ns":"{next(times[1])}",{member}}}')
        elif symlink := _SYMLINK.fullmatch(line):
            member, target = symlink.groups()
            found.symlinks.append(f'{{"mtime_ns":"{next(times[2])}",{member},{target}}}')
        else:
            found.not_covered.append(_omitted(line, omissions))
    return found


def _numbers(packed: bytes) -> Iterator[int]:
    return (number for (number,) in struct.iter_unpack("<q", packed))


def _groups(details: Details) -> dict[tuple[int, int], int]:
    """Return a number, from 1 in tree order, for each file of which the tree has several names."""
    seen = Counter(item.identity for item in details.paths if item.identity is not None)
    shared = (item.identity for item in details.paths if item.identity is not None and seen[item.identity] > 1)
    return {identity: number for number, identity in enumerate(dict.fromkeys(shared), start=1)}


def _extras(detail: Detail | None, groups: Mapping[tuple[int, int], int]) -> tuple[str, str]:
    """Return the optional members of a file, those before `mode` and those after `size`."""
    if detail is None:
        return "", ""
    group = None if detail.identity is None else groups.get(detail.identity)
    before = "" if group is None else f'"link_group":{group},'
    after = "" if detail.allocated_bytes is None else ',"sparse":true'
    return before, after + _xattrs(detail)


def _xattrs(detail: Detail) -> str:
    own = [
        {"name": base64_text(name), "value": base64_text(value)}
        for name, value in detail.xattrs
        if isinstance(value, bytes) and name.startswith(OWN_PREFIX)
    ]
    return f',"xattrs":{spelled(own, _DEPTH)}' if own else ""


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
