"""A disk around another one that counts the steps that change something and refuses from one of them on.

A step is each call that creates, writes, syncs, cuts, reserves, renames or removes. `stop_at` of n lets n steps
happen and none after: to the disk, the process died there. `fail` refuses chosen steps only and then goes on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.host.disk import Disk, FileFigures, FileIdentity, Folder, Held, StoredFile

Rule = Callable[[int, str, str], Reason | None]


def stop_at(count: int) -> Rule:
    """Refuse everything after `count` steps."""
    return lambda step, _operation, _name: Reason.IO_ERROR if step >= count else None


def fail(reason: Reason, operation: str, name: str = "", *, times: int = 10**9, after: int = 0) -> Rule:
    """Refuse an operation on names that end in `name`: the first `after` pass, the next `times` fail."""
    seen = [0]

    def rule(_step: int, met: str, on: str) -> Reason | None:
        if met != operation or not on.endswith(name):
            return None
        seen[0] += 1
        return reason if after < seen[0] <= after + times else None

    return rule


def never(_step: int, _operation: str, _name: str) -> Reason | None:
    return None


class FaultyDisk:
    """Counts steps in `steps` and keeps what they were in `log`."""

    def __init__(self, inner: Disk, rule: Rule = never) -> None:
        self.inner, self.rule = inner, rule
        self.log: list[tuple[str, str]] = []
        self._lock = threading.Lock()

    @property
    def steps(self) -> int:
        return len(self.log)

    def step(self, operation: str, name: str) -> None:
        with self._lock:
            reason = self.rule(len(self.log), operation, name)
            self.log.append((operation, name))
        if reason is not None:
            raise UnavailableError(reason, f"{operation} {name}: {reason}")

    def folder(self, path: Path, *, create: bool = False) -> FaultyFolder:
        if create:
            self.step("make", str(path))
        return FaultyFolder(self, self.inner.folder(path, create=create))


class FaultyFolder:
    def __init__(self, disk: FaultyDisk, inner: Folder) -> None:
        self._disk, self._inner = disk, inner

    @property
    def path(self) -> Path:
        return self._inner.path

    def folder(self, name: str, *, create: bool = False, durable: bool = True) -> FaultyFolder:
        if create:
            self._disk.step("make", name)
        return FaultyFolder(self._disk, self._inner.folder(name, create=create, durable=durable))

    def create(self, name: str) -> FaultyFile:
        self._disk.step("create", name)
        return FaultyFile(self._disk, self._inner.create(name))

    def open(self, name: str, *, writable: bool = False) -> FaultyFile:
        return FaultyFile(self._disk, self._inner.open(name, writable=writable))

    def replace(self, name: str, new_name: str) -> None:
        self._disk.step("replace", new_name)
        self._inner.replace(name, new_name)

    def claim(self, name: str, new_name: str) -> None:
        self._disk.step("claim", new_name)
        self._inner.claim(name, new_name)

    def remove(self, name: str) -> None:
        self._disk.step("remove", name)
        self._inner.remove(name)

    def sync_everything(self) -> None:
        self._disk.step("sync everything", self._inner.path.name)
        self._inner.sync_everything()

    def hold(self, name: str, *, exclusive: bool, wait_seconds: float = 0.0) -> Held:
        self._disk.step("hold", name)
        return self._inner.hold(name, exclusive=exclusive, wait_seconds=wait_seconds)

    def move(self, name: str, into: FaultyFolder, new_name: str) -> None:
        self._disk.step("move", new_name)
        self._inner.move(name, into._inner, new_name)

    def link(self, name: str, into: FaultyFolder, new_name: str) -> None:
        self._disk.step("link", new_name)
        self._inner.link(name, into._inner, new_name)

    def look(self, name: str) -> FileFigures | None:
        return self._inner.look(name)

    def remove_folder(self, name: str) -> None:
        self._disk.step("remove folder", name)
        self._inner.remove_folder(name)

    def make_private(self) -> None:
        self._disk.step("restrict", self._inner.path.name)
        self._inner.make_private()

    def names(self) -> tuple[str, ...]:
        return self._inner.names()

    def identity(self, name: str) -> FileIdentity | None:
        return self._inner.identity(name)

    def sync(self) -> None:
        self._disk.step("sync folder", self._inner.path.name)
        self._inner.sync()

    def close(self) -> None:
        self._inner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FaultyFile:
    def __init__(self, disk: FaultyDisk, inner: StoredFile) -> None:
        self._disk, self._inner = disk, inner

    @property
    def path(self) -> Path:
        return self._inner.path

    def append(self, data: bytes) -> None:
        self._disk.step("append", self._inner.path.name)
        self._inner.append(data)

    def read(self, offset: int, size: int) -> bytes:
        return self._inner.read(offset, size)

    def size(self) -> int:
        return self._inner.size()

    def sync(self) -> None:
        self._disk.step("sync", self._inner.path.name)
        self._inner.sync()

    def truncate(self, size: int) -> None:
        self._disk.step("truncate", self._inner.path.name)
        self._inner.truncate(size)

    def preallocate(self, size: int) -> bool:
        self._disk.step("preallocate", self._inner.path.name)
        return self._inner.preallocate(size)

    def free_bytes(self) -> int | None:
        return self._inner.free_bytes()

    def copy_into(self, descriptor: int, offset: int, size: int) -> bool:
        return self._inner.copy_into(descriptor, offset, size)

    def identity(self) -> FileIdentity | None:
        return self._inner.identity()

    def close(self) -> None:
        self._inner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
