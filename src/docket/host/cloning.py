"""Whether the files of two places can share their bytes until one of them is written (ioctl_ficlonerange(2)).

Rules:
1. It is found out by doing it, with a file that is there: device numbers do not tell, for the subvolumes of one file
   system differ in them.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from docket.host.disk_calls import share

_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_MAX_LOOKED_AT = 4096


def cannot_share(base: Path, folder: Path) -> str | None:
    """Say why a new file in `folder` cannot share the bytes of files in `base`, None if it can.

    A base in which no file that can be read is met soon is taken for one that shares if the folder does with itself.
    """
    try:
        target = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        return f"no file can be made in {folder}: {_words(error)}"
    try:
        source = next(_readable(base), None)
        if source is None:
            source = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            share(source, target)
        finally:
            os.close(source)
    except OSError as error:
        if error.errno == errno.EXDEV:
            return f"{base} and {folder} are on different file systems"
        return f"the file system of {folder} cannot share the bytes of files: {_words(error)}"
    finally:
        os.close(target)
    return None


def _readable(base: Path) -> Iterator[int]:
    """Yield a descriptor of a regular file that is not empty, looking at so many names only."""
    ahead, looked_at = [os.fspath(base)], 0
    while ahead and looked_at < _MAX_LOOKED_AT:
        try:
            entries = list(os.scandir(ahead.pop()))
        except OSError:
            continue
        looked_at += len(entries)
        ahead += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        for entry in entries:
            try:
                if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_size:
                    yield os.open(entry.path, _READ_FLAGS)
            except OSError:
                continue


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
