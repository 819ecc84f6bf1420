"""Which snapshots go: those beyond what a person wants kept, and what was cut short.

Rules:
1. What is being taken stays, whatever is asked. What was cut short goes, whatever is asked.
2. A snapshot goes if it is beyond the newest `keep_last`, or older than `keep_days`; what is not asked for decides
   nothing. Then the oldest go until the rest takes at most `max_bytes`, each file counted once however many
   snapshots share it.

It removes nothing (engines.prune).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from docket.formats.dataclass import dataclass

DAY_NS = 24 * 60 * 60 * 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A session's snapshot: when it was written, None if it never was, whether it is being taken.

    `inodes` are what it takes room with, each a number that names it and a size: its files, and contents of the pool.
    """

    session_id: str
    written_ns: int | None
    is_being_taken: bool
    inodes: frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepRule:
    """What is to be kept; None where a member decides nothing."""

    keep_last: int | None = None
    keep_days: int | None = None
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """The sessions whose snapshots go, in the order given, and how many bytes that frees."""

    going: tuple[str, ...]
    freed_bytes: int


def choose(candidates: Sequence[Candidate], rule: KeepRule, now_ns: int) -> Pruning:
    """Return what goes of `candidates`, by `rule`."""
    finished = [item for item in candidates if item.written_ns is not None]
    newest_first = sorted(finished, key=lambda item: (item.written_ns or 0, item.session_id), reverse=True)
    kept = newest_first if rule.keep_last is None else newest_first[: rule.keep_last]
    if rule.keep_days is not None:
        since_ns = now_ns - rule.keep_days * DAY_NS
        kept = [item for item in kept if (item.written_ns or 0) >= since_ns]
    taking = [item for item in candidates if item.written_ns is None and item.is_being_taken]
    while rule.max_bytes is not None and kept and held_bytes([*kept, *taking]) > rule.max_bytes:
        kept = kept[:-1]
    staying = {item.session_id for item in (*kept, *taking)}
    return Pruning(
        going=tuple(item.session_id for item in candidates if item.session_id not in staying),
        freed_bytes=held_bytes(candidates) - held_bytes([item for item in candidates if item.session_id in staying]),
    )


def held_bytes(candidates: Iterable[Candidate]) -> int:
    """Return how many bytes snapshots take together, each file counted once."""
    files: set[tuple[int, int]] = set()
    for item in candidates:
        files |= item.inodes
    return sum(size for _, size in files)


def only_here_bytes(candidates: Sequence[Candidate]) -> list[int]:
    """Return for each of them how many bytes it alone takes: what its going would free."""
    users = Counter(piece for item in candidates for piece in item.inodes)
    return [sum(piece[1] for piece in item.inodes if users[piece] == 1) for item in candidates]
