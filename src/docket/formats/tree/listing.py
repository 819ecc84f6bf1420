"""A listing: everything one pass saw in a tree, as values and as the canonical bytes whose digest names the tree.

Rules (spec/tree.md):
1. One record a path, in tree order: a directory stands right before what it holds (`tree_order`).
2. A record is an entry (file, directory, symlink) or an `Omission`: what could not or would not be observed is
   named with a reason and whatever was seen of it.
3. The encoding is a header line and one canonical JSON line a record; `tree_sha256` is the digest of those bytes.
4. Modification times are carried beside the encoding and do not enter the digest; nor does an omission's prose.

The bytes are the value: records are decoded when they are asked for, so a pass over a large tree that changed
nothing builds no objects. It does not observe (engines.observe) and does not compare (rules.tree.diff).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import pairwise
from json.encoder import encode_basestring
from typing import TypeAlias

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue, decode, encode
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest, sha256
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.details import Details
from docket.formats.tree.kinds import Kind as Kind  # noqa: PLC0414 - a word of a listing, which its readers take from here
from docket.formats.visible import Base64Fault, base64_bytes, base64_text

FORMAT = "docket/tree/v1"
HEADER = b'{"format":"docket/tree/v1"}\n'
MAX_MODE = 0o7777
_PIECE_BYTES = 256 * 1024
_NO_DETAILS = Details()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """A regular file: `mode` its permission bits with setuid, setgid and sticky; `mtime_ns` since the epoch."""

    path: RelPath
    size: int
    mode: int
    mtime_ns: int
    sha256: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryEntry:
    """A directory, empty ones too."""

    path: RelPath
    mode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SymlinkEntry:
    """A symbolic link and its literal target; it is never followed."""

    path: RelPath
    target: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """A path whose content is not in the listing, and why; kind, mode and size as far as they were seen.

    An omitted directory stands for everything below it.
    """

    path: RelPath
    reason: Reason
    detail: str | None = None
    kind: Kind | None = None
    mode: int | None = None
    size: int | None = None


Entry: TypeAlias = FileEntry | DirectoryEntry | SymlinkEntry
Record: TypeAlias = Entry | Omission


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How much a listing holds; `bytes` is the sum of the sizes of the files whose content was read."""

    files: int = 0
    directories: int = 0
    symlinks: int = 0
    omissions: int = 0
    bytes: int = 0


def tree_order(raw: bytes) -> bytes:
    """Return the sort key of a path: its bytes with each slash below every other byte."""
    return raw.replace(b"/", b"\0")


class Listing:
    """What one pass saw. `document` is the whole encoding, `omissions` carry the prose the encoding leaves out.

    `mtimes` holds one little-endian signed 64-bit number a file, in the files' order; empty where unknown (a
    listing that was decoded), in which case every `mtime_ns` reads 0. `root` is the (device, inode) of the
    directory that was observed, where the listing comes from a pass; `details` is what the pass saw beside it, and
    `statuses` the records of a status listing (formats.tree.status_listing) that it was asked for. `starts` holds where
    the lines begin in which a text stands, of texts that were looked for (formats.tree.parts).
    """

    __slots__ = (
        "_by_path", "_records", "counts", "details", "document", "mtimes", "omissions", "root", "starts", "statuses",
        "tree_sha256",
    )  # fmt: skip

    def __init__(
        self,
        document: bytes,
        *,
        counts: Counts,
        omissions: tuple[Omission, ...] = (),
        mtimes: bytes = b"",
        root: tuple[int, int] | None = None,
    ) -> None:
        self.document = document
        self.counts = counts
        self.omissions = omissions
        self.mtimes = mtimes
        self.root = root
        self.details = _NO_DETAILS
        self.statuses = b""
        self.starts: dict[bytes, tuple[int, ...]] = {}
        self.tree_sha256 = sha256(document)
        self._records: tuple[Record, ...] | None = None
        self._by_path: dict[RelPath, Record] | None = None

    @property
    def files(self) -> int:
        """How many files were read."""
        return self.counts.files

    @property
    def directories(self) -> int:
        """How many directories were listed, the root not counted."""
        return self.counts.directories

    @property
    def symlinks(self) -> int:
        """How many symbolic links there are."""
        return self.counts.symlinks

    @property
    def bytes_watched(self) -> int:
        """The sum of the sizes of the files that were read."""
        return self.counts.bytes

    @property
    def records(self) -> tuple[Record, ...]:
        """Entries and omissions in tree order."""
        if self._records is None:
            self._records = tuple(self._decoded())
        return self._records

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries in tree order."""
        return tuple(record for record in self.records if not isinstance(record, Omission))

    def record(self, path: RelPath) -> Record | None:
        """Return what the listing says of `path`, None where nothing stood or an omission above covers it."""
        if self._by_path is None:
            self._by_path = {record.path: record for record in self.records}
        return self._by_path.get(path)

    def lines(self) -> list[bytes]:
        """Return the encoded records, one a line, without the header and without line ends."""
        return self.document[len(HEADER) :].split(b"\n")[:-1]

    def texts(self) -> Iterator[str]:
        """Yield the encoded records as text, as `lines` returns them, without holding all of them at once."""
        at, end = len(HEADER), len(self.document)
        while at < end:
            cut = self.document.find(b"\n", min(at + _PIECE_BYTES, end - 1)) + 1
            yield from self.document[at : cut or end].decode("utf-8").split("\n")[:-1]
            at = cut or end

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listing) and self.document == other.document

    def __hash__(self) -> int:
        return hash(self.document)

    def __repr__(self) -> str:
        return f"Listing({self.counts}, tree_sha256={self.tree_sha256})"

    def _decoded(self) -> Iterator[Record]:
        details = {omission.path: omission for omission in self.omissions}
        times = iter(struct.unpack(f"<{len(self.mtimes) // 8}q", self.mtimes))
        for line in self.lines():
            record = decode_record(line)
            if isinstance(record, FileEntry):
                mtime_ns = next(times, 0)
                yield FileEntry(
                    path=record.path, size=record.size, mode=record.mode, mtime_ns=mtime_ns, sha256=record.sha256
                )
            elif isinstance(record, Omission):
                yield details.get(record.path, record)
            else:
                yield record


def listing_of(records: Iterable[Record]) -> Listing:
    """Return the listing that holds `records`; InvalidDocumentError where a path stands twice."""
    ordered = sorted(records, key=lambda record: tree_order(record.path.raw))
    for earlier, later in pairwise(ordered):
        if earlier.path == later.path:
            raise InvalidDocumentError(Reason.DUPLICATE_KEY, f"the path {later.path} stands twice in one listing")
    files = [record for record in ordered if isinstance(record, FileEntry)]
    return Listing(
        HEADER + b"".join(encode_record(record) for record in ordered),
        counts=_counted(ordered),
        omissions=tuple(record for record in ordered if isinstance(record, Omission)),
        mtimes=struct.pack(f"<{len(files)}q", *(item.mtime_ns for item in files)),
    )


def decode_listing(document: bytes) -> Listing:
    """Read what `Listing.document` wrote and nothing else; modification times and prose are not in it."""
    if not document.startswith(HEADER):
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"a listing begins with the {FORMAT} header line")
    if not document.endswith(b"\n"):
        raise InvalidDocumentError(Reason.TORN_TAIL, "a listing ends with a line end")
    records = [decode_record(line) for line in document[len(HEADER) :].split(b"\n")[:-1]]
    listing = listing_of(records)
    if listing.document != document:
        raise InvalidDocumentError(Reason.NOT_CANONICAL, "the records are not in tree order")
    return listing


def encode_record(record: Record) -> bytes:
    """Return the canonical line of one record, line end included."""
    members: dict[str, JsonValue] = dict(record.path.members())
    match record:
        case FileEntry():
            members.update(kind=Kind.FILE, mode=record.mode, sha256=record.sha256, size=record.size)
        case DirectoryEntry():
            members.update(kind=Kind.DIRECTORY, mode=record.mode)
        case SymlinkEntry():
            members["kind"] = Kind.SYMLINK
            members.update(target_members(record.target))
        case _:
            members.update(kind=record.kind or Kind.UNKNOWN, reason=record.reason)
            members.update({k: v for k, v in (("mode", record.mode), ("size", record.size)) if v is not None})
    return encode({key: str(value) if isinstance(value, StrEnum) else value for key, value in members.items()}) + b"\n"


def decode_record(line: bytes) -> Record:
    """Read one line (without its line end); InvalidDocumentError for anything `encode_record` does not write."""
    value = decode(line)
    reader = Reader(value, "a listing's record")
    path = RelPath.from_members({key: reader.any(key) for key in ("path", "path_b64") if reader.has(key)})
    kind = Kind(reader.choice("kind", tuple(Kind)))
    record = _omission(reader, path, kind) if reader.has("reason") else _entry(reader, path, kind)
    reader.close()
    return record


def file_line(member: str, mode: int, digest: str, size: int) -> str:
    """Return a file's line, given its path as `path_member` or `member_prefix` spell it."""
    return f'{{"kind":"file","mode":{mode},{member},"sha256":"{digest}","size":{size}}}\n'


def directory_line(member: str, mode: int) -> str:
    """Return a directory's line, given its path as `path_member` spells it."""
    return f'{{"kind":"directory","mode":{mode},{member}}}\n'


def path_member(raw: bytes) -> str:
    """Return a path's JSON member, `"path":"..."` or `"path_b64":"..."`."""
    try:
        return f'"path":{encode_basestring(raw.decode("utf-8"))}'
    except UnicodeDecodeError:
        return f'"path_b64":"{base64_text(raw)}"'


def member_prefix(directory: bytes) -> str | None:
    """Return the beginning of the members of paths in `directory` ("" at the top, else ending in a slash).

    What completes it is `name_suffix` of a name in ASCII. None where the directory itself is not UTF-8.
    """
    try:
        return f'"path":{encode_basestring(directory.decode("utf-8"))[:-1]}'
    except UnicodeDecodeError:
        return None


def name_suffix(name: str) -> str:
    """Return the rest of a path member after `member_prefix`, for a name that is ASCII."""
    return encode_basestring(name)[1:]


def target_members(target: bytes) -> dict[str, JsonValue]:
    """Return {"target": text} or, for bytes that are not UTF-8, {"target_b64": base64}."""
    try:
        return {"target": target.decode("utf-8")}
    except UnicodeDecodeError:
        return {"target_b64": base64_text(target)}


def _entry(reader: Reader, path: RelPath, kind: Kind) -> Entry:
    match kind:
        case Kind.FILE:
            digest = reader.digest("sha256")
            return FileEntry(path=path, size=reader.integer("size"), mode=_mode(reader), mtime_ns=0, sha256=digest)
        case Kind.DIRECTORY:
            return DirectoryEntry(path=path, mode=_mode(reader))
        case Kind.SYMLINK:
            return SymlinkEntry(path=path, target=_target(reader))
        case _:
            raise InvalidDocumentError(Reason.MISSING_MEMBER, f"a {kind} is an omission and needs a reason")


def _omission(reader: Reader, path: RelPath, kind: Kind) -> Omission:
    reason = Reason(reader.choice("reason", tuple(Reason)))
    return Omission(
        path=path,
        reason=reason,
        kind=None if kind is Kind.UNKNOWN else kind,
        mode=_mode(reader) if reader.has("mode") else None,
        size=reader.integer("size") if reader.has("size") else None,
    )


def _mode(reader: Reader) -> int:
    mode = reader.integer("mode")
    if mode > MAX_MODE:
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{reader.where}.mode has bits beyond {MAX_MODE:o}")
    return mode


def _target(reader: Reader) -> bytes:
    if reader.has("target"):
        return reader.text("target").encode("utf-8")
    target = base64_bytes(reader.text("target_b64"))
    if target is Base64Fault.UNREADABLE:
        raise InvalidDocumentError(Reason.WRONG_VALUE, "target_b64 is not base64")
    if target is Base64Fault.RESPELLED or "target_b64" not in target_members(target):
        raise InvalidDocumentError(Reason.NOT_CANONICAL, "target_b64 is not the only spelling of its bytes")
    return target


def _counted(records: Sequence[Record]) -> Counts:
    files = [record.size for record in records if isinstance(record, FileEntry)]
    return Counts(
        files=len(files),
        directories=sum(isinstance(record, DirectoryEntry) for record in records),
        symlinks=sum(isinstance(record, SymlinkEntry) for record in records),
        omissions=sum(isinstance(record, Omission) for record in records),
        bytes=sum(files),
    )
