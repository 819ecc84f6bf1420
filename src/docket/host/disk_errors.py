"""From an OSError to the UnavailableError that names its cause.

Every module that touches the operating system reports through here, so one cause has one reason and one sentence.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docket.errors import UnavailableError
from docket.formats.reason import Reason

_REASONS = {
    errno.ENOSPC: (Reason.NO_SPACE, "no space is left on the disk"),
    errno.EDQUOT: (Reason.QUOTA_EXCEEDED, "the disk quota is used up"),
    errno.EFBIG: (Reason.FILE_SIZE_LIMIT, "the file would pass the size limit of this process or file system"),
    errno.EROFS: (Reason.READ_ONLY, "the file system is read-only"),
    errno.EACCES: (Reason.NOT_PERMITTED, "permission is denied"),
    errno.EPERM: (Reason.NOT_PERMITTED, "the operation is not permitted"),
    errno.EIO: (Reason.IO_ERROR, "the disk reported an input/output error"),
    errno.ENOENT: (Reason.NOT_FOUND, "it does not exist"),
    errno.EEXIST: (Reason.ALREADY_EXISTS, "it exists already"),
    errno.ELOOP: (Reason.IS_A_SYMLINK, "it is a symbolic link"),
    errno.ENOTDIR: (Reason.NOT_A_DIRECTORY, "it is not a folder"),
    errno.EISDIR: (Reason.NOT_A_FILE, "it is a folder"),
    errno.ENXIO: (Reason.NOT_A_FILE, "it is not a regular file"),
    errno.ENAMETOOLONG: (Reason.NAME_TOO_LONG, "the name is too long"),
    errno.ENOTEMPTY: (Reason.NOT_EMPTY, "it is not empty"),
    errno.EMLINK: (Reason.TOO_MANY_LINKS, "the file has as many names as its file system allows"),
    errno.EXDEV: (Reason.OTHER_FILE_SYSTEM, "it stands on another file system"),
}


def unavailable(error: OSError, action: str, path: Path | str) -> UnavailableError:
    """Return the UnavailableError for an OSError met while doing `action` (an infinitive) to `path`."""
    fallback = (Reason.WRITE_FAILED, (error.strerror or str(error)).lower())
    reason, cause = _REASONS.get(error.errno or 0, fallback)
    return UnavailableError(reason, f"cannot {action} {path}: {cause}")


@contextmanager
def reported(action: str, path: Path | str) -> Iterator[None]:
    """Turn an OSError inside the block into UnavailableError."""
    try:
        yield
    except OSError as error:
        raise unavailable(error, action, path) from error
