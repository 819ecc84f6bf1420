"""Digests of files that have not changed since they were read, so that a pass need not read them again.

Rules (spec/tree.md, Unchanged files):
1. A digest is kept under (device, inode, size, mtime, ctime); a file that differs in any of them is read.
2. The racy rule: a digest is kept only if the file's ctime plus a margin lies before the read that made it, by the
   file system's own clock. Within the clock's grain a rewrite would leave the ctime as it was.
3. The file stands outside the tree, 0600, and replaces its predecessor in one step. It is read once, when a run
   begins; what happens to it afterwards changes nothing in that run.
4. It is a convenience: lost, damaged, unreadable or unwritable, it costs time and nothing else. A checksum over the
   content makes a torn write look like a lost file, so nothing is synced.

Not seen, and said so in the specification: a store to a mapped page that was already dirty, a single write that
lasts longer than the margin, and a stepped clock.
It does not observe files (engines.observe).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from docket.errors import DocketError
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.durable import TEMPORARY_SUFFIX, temporary_name

MARGIN_NS = 20_000_000
COARSE_MARGIN_NS = 2_000_000_000
MAX_BYTES = 1024**3

KEY_BYTES = 40
_ENTRY = struct.Struct(f"<{KEY_BYTES}s32s")
_KEY = struct.Struct(f"<{KEY_BYTES}s")
_MAGIC = b"docket/statcache/v1\n"
_HEAD_BYTES = len(_MAGIC) + 32
_SECOND_NS = 1_000_000_000


def is_settled(ctime_ns: int, clock_ns: int) -> bool:
    """Whether a file last changed at `ctime_ns`, read from `clock_ns` on, cannot change again without showing it.

    `clock_ns` is the file system's own clock before the read. A ctime of a whole second comes from a file system
    that keeps no finer ones, and needs the wider margin.
    """
    margin = MARGIN_NS if ctime_ns % _SECOND_NS else COARSE_MARGIN_NS + MARGIN_NS
    return ctime_ns + margin < clock_ns


class StatCache:
    """The digests known of one tree, kept in the file `path`, or in memory alone without one."""

    def __init__(self, path: Path | None = None, *, disk: Disk = SYSTEM_DISK) -> None:
        self._path = path
        self._disk = disk
        self._known = {} if path is None else _load(path, disk)

    @property
    def lookup(self) -> Callable[[bytes], bytes | None]:
        """A function from a key of `host.tree.file_key` to the SHA-256 (32 bytes) known of it, if any."""
        return self._known.get

    @property
    def files(self) -> int:
        """How many files' digests are known."""
        return len(self._known)

    def keep(self, met: bytes, fresh: bytes) -> None:
        """Know from now on what a pass met: `met` are keys that were found here, `fresh` new keys with their digests.

        Both are packed end to end. Keys that were not met are forgotten; nothing is written if nothing changed.
        """
        if not fresh and len(met) // KEY_BYTES >= len(self._known):
            return
        known = self._known
        kept = {key: known[key] for (key,) in _KEY.iter_unpack(met) if key in known}
        kept.update(_ENTRY.iter_unpack(fresh))
        self._known = kept
        if self._path is not None:
            with suppress(DocketError):
                _store(self._path, self._disk, kept)


def _load(path: Path, disk: Disk) -> dict[bytes, bytes]:
    try:
        with disk.folder(path.parent) as folder, folder.open(path.name) as source:
            # Room is made for as much as is asked for: a gigabyte may not be had where memory is limited.
            data = source.read(0, min(source.size(), MAX_BYTES))
    except DocketError:
        return {}
    body = memoryview(data)[_HEAD_BYTES:]
    head = _MAGIC + hashlib.sha256(body).digest()
    if data[:_HEAD_BYTES] != head or len(body) % _ENTRY.size:
        return {}
    return dict(_ENTRY.iter_unpack(body))


def _store(path: Path, disk: Disk, known: dict[bytes, bytes]) -> None:
    body = b"".join(key + digest for key, digest in known.items())
    with disk.folder(path.parent, create=True) as folder:
        # What a killed run has begun. Should it belong to one that lives, that one only fails to keep its digests.
        for name in folder.names():
            if name.startswith(f".{path.name}.") and name.endswith(TEMPORARY_SUFFIX):
                folder.remove(name)
        temporary = temporary_name(path.name)
        try:
            with folder.create(temporary) as target:
                target.append(_MAGIC + hashlib.sha256(body).digest() + body)
            folder.replace(temporary, path.name)
        except DocketError:
            with suppress(DocketError):
                folder.remove(temporary)
            raise
