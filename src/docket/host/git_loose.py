"""git's loose objects, written into an object folder of docket's own and read from any: no filter, no program.

Rules:
1. An object appears under its name whole or not at all: a temporary beside it, then a rename.
2. One that stands there already, with any content, is not written again; if it is older than FRESH_SECONDS it gets a
   new time, as with git, so that what is in use is never taken for old.
3. A file is read through its descriptor, once, to the size it was seen with; if it changed, there is no object.
4. What is read has the digest that its name says; anything else is not there.
"""

from __future__ import annotations

import hashlib
import os
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from docket.formats.windows.names import Hashes
from docket.host.disk_errors import reported
from docket.host.regular_file import open_regular_file
from docket.host.tree import Status, file_key

FRESH_SECONDS = 300
_LEVEL = 1
_WHOLE_BYTES = 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_HEAD_BYTES = 64
_TEMPORARY_PREFIX = "tmp_obj_"  # git's own, which its prune clears away


class LooseObjects:
    """The object folder `objects`, whose objects are named by `hashes`."""

    def __init__(self, objects: Path, hashes: Hashes) -> None:
        self._objects, self._hashes = objects, hashes

    def name_of(self, data: bytes) -> str:
        """Return the name of a blob."""
        digest = self._digest(len(data))
        digest.update(data)
        name: str = digest.hexdigest()
        return name

    def has(self, name: str) -> bool:
        """Whether the object stands in this folder, loose; whoever asks uses it."""
        path = self._path(name)
        try:
            status = path.lstat()
        except OSError:
            return False
        if status.st_mtime < time.time() - FRESH_SECONDS:
            with suppress(OSError):
                os.utime(path, follow_symlinks=False)
        return status.st_size > 0

    def read(self, name: str, most: int) -> bytes | None:
        """Return a blob that stands in this folder, loose, whole, and is no larger than `most` bytes, else None."""
        with suppress(OSError, zlib.error), open_regular_file(self._path(name)) as file:
            packed = zlib.decompressobj()
            head, _, data = packed.decompress(file.read(_CHUNK_BYTES), _HEAD_BYTES).partition(b"\0")
            kind, _, size = head.partition(b" ")
            if kind == b"blob" and size.isdigit() and int(size) <= most:
                data += packed.decompress(packed.unconsumed_tail + file.read(most + _CHUNK_BYTES), int(size) + 1)
                return data if self.name_of(data) == name else None
        return None

    def put(self, data: bytes) -> str:
        """Keep a blob and return its name; UnavailableError where it cannot be written."""
        name = self.name_of(data)
        if not self.has(name):
            with reported("write", self._path(name)):
                self._place(self._written(zlib.compress(_head(len(data)) + data, _LEVEL)), name)
        return name

    def put_file(self, descriptor: int, seen: Status, *, keep: bool) -> str | None:
        """Return the name of an open file's content, kept where `keep` says; None if it is not what was seen."""
        if seen.st_size <= _WHOLE_BYTES:
            data = _read_whole(descriptor, seen.st_size)
            if data is None or file_key(os.fstat(descriptor)) != file_key(seen):
                return None
            return self.put(data) if keep else self.name_of(data)
        return self._put_chunks(descriptor, seen, keep=keep)

    def _put_chunks(self, descriptor: int, seen: Status, *, keep: bool) -> str | None:
        digest, packed, left = self._digest(seen.st_size), zlib.compressobj(_LEVEL), seen.st_size
        with reported("write", self._objects):
            temporary, target = self._begun() if keep else (None, -1)
            try:
                _write(target, packed.compress(_head(seen.st_size)))
                while left >= 0 and (chunk := os.read(descriptor, min(left + 1, _CHUNK_BYTES))):
                    digest.update(chunk)
                    left -= len(chunk)
                    if keep:
                        _write(target, packed.compress(chunk))
                _write(target, packed.flush())
                if left != 0 or file_key(os.fstat(descriptor)) != file_key(seen):
                    return None
                name: str = digest.hexdigest()
                if temporary is not None and not self.has(name):
                    self._place(temporary, name)
                return name
            finally:
                if temporary is not None:
                    os.close(target)
                    temporary.unlink(missing_ok=True)

    def _begun(self) -> tuple[Path, int]:
        temporary = self._objects / f"{_TEMPORARY_PREFIX}{os.urandom(8).hex()}"
        return temporary, os.open(temporary, _FLAGS, 0o600)

    def _written(self, data: bytes) -> Path:
        temporary, target = self._begun()
        try:
            _write(target, data)
        finally:
            os.close(target)
        return temporary

    def _place(self, temporary: Path, name: str) -> None:
        path = self._path(name)
        try:
            temporary.replace(path)
        except FileNotFoundError:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            temporary.replace(path)

    def _path(self, name: str) -> Path:
        return self._objects / name[:2] / name[2:]

    def _digest(self, size: int) -> Any:  # noqa: ANN401 - hashlib's objects have no public type
        digest = hashlib.sha256() if self._hashes is Hashes.SHA256 else hashlib.sha1(usedforsecurity=False)
        digest.update(_head(size))
        return digest


def _head(size: int) -> bytes:
    return b"blob %d\0" % size


def _read_whole(descriptor: int, size: int) -> bytes | None:
    pieces, left = [], size
    while left >= 0 and (piece := os.read(descriptor, left + 1)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces) if left == 0 else None


def _write(target: int, data: bytes) -> None:
    """Write all of it; a target of -1 takes nothing."""
    view = memoryview(data)
    while view and target >= 0:
        view = view[os.write(target, view) :]
