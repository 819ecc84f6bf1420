"""The operating system's disk, which the port `host.disk_port` describes.

Rules:
1. It decides nothing: each method is one system call, or the few that a portable one takes.
2. A file is 0600 and a folder 0700 from its creation, whatever the umask takes away; no name is followed if it is a
   symbolic link; descriptors close on exec; a FIFO, socket or device is refused without blocking.
3. Names are resolved inside an open folder, so a folder that is swapped for a link afterwards redirects nothing.
4. Every OSError leaves as UnavailableError with a reason that names its cause.

What must happen in which order to be durable is `host.durable`. The port's names are exported here too.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Self

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.formats.relpath import MAX_NAME_BYTES
from docket.host.disk_calls import clone, fallocate, syncfs
from docket.host.disk_errors import reported, unavailable
from docket.host.disk_port import Disk, FileFigures, FileIdentity, Folder, Held, StoredFile
from docket.host.holding import Holding, hold

FILE_MODE = 0o600
FOLDER_MODE = 0o700

_FALLOC_FL_KEEP_SIZE = 1


def free_bytes(place: Path | int) -> int:
    """Return how many bytes the disk that holds a path or a descriptor has left; OSError where it does not say."""
    found = os.statvfs(place)
    if not found.f_blocks:
        raise OSError(errno.ENOTSUP, "the file system counts no blocks")
    return found.f_bavail * found.f_frsize


class _Descriptor:
    """A descriptor that is closed once."""

    __slots__ = ("_descriptor", "_path")

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self._path = path

    @property
    def path(self) -> Path:
        """Where it was opened."""
        return self._path

    def fileno(self) -> int:
        """The descriptor, for a lock or a poll."""
        return self._descriptor

    def close(self) -> None:
        """Close the descriptor once."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with reported("close", self._path):
                os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SystemFile(_Descriptor):
    """A `StoredFile` of the operating system."""

    __slots__ = ()

    def append(self, data: bytes) -> None:
        """Write all of `data`; the descriptor is in append mode."""
        try:
            written = os.write(self._descriptor, data)
            while written < len(data):
                written += os.write(self._descriptor, memoryview(data)[written:])
        except OSError as error:
            raise unavailable(error, "write to", self._path) from error

    def read(self, offset: int, size: int) -> bytes:
        """Read at a position."""
        with reported("read", self._path):
            data = os.pread(self._descriptor, size, offset)
            while data and len(data) < size:
                more = os.pread(self._descriptor, size - len(data), offset + len(data))
                if not more:
                    break
                data += more
            return data

    def size(self) -> int:
        """The size from fstat."""
        with reported("look at", self._path):
            return os.fstat(self._descriptor).st_size

    def sync(self) -> None:
        """fdatasync: it covers the size, and no other metadata matters here."""
        try:
            os.fdatasync(self._descriptor)
        except OSError as error:
            raise unavailable(error, "sync", self._path) from error

    def truncate(self, size: int) -> None:
        """ftruncate, which also frees blocks beyond an unchanged end."""
        with reported("truncate", self._path):
            os.ftruncate(self._descriptor, size)

    def free_bytes(self) -> int | None:
        """fstatvfs; a file system without blocks, as some in user space are, says nothing."""
        try:
            return free_bytes(self._descriptor)
        except OSError:
            return None

    def preallocate(self, size: int) -> bool:
        """fallocate with KEEP_SIZE; posix_fallocate would show NUL bytes at the end of the file."""
        call = fallocate()
        if call is None:
            return False
        while (code := call(self._descriptor, _FALLOC_FL_KEEP_SIZE, 0, size)) != 0:
            if code in (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
                return False
            if code != errno.EINTR:
                raise unavailable(OSError(code, os.strerror(code)), "reserve space for", self._path)
        return True

    def copy_into(self, descriptor: int, offset: int, size: int) -> bool:
        """FICLONE where all of the file is wanted, else copy_file_range."""
        with reported("copy", self._path):
            return clone(self._descriptor, descriptor, offset, size)

    def identity(self) -> FileIdentity | None:
        """Device and inode from fstat."""
        with reported("look at", self._path):
            status = os.fstat(self._descriptor)
        return FileIdentity(status.st_dev, status.st_ino) if status.st_nlink else None


class SystemFolder(_Descriptor):
    """A `Folder` of the operating system; every call is relative to its descriptor."""

    __slots__ = ()

    def folder(self, name: str, *, create: bool = False, durable: bool = True) -> SystemFolder:
        """openat with O_DIRECTORY and O_NOFOLLOW, after mkdirat if asked."""
        path = self._path / _component(name)
        if create and self.identity(name) is None:
            with reported("create the folder", path):
                try:
                    os.mkdir(name, FOLDER_MODE, dir_fd=self._descriptor)
                except FileExistsError:
                    pass  # made by another run at the same moment; opening it says what it is
                else:
                    _open_up(name, self._descriptor)
                    if durable:
                        self.sync()
        return SystemFolder(_open_folder(name, path, self._descriptor), path)

    def create(self, name: str) -> SystemFile:
        """openat with O_CREAT and O_EXCL; readable too, so that it can be checked afterwards."""
        path = self._path / _component(name)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with reported("create", path):
            return SystemFile(create_file(name, flags, self._descriptor), path)

    def open(self, name: str, *, writable: bool = False) -> SystemFile:
        """openat without following and without waiting for a FIFO's other end."""
        return _open_file(name, self._path / _component(name), self._descriptor, writable=writable)

    def replace(self, name: str, new_name: str) -> None:
        """renameat."""
        with reported("rename", self._path / _component(new_name)):
            os.rename(_component(name), new_name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def claim(self, name: str, new_name: str) -> None:
        """linkat and unlinkat: rename has no portable way to refuse an existing name."""
        with reported("create", self._path / _component(new_name)):
            here = self._descriptor
            try:
                os.link(_component(name), new_name, src_dir_fd=here, dst_dir_fd=here, follow_symlinks=False)
            except OSError as error:
                if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
                    raise
                if self.identity(new_name) is not None:
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
                os.rename(name, new_name, src_dir_fd=here, dst_dir_fd=here)
            else:
                os.unlink(name, dir_fd=here)

    def remove(self, name: str) -> None:
        """unlinkat."""
        with reported("remove", self._path / _component(name)):
            os.unlink(name, dir_fd=self._descriptor)

    def make_private(self) -> None:
        """fstat and fchmod."""
        with reported("restrict", self._path):
            status = os.fstat(self._descriptor)
            if status.st_uid != os.geteuid():
                raise UnavailableError(Reason.NOT_OURS, f"cannot use {self._path}: it belongs to user {status.st_uid}")
            if stat.S_IMODE(status.st_mode) != FOLDER_MODE:
                os.fchmod(self._descriptor, FOLDER_MODE)

    def names(self) -> tuple[str, ...]:
        """listdir on the descriptor."""
        with reported("list", self._path):
            return tuple(sorted(os.listdir(self._descriptor)))  # noqa: PTH208 - a path could be swapped, this cannot

    def identity(self, name: str) -> FileIdentity | None:
        """lstat."""
        found = self.look(name)
        return None if found is None else found.identity

    def sync(self) -> None:
        """fsync of the directory."""
        with reported("sync", self._path):
            os.fsync(self._descriptor)

    def sync_everything(self) -> None:
        """syncfs, which since Linux 5.8 tells of a write that failed; sync where there is no such call."""
        call = syncfs()
        if call is None:
            os.sync()
        elif (code := call(self._descriptor)) != 0:
            raise unavailable(OSError(code, os.strerror(code)), "sync", self._path)

    def hold(self, name: str, *, exclusive: bool, wait_seconds: float = 0.0) -> Held:
        """openat and flock."""
        path = self._path / _component(name)
        with reported("lock", path):
            held = hold(self._descriptor, name, exclusive=exclusive, wait_seconds=wait_seconds)
        if held is None:
            raise UnavailableError(Reason.LOCKED, f"{path} is held by another process")
        return held

    def move(self, name: str, into: Folder, new_name: str) -> None:
        """renameat."""
        here, target, names = self._descriptor, _descriptor_of(into), (_component(name), _component(new_name))
        try:
            os.rename(*names, src_dir_fd=here, dst_dir_fd=target)
        except OSError as error:
            raise unavailable(error, "rename", into.path / new_name) from error

    def link(self, name: str, into: Folder, new_name: str) -> None:
        """linkat."""
        here, target, names = self._descriptor, _descriptor_of(into), (_component(name), _component(new_name))
        try:
            os.link(*names, src_dir_fd=here, dst_dir_fd=target, follow_symlinks=False)
        except OSError as error:
            raise unavailable(error, "link", into.path / new_name) from error

    def look(self, name: str) -> FileFigures | None:
        """fstatat."""
        try:
            status = os.stat(_component(name), dir_fd=self._descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise unavailable(error, "look at", self._path / name) from error
        kind = stat.S_ISREG(status.st_mode), stat.S_ISDIR(status.st_mode)
        return FileFigures(
            FileIdentity(status.st_dev, status.st_ino), *kind, status.st_size, status.st_nlink, status.st_mtime_ns
        )

    def remove_folder(self, name: str) -> None:
        """rmdir."""
        with reported("remove the folder", self._path / _component(name)):
            os.rmdir(name, dir_fd=self._descriptor)


class SystemDisk:
    """The machine's file systems."""

    def folder(self, path: Path, *, create: bool = False) -> SystemFolder:
        """Open `path`; what stands above it may be reached through links, it may not be one itself."""
        if create and path.parent != path and not os.path.isdir(path.parent):  # noqa: PTH112 - Path's own raises
            self.folder(path.parent, create=True).close()
        if not create or not path.name:
            return SystemFolder(_open_folder(path, path, None), path)
        with reported("open the folder", path.parent):
            above = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with SystemFolder(above, path.parent) as parent:
            return parent.folder(path.name, create=True)


SYSTEM_DISK = SystemDisk()


def _open_file(name: str, path: Path, dir_fd: int, *, writable: bool) -> SystemFile:
    flags = (os.O_RDWR | os.O_APPEND if writable else os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    with reported("open", path):
        descriptor = os.open(name, flags, dir_fd=dir_fd)
    opened = SystemFile(descriptor, path)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        opened.close()
        raise UnavailableError(Reason.NOT_A_FILE, f"cannot open {path}: it is not a regular file")
    return opened


def create_file(name: str | Path, flags: int, dir_fd: int | None = None) -> int:
    """Open a file that may be new and return its descriptor; a new one is 0600, whatever the umask. May raise OSError.

    A file that its owner cannot open again would be lost as evidence.
    """
    descriptor = os.open(name, flags, FILE_MODE, dir_fd=dir_fd)
    try:
        status = os.fstat(descriptor)
        if status.st_uid == os.geteuid() and status.st_mode & FILE_MODE != FILE_MODE:
            os.fchmod(descriptor, FILE_MODE)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _open_up(name: str, dir_fd: int) -> None:
    """Give a folder that was just made the bits that the umask took, without following its name."""
    # Only a descriptor of this kind is to be had for a folder without any bits, and it changes them by its own path.
    descriptor = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        if os.fstat(descriptor).st_mode & FOLDER_MODE != FOLDER_MODE:
            os.chmod(f"/proc/self/fd/{descriptor}", FOLDER_MODE)  # noqa: PTH101 - no Path leads there
    finally:
        os.close(descriptor)


def _descriptor_of(folder: Folder) -> int:
    """Return the descriptor of a folder of this machine; one of another disk is no place to move a file to."""
    if not isinstance(folder, SystemFolder):
        raise UnavailableError(Reason.OTHER_FILE_SYSTEM, f"{folder.path} is a folder of another disk")
    return folder.fileno()


def _open_folder(name: str | Path, path: Path, dir_fd: int | None) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags, dir_fd=dir_fd)
    except NotADirectoryError as error:
        # With O_DIRECTORY Linux says ENOTDIR of a link too, and the person needs to know which it is.
        code = errno.ELOOP if _is_link(name, dir_fd) else errno.ENOTDIR
        raise unavailable(OSError(code, os.strerror(code)), "open the folder", path) from error
    except OSError as error:
        raise unavailable(error, "open the folder", path) from error


def _is_link(name: str | Path, dir_fd: int | None) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode)
    except OSError:
        return False


def is_component(name: str) -> bool:
    """Whether a file can have this name: one step of a path, no longer than a system takes it."""
    if not name or "/" in name or "\0" in name or name in (".", ".."):
        return False
    return len(os.fsencode(name)) <= MAX_NAME_BYTES


def _component(name: str) -> str:
    if not is_component(name):
        raise UnavailableError(Reason.NOT_A_PATH, f"{name!r} is not the name of one file")
    return name


__all__ = [
    "FILE_MODE", "FOLDER_MODE", "SYSTEM_DISK", "Disk", "FileFigures", "FileIdentity", "Folder", "Held", "Holding",
    "StoredFile", "SystemDisk", "SystemFile", "SystemFolder", "create_file", "is_component", "reported", "unavailable",
]  # fmt: skip
