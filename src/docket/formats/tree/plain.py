"""The plain files of a listing, found in its text: what almost all of a tree is, with no object made of any.

Rules:
1. A plain file's path is UTF-8 that JSON writes as it is, and its permission bits are no powers (setuid, setgid,
   sticky). What is said of it beside the listing is not looked at: who has something to say names the path as apart.
2. A line that is not spelled as `listing.file_line` spells a plain file is none; what it is, the one decoder tells.
3. Files are cut into runs in tree order, so that several may work on them.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterator
from typing import NamedTuple, TypeAlias

from docket.formats.dataclass import dataclass, replace
from docket.formats.tree.listing import HEADER, FileEntry, Listing, Omission, Record, decode_record

_LINE = re.compile(
    rb'\{"kind":"file","mode":(0|[1-9][0-9]{0,2}),"path":"([^"\\\n]+)",'
    rb'"sha256":"([0-9a-f]{64})","size":(0|[1-9][0-9]{0,15})\}\n'
)
_OMISSION = b',"reason":"'
_FILE = b',"sha256":"'
_HIGHEST_MODE = 0o777
_POWERS = re.compile(rb',"mode":(?:51[2-9]|5[2-9][0-9]|[6-9][0-9]{2}|[1-9][0-9]{3})[,}]')  # decimal, beyond 0o777
_RUN_FILES, _RUN_BYTES, _MOST_RUNS = 512, 64 * 1024 * 1024, 2048
_TIME = struct.Struct("<q")

PlainFile: TypeAlias = tuple[bytes, int, str, int, int]
"""A plain file's path, mode, SHA-256 in hexadecimal, size and modification time in nanoseconds."""


class Run(NamedTuple):
    """Where consecutive lines begin and end, how many files stand before them, and how many of theirs are plain."""

    start: int
    end: int
    before: int
    plain: int


@dataclass(frozen=True, slots=True)
class PlainFiles:
    """The plain files of the listing `document`, whose times are `mtimes`, without those that are `apart`."""

    document: bytes
    mtimes: bytes
    apart: frozenset[bytes]
    runs: tuple[Run, ...]

    def of(self, run: Run) -> Iterator[PlainFile]:
        """Yield the plain files of a run, in tree order."""
        apart, number, at = self.apart, run.before, run.start
        for match in _LINE.finditer(self.document, run.start, run.end):
            if match.start() > at:  # a file's line that is spelled otherwise has its time, too
                number += self.document.count(_FILE, at, match.start())
            at = match.end()
            mode, path, digest, size = match.groups()
            if int(mode) <= _HIGHEST_MODE and path not in apart:
                yield path, int(mode), digest.decode("ascii"), int(size), _time(self.mtimes, number)
            number += 1


def parted(listing: Listing, apart: Collection[bytes] = ()) -> tuple[PlainFiles, tuple[Record, ...]]:
    """Return the plain files of a listing, and everything else in it, in tree order and with its times.

    A file at one of the paths that are `apart` is with everything else.
    """
    left, most_files = frozenset(apart), max(_RUN_FILES, listing.files // _MOST_RUNS)
    others, runs = _Others(listing), list[tuple[int, int, int]]()
    start = at = len(HEADER)
    plain = size_bytes = 0
    for match in _LINE.finditer(listing.document, at):
        others.tell(at, match.start())
        at = match.end()
        if int(match[1]) > _HIGHEST_MODE or match[2] in left:
            others.tell(match.start(), at)
            continue
        plain, size_bytes, others.files = plain + 1, size_bytes + int(match[4]), others.files + 1
        if plain >= most_files or size_bytes >= _RUN_BYTES:
            runs.append((start, at, plain))
            start, plain, size_bytes = at, 0, 0
    others.tell(at, len(listing.document))
    if plain:
        runs.append((start, len(listing.document), plain))
    return PlainFiles(listing.document, listing.mtimes, left, tuple(_numbered(runs, listing.document))), others.found()


class _Others:
    """The records of a listing that are decoded, and how many files stand before the one that comes next."""

    def __init__(self, listing: Listing) -> None:
        self._document, self._mtimes = listing.document, listing.mtimes
        self._prose = {omission.path: omission for omission in listing.omissions}
        self._found: list[Record] = []
        self.files = 0

    def tell(self, start: int, end: int) -> None:
        """Take down the records between two offsets."""
        if start == end:
            return
        for line in self._document[start : end - 1].split(b"\n"):
            record = decode_record(line)
            if isinstance(record, Omission):
                record = self._prose.get(record.path, record)
            elif isinstance(record, FileEntry):
                record = replace(record, mtime_ns=_time(self._mtimes, self.files))
                self.files += 1
            self._found.append(record)

    def found(self) -> tuple[Record, ...]:
        """Return what was taken down."""
        return tuple(self._found)


def _numbered(runs: list[tuple[int, int, int]], document: bytes) -> Iterator[Run]:
    before, at = 0, len(HEADER)
    for start, end, plain in runs:
        before, at = before + document.count(_FILE, at, start), start
        yield Run(start, end, before, plain)


def _time(mtimes: bytes, number: int) -> int:
    return int(_TIME.unpack_from(mtimes, _TIME.size * number)[0]) if mtimes else 0


def with_powers(listing: Listing) -> tuple[Record, ...]:
    """Return the entries whose permission bits hold setuid, setgid or sticky, in tree order and without times."""
    document = listing.document
    starts = (document.rindex(b"\n", 0, match.start()) + 1 for match in _POWERS.finditer(document))
    found = (decode_record(document[start : document.index(b"\n", start)]) for start in starts)
    return tuple(record for record in found if not isinstance(record, Omission))


def without_omissions(document: bytes) -> bytes:
    """Return a listing's document without the lines of what could not or would not be observed."""
    pieces, at = [], 0
    found = document.find(_OMISSION)
    while found >= 0:
        pieces.append(document[at : document.rindex(b"\n", 0, found) + 1])
        at = document.index(b"\n", found) + 1
        found = document.find(_OMISSION, at)
    return b"".join((*pieces, document[at:]))
