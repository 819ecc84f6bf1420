"""A settings file of another program's: read, and replaced as a whole.

Rules:
1. The file lies below a root, the person's home or a project. A link is followed as long as what it leads to lies below
   that root too; one that leads out of it is refused, so that nothing is written where a repository points.
2. It is replaced in one step by a file beside it that is whole and synced, with the mode and the owner of the old one.
   What changed since it was read is left as it is.
3. A file that is none (a folder, a FIFO) is refused and never waited for.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from docket.errors import UnavailableError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.host.disk import reported

MAX_BYTES = 4 * 1024 * 1024
NEW_MODE = 0o600
_FOLDER_MODE = 0o700


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """A file as it was read; `data` and `mode` are None where there is none. `path` is where it really stands."""

    path: Path
    data: bytes | None = None
    mode: int | None = None


def read_settings(root: Path, path: Path) -> SettingsFile:
    """Read a file below a root.

    UnavailableError: IS_A_SYMLINK where a link leads out of the root, NOT_A_FILE, TOO_LARGE, or what the disk says.
    """
    real = _inside(root, path)
    with reported("read", path):
        try:
            descriptor = os.open(real, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
        except FileNotFoundError:
            return SettingsFile(path=real)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise UnavailableError(Reason.NOT_A_FILE, f"{path} is not a regular file")
            data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UnavailableError(Reason.TOO_LARGE, f"{path} is larger than {MAX_BYTES:,} bytes")
    return SettingsFile(path=real, data=data, mode=stat.S_IMODE(status.st_mode))


def write_settings(root: Path, found: SettingsFile, data: bytes | None) -> None:
    """Put `data` in the place of a file that was read, or remove it (None).

    UnavailableError(CHANGED_SINCE) where the file is not what was read any more.
    """
    if data is not None:
        with reported("make the folder of", found.path):
            found.path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    if read_settings(root, found.path) != found:
        raise UnavailableError(Reason.CHANGED_SINCE, f"{found.path} was changed meanwhile and is left as it is")
    with reported("write", found.path):
        if data is None:
            found.path.unlink()
        else:
            _replace(found, data)
        _sync(found.path.parent)


def _inside(root: Path, path: Path) -> Path:
    real, top = Path(os.path.realpath(path)), Path(os.path.realpath(root))
    if not real.is_relative_to(top):
        raise UnavailableError(
            Reason.IS_A_SYMLINK, f"{path} leads to {real}, out of {top}, and is left as it is",
            hint="put the hooks into the file it leads to by hand",
        )  # fmt: skip
    return real


def _replace(found: SettingsFile, data: bytes) -> None:
    temporary = found.path.with_name(f".{found.path.name[:200]}.{secrets.token_hex(8)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, NEW_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if found.mode is not None:
                _keep_owner(descriptor, found.path)
                os.fchmod(descriptor, found.mode)
            file.flush()
            os.fsync(descriptor)
        temporary.replace(found.path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise


def _keep_owner(descriptor: int, path: Path) -> None:
    status = path.stat()
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):
            os.fchown(descriptor, status.st_uid, status.st_gid)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
