"""A status listing, `docket/tree-status/v1`: what the inodes of files say, for those whose contents were not read.

Rules (spec/tree.md, Status listings):
1. One record a file, in tree order: its path, size and mode, its inode, mtime and ctime, and its digest if that is
   known.
2. Numbers that may be beyond what every reader of JSON keeps are decimal text.
3. Records are found by bisecting the text: what is looked up costs what is looked up, however many there are.

It does not observe (engines.observe), and does not say what of a tree is taken for unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue, decode, encode
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest, sha256
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import MAX_MODE, tree_order
from docket.formats.tree.spans import own_line, span

FORMAT = "docket/tree-status/v1"
HEADER = b'{"format":"docket/tree-status/v1"}\n'
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,19}")


class FileStatus(NamedTuple):
    """What an inode says of a regular file: times in nanoseconds since the epoch."""

    size: int
    mode: int
    inode: int
    mtime_ns: int
    ctime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusEntry:
    """A regular file and its digest, where that is known."""

    path: RelPath
    status: FileStatus
    sha256: Digest | None = None


@dataclass(frozen=True, slots=True)
class StatusListing:
    """A whole status listing as its bytes; made by `status_listing`."""

    document: bytes
    digest: Digest

    @property
    def files(self) -> int:
        """How many there are."""
        return self.document.count(b"\n") - 1

    def entries(self) -> tuple[StatusEntry, ...]:
        """Return all of them, in tree order; InvalidDocumentError where a line is no record."""
        return _read(self.document[len(HEADER) :])

    def at(self, path: RelPath) -> StatusEntry | None:
        """Return that of a path, None where there is none; InvalidDocumentError where what is met is no record."""
        start, end = own_line(self.document, path)
        return None if start == end else decode_status(self.document[start : end - 1])

    def without(self, paths: Iterable[RelPath]) -> bytes:
        """Return the records of the others, without the header line."""
        pieces, at = [], len(HEADER)
        for path in sorted(set(paths), key=lambda item: tree_order(item.raw)):
            start, end = own_line(self.document, path)
            pieces.append(self.document[at:start])
            at = end
        return b"".join((*pieces, self.document[at:]))

    def part(self, roots: Iterable[RelPath]) -> tuple[StatusEntry, ...]:
        """Return those at and below `roots`, none of which lies below another, in tree order.

        InvalidDocumentError where a line that is met is no record.
        """
        spans = (span(self.document, root) for root in sorted(roots, key=lambda item: tree_order(item.raw)))
        return _read(b"".join(self.document[start:end] for start, end in spans))


def status_listing(document: bytes) -> StatusListing:
    """Return the listing that a document is; InvalidDocumentError where it is none.

    A record is read when it is asked for: who has a digest of the document compares it first.
    """
    if not document.startswith(HEADER):
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"a status listing begins with the {FORMAT} header line")
    if not document.endswith(b"\n"):
        raise InvalidDocumentError(Reason.TORN_TAIL, "a status listing ends with a line end")
    return StatusListing(document, sha256(document))


def status_line(member: str, status: FileStatus, digest: str | None) -> str:
    """Return a file's line, given its path as `listing.path_member` spells it."""
    known = "" if digest is None else f',"sha256":"{digest}"'
    return (
        f'{{"ctime_ns":"{status.ctime_ns}","inode":"{status.inode}","mode":{status.mode},'
        f'"mtime_ns":"{status.mtime_ns}",{member}{known},"size":{status.size}}}\n'
    )


def encode_status(entry: StatusEntry) -> bytes:
    """Return the canonical line of one record, line end included."""
    status = entry.status
    members: dict[str, JsonValue] = {"mode": status.mode, "size": status.size, **entry.path.members()}
    members |= {name: str(getattr(status, name)) for name in ("inode", "mtime_ns", "ctime_ns")}
    members |= {} if entry.sha256 is None else {"sha256": entry.sha256}
    return encode(members) + b"\n"


def decode_status(line: bytes) -> StatusEntry:
    """Read one line (without its line end); InvalidDocumentError for anything `encode_status` does not write."""
    reader = Reader(decode(line), "a status listing's record")
    path = RelPath.from_members({key: reader.any(key) for key in ("path", "path_b64") if reader.has(key)})
    inode, mtime_ns, ctime_ns = (_number(reader, name) for name in ("inode", "mtime_ns", "ctime_ns"))
    mode, size = reader.integer("mode"), reader.integer("size")
    status = FileStatus(size=size, mode=mode, inode=inode, mtime_ns=mtime_ns, ctime_ns=ctime_ns)
    entry = StatusEntry(path=path, status=status, sha256=reader.digest("sha256") if reader.has("sha256") else None)
    reader.close()
    if mode > MAX_MODE:
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"the mode of {path} has bits beyond {MAX_MODE:o}")
    return entry


def _read(lines: bytes) -> tuple[StatusEntry, ...]:
    return tuple(map(decode_status, lines.split(b"\n")[:-1]))


def _number(reader: Reader, name: str) -> int:
    text = reader.text(name)
    if not _NUMBER.fullmatch(text):
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{reader.where}.{name} is no whole number as text")
    return int(text)
