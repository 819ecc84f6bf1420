"""The hidden directory in a tree's root where things stand before they take their place, and after they lost it.

Rules:
1. It is made anew for each apply under a name nobody can know, for its owner alone, and is locked while it is used:
   a locked one belongs to a live apply, an unlocked one is left over.
2. It holds the plan's document, so that whoever finds it left over can tell what each thing in it is.
3. `<step>.new` is being made and has never been anywhere else. `<step>.<inode>` is what the step puts in place while
   it has that inode; with any other inode it is what was displaced. `opened.<n>.<random>` names a directory whose
   mode is wider for its owner for the moment, and the mode it must get. `kept` says that what was displaced is
   promised to somebody, `journal` that a commit's journal tells what is done with it, and whose that is.
4. It is removed only when it is empty but for these.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress

from docket.host.attribute_setting import shed_inherited
from docket.host.reaching import STAGING_PREFIX
from docket.host.tree_calls import TreeCalls, open_inside, open_name

PLAN, KEPT, JOURNAL = b"plan", b"kept", b"journal"
OWN_FILES = frozenset((PLAN, KEPT, JOURNAL))
OPENED_PREFIX = b"opened."
NEW_SUFFIX = b".new"
MAX_PLAN_BYTES = 1024**3
_ATTEMPTS = 16
_CHUNK_BYTES = 1024 * 1024


class Staging:
    """An open and locked staging directory."""

    __slots__ = ("_calls", "_notes", "descriptor", "durable", "name", "root")

    def __init__(self, root: int, descriptor: int, name: bytes, calls: TreeCalls, *, durable: bool) -> None:
        self.root = root
        self._calls = calls
        self.durable = durable
        self._notes = 0
        self.descriptor = descriptor
        self.name = name

    @classmethod
    def create(cls, root: int, files: Mapping[bytes, bytes], calls: TreeCalls, *, durable: bool) -> Staging:
        """Make one that holds these files of its own, the plan's document among them. May raise OSError."""
        for _ in range(_ATTEMPTS):
            name = STAGING_PREFIX + secrets.token_hex(8).encode()
            calls.make_directory(root, name)
            made = cls._locked(root, name, calls, durable=durable)
            if made is not None:
                made._begin(files)
                return made
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    @classmethod
    def open(cls, root: int, name: bytes, calls: TreeCalls, *, durable: bool) -> Staging | None:
        """Open and lock one that was left over; None if it is in use, another user's or none at all."""
        try:
            descriptor = open_inside(root, name)
        except OSError:
            return None
        found = cls(root, descriptor, name, calls, durable=durable)
        status = os.fstat(descriptor)
        if status.st_uid == os.geteuid() and stat.S_IMODE(status.st_mode) == 0o700 and found._lock():
            return found
        os.close(descriptor)
        return None

    @classmethod
    def _locked(cls, root: int, name: bytes, calls: TreeCalls, *, durable: bool) -> Staging | None:
        unopened = open_name(root, name)
        try:
            if stat.S_IMODE(os.fstat(unopened).st_mode) != 0o700:  # the umask took something, or the parent gave
                calls.chmod(unopened, 0o700)
        finally:
            os.close(unopened)
        descriptor = open_inside(root, name)
        try:
            shed_inherited(calls, root, descriptor)
            made = cls(root, descriptor, name, calls, durable=durable)
            # Between its making and its lock another apply may have taken it for a leftover and removed it.
            if made._lock() and os.fstat(descriptor).st_nlink:
                return made
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)
        return None

    def _lock(self) -> bool:
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno not in (errno.EWOULDBLOCK, errno.EACCES)  # a file system without locks has one user
        return True

    def _begin(self, files: Mapping[bytes, bytes]) -> None:
        try:
            for name, data in files.items():
                self._write(name, data)
            self.sync()
            if self.durable:
                self._calls.sync(self.root)
        except BaseException as error:
            try:
                if isinstance(error, OSError):
                    with suppress(OSError):
                        self.remove()
            finally:
                os.close(self.descriptor)
            raise

    def _write(self, name: bytes, data: bytes) -> None:
        descriptor = self._calls.make_file(self.descriptor, name)
        try:
            self._calls.write(descriptor, data)
            if self.durable:
                self._calls.sync(descriptor)
        except OSError:
            with suppress(OSError):
                self.drop(name)
            raise
        finally:
            os.close(descriptor)

    def note_opened(self, path: bytes, mode: int) -> bytes:
        """Note, before it happens, that a directory is opened to its owner; return the note's name."""
        self._notes += 1
        name = OPENED_PREFIX + b"%d.%s" % (self._notes, secrets.token_hex(4).encode())
        self._write(name, b"%o %s" % (mode, path))
        try:
            self.sync()
        except OSError:
            with suppress(OSError):
                self.drop(name)
            raise
        return name

    def drop(self, name: bytes) -> None:
        """Remove a file's name here, if it is there."""
        with suppress(FileNotFoundError):
            self._calls.unlink(self.descriptor, name)

    def names(self) -> list[bytes]:
        """Return the names inside, in byte order."""
        return sorted(os.fsencode(name) for name in os.listdir(self.descriptor))  # noqa: PTH208 - by descriptor

    def read(self, name: bytes) -> bytes:
        """Return the content of a file of its own. May raise OSError."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=self.descriptor)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_PLAN_BYTES:
                raise OSError(errno.ENXIO, os.strerror(errno.ENXIO))
            parts = []
            while chunk := os.read(descriptor, _CHUNK_BYTES):
                parts.append(chunk)
            return b"".join(parts)
        finally:
            os.close(descriptor)

    def sync(self) -> None:
        """Return when the names inside would survive a power cut."""
        if self.durable:
            self._calls.sync(self.descriptor)

    def remove(self) -> bool:
        """Remove the directory; False where something that is not docket's to remove still stands in it."""
        if not set(self.names()) <= OWN_FILES:
            return False
        for name in (KEPT, JOURNAL, PLAN):
            self.drop(name)
        try:
            self._calls.remove_directory(self.root, self.name)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return False
            raise
        return True

    def close(self) -> None:
        """Give the descriptor and the lock back."""
        os.close(self.descriptor)
