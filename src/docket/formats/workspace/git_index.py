"""What a git index says, without what git notes in it only to be fast: read to tell whether two say the same.

Rules (git's own documentation, gitformat-index):
1. Counted are the entries (mode, object name, flags, stage, path), the undone resolutions (`REUC`) and whether it is a
   sparse one (`sdir`). Not counted are what `stat` told of the files, and the extensions that git makes anew when it
   wants them: `TREE`, `UNTR`, `FSMN`, `EOIE`, `IEOT`. So is the version: 2, 3 and 4 tell the same.
2. The checksum at the end, SHA-1's or SHA-256's as the repository's objects are named, is right, or all zero, which
   git writes where it is told to leave it out.
3. An index that is not understood to its last byte is refused: one that names a shared part (`link`), an extension or
   a flag that is not known here, entries that are not in order. Whoever compares takes such a one by its bytes.
4. Nothing is kept of the entries, and no path may be longer than a system takes: what is read is bounded by its size.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from struct import Struct

from docket.errors import InvalidDocumentError
from docket.formats.digest import Digest
from docket.formats.reason import Reason

MAX_INDEX_BYTES = 256 * 1024 * 1024
MAX_PATH_BYTES = 4096
_SIGNATURE = b"DIRC"
_HEADER = Struct(">4sII")
_HALF, _WORD = Struct(">H"), Struct(">I")
_MODE_AT, _NAME_AT = 24, 40  # within an entry; the object's name, flags and path follow
_LENGTH, _EXTENDED, _KEPT = 0x0FFF, 0x4000, 0xB000
_EXTENDED_KEPT = 0x6000  # skip-worktree and intent-to-add
_KINDS = frozenset((0o04, 0o10, 0o12, 0o16))  # a sparse directory, a file, a link, a submodule's commit
_CACHES = frozenset((b"TREE", b"UNTR", b"FSMN", b"EOIE", b"IEOT"))
_TOLD = frozenset((b"REUC", b"sdir"))
_COMPRESSED = 4
_MAX_STRIP = 1 << 32


def same_index(one: bytes, other: bytes) -> bool:
    """Whether two indexes say the same; what is not understood says the same only as equal bytes."""
    if one == other:
        return True
    try:
        return index_digest(one) == index_digest(other)
    except InvalidDocumentError:
        return False


def index_digest(document: bytes) -> Digest:
    """Return the digest of what an index says; InvalidDocumentError where it is not understood."""
    if len(document) > MAX_INDEX_BYTES:
        raise InvalidDocumentError(Reason.TOO_LARGE, f"an index has more than {MAX_INDEX_BYTES} bytes")
    if len(document) < _HEADER.size:
        raise _not_understood("it is cut short")
    signature, version, count = _HEADER.unpack_from(document)
    if signature != _SIGNATURE or version not in (2, 3, _COMPRESSED):
        raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, "it is no index of version 2, 3 or 4")
    name_bytes = _name_bytes(document)
    told = hashlib.sha256(b"%d entries of %d\n" % (count, name_bytes))
    entries = _Entries(document[:-name_bytes], version, name_bytes)
    for record in entries.each(count):
        told.update(record)
    for name, data in _extensions(document[:-name_bytes], entries.at):
        if name in _TOLD:
            told.update(b"%s %d\n%s" % (name, len(data), data))
    return Digest(told.hexdigest())


def _name_bytes(document: bytes) -> int:
    """Return how long the object names are, by the checksum that fits."""
    for size, algorithm in ((20, "sha1"), (32, "sha256")):
        found = hashlib.new(algorithm, document[:-size], usedforsecurity=False).digest()
        if found == document[-size:]:
            return size
    for size in (32, 20):
        if document[-size:] == bytes(size):
            return size
    raise InvalidDocumentError(Reason.WRONG_VALUE, "an index does not fit its checksum")


class _Entries:
    """The entries of an index without its checksum; `at` is where the extensions begin once all are read."""

    def __init__(self, body: bytes, version: int, name_bytes: int) -> None:
        self._body, self._version, self._name_bytes = body, version, name_bytes
        self.at = _HEADER.size

    def each(self, count: int) -> Iterator[bytes]:
        """Yield what counts of each entry."""
        path, last = b"", (b"", -1)
        for _ in range(count):
            start = self.at
            head, flags, more = self._head(start)
            path = self._compressed(path) if self._version == _COMPRESSED else self._plain(start)
            if len(path) > MAX_PATH_BYTES or not path or min(len(path), _LENGTH) != flags & _LENGTH:
                raise _not_understood("the length of a path is not what it is told to be")
            place = path, flags & 0x3000
            if place <= last:
                raise _not_understood("its entries are not in order")
            last = place
            yield b"%s%04x%04x%s\0" % (head, flags & _KEPT, more, path)

    def _head(self, start: int) -> tuple[bytes, int, int]:
        """Return mode and object name as they stand, the flags and the further flags; `at` is at the path then."""
        at = start + _NAME_AT + self._name_bytes
        if at + 2 > len(self._body):
            raise _not_understood("an entry is cut short")
        (mode,) = _WORD.unpack_from(self._body, start + _MODE_AT)
        if mode >> 12 not in _KINDS:
            raise _not_understood("an entry is of a kind that is not known")
        (flags,) = _HALF.unpack_from(self._body, at)
        more, self.at = 0, at + 2
        if flags & _EXTENDED:
            if self._version == 2 or at + 4 > len(self._body):
                raise _not_understood("an entry has flags that its version has not")
            (more,) = _HALF.unpack_from(self._body, at + 2)
            self.at = at + 4
            if more & ~_EXTENDED_KEPT:
                raise _not_understood("an entry has a flag that is not known")
        return _WORD.pack(mode) + self._body[start + _NAME_AT : at], flags, more

    def _until_nul(self) -> bytes:
        end = self._body.find(b"\0", self.at, self.at + MAX_PATH_BYTES + 1)
        if end < 0:
            raise _not_understood("a path has no end")
        found = self._body[self.at : end]
        self.at = end + 1
        return found

    def _plain(self, start: int) -> bytes:
        path = self._until_nul()
        end = start + (self.at - 1 - start) // 8 * 8 + 8
        if self._body[self.at : end] != bytes(end - self.at):
            raise _not_understood("an entry is not filled up with zeros")
        self.at = end
        return path

    def _compressed(self, before: bytes) -> bytes:
        strip = self._varint()
        if strip > len(before):
            raise _not_understood("a path begins with more than there is")
        return before[: len(before) - strip] + self._until_nul()

    def _varint(self) -> int:
        value = -1
        while self.at < len(self._body) and value < _MAX_STRIP:
            byte = self._body[self.at]
            self.at += 1
            value = (value + 1) << 7 | byte & 0x7F
            if byte < 0x80:
                return value
        raise _not_understood("a number has no end")


def _extensions(body: bytes, at: int) -> Iterator[tuple[bytes, bytes]]:
    while at < len(body):
        if at + 8 > len(body):
            raise _not_understood("an extension is cut short")
        name = body[at : at + 4]
        (size,) = _WORD.unpack_from(body, at + 4)
        at += 8 + size
        if at > len(body) or name not in _CACHES | _TOLD:
            raise _not_understood("it has an extension that is not known here")
        yield name, body[at - size : at]


def _not_understood(detail: str) -> InvalidDocumentError:
    return InvalidDocumentError(Reason.WRONG_VALUE, f"an index is not understood: {detail}")
