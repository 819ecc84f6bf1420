"""Copying plain files of one open tree into another that need not outlast anything, a directory's files at once.

Rules:
1. A file is made where its name is free, by a call that fails if it is not, and has exactly the content that it is to
   have: what is read of the source is compared with its digest, and the same bytes are written.
2. A file may share the source's bytes in place of being written, unless it is so small that writing it costs less
   than sharing it. What is compared then is the source, if its status is the same before and afterwards and vouches
   for it; else the new file is read.
3. No link is followed: each directory is opened past no link and no mount point, each file by its name in it.
4. Where one file cannot be made as it should be, what was made of its batch is removed again.

What has attributes, holes or several names is not copied here but made by a step (host.direct).
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.plain import PlainFile
from docket.host.attribute_setting import has_default_acl, shed_inherited
from docket.host.disk_calls import share
from docket.host.reaching import STAGING_PREFIX, Reached, Refusal, failure
from docket.host.tree import file_key
from docket.host.tree_calls import TreeCalls, open_below, open_inside

_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_CHUNK_BYTES = 1024 * 1024
SHARED_FROM_BYTES = 16 * 1024

Made: TypeAlias = list[tuple[bytes, os.stat_result]]
"""Files that were made, by name in their directory, and what their inodes said then."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The file that could not be made, and why."""

    path: RelPath
    refusal: Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The open directory `root` whose files are copied.

    `vouches` says of a ctime whether a file that has it cannot change without showing it. `shares`: files share their
    bytes where they can. `tell` hears how many bytes were copied or shared.
    """

    root: int
    vouches: Callable[[int], bool]
    shares: bool
    tell: Callable[[int], None]


class Copier:
    """Makes files in one tree, of those of a source."""

    def __init__(self, calls: TreeCalls, source: Source) -> None:
        self._calls = calls
        self._source = source

    def copy(self, files: Sequence[PlainFile], reached: Reached) -> Made | Stopped:
        """Make the files, all of one directory, in the one that was reached."""
        path = files[0][0]
        holder = path.rpartition(b"/")[0]
        start = len(holder) + 1 if holder else 0
        made: Made = []
        source, target = -1, reached.descriptor
        try:
            source, sheds = _entered(self._source.root, holder), has_default_acl(target)
            for file in files:
                path = file[0]
                done = self._one(file, path[start:], (source, target), sheds=sheds)
                if isinstance(done, Refusal):
                    self.unmake(made, target)
                    return Stopped(RelPath(path), done)
                made.append((path[start:], done))
        except OSError as error:
            self.unmake(made, target)
            return Stopped(RelPath(path), _changed(path) if source < 0 else failure(error, "write", RelPath(path)))
        finally:
            if source >= 0:
                os.close(source)
        return made

    def unmake(self, made: Made, target: int) -> None:
        """Remove what was made in a directory, as far as it still stands there."""
        for name, status in made:
            with suppress(OSError):
                if os.stat(name, dir_fd=target, follow_symlinks=False).st_ino == status.st_ino:
                    self._calls.unlink(target, name)

    def _one(self, file: PlainFile, name: bytes, between: tuple[int, int], *, sheds: bool) -> os.stat_result | Refusal:
        path = file[0]
        if name == path and name.startswith(STAGING_PREFIX):
            return Refusal(Reason.EXCLUDED, f"{RelPath(path)} has a name that docket keeps for itself")
        try:
            source = os.open(name, _READ_FLAGS, dir_fd=between[0])
        except OSError:
            return _changed(path)
        target = -1
        try:
            before = os.fstat(source)
            if before.st_size != file[3] or not stat.S_ISREG(before.st_mode):
                return _changed(path)
            target = self._calls.make_file(between[1], name)
            if sheds:
                shed_inherited(self._calls, between[1], target)
            done = self._filled(file, source, target, before)
            if isinstance(done, os.stat_result):
                return done
            self.unmake([(name, os.fstat(target))], between[1])
            return done
        except OSError:
            if target >= 0:
                self.unmake([(name, os.fstat(target))], between[1])
            raise
        finally:
            os.close(source)
            if target >= 0:
                os.close(target)

    def _filled(self, file: PlainFile, source: int, target: int, before: os.stat_result) -> os.stat_result | Refusal:
        path, mode, digest, size, mtime_ns = file
        if self._source.shares and size >= SHARED_FROM_BYTES and _shared(source, target):
            is_same = self._read(source, -1, size) == digest
            if not self._source.vouches(before.st_ctime_ns) or file_key(os.fstat(source)) != file_key(before):
                os.lseek(target, 0, os.SEEK_SET)
                is_same = self._read(target, -1, size) == digest
        else:
            is_same = self._read(source, target, size) == digest
        if not is_same:
            return _changed(path)
        self._calls.chmod(target, mode)
        self._calls.set_mtime(target, mtime_ns)
        return os.fstat(target)

    def _read(self, source: int, target: int, size: int) -> str:
        """Return the digest of what is read; write it to a `target` that is not negative."""
        # One byte more than there is to be: what is longer than it was is never worth the disk it takes.
        data = os.read(source, min(size + 1, _CHUNK_BYTES))
        digest, left = hashlib.sha256(data), size
        while data:
            left -= len(data)
            if left < 0:
                break
            if target >= 0:
                self._calls.write(target, data)
            self._source.tell(len(data))
            if not left and size < _CHUNK_BYTES:
                break
            data = os.read(source, min(left + 1, _CHUNK_BYTES))
            digest.update(data)
        return digest.hexdigest()


def _shared(source: int, target: int) -> bool:
    try:
        share(source, target)
    except OSError:
        return False
    return True


def _entered(root: int, path: bytes) -> int:
    """Open a directory below an open root, past no link and no mount point. May raise OSError."""
    if not path:
        return os.dup(root)
    at_once = open_below(root, path)
    if at_once is not None:
        return at_once
    current = os.dup(root)
    for name in path.split(b"/"):
        try:
            entered = open_inside(current, name)
        finally:
            os.close(current)
        current = entered
    return current


def _changed(path: bytes) -> Refusal:
    return Refusal(Reason.CHANGED_WHILE_READ, f"{RelPath(path)} is not what it was", failed=True)
