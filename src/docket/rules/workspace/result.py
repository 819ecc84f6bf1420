"""The listing of a stage of which only what changed was looked at.

Rules: where a backend names the paths that may have changed, those and everything below them are what the pass saw;
everything else is what the base's listing says, for there the stage shows the base's own.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from docket.formats.relpath import RelPath
from docket.formats.tree.details import Details
from docket.formats.tree.listing import DirectoryEntry, Listing, Record, SymlinkEntry, listing_of, tree_order


def outermost(paths: Iterable[RelPath]) -> tuple[RelPath, ...]:
    """Return the paths without those that lie below another of them, in tree order."""
    kept: list[RelPath] = []
    for path in sorted(set(paths), key=lambda item: tree_order(item.raw)):
        if not kept or not path.raw.startswith(kept[-1].raw + b"/"):
            kept.append(path)
    return tuple(kept)


def laid_over(base: Listing, part: Listing, roots: Sequence[RelPath]) -> Listing:
    """Return the base's listing with everything at and below `roots` as `part` saw it."""
    inside = frozenset(roots)
    records: list[tuple[Record, Listing]] = [
        *((record, base) for record in base.records if not _is_inside(record.path, inside)),
        *((record, part) for record in part.records),
    ]
    records.sort(key=lambda item: tree_order(item[0].path.raw))
    found = listing_of(record for record, _ in records)
    found.root = part.root
    found.details = _details(base, part, records, inside)
    return found


def _is_inside(path: RelPath, roots: frozenset[RelPath]) -> bool:
    return path in roots or any(above in roots for above in path.above())


def _details(
    base: Listing, part: Listing, records: Sequence[tuple[Record, Listing]], roots: frozenset[RelPath]
) -> Details:
    directories = {id(listing): _times(listing.details.directory_mtimes) for listing in (base, part)}
    symlinks = {id(listing): _times(listing.details.symlink_mtimes) for listing in (base, part)}
    times: dict[tuple[int, RelPath], int] = {}
    for listing in (base, part):
        for record in listing.entries:
            if isinstance(record, DirectoryEntry):
                times[id(listing), record.path] = next(directories[id(listing)], 0)
            elif isinstance(record, SymlinkEntry):
                times[id(listing), record.path] = next(symlinks[id(listing)], 0)
    told = [item for item in base.details.paths if not _is_inside(item.path, roots)]
    return replace(
        part.details,
        paths=tuple(sorted((*told, *part.details.paths), key=lambda item: tree_order(item.path.raw))),
        directory_mtimes=_packed(
            times[id(listing), record.path] for record, listing in records if isinstance(record, DirectoryEntry)
        ),
        symlink_mtimes=_packed(
            times[id(listing), record.path] for record, listing in records if isinstance(record, SymlinkEntry)
        ),
    )


def _times(packed: bytes) -> Iterator[int]:
    return iter(struct.unpack(f"<{len(packed) // 8}q", packed))


def _packed(numbers: Iterable[int]) -> bytes:
    values = list(numbers)
    return struct.pack(f"<{len(values)}q", *values)
