"""What stands at a path of a tree now, called as a delta would call it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from stat import S_ISLNK, S_ISREG

from docket.errors import UnavailableError
from docket.formats.relpath import RelPath
from docket.formats.windows.changes import Side
from docket.formats.windows.names import EXECUTABLE_MODE, REGULAR_MODE, SYMLINK_MODE, Hashes
from docket.host.tree_files import TreeFiles

_CHUNK_BYTES = 1024 * 1024


def standing(root: Path, path: RelPath, hashes: Hashes) -> Side:
    """Return the side of a path, no link followed; what cannot be read has no name, a folder is absent."""
    try:
        with TreeFiles(os.fsencode(root)) as files:
            status = files.status(path)
            if status is not None and S_ISLNK(status.st_mode):
                return Side(mode=SYMLINK_MODE, name=_named((files.target(path) or b"",), hashes))
            if status is None or not S_ISREG(status.st_mode):
                return Side()
            mode = EXECUTABLE_MODE if status.st_mode & 0o100 else REGULAR_MODE
            return Side(mode=mode, name=_name_of_file(files, path, hashes))
    except UnavailableError:
        return Side(mode=REGULAR_MODE)


def _name_of_file(files: TreeFiles, path: RelPath, hashes: Hashes) -> str | None:
    descriptor = files.open(path)
    try:
        chunks = []
        while chunk := os.read(descriptor, _CHUNK_BYTES):
            chunks.append(chunk)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return _named(tuple(chunks), hashes)


def _named(chunks: tuple[bytes, ...], hashes: Hashes) -> str:
    digest = hashlib.sha1(usedforsecurity=False) if hashes is Hashes.SHA1 else hashlib.sha256()
    if hashes is not Hashes.CONTENT_SHA256:
        digest.update(b"blob %d\0" % sum(map(len, chunks)))
    for chunk in chunks:
        digest.update(chunk)
    name: str = digest.hexdigest()
    return name
