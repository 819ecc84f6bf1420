"""Digests of files that have not changed since they were read, so that a pass need not read them again.

Rules (spec/tree.md, Unchanged files):
1. A digest is kept under (device, inode, size, mtime, ctime); a file that differs in any of them is read.
2. The racy rule: a digest is kept only if the file's ctime plus a margin lies before the read that made it, by the
   file system's own clock. Within the clock's grain a rewrite would leave the ctime as it was.
3. The file stands outside the tree, 0600, and replaces its predecessor in one step. It is read once, when a run
   begins; what happens to it afterwards changes nothing in that run.
4. With a digest stands what is remembered of the file's extended attributes (formats.tree.attributes): a change of
   them moves ctime as one of the content does.
5. It is a convenience: lost, damaged, unreadable or unwritable, it costs time and nothing else. A checksum over the
   content makes a torn write look like a lost file, so nothing is synced.

Not seen, and said so in the specification: a store to a mapped page that was already dirty, a single write that
lasts longer than the margin, and a stepped clock.
It does not observe files (engines.observe).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from docket.errors import DocketError
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.durable import TEMPORARY_SUFFIX, temporary_name
from docket.host.tree import DIGEST_BYTES

MARGIN_NS = 20_000_000
COARSE_MARGIN_NS = 2_000_000_000
MAX_BYTES = 1024**3

KEY_BYTES = 40
_ENTRY = struct.Struct(f"<{KEY_BYTES}s32s")
_KEY = struct.Struct(f"<{KEY_BYTES}s")
_GROUP = struct.Struct("<BQ")  # how many bytes of attributes are remembered of all in it, and how many entries follow
_MAGIC = b"docket/statcache/v2\n"
_MAX_GROUP_ENTRIES = 4096
_HEAD_BYTES = len(_MAGIC) + 32
_CTIME = struct.Struct("<q").unpack_from
_SECOND_NS = 1_000_000_000


def is_settled(ctime_ns: int, clock_ns: int) -> bool:
    """Whether a file last changed at `ctime_ns`, read from `clock_ns` on, cannot change again without showing it.

    `clock_ns` is the file system's own clock before the read. A ctime of a whole second comes from a file system
    that keeps no finer ones, and needs the wider margin.
    """
    margin = MARGIN_NS if ctime_ns % _SECOND_NS else COARSE_MARGIN_NS + MARGIN_NS
    return ctime_ns + margin < clock_ns


def surely_settled_before(clock_ns: int) -> int:
    """Return before which ctime a file is settled at `clock_ns`, whatever its file system's grain (`is_settled`)."""
    return clock_ns - COARSE_MARGIN_NS - MARGIN_NS


def ctime_of(key: bytes) -> int:
    """Return the ctime that a key of `host.tree.pack_key` holds, in nanoseconds."""
    return int(_CTIME(key, KEY_BYTES - 8)[0])


def settled_part(entries: bytes, clock_ns: int) -> bytes:
    """Return those of keys and digests, packed end to end, that were settled at `clock_ns` (`is_settled`)."""
    return b"".join(key + digest for key, digest in _ENTRY.iter_unpack(entries) if is_settled(ctime_of(key), clock_ns))


class StatCache:
    """The digests known of one tree, kept in the file `path`, or in memory alone without one."""

    def __init__(self, path: Path | None = None, *, disk: Disk = SYSTEM_DISK) -> None:
        self._path = path
        self._disk = disk
        self._known = {} if path is None else _load(path, disk)

    @property
    def lookup(self) -> Callable[[bytes], bytes | None]:
        """A function from a key of `host.tree.file_key` to what is known of it, if anything.

        That is the SHA-256 (32 bytes) and after it what is remembered of its attributes.
        """
        return self._known.get

    @property
    def files(self) -> int:
        """How many files' digests are known."""
        return len(self._known)

    def keep(self, met: bytes | None, fresh: bytes, marked: bytes = b"") -> None:
        """Know from now on what a pass met: `met` are keys that were found here, `fresh` new keys with their digests.

        `marked` are new ones with attributes, as `marked_entry` gives them. All are packed end to end. Keys that were
        not met are forgotten, none where `met` is None; nothing is written if nothing changed.
        """
        known = self._known
        if met is not None and len(met) // KEY_BYTES < len(known):
            known = {key: known[key] for (key,) in _KEY.iter_unpack(met) if key in known}
        elif not fresh and not marked:
            return
        known.update(_ENTRY.iter_unpack(fresh))
        known.update(_unmarked(marked))
        self._known = known
        if self._path is not None:
            with suppress(DocketError):
                _store(self._path, self._disk, known)


def marked_entry(key: bytes, known: bytes) -> bytes:
    """Return what `StatCache.keep` takes for a file of which more than the digest is known."""
    return key + bytes((len(known) - DIGEST_BYTES,)) + known


def _unmarked(marked: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 0
    while at < len(marked):
        start = at + KEY_BYTES + 1
        end = start + DIGEST_BYTES + marked[start - 1]
        yield marked[at : start - 1], marked[start:end]
        at = end


def _load(path: Path, disk: Disk) -> dict[bytes, bytes]:
    try:
        with disk.folder(path.parent) as folder, folder.open(path.name) as source:
            # Room is made for as much as is asked for: a gigabyte may not be had where memory is limited.
            data = source.read(0, min(source.size(), MAX_BYTES))
    except DocketError:
        return {}
    body = memoryview(data)[_HEAD_BYTES:]
    head = _MAGIC + hashlib.sha256(body).digest()
    return _grouped(body) if data[:_HEAD_BYTES] == head else {}


def _grouped(body: memoryview) -> dict[bytes, bytes]:
    """Return the entries of a file's groups; what is no whole group makes it a lost file."""
    known: dict[bytes, bytes] = {}
    at = 0
    while len(body) - at >= _GROUP.size:
        length, count = _GROUP.unpack_from(body, at)
        start = at + _GROUP.size + length
        at = start + count * _ENTRY.size
        if at > len(body):
            return {}
        entries, beside = _ENTRY.iter_unpack(body[start:at]), bytes(body[start - length : start])
        known.update(((key, digest + beside) for key, digest in entries) if beside else entries)
    return known if at == len(body) else {}


def _groups(known: dict[bytes, bytes]) -> Iterator[bytes]:
    """Yield the pieces of a file's body: groups of entries with the same attributes, none of them large."""
    groups: dict[bytes, list[bytes]] = {}
    for key, value in known.items():
        beside = value[DIGEST_BYTES:]
        entries = groups.setdefault(beside, [])
        entries += (key, value[:DIGEST_BYTES])
        if len(entries) >= 2 * _MAX_GROUP_ENTRIES:
            yield _group(beside, groups.pop(beside))
    for beside, entries in groups.items():
        yield _group(beside, entries)


def _group(beside: bytes, entries: list[bytes]) -> bytes:
    return b"".join((_GROUP.pack(len(beside), len(entries) // 2), beside, *entries))


def _store(path: Path, disk: Disk, known: dict[bytes, bytes]) -> None:
    pieces = list(_groups(known))
    checksum = hashlib.sha256()
    for piece in pieces:
        checksum.update(piece)
    with disk.folder(path.parent, create=True) as folder:
        # What a killed run has begun. Should it belong to one that lives, that one only fails to keep its digests.
        for name in folder.names():
            if name.startswith(f".{path.name}.") and name.endswith(TEMPORARY_SUFFIX):
                folder.remove(name)
        temporary = temporary_name(path.name)
        try:
            with folder.create(temporary) as target:
                for piece in (_MAGIC + checksum.digest(), *pieces):
                    target.append(piece)
            folder.replace(temporary, path.name)
        except DocketError:
            with suppress(DocketError):
                folder.remove(temporary)
            raise
