"""What of the pool goes when nothing names it, and what is written anew to get at the space between.

Rules (spec/snapshot.md, Sweeping):
1. What is needed stays, in one place at least. Of two packs that hold a content, the first by name keeps it.
2. A file that is not needed goes; so does a pack of which nothing is. A pack of which a quarter or more is not needed
   is written anew; so are small packs, where there are many of them.

It removes nothing (stores.sweeping).
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from docket.formats.dataclass import dataclass
from docket.formats.tree.pack import Pack, Row, closing_bytes, member_bytes

SMALL_PACK_BYTES = 1024 * 1024
MAX_SMALL_PACKS = 16
_WASTE_SHARE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Digests of files that go, names of packs that go, packs that are written anew with the rows that stay.

    `freed_bytes` is what that gives back on the disk.
    """

    files: tuple[bytes, ...]
    packs: tuple[str, ...]
    rewritten: tuple[tuple[str, tuple[Row, ...]], ...]
    freed_bytes: int


def sweep(packs: Sequence[Pack], files: Mapping[bytes, int], needed: Container[bytes]) -> Sweep:
    """Return what goes of a pool that has these packs and, by digest and size in bytes, these files."""
    seen = set[bytes]()
    staying: list[tuple[Pack, tuple[Row, ...]]] = []
    gone = [digest for digest in files if digest not in needed]
    empty: list[Pack] = []
    for pack in sorted(packs, key=lambda item: item.name):
        rows = tuple(row for row in pack.rows if row[0] in needed and row[0] not in seen)
        seen.update(row[0] for row in rows)
        if rows:
            staying.append((pack, rows))
        else:
            empty.append(pack)
    rewritten = _rewritten(staying)
    before = sum(pack.size_bytes for pack, _ in rewritten)
    return Sweep(
        files=tuple(gone),
        packs=tuple(pack.name for pack in empty),
        rewritten=tuple((pack.name, rows) for pack, rows in rewritten),
        freed_bytes=sum(files[digest] for digest in gone)
        + sum(pack.size_bytes for pack in empty)
        + max(before - sum(_bytes(rows) for _, rows in rewritten), 0),
    )


def _rewritten(staying: Sequence[tuple[Pack, tuple[Row, ...]]]) -> list[tuple[Pack, tuple[Row, ...]]]:
    small = [pack.name for pack, _ in staying if pack.size_bytes < SMALL_PACK_BYTES]
    joined = frozenset(small if len(small) > MAX_SMALL_PACKS else ())
    return [
        (pack, rows)
        for pack, rows in staying
        if pack.name in joined or (pack.size_bytes - _bytes(rows)) * _WASTE_SHARE >= pack.size_bytes
    ]


def _bytes(rows: Sequence[Row]) -> int:
    return sum(member_bytes(row[2]) for row in rows) + closing_bytes(len(rows))
