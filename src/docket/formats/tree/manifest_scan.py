"""Reads a manifest of many files without an object for each: only the entries that are asked for are made.

Rules (spec/snapshot.md):
1. It takes exactly what `formats.tree.manifest` decodes, and gives the same but for the files that were not asked for.
   Every entry is checked all the same.
2. The list of files is cut out and read entry by entry; the rest is decoded as a manifest without files.
3. Whatever is not as expected is left to the decoder, which takes it or says what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from docket.errors import InvalidDocumentError
from docket.formats.canonical import decode
from docket.formats.dataclass import replace
from docket.formats.digest import Digest
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.relpath import MAX_PATH_BYTES, RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.listing import MAX_MODE, tree_order
from docket.formats.tree.manifest import Manifest, SnapshotFile, decode_manifest, read_file

Keep = Callable[[bytes], bool]
"""Whether the file with this path is asked for."""

# A quote within a text has a backslash in front, so that these stand nowhere but around the list.
_BEGIN, _END = b',"entries":[', b'],"format":"'
# An entry that has all members that each has, and no others, with numbers that are not near any limit.
_PLAIN = re.compile(
    rb'\{"blob":"([0-9a-f]{2})/([0-9a-f]{62})","mode":(0|[1-9][0-9]{0,3}),"mtime_ns":"(0|[1-9][0-9]{0,17}|[1-8][0-9]{18})",'
    rb'"path":"([^"\\\x00-\x1f]+)","sha256":"\1\2","size":(0|[1-9][0-9]{0,14})\}'
)
_OBJECT = re.compile(rb'\{(?:[^"{}]|"(?:[^"\\]|\\.)*+"|\{(?:[^"{}]|"(?:[^"\\]|\\.)*+")*+\})*+\}', re.DOTALL)
_COMMA = ord(",")
_NOWHERE = b"\0"  # no path begins so
_LAST = b"\xff" * (MAX_PATH_BYTES + 1)
_NO_PATH = re.compile(rb"(?:\A|/)\.{0,2}(?:/|\Z)")


def read_manifest(document: bytes, keep: Keep | None = None) -> Manifest:
    """Return a manifest, of its files only those that `keep` asks for and those that tell more than a file must.

    InvalidDocumentError for anything that is no manifest.
    """
    begin = document.find(_BEGIN) + len(_BEGIN)
    end = document.find(_END, begin)
    if begin < len(_BEGIN) or end < 0:
        return decode_manifest(document)
    try:
        rest = decode_manifest(document[:begin] + document[end:])
        files = tuple(_in_place(_Entries(document, begin, end, keep).each(), rest))
    except (InvalidDocumentError, UnicodeDecodeError):
        return decode_manifest(document)
    return replace(rest, files=files)


class _Entries:
    """The list of files between two places of a document."""

    def __init__(self, document: bytes, begin: int, end: int, keep: Keep | None) -> None:
        self._document, self._position, self._end, self._keep = document, begin, end, keep

    def each(self) -> Iterator[tuple[bytes, SnapshotFile | None]]:
        """Yield each path, and its entry where that is asked for.

        InvalidDocumentError or UnicodeDecodeError where this is no list of entries.
        """
        document, plain, keep, end = self._document, _PLAIN.match, self._keep, self._end
        while self._position < end:
            found = plain(document, self._position, end)
            if found is None:
                entry = self._other()
                yield entry.path.raw, entry
            else:
                self._position = found.end()
                raw = found[5]
                if not raw.isascii():
                    raw.decode("utf-8")
                if keep is None or keep(raw):
                    yield raw, _file(found)
                elif int(found[3]) > MAX_MODE or len(raw) > MAX_PATH_BYTES or _NO_PATH.search(raw):
                    raise _irregular()
                else:
                    yield raw, None
            self._pass_comma()

    def _pass_comma(self) -> None:
        if self._position < self._end:
            if self._document[self._position] != _COMMA or self._position + 1 == self._end:
                raise _irregular()
            self._position += 1

    def _other(self) -> SnapshotFile:
        found = _OBJECT.match(self._document, self._position, self._end)
        if found is None:
            raise _irregular()
        self._position = found.end()
        reader = Reader(decode(found[0]), "entries")
        entry = read_file(reader)
        reader.close()
        return entry


def _file(found: re.Match[bytes]) -> SnapshotFile:
    mode = int(found[3])
    if mode > MAX_MODE:
        raise _irregular()
    return SnapshotFile(
        path=RelPath.parse(found[5]),
        content=Address(Digest((found[1] + found[2]).decode("ascii")), int(found[6])),
        mode=mode,
        mtime_ns=int(found[4]),
    )


def _in_place(entries: Iterable[tuple[bytes, SnapshotFile | None]], rest: Manifest) -> Iterator[SnapshotFile]:
    """Yield the files that are asked for; InvalidDocumentError where one is out of place among all paths."""
    others = sorted(
        [(tree_order(item.path.raw), True) for item in rest.directories]
        + [(tree_order(item.path.raw), False) for item in rest.symlinks]
        + [(tree_order(item.path.raw), False) for item in rest.not_covered]
    )
    others.append((_LAST, True))
    number, last, before = 0, b"", _NOWHERE  # nothing may stand below `before`, which is no directory
    for raw, entry in entries:
        key = tree_order(raw)
        while (other := others[number])[0] <= key:
            if other[0] == key or other[0].startswith(before):
                raise _irregular()
            number, before = number + 1, (_NOWHERE if other[1] else other[0] + b"\0")
        if key <= last or key.startswith(before):
            raise _irregular()
        last, before = key, key + b"\0"
        if entry is not None:
            yield entry
    if others[number][0].startswith(before):
        raise _irregular()


def _irregular() -> InvalidDocumentError:
    return InvalidDocumentError(Reason.NOT_CANONICAL, "an entry is not as it is written")
