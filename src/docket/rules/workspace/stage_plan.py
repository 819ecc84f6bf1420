"""The plan that makes a stage: every entry of the base's staged part, where nothing stands yet.

Rules:
1. Each step expects nothing at its path. Names of one file within what is staged become names of one file again.
2. Modification times are the base's; a file's permission bits too, without the powers a plan does not give.
3. Attributes of files and directories are the base's, as far as a plan may name them.
4. Files that have nothing but content, mode and time need no steps: they are copied as they are.
5. What a plan cannot give back is named: powers (setuid, setgid, sticky), attributes of other namespaces, owners.

It does nothing; engines.transaction applies it in disposable mode.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from docket.formats.dataclass import dataclass
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.details import Detail
from docket.formats.tree.listing import DirectoryEntry, FileEntry, Listing, Record, SymlinkEntry
from docket.formats.tree.plain import PlainFiles, parted, with_powers
from docket.formats.tree.steps import (
    ABSENT,
    MAX_DIRECTORY_MODE,
    MAX_FILE_MODE,
    Link,
    MakeDirectory,
    MakeSymlink,
    Step,
    WriteFile,
    Xattr,
)
from docket.formats.tree.xattrs import can_be_named, named_xattrs


@dataclass(frozen=True, slots=True, kw_only=True)
class NotKept:
    """One thing of a path that the stage does not have."""

    path: RelPath
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StageParts:
    """A stage in parts: the plain files, which are copied, and the steps for everything else, other `files` too."""

    plain: PlainFiles
    files: tuple[FileEntry, ...]
    steps: tuple[Step, ...]


def stage_parts(staged: Listing) -> StageParts:
    """Return the parts in which a staged part is made anew."""
    apart = (item.path.raw for item in staged.details.paths if _is_apart(item))
    plain, others = parted(staged, frozenset(apart))
    files = tuple(record for record in others if isinstance(record, FileEntry))
    return StageParts(plain=plain, files=files, steps=tuple(_Steps(staged, others).each()))


def not_kept(staged: Listing) -> tuple[NotKept, ...]:
    """Return what a stage of this listing lacks of its base, path by path."""
    found = [
        NotKept(path=entry.path, what=f"mode {entry.mode & ~_highest(entry):04o}")
        for entry in with_powers(staged)
        if isinstance(entry, FileEntry | DirectoryEntry) and entry.mode & ~_highest(entry)
    ]
    for detail in staged.details.paths:
        found += [NotKept(path=detail.path, what=name.decode("utf-8", "backslashreplace")) for name in _foreign(detail)]
        found += [NotKept(path=detail.path, what=f"owner {detail.owner}")] if detail.owner is not None else []
    return tuple(found)


def xattrs_of(detail: Detail | None, mode: int) -> tuple[Xattr, ...] | None:
    """Return the attributes of a path with this mode that a plan can give, None where there are none."""
    return None if detail is None else named_xattrs(detail.kind, mode, detail.xattrs)


class _Steps:
    def __init__(self, staged: Listing, records: Iterable[Record]) -> None:
        self._records = records
        self._details = {item.path: item for item in staged.details.paths}
        self._first: dict[tuple[int, int], RelPath] = {}
        self._directory_times = _times(staged.details.directory_mtimes)
        self._symlink_times = _times(staged.details.symlink_mtimes)

    def each(self) -> Iterator[Step]:
        for entry in self._records:
            match entry:
                case FileEntry():
                    yield self._file(entry)
                case DirectoryEntry():
                    yield MakeDirectory(
                        path=entry.path,
                        precondition=ABSENT,
                        mode=entry.mode & MAX_DIRECTORY_MODE,
                        mtime_ns=next(self._directory_times, None),
                        xattrs=xattrs_of(self._details.get(entry.path), entry.mode),
                    )
                case SymlinkEntry():
                    yield MakeSymlink(
                        path=entry.path,
                        precondition=ABSENT,
                        target=entry.target,
                        mtime_ns=next(self._symlink_times, None),
                    )

    def _file(self, entry: FileEntry) -> Step:
        detail = self._details.get(entry.path)
        if detail is not None and detail.identity is not None:
            first = self._first.setdefault(detail.identity, entry.path)
            if first != entry.path:
                return Link(path=entry.path, precondition=ABSENT, to=first)
        return WriteFile(
            path=entry.path,
            precondition=ABSENT,
            content=Address(entry.sha256, entry.size),
            mode=entry.mode & MAX_FILE_MODE,
            mtime_ns=entry.mtime_ns,
            sparse=detail is not None and detail.allocated_bytes is not None,
            xattrs=xattrs_of(detail, entry.mode),
        )


def _is_apart(detail: Detail) -> bool:
    """Whether a file has what copying its content, mode and time would lose."""
    return bool(detail.xattrs) or detail.identity is not None or detail.allocated_bytes is not None


def _highest(entry: FileEntry | DirectoryEntry) -> int:
    return MAX_FILE_MODE if isinstance(entry, FileEntry) else MAX_DIRECTORY_MODE


def _foreign(detail: Detail) -> Iterator[bytes]:
    for name, value in detail.xattrs:
        if not isinstance(value, bytes) or not can_be_named(detail.kind, name, value):
            yield name


def _times(packed: bytes) -> Iterator[int]:
    return iter(struct.unpack(f"<{len(packed) // 8}q", packed))
