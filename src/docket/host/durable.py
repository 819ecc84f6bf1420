"""Files that are wholly there or not there at all, after a crash too.

Rules:
1. Publish: a file of a unique name in the same folder, all bytes, sync, rename, sync of the folder. A reader sees
   the old file or the new one; a power cut leaves one of them.
2. A publication that fails leaves the old file and removes what it had begun, if the disk still lets it.
3. A failed sync is never tried again: what it did not write is lost to the page cache, so the operation fails.

It decides nothing about names and places (`stores.layout`) and holds no descriptor when a call is over.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from docket.errors import DocketError, UnavailableError
from docket.formats.reason import Reason
from docket.host.disk import SYSTEM_DISK, Folder, StoredFile, reported

CHUNK_BYTES = 1024 * 1024
TEMPORARY_SUFFIX = ".tmp"
PUBLIC_MODE = 0o644


def publish(folder: Folder, name: str, data: bytes, *, overwrite: bool = True) -> None:
    """Make `data` the durable content of `name`; ALREADY_EXISTS if it is taken and may not be overwritten."""
    _publish(folder, name, lambda target: target.append(data), overwrite=overwrite)


def publish_public(path: Path, data: bytes, *, overwrite: bool) -> None:
    """Make `data` the durable content of a person's own file, which others may read.

    Links above it are followed; folders above it that are missing are made, for their owner alone.
    """
    try:
        parent = Path(os.path.realpath(path.parent))
    except OSError as error:  # a relative path, and the current folder has been deleted
        detail = f"the current folder cannot be used: {error.strerror}"
        raise UnavailableError(Reason.NOT_FOUND, detail) from error
    with SYSTEM_DISK.folder(parent, create=True) as folder:
        publish(folder, path.name, data, overwrite=overwrite)
    with reported("set the permissions of", path):
        path.chmod(PUBLIC_MODE)


def publish_copy(folder: Folder, name: str, source: StoredFile, *, overwrite: bool = True) -> None:
    """Make the whole content of `source` the durable content of `name`, in flat memory."""
    _publish(folder, name, lambda target: copy_range(source, target, 0), overwrite=overwrite)


def publish_chunks(folder: Folder, name: str, pieces: Iterable[bytes], *, overwrite: bool = False) -> None:
    """Make the bytes that are yielded the durable content of `name`, a free one unless told so, in flat memory."""

    def write(target: StoredFile) -> None:
        for piece in pieces:
            target.append(piece)

    _publish(folder, name, write, overwrite=overwrite)


def copy_range(source: StoredFile, target: StoredFile, start: int) -> None:
    """Append the bytes of `source` from `start` to its end to `target`."""
    for chunk in chunks(source, start):
        target.append(chunk)


def chunks(source: StoredFile, start: int = 0) -> Iterator[bytes]:
    """Yield the bytes of `source` from `start`, at most CHUNK_BYTES at a time."""
    offset = start
    while chunk := source.read(offset, CHUNK_BYTES):
        yield chunk
        offset += len(chunk)


def temporary_name(name: str) -> str:
    """Return a fresh hidden name beside `name`; no run before this one can have left a file there."""
    return f".{name[:200]}.{os.urandom(8).hex()}{TEMPORARY_SUFFIX}"


def displace(folder: Folder, name: str) -> str:
    """Move what stands under `name` aside, whatever it is, and return the name it has now."""
    aside = f"{name}.displaced-{os.urandom(4).hex()}"
    folder.replace(name, aside)
    return aside


def settle(folder: Folder, temporary: str, name: str, *, overwrite: bool) -> None:
    """Give a written and synced temporary file its name, durably."""
    if overwrite:
        folder.replace(temporary, name)
    else:
        folder.claim(temporary, name)
    folder.sync()


def _publish(folder: Folder, name: str, write: Callable[[StoredFile], None], *, overwrite: bool) -> None:
    temporary = temporary_name(name)
    try:
        with folder.create(temporary) as target:
            write(target)
            target.sync()
        settle(folder, temporary, name, overwrite=overwrite)
    except (DocketError, KeyboardInterrupt):
        with suppress(DocketError):
            folder.remove(temporary)
        raise
