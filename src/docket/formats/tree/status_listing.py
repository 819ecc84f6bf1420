"""A status listing, `docket/tree-status/v1`: a tree as its directories and inodes tell it, contents unread.

Rules (spec/workspace.md, Base manifest):
1. One record a path, in tree order. Directories, links and omissions are told as in a listing; a file by its inode,
   size, mode, mtime and ctime, and by its digest where the status alone does not vouch for its content.
2. A record of a file has its status or its digest, or both. What is compared is the digest where it stands, else the
   status.
3. Numbers that may be beyond what every reader of JSON keeps are decimal text.
4. Records are found by bisecting the text: what is looked up costs what is looked up, whatever the tree holds.

It does not observe (engines.observe) and does not compare with a tree (rules.workspace.base_part).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue, decode, encode
from docket.formats.digest import Digest, sha256
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import HEADER as LISTING_HEADER
from docket.formats.tree.listing import (
    MAX_MODE,
    DirectoryEntry,
    Kind,
    Listing,
    Omission,
    Record,
    SymlinkEntry,
    decode_record,
    encode_record,
    tree_order,
)
from docket.formats.tree.spans import own_line, span

FORMAT = "docket/tree-status/v1"
HEADER = b'{"format":"docket/tree-status/v1"}\n'
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,19}")
_OMITTED = b',"reason":"'  # a bare quote never stands inside a JSON string, so this is a member's name wherever it is


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatus:
    """What a file's inode says: times in nanoseconds since the epoch."""

    inode: int
    mtime_ns: int
    ctime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusEntry:
    """A regular file; `status` or `sha256` may be None, not both."""

    path: RelPath
    size: int
    mode: int
    status: FileStatus | None
    sha256: Digest | None = None


StatusRecord: TypeAlias = StatusEntry | DirectoryEntry | SymlinkEntry | Omission


@dataclass(frozen=True, slots=True)
class StatusListing:
    """A whole status listing as its bytes, and what of it is always wanted."""

    document: bytes
    digest: Digest
    omissions: tuple[Omission, ...]

    def part(self, roots: Iterable[RelPath]) -> tuple[StatusRecord, ...]:
        """Return the records at and below `roots`, none of which lies below another, in tree order.

        InvalidDocumentError where a line that is met is no record.
        """
        found: list[StatusRecord] = []
        for root in sorted(roots, key=lambda item: tree_order(item.raw)):
            start, end = span(self.document, root)
            found += map(decode_status, self.document[start:end].split(b"\n")[:-1])
        return tuple(found)

    def with_records(self, gone: Iterable[RelPath], come: Iterable[StatusRecord]) -> StatusListing:
        """Return the listing without the records of the paths `gone`, and with those of `come` in their places."""
        records = {record.path: encode_status(record) for record in come}
        pieces: list[bytes] = []
        at = 0
        for path in sorted({*gone, *records}, key=lambda item: tree_order(item.raw)):
            start, end = own_line(self.document, path)
            pieces += (self.document[at:start], records.get(path, b""))
            at = end
        return status_listing(b"".join((*pieces, self.document[at:])))


def status_listing(document: bytes) -> StatusListing:
    """Return the listing that a document is; InvalidDocumentError where it is none.

    A record is read when it is asked for: who has a digest of the document compares it first.
    """
    if not document.startswith(HEADER):
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"a status listing begins with the {FORMAT} header line")
    if not document.endswith(b"\n"):
        raise InvalidDocumentError(Reason.TORN_TAIL, "a status listing ends with a line end")
    return StatusListing(document, sha256(document), tuple(_omissions(document)))


def summary_of(status: StatusListing, seen: Listing) -> Listing:
    """Return a listing of the counts, omissions and root that a pass has seen, which holds no record of a file."""
    found = Listing(LISTING_HEADER, counts=seen.counts, omissions=status.omissions, root=seen.root)
    found.details = seen.details
    return found


def status_line(member: str, mode: int, size: int, numbers: tuple[int, int, int], digest: str | None) -> str:
    """Return a file's line, given its path as `listing.path_member` spells it; `numbers` are inode, mtime and ctime."""
    inode, mtime_ns, ctime_ns = numbers
    known = "" if digest is None else f',"sha256":"{digest}"'
    return (
        f'{{"ctime_ns":"{ctime_ns}","inode":"{inode}","kind":"file","mode":{mode},"mtime_ns":"{mtime_ns}",'
        f'{member}{known},"size":{size}}}\n'
    )


def encode_status(record: StatusRecord) -> bytes:
    """Return the canonical line of one record, line end included."""
    if not isinstance(record, StatusEntry):
        return encode_record(record)
    members: dict[str, JsonValue] = {"kind": str(Kind.FILE), "mode": record.mode, "size": record.size}
    members |= record.path.members()
    if record.status is not None:
        status = record.status
        members |= {"inode": str(status.inode), "mtime_ns": str(status.mtime_ns), "ctime_ns": str(status.ctime_ns)}
    if record.sha256 is not None:
        members["sha256"] = record.sha256
    return encode(members) + b"\n"


def decode_status(line: bytes) -> StatusRecord:
    """Read one line (without its line end); InvalidDocumentError for anything `encode_status` does not write."""
    value = decode(line)
    reader = Reader(value, "a status listing's record")
    if reader.choice("kind", tuple(Kind)) != Kind.FILE.value or reader.has("reason"):
        return _no_file(line)
    path = RelPath.from_members({key: reader.any(key) for key in ("path", "path_b64") if reader.has(key)})
    mode, size = reader.integer("mode"), reader.integer("size")
    numbers = {name: _number(reader, name) for name in ("inode", "mtime_ns", "ctime_ns") if reader.has(name)}
    digest = reader.digest("sha256") if reader.has("sha256") else None
    reader.close()
    if mode > MAX_MODE or len(numbers) not in (0, 3) or (digest is None and not numbers):
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"the record of {path} tells no file")
    status = FileStatus(**numbers) if numbers else None
    entry = StatusEntry(path=path, size=size, mode=mode, status=status, sha256=digest)
    if encode_status(entry) != line + b"\n":
        raise InvalidDocumentError(Reason.NOT_CANONICAL, f"the record of {path} is not in its only spelling")
    return entry


def _no_file(line: bytes) -> DirectoryEntry | SymlinkEntry | Omission:
    record: Record = decode_record(line)
    assert isinstance(record, DirectoryEntry | SymlinkEntry | Omission)  # noqa: S101 - its kind was looked at
    return record


def _number(reader: Reader, name: str) -> int:
    text = reader.text(name)
    if not _NUMBER.fullmatch(text):
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{reader.where}.{name} is no whole number as text")
    return int(text)


def _omissions(document: bytes) -> Iterator[Omission]:
    at = document.find(_OMITTED)
    while at >= 0:
        start, end = document.rindex(b"\n", 0, at) + 1, document.index(b"\n", at)
        record = decode_record(document[start:end])
        if not isinstance(record, Omission):
            raise InvalidDocumentError(Reason.WRONG_VALUE, "a record with a reason is an omission")
        yield record
        at = document.find(_OMITTED, end)
