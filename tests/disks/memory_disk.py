"""A disk in memory that forgets what was not synced: the fake of `host.disk.Disk`.

What a power cut leaves is drawn by `after_power_cut`: of each file a prefix of the operations since its last sync
(the last one torn), of each folder a prefix of its changes since its last sync, as an ordered journal would.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.host.disk import FileFigures, FileIdentity


@dataclass
class FileNode:
    number: int
    data: bytearray = field(default_factory=bytearray)
    durable: bytes = b""
    unsynced: list[tuple[str, bytes | int]] = field(default_factory=list)
    allocated: int = 0
    links: int = 1

    def blocks(self) -> int:
        return max(self.allocated, len(self.data))


@dataclass
class FolderNode:
    number: int
    entries: dict[str, Node] = field(default_factory=dict)
    durable: dict[str, Node] = field(default_factory=dict)
    unsynced: list[dict[str, Node]] = field(default_factory=list)
    private: bool = True


@dataclass
class OtherNode:
    """A symbolic link or a FIFO, planted by a test."""

    number: int
    reason: Reason


Node = FileNode | FolderNode | OtherNode


def refuse(reason: Reason, path: Path | str) -> UnavailableError:
    return UnavailableError(reason, f"{path}: {reason}")


class MemoryDisk:
    """`capacity_bytes` of None is endless."""

    def __init__(self, capacity_bytes: int | None = None) -> None:
        self.capacity_bytes = capacity_bytes
        self.supports_preallocation = True
        self.max_links: int | None = None
        self.holders: dict[Path, list[bool]] = {}
        self.lock = threading.RLock()
        self._numbers = 0
        self.root = FolderNode(self.number())

    def number(self) -> int:
        self._numbers += 1
        return self._numbers

    def folder(self, path: Path, *, create: bool = False) -> MemoryFolder:
        opened = MemoryFolder(self, self.root, Path("/"))
        for name in path.absolute().parts[1:]:
            opened = opened.folder(name, create=create)
        return opened

    def plant(self, path: Path, reason: Reason) -> None:
        """Put a symbolic link (IS_A_SYMLINK) or a FIFO (NOT_A_FILE) at `path`, durably."""
        parent = self.folder(path.parent, create=True)
        parent.node.entries[path.name] = OtherNode(self.number(), reason)
        parent.sync()

    def sync_everything(self) -> None:
        def walk(node: FolderNode) -> None:
            node.durable = dict(node.entries)
            node.unsynced.clear()
            for inner in node.entries.values():
                if isinstance(inner, FolderNode):
                    walk(inner)
                elif isinstance(inner, FileNode):
                    inner.durable = bytes(inner.data)
                    inner.unsynced.clear()

        with self.lock:
            walk(self.root)

    def used_bytes(self) -> int:
        seen: dict[int, FileNode] = {}

        def walk(node: FolderNode) -> None:
            for inner in node.entries.values():
                if isinstance(inner, FolderNode):
                    walk(inner)
                elif isinstance(inner, FileNode):
                    seen[inner.number] = inner

        walk(self.root)
        return sum(node.blocks() for node in seen.values())

    def room(self) -> int:
        return 2**60 if self.capacity_bytes is None else self.capacity_bytes - self.used_bytes()

    def after_power_cut(self, draw: Callable[[int], int]) -> MemoryDisk:
        """Return the disk as found after a power cut; `draw(n)` picks 0..n, how much of what was unsynced is left."""
        with self.lock:
            left = MemoryDisk(self.capacity_bytes)
            files: dict[int, FileNode] = {}
            left.root = self._left_of_folder(self.root, draw, files)
            left._numbers = self._numbers
            for file in files.values():
                file.links = 0
            left._count_links(left.root)
            return left

    def _count_links(self, node: FolderNode) -> None:
        for inner in node.entries.values():
            if isinstance(inner, FolderNode):
                self._count_links(inner)
            elif isinstance(inner, FileNode):
                inner.links += 1

    def _left_of_folder(self, node: FolderNode, draw: Callable[[int], int], files: dict[int, FileNode]) -> FolderNode:
        states = [node.durable, *node.unsynced]
        entries: dict[str, Node] = {}
        for name, inner in states[draw(len(node.unsynced))].items():
            if isinstance(inner, FolderNode):
                entries[name] = self._left_of_folder(inner, draw, files)
            elif isinstance(inner, FileNode):
                if inner.number not in files:
                    files[inner.number] = self._left_of_file(inner, draw)
                entries[name] = files[inner.number]
            else:
                entries[name] = inner
        return FolderNode(node.number, entries=entries, durable=dict(entries))

    @staticmethod
    def _left_of_file(node: FileNode, draw: Callable[[int], int]) -> FileNode:
        data = bytearray(node.durable)
        kept = draw(len(node.unsynced))
        for place, (_, value) in enumerate(node.unsynced[:kept]):
            if isinstance(value, int):
                del data[value:]
            else:
                whole = place < kept - 1
                data += value if whole else value[: draw(len(value))]
        return FileNode(node.number, data=data, durable=bytes(data))


class MemoryFile:
    def __init__(self, disk: MemoryDisk, node: FileNode, path: Path, *, writable: bool) -> None:
        self._disk, self._node, self._path, self._writable = disk, node, path, writable
        self._open = True

    @property
    def path(self) -> Path:
        return self._path

    def _use(self, *, write: bool = False) -> FileNode:
        if not self._open or (write and not self._writable):
            raise refuse(Reason.WRITE_FAILED, self._path)
        return self._node

    def append(self, data: bytes) -> None:
        with self._disk.lock:
            node = self._use(write=True)
            beyond = max(len(node.data) + len(data) - node.blocks(), 0)
            fits = len(data) - max(beyond - max(self._disk.room(), 0), 0)
            node.data += data[:fits]
            node.unsynced.append(("append", bytes(data[:fits])))
            if fits < len(data):
                raise refuse(Reason.NO_SPACE, self._path)

    def read(self, offset: int, size: int) -> bytes:
        return bytes(self._use().data[offset : offset + size])

    def size(self) -> int:
        return len(self._use().data)

    def sync(self) -> None:
        with self._disk.lock:
            node = self._use()
            node.durable = bytes(node.data)
            node.unsynced.clear()

    def truncate(self, size: int) -> None:
        with self._disk.lock:
            node = self._use(write=True)
            del node.data[size:]
            node.allocated = len(node.data)
            node.unsynced.append(("truncate", size))

    def preallocate(self, size: int) -> bool:
        with self._disk.lock:
            node = self._use(write=True)
            if not self._disk.supports_preallocation:
                return False
            if size - node.blocks() > self._disk.room():
                raise refuse(Reason.NO_SPACE, self._path)
            node.allocated = max(node.allocated, size)
            return True

    def free_bytes(self) -> int | None:
        with self._disk.lock:
            self._use()
            return max(self._disk.room(), 0)

    def copy_into(self, descriptor: int, offset: int, size: int) -> bool:
        self._use()
        return False

    def identity(self) -> FileIdentity | None:
        node = self._use()
        return FileIdentity(0, node.number) if node.links else None

    def close(self) -> None:
        self._open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class MemoryFolder:
    def __init__(self, disk: MemoryDisk, node: FolderNode, path: Path) -> None:
        self._disk, self.node, self._path = disk, node, path
        self._open = True

    @property
    def path(self) -> Path:
        return self._path

    def folder(self, name: str, *, create: bool = False, durable: bool = True) -> MemoryFolder:
        with self._disk.lock:
            found = self._entries(name).get(name)
            if found is None and create:
                found = FolderNode(self._disk.number())
                self._change({**self.node.entries, name: found})
                if durable:
                    self.sync()
            if isinstance(found, FolderNode):
                return MemoryFolder(self._disk, found, self._path / name)
            if isinstance(found, OtherNode) and found.reason is Reason.IS_A_SYMLINK:
                raise refuse(Reason.IS_A_SYMLINK, self._path / name)
            raise refuse(Reason.NOT_FOUND if found is None else Reason.NOT_A_DIRECTORY, self._path / name)

    def create(self, name: str) -> MemoryFile:
        with self._disk.lock:
            if name in self._entries(name):
                raise refuse(Reason.ALREADY_EXISTS, self._path / name)
            node = FileNode(self._disk.number())
            self._change({**self.node.entries, name: node})
            return MemoryFile(self._disk, node, self._path / name, writable=True)

    def open(self, name: str, *, writable: bool = False) -> MemoryFile:
        found = self._entries(name).get(name)
        if isinstance(found, FileNode):
            return MemoryFile(self._disk, found, self._path / name, writable=writable)
        if isinstance(found, OtherNode):
            raise refuse(found.reason, self._path / name)
        raise refuse(Reason.NOT_FOUND if found is None else Reason.NOT_A_FILE, self._path / name)

    def replace(self, name: str, new_name: str) -> None:
        with self._disk.lock:
            moved = self._taken(name)
            old = self._entries(new_name).get(new_name)
            if isinstance(old, FolderNode) and not isinstance(moved, FolderNode):
                raise refuse(Reason.NOT_A_FILE, self._path / new_name)
            if isinstance(old, FileNode):
                old.links -= 1
            rest = {key: node for key, node in self.node.entries.items() if key != name}
            self._change({**rest, new_name: moved})

    def claim(self, name: str, new_name: str) -> None:
        with self._disk.lock:
            self._taken(name)
            if new_name in self._entries(new_name):
                raise refuse(Reason.ALREADY_EXISTS, self._path / new_name)
            self._change({**self.node.entries, new_name: self.node.entries[name]})
            self._change({key: node for key, node in self.node.entries.items() if key != name})

    def remove(self, name: str) -> None:
        with self._disk.lock:
            found = self._taken(name)
            if isinstance(found, FolderNode):
                raise refuse(Reason.NOT_A_FILE, self._path / name)
            if isinstance(found, FileNode):
                found.links -= 1
            self._change({key: node for key, node in self.node.entries.items() if key != name})

    def sync_everything(self) -> None:
        self._entries("x")
        self._disk.sync_everything()

    def hold(self, name: str, *, exclusive: bool, wait_seconds: float = 0.0) -> MemoryHeld:
        with self._disk.lock:
            if name not in self._entries(name):
                self.create(name).close()
            holders = self._disk.holders.setdefault(self._path / name, [])
            if holders and (exclusive or holders[0]):
                raise refuse(Reason.LOCKED, self._path / name)
            holders.append(exclusive)
            return MemoryHeld(holders, exclusive)

    def move(self, name: str, into: MemoryFolder, new_name: str) -> None:
        with self._disk.lock:
            moved = self._taken(name)
            old = into._entries(new_name).get(new_name)
            if isinstance(old, FolderNode) and not isinstance(moved, FolderNode):
                raise refuse(Reason.NOT_A_FILE, into.path / new_name)
            if isinstance(old, FileNode):
                old.links -= 1
            # One transaction of the journal: what is left after a cut may be behind it, or neither half of it.
            self._change({key: node for key, node in self.node.entries.items() if key != name})
            into._change({**into.node.entries, new_name: moved})

    def link(self, name: str, into: MemoryFolder, new_name: str) -> None:
        with self._disk.lock:
            found = self._taken(name)
            if new_name in into._entries(new_name):
                raise refuse(Reason.ALREADY_EXISTS, into.path / new_name)
            if not isinstance(found, FileNode):
                raise refuse(Reason.NOT_PERMITTED, self._path / name)
            if self._disk.max_links is not None and found.links >= self._disk.max_links:
                raise refuse(Reason.TOO_MANY_LINKS, self._path / name)
            found.links += 1
            into._change({**into.node.entries, new_name: found})

    def look(self, name: str) -> FileFigures | None:
        found = self._entries(name).get(name)
        if found is None:
            return None
        size, links = (len(found.data), found.links) if isinstance(found, FileNode) else (0, 1)
        kind = isinstance(found, FileNode), isinstance(found, FolderNode)
        return FileFigures(FileIdentity(0, found.number), *kind, size, links, 0)

    def remove_folder(self, name: str) -> None:
        with self._disk.lock:
            found = self._taken(name)
            if not isinstance(found, FolderNode):
                raise refuse(Reason.NOT_A_DIRECTORY, self._path / name)
            if found.entries:
                raise refuse(Reason.NOT_EMPTY, self._path / name)
            self._change({key: node for key, node in self.node.entries.items() if key != name})

    def make_private(self) -> None:
        self.node.private = True

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._entries("x")))

    def identity(self, name: str) -> FileIdentity | None:
        found = self._entries(name).get(name)
        return None if found is None else FileIdentity(0, found.number)

    def sync(self) -> None:
        with self._disk.lock:
            self.node.durable = dict(self._entries("x"))
            self.node.unsynced.clear()

    def close(self) -> None:
        self._open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _entries(self, name: str) -> dict[str, Node]:
        if not name or "/" in name or "\0" in name or name in (".", ".."):
            raise refuse(Reason.NOT_A_PATH, name)
        if not self._open:
            raise refuse(Reason.WRITE_FAILED, self._path)
        return self.node.entries

    def _taken(self, name: str) -> Node:
        found = self._entries(name).get(name)
        if found is None:
            raise refuse(Reason.NOT_FOUND, self._path / name)
        return found

    def _change(self, entries: dict[str, Node]) -> None:
        self.node.entries = entries
        self.node.unsynced.append(entries)


class MemoryHeld:
    """A lock of `MemoryFolder.hold`: many that share it, or one alone."""

    def __init__(self, holders: list[bool], exclusive: bool) -> None:
        self._holders: list[bool] | None = holders
        self._exclusive = exclusive

    def release(self) -> None:
        holders, self._holders = self._holders, None
        if holders is not None:
            holders.remove(self._exclusive)


class MemoryLocks:
    """Locks between the holders of one test: `FileLock.acquire` for a disk in memory."""

    def __init__(self) -> None:
        self._held: set[Path] = set()

    def acquire(self, path: Path) -> MemoryLock:
        if path in self._held:
            raise refuse(Reason.LOCKED, path)
        self._held.add(path)
        return MemoryLock(self._held, path)


@dataclass
class MemoryLock:
    held: set[Path]
    path: Path

    def release(self) -> None:
        self.held.discard(self.path)


NOTHING_LEFT: Callable[[int], int] = lambda _: 0  # noqa: E731 - two of three ways to draw
EVERYTHING_LEFT: Callable[[int], int] = lambda count: count  # noqa: E731


def torn(seed: int) -> Callable[[int], int]:
    """Draw what is left at random, the same for the same seed."""
    drawn = random.Random(seed)
    return lambda count: drawn.randint(0, count)
