"""Parts of a listing, found in its text: nothing is decoded but what is asked for.

Rules:
1. A bare quote never stands inside a JSON string, so a member's name or a kind that is found in the text is one.
2. What goes with the entries (times, details, omissions) is cut where the text is cut.
3. A document is taken as it is only by who knows its digest; else `listing.decode_listing` reads it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from docket.errors import InvalidDocumentError
from docket.formats.dataclass import replace
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.details import Details
from docket.formats.tree.listing import (
    FORMAT,
    HEADER,
    Counts,
    FileEntry,
    Kind,
    Listing,
    Omission,
    Record,
    SymlinkEntry,
    decode_record,
    tree_order,
)
from docket.formats.tree.spans import own_line, span

_FILE, _OMITTED, _SIZE = b',"sha256":"', b',"reason":"', re.compile(rb'"sha256":"[0-9a-f]{64}","size":([0-9]+)\}\n')
_DIRECTORY, _SYMLINK = b'{"kind":"directory",', b'{"kind":"symlink",'
_WORD_BYTES = 8


def known_listing(document: bytes) -> Listing:
    """Return the listing of a document that is known, by its digest, to be one; InvalidDocumentError for another's.

    As of a decoded listing, times and prose are not in it.
    """
    if not document.startswith(HEADER) or not document.endswith(b"\n"):
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"a listing begins with the {FORMAT} header line")
    omissions = tuple(_omissions(document, 0, len(document)))
    files, directories, symlinks = _counted(document, 0, len(document), omissions)
    counts = Counts(
        files=files,
        directories=directories,
        symlinks=symlinks,
        omissions=len(omissions),
        bytes=sum(map(int, _SIZE.findall(document))),
    )
    return Listing(document, counts=counts, omissions=omissions, mtimes=bytes(_WORD_BYTES * files))


def records_at(listing: Listing, paths: Iterable[RelPath]) -> dict[RelPath, Record]:
    """Return the records that stand at `paths`, with their times; a path at which none stands is left out."""
    found: dict[RelPath, Record] = {}
    prose = {omission.path: omission for omission in listing.omissions}
    document, at, files = listing.document, 0, 0
    for path in sorted(set(paths), key=lambda item: tree_order(item.raw)):
        start, end = own_line(document, path)
        if start == end:
            continue
        record = decode_record(document[start : end - 1])
        if isinstance(record, FileEntry):
            files, at = files + document.count(_FILE, at, start), start
            record = replace(record, mtime_ns=_word(listing.mtimes, files))
        found[path] = prose.get(path, record) if isinstance(record, Omission) else record
    return found


def paths_ending(listing: Listing, *suffixes: bytes) -> tuple[RelPath, ...]:
    """Return the paths of entries that end in one of `suffixes`, which are ASCII without what JSON escapes.

    They are in tree order.
    """
    # Of a path that is not UTF-8 the text does not show how it ends.
    records = _records_with(listing, *(suffix + b'"' for suffix in suffixes), b'"path_b64":"')
    return tuple(
        record.path for record in records if not isinstance(record, Omission) and record.path.raw.endswith(suffixes)
    )


def links_of(listing: Listing) -> tuple[SymlinkEntry, ...]:
    """Return the symbolic links, in tree order."""
    records = _records_with(listing, _SYMLINK)
    return tuple(record for record in records if isinstance(record, SymlinkEntry))


def _records_with(listing: Listing, *texts: bytes) -> Iterator[Record]:
    """Yield the records in whose lines one of the texts stands, in tree order."""
    document = listing.document
    starts = sorted({start for text in texts for start in _starts(listing, text)})
    return (decode_record(document[start : document.index(b"\n", start)]) for start in starts)


def _starts(listing: Listing, text: bytes) -> tuple[int, ...]:
    """Return where the lines begin in which a text stands; a listing is asked for the same ones again and again."""
    found = listing.starts.get(text)
    if found is None:
        found = listing.starts[text] = tuple(_lines_with(listing.document, text))
    return found


def _lines_with(document: bytes, text: bytes) -> Iterator[int]:
    at = document.find(text, len(HEADER))
    while at >= 0:
        yield document.rindex(b"\n", 0, at) + 1
        at = document.find(text, document.index(b"\n", at))


def with_part(base: Listing, part: Listing, roots: Sequence[RelPath]) -> Listing:
    """Return `base` with everything at and below `roots` as `part` has it, which holds nothing else.

    `roots` are in tree order, and none lies below another.
    """
    kept, put = _Cutter(base), _Cutter(part)
    pieces: list[_Piece] = []
    cut: list[_Piece] = []
    for root in roots:
        start, end = span(base.document, root)
        pieces.append(kept.until(start))
        cut.append(kept.until(end))
        put.until(span(part.document, root)[0])
        pieces.append(put.until(span(part.document, root)[1]))
    pieces.append(kept.until(len(base.document)))
    inside = frozenset(roots)
    found = Listing(
        b"".join((HEADER, *(piece.document for piece in pieces))),
        counts=_counts(base, part, cut),
        omissions=_in_order(base.omissions, part.omissions, inside),
        mtimes=b"".join(piece.mtimes for piece in pieces),
        root=part.root,
    )
    found.details = _details(base, part, pieces, inside)
    return found


class _Piece:
    __slots__ = ("directory_mtimes", "document", "mtimes", "symlink_mtimes")

    def __init__(self, document: bytes, times: tuple[bytes, bytes, bytes]) -> None:
        self.document = document
        self.mtimes, self.directory_mtimes, self.symlink_mtimes = times


class _Cutter:
    """Cuts a listing into consecutive pieces, each with the times of its entries; unknown ones are 0."""

    def __init__(self, listing: Listing) -> None:
        details, counts = listing.details, listing.counts
        self._document, self._has_omissions = listing.document, bool(listing.omissions)
        self._times = (
            listing.mtimes or bytes(_WORD_BYTES * counts.files),
            details.directory_mtimes or bytes(_WORD_BYTES * counts.directories),
            details.symlink_mtimes or bytes(_WORD_BYTES * counts.symlinks),
        )
        self._at, self._done = len(HEADER), (0, 0, 0)

    def until(self, end: int) -> _Piece:
        """Return what stands from the last cut to the offset `end`."""
        start, before = self._at, self._done
        omissions = tuple(_omissions(self._document, start, end)) if self._has_omissions else ()
        counts = _counted(self._document, start, end, omissions)
        self._at = end
        self._done = (before[0] + counts[0], before[1] + counts[1], before[2] + counts[2])
        first, second, third = (
            words[_WORD_BYTES * low : _WORD_BYTES * high]
            for words, low, high in zip(self._times, before, self._done, strict=True)
        )
        return _Piece(self._document[start:end], (first, second, third))


def _counted(document: bytes, start: int, end: int, omissions: Iterable[Omission]) -> tuple[int, int, int]:
    """Return how many files, directories and links a piece of a document has."""
    kinds = [omission.kind for omission in omissions]
    return (
        document.count(_FILE, start, end),
        document.count(_DIRECTORY, start, end) - kinds.count(Kind.DIRECTORY),
        document.count(_SYMLINK, start, end) - kinds.count(Kind.SYMLINK),
    )


def _omissions(document: bytes, start: int, end: int) -> Iterator[Omission]:
    at = document.find(_OMITTED, start, end)
    while at >= 0:
        line_end = document.index(b"\n", at)
        record = decode_record(document[document.rindex(b"\n", 0, at) + 1 : line_end])
        assert isinstance(record, Omission)  # noqa: S101 - a record with a reason is one
        yield record
        at = document.find(_OMITTED, line_end, end)


def _counts(base: Listing, part: Listing, cut: Sequence[_Piece]) -> Counts:
    gone = known_listing(HEADER + b"".join(piece.document for piece in cut)).counts
    one, other = base.counts, part.counts
    return Counts(
        files=one.files - gone.files + other.files,
        directories=one.directories - gone.directories + other.directories,
        symlinks=one.symlinks - gone.symlinks + other.symlinks,
        omissions=one.omissions - gone.omissions + other.omissions,
        bytes=one.bytes - gone.bytes + other.bytes,
    )


def _in_order(base: Iterable[Omission], part: Iterable[Omission], roots: Collection[RelPath]) -> tuple[Omission, ...]:
    kept = (omission for omission in base if not _is_inside(omission.path, roots))
    return tuple(sorted((*kept, *part), key=lambda item: tree_order(item.path.raw)))


def _details(base: Listing, part: Listing, pieces: Sequence[_Piece], roots: Collection[RelPath]) -> Details:
    told = (item for item in base.details.paths if not _is_inside(item.path, roots))
    return replace(
        part.details,
        paths=tuple(sorted((*told, *part.details.paths), key=lambda item: tree_order(item.path.raw))),
        directory_mtimes=b"".join(piece.directory_mtimes for piece in pieces),
        symlink_mtimes=b"".join(piece.symlink_mtimes for piece in pieces),
    )


def _is_inside(path: RelPath, roots: Collection[RelPath]) -> bool:
    return path in roots or any(above in roots for above in path.above())


def _word(words: bytes, number: int) -> int:
    at = _WORD_BYTES * number
    return int.from_bytes(words[at : at + _WORD_BYTES], "little", signed=True)
