"""The windows of a tree as a history that a blame walks back: what is whole, in order, and what is not.

Rules:
1. An episode is one complete delta, of one tool or of a group; windows that share a delta are one episode. Sequence
   numbers order episodes; the wall clock where a record has none.
2. A lapse is a tool of which nothing whole is known, or of a delta with a tool that was denied or never ended: nobody
   may say that it wrote what changed meanwhile. Where its beginning is not known it is that of its turn, an hour
   before its end at most; where its end is not known it may run still.
3. Where the wall clock went back between episodes, a lapse may have been at any time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from docket.formats.dataclass import dataclass, field, replace
from docket.formats.digest import Digest
from docket.formats.relpath import RelPath
from docket.formats.windows.delta import Delta, FileDelta
from docket.formats.windows.key import IN_STAGE, IN_TREE, WindowKey
from docket.formats.windows.names import CLAIMING_NOTHING, PartialReason, Status
from docket.formats.windows.records import ClosedWindow, Tombstone
from docket.formats.windows.registry import OpenWindow
from docket.rules.windows.grouping import HORIZON_MS
from docket.rules.windows.origin import Caller

HORIZON = timedelta(milliseconds=HORIZON_MS)
LOOK = timedelta(seconds=2)
"""How long a look at a tree takes at most after the instant that its hook began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A complete delta, with the trees around it where its windows name them."""

    digest: Digest
    delta: Delta
    callers: tuple[Caller, ...]
    files: Mapping[RelPath, FileDelta]
    started: datetime
    completed: datetime
    seq: int | None = None
    tree_before: str | None = None
    tree_after: str | None = None
    rules: str | None = None
    landed_at: str | None = None
    """When the stage that it was on landed in the tree, where that is known."""

    @property
    def landed(self) -> datetime | None:
        """The same as what can be compared."""
        return None if self.landed_at is None else instant(self.landed_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lapse:
    """A tool of which nothing whole is known, and between which instants it may have run, None for no bound.

    `ordered`: it is known to have begun after the look that ended whatever was over by then, for its window stood in
    the registry, or its turn had not begun.
    """

    caller: Caller | None
    started: datetime | None
    ended: datetime | None
    ordered: bool = False

    def touches(self, since: datetime | None, until: datetime | None) -> bool:
        """Whether the tool may have run between two instants."""
        early = since is not None and self.ended is not None and self.ended < since
        slack = timedelta() if self.ordered else LOOK
        late = until is not None and self.started is not None and self.started > until + slack
        return not early and not late

    def is_beside(self, episode: Episode) -> bool:
        """Whether the tool may have written what an episode is told to have changed."""
        if self.ordered and self.started is not None and self.started >= episode.completed:
            return False
        return self.touches(episode.started, episode.completed)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The episodes of the tree and of stages, each the oldest first, and the lapses."""

    episodes: tuple[Episode, ...]
    staged: tuple[Episode, ...] = ()
    lapses: tuple[Lapse, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """All that is kept of windows. `deltas` lacks what cannot be read; `unreadable` counts records that cannot be.

    `landings` are the instants at which the stages of runs landed, by the runs' session ids. `files` are those of
    deltas that are here without them.
    """

    repository: str
    closed: Sequence[ClosedWindow]
    deltas: Mapping[Digest, Delta]
    tombstones: Sequence[Tombstone] = ()
    open: Sequence[OpenWindow] = ()
    unreadable: int = 0
    landings: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[Digest, Mapping[RelPath, FileDelta]] = field(default_factory=dict)


def history_of(recorded: Recorded) -> History:
    """Return the history of the tree that `recorded.repository` names."""
    closed = [record for record in recorded.closed if _is_here(record.key, recorded)]
    grouped: dict[Digest, list[ClosedWindow]] = {}
    for record in closed:
        grouped.setdefault(record.delta_sha256, []).append(record)
    episodes = [
        _episode(records, delta, recorded)
        for digest, records in grouped.items()
        if (delta := recorded.deltas.get(digest)) is not None and _may_claim(delta)
    ]
    ordered = sorted(episodes, key=lambda episode: (episode.seq or 0, episode.started, episode.completed))
    if any(episode.seq is None for episode in ordered):
        ordered.sort(key=lambda episode: (episode.started, episode.completed))
    staged = tuple(episode for episode in ordered if episode.callers[0].key.mode == IN_STAGE)
    own = tuple(episode for episode in ordered if episode.callers[0].key.mode == IN_TREE)
    lapses = (*_partials(recorded, closed, ordered), *_buried(recorded, closed, ordered), *_running(recorded))
    if recorded.unreadable:
        lapses = (*lapses, Lapse(caller=None, started=None, ended=None))
    if not _is_steady(own):
        lapses = tuple(replace(lapse, started=None, ended=None) for lapse in lapses)
    return History(episodes=own, staged=staged, lapses=lapses)


def instant(text: str) -> datetime:
    """Return an instant as what can be compared."""
    return datetime.fromisoformat(text)


def _may_claim(delta: Delta) -> bool:
    """Whether what a delta holds was written by its tools."""
    return delta.status is Status.COMPLETE and not any(use.outcome in CLAIMING_NOTHING for use in delta.tool_uses)


def _session(record: ClosedWindow) -> str:
    """Return the session of the run that a window was in: its event names it. Outside of a run it names none."""
    return record.event_id.partition(".")[0]


def _is_here(key: WindowKey, recorded: Recorded) -> bool:
    """Whether a window is of this tree, or of a stage: a stage is a tree of its own, and what it held may land here."""
    return key.mode == IN_STAGE or key.repository == recorded.repository


def _episode(records: Sequence[ClosedWindow], delta: Delta, recorded: Recorded) -> Episode:
    first = min(records, key=lambda record: record.seq or 0)
    actors = delta.actors
    landed_at = recorded.landings.get(_session(first))
    callers = tuple(
        Caller(
            key=WindowKey(
                repository=first.key.repository,
                provider=actors[use.actor].provider,
                session_id=actors[use.actor].session_id,
                turn_id=actors[use.actor].turn_id,
                tool_use_id=use.tool_use_id,
                mode=first.key.mode,
            ),
            tool_name=use.tool_name,
        )
        for use in delta.tool_uses
    )
    return Episode(
        digest=first.delta_sha256,
        delta=delta,
        callers=callers,
        files=recorded.files.get(first.delta_sha256) or {file.path: file for file in delta.files},
        started=instant(delta.window.started_at),
        completed=instant(delta.window.completed_at),
        seq=first.seq,
        tree_before=first.tree_before,
        tree_after=first.tree_after,
        rules=first.rules,
        landed_at=landed_at if first.key.mode == IN_STAGE else None,
    )


def _partials(recorded: Recorded, closed: Sequence[ClosedWindow], episodes: Sequence[Episode]) -> Iterable[Lapse]:
    """Yield what is over and not whole: a delta that says so, or one that cannot be read."""
    buried = {stone.key: instant(stone.at) for stone in recorded.tombstones}
    for record in closed:
        delta = recorded.deltas.get(record.delta_sha256)
        if delta is not None and _may_claim(delta):
            continue
        ended = instant(record.closed_at)
        started = min(buried.get(record.key, ended), ended if delta is None else instant(delta.window.started_at))
        unseen = started == ended and record.group_id is None
        if unseen:
            started = _turn_began(record.key, ended, episodes)
        if delta is not None:
            ended = max(ended, instant(delta.window.completed_at))
        landed_at = recorded.landings.get(_session(record)) if record.key.mode == IN_STAGE else None
        lapse = _lapse(record.key, record.tool_name, (started, ended), ordered=unseen or record.group_id is not None)
        yield lapse if landed_at is None else replace(lapse, ended=max(ended, instant(landed_at)))


def _turn_began(key: WindowKey, ended: datetime, episodes: Sequence[Episode]) -> datetime:
    """Return since when a tool may have run whose beginning nobody saw."""
    earlier = [
        episode.completed
        for episode in episodes
        if episode.completed <= ended
        and any(_same_session(caller.key, key) and caller.key.turn_id != key.turn_id for caller in episode.callers)
    ]
    return max((*earlier, ended - HORIZON))


def _same_session(one: WindowKey, other: WindowKey) -> bool:
    return (one.provider, one.session_id) == (other.provider, other.session_id)


def _buried(recorded: Recorded, closed: Sequence[ClosedWindow], episodes: Sequence[Episode]) -> Iterable[Lapse]:
    """Yield what was given up and never heard of again."""
    known = {record.key for record in closed}
    for stone in recorded.tombstones:
        if stone.key not in known and _is_here(stone.key, recorded):
            started = ended = instant(stone.at)
            unseen = stone.reason == PartialReason.PRE_SNAPSHOT_MISSING
            if unseen:
                started = _turn_began(stone.key, ended, episodes)
            yield _lapse(stone.key, "", (started, ended + HORIZON), ordered=unseen)


def _running(recorded: Recorded) -> Iterable[Lapse]:
    for window in recorded.open:
        if _is_here(window.key, recorded):
            yield _lapse(window.key, window.tool_name, (instant(window.started.at), None), ordered=True)


def _lapse(key: WindowKey, tool_name: str, span: tuple[datetime, datetime | None], *, ordered: bool = False) -> Lapse:
    # What a stage held may land in the tree at any time later.
    ended = None if key.mode == IN_STAGE else span[1]
    caller = Caller(key=key, tool_name=tool_name, recorded=False)
    return Lapse(caller=caller, started=span[0], ended=ended, ordered=ordered)


def _is_steady(episodes: Sequence[Episode]) -> bool:
    """Whether the wall clock went back by no more than a look takes, from one episode to the next and within one."""
    last: datetime | None = None
    for episode in episodes:
        if episode.completed < episode.started or (last is not None and episode.started < last - LOOK):
            return False
        last = episode.completed
    return True
