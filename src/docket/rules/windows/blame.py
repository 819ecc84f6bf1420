"""Whose line is this: the lines of a present file walked back through what is recorded (spec/windows.md, Blame).

Rules:
1. A file's content at an instant is known by its hash, from a delta or from the tree around an episode. A complete
   delta that does not name a path says that its content stayed.
2. Inside an episode the recorded hunks decide. A file that was created with the one content that one other path lost in
   the same delta was moved, and is followed there.
3. Between episodes, where the content differs: a file that appeared while the only other one of its content went was
   moved, and is followed; one that holds again what it held before is followed there (`came_back`). Otherwise both
   contents are compared, and what came is *outside*, unless the file may not have been watched. If a tool of which
   nothing whole is known may have run meanwhile, nothing is followed, and what came is unknown.
4. Where evidence ends, the lines that are left are unknown, with the reason. Each line is told once.
5. Beside an episode of one tool during which another may have run unseen, the lines are of both as a group.

Commits count for nothing: only contents do.
"""

from __future__ import annotations

from typing import Protocol

from docket.formats.dataclass import dataclass, replace
from docket.formats.relpath import RelPath
from docket.formats.windows.changes import Side
from docket.formats.windows.delta import FileDelta, Hunk
from docket.formats.windows.names import ABSENT_MODE, FILE_MODES, Operation
from docket.rules.line_difference import Budget, split_lines
from docket.rules.windows.blame_history import Episode, History, Lapse
from docket.rules.windows.blame_points import Points, name_in
from docket.rules.windows.differ import diff_lines
from docket.rules.windows.line_map import Held, take_back
from docket.rules.windows.origin import Caller, LineOrigin, Origin, Unknown
from docket.rules.windows.rebuilt import rebuilt
from docket.rules.windows.undo_hunks import before_of


class Sights(Protocol):
    """What can be looked up of trees and contents."""

    @property
    def rules(self) -> str | None:
        """The digest of the ignore patterns outside the tree, now."""
        ...

    def present(self, path: RelPath) -> Side:
        """Return what stands at a path now."""
        ...

    def side(self, tree: str, path: RelPath) -> Side | None:
        """Return what stood at a path in a tree, None where the tree is not kept any more."""
        ...

    def twins(self, tree: str, name: str) -> tuple[RelPath, ...] | None:
        """Return the paths of a tree that had a content, None where the tree is not kept any more."""
        ...

    def content(self, name: str) -> bytes | None:
        """Return a content, None where it is not kept."""
        ...

    def committed_now(self, path: RelPath) -> bytes | None:
        """Return what a path holds in the commit that is checked out, None where there is none."""
        ...

    def ignore_files(self, path: RelPath) -> tuple[RelPath, ...]:
        """Return the files of the tree whose patterns decide whether the path is watched; none where all is."""
        ...

    def is_watched(self, path: RelPath) -> bool:
        """Whether a look at the tree now would see the path."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PresentFile:
    """The file to tell the lines of: its path, its bytes, and what these are called in deltas."""

    path: RelPath
    content: bytes
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gap:
    """A time between looks in which a content changed, from the point `start` to the point `end`."""

    start: int
    end: int
    lapses: tuple[Lapse, ...]


def blame(file: PresentFile, history: History, sights: Sights) -> tuple[LineOrigin, ...]:
    """Return where each line comes from, in the order of the lines."""
    walk = _Walk(file, history, sights)
    walk.run()
    return tuple(walk.origins[line] for line in range(len(walk.origins)))


class _Walk:
    """A content at a point of one track, and the lines that are still to be told."""

    def __init__(self, file: PresentFile, history: History, sights: Sights) -> None:
        self.history, self.sights = history, sights
        self.tree = Points(history.episodes, sights)
        self.stage = Points(history.staged, None)
        self.track, self.path, self.name = self.tree, file.path, file.name
        self.at = self.bound = self.tree.now
        self.content = file.content
        self.held: Held = {line: line for line in range(len(split_lines(file.content).lines))}
        self.origins: dict[int, LineOrigin] = {}
        self.came_back = False

    def run(self) -> None:
        """Walk back until every line is told."""
        if not self.history.episodes and not self.history.staged:
            self.nothing_whole()
        while self.held:
            if self.at <= 0:
                self.begin_of_track()
            elif self.at % 2:
                self.cross_episode(self.track.episodes[self.at // 2])
            else:
                self.cross_gap()

    def nothing_whole(self) -> None:
        """No tool call has a whole record; those that ran, or run still, are named."""
        lapses = self.history.lapses
        reason = Unknown.TOOL_UNSEEN if lapses else Unknown.NOTHING_RECORDED
        callers = tuple(lapse.caller for lapse in lapses if lapse.caller is not None)
        self.tell(self.held, LineOrigin(origin=Origin.UNKNOWN, path=self.path, line=0, reason=reason, callers=callers))
        self.held = {}

    def begin_of_track(self) -> None:
        """Nothing older is known of the path on this track."""
        if self.track is not self.tree:
            episode = self.track.episodes[self.at // 2]
            if not self.leave_stage(episode):
                earlier = any(other.started < episode.started for other in self.tree.episodes)
                self.give_up(Unknown.STAGED if earlier else Unknown.BEFORE_RECORD)
        elif not self.enter_stage(self.at) and not self.follow_landing(_Gap(start=-1, end=self.at, lapses=()), None):
            self.give_up(Unknown.BEFORE_RECORD)

    # Inside an episode

    def cross_episode(self, episode: Episode) -> None:
        file = episode.files.get(self.path)
        self.at -= 1
        if file is None or file.before_hash == file.after_hash:
            return
        if file.before_mode not in FILE_MODES:
            source = _moved_from(episode, file)
            if source is not None:
                self.path = source
                return
            self.claim(episode, self.held)
            self.held = {}
            return
        if file.binary or file.truncated:
            self.compare_episode(episode, file)
            return
        old = before_of(self.content, file)
        if old is None or name_in(episode, old) != file.before_hash:
            self.give_up(Unknown.CONTRADICTION, episode)
            return
        self.take_back(episode, file.hunks, old, file.before_hash)

    def compare_episode(self, episode: Episode, file: FileDelta) -> None:
        """Find the lines of a change whose hunks were not recorded: both contents are named, and may be kept."""
        old = self.held_at(self.at, file.before_hash) if file.before_hash.strip("0") else None
        if old is None:
            self.give_up(Unknown.NOT_COMPARED, episode)
            return
        self.take_back(episode, self.hunks_from(old), old, file.before_hash)

    def take_back(self, episode: Episode, hunks: tuple[Hunk, ...], old: bytes, name: str) -> None:
        taken = take_back(self.held, hunks)
        self.claim(episode, taken.came)
        self.held, self.content, self.name = taken.stayed, old, name

    def hunks_from(self, old: bytes) -> tuple[Hunk, ...]:
        return diff_lines(split_lines(old).lines, split_lines(self.content).lines, Budget())

    def kept(self, name: str, episode: Episode) -> bytes | None:
        """Return a content that is kept, and is what its name says."""
        content = self.sights.content(name)
        return content if content is not None and name_in(episode, content) == name else None

    def held_at(self, point: int, name: str) -> bytes | None:
        """Return what the path held at a point, as it is kept or made anew; None where it is neither."""
        content = self.kept(name, self.track.episodes[point // 2])
        if content is None:
            content = rebuilt(self.track, self.path, point, self.kept)
            named = content is not None and name_in(self.track.episodes[point // 2], content) == name
            return content if named else None
        return content

    def claim(self, episode: Episode, came: Held) -> None:
        """Take down the lines that an episode brought in."""
        beside = (lapse.caller for lapse in self.history.lapses if lapse.is_beside(episode))
        callers = (*episode.callers, *(caller for caller in beside if caller is not None))
        origin = Origin.TOOL if len(callers) == 1 else Origin.GROUP
        self.tell(came, _by(LineOrigin(origin=origin, path=self.path, line=0), episode, callers))

    # Between episodes

    def cross_gap(self) -> None:
        end = self.at
        before, start = self.track.seen_before(end, self.path)
        if before is None:
            self.begin_of_track()
        elif before.name == self.name and before.mode != ABSENT_MODE:
            self.at = start
        elif self.track is not self.tree:
            self.begin_of_track()
        else:
            gap = _Gap(start=start, end=end, lapses=self.lapses_between(start, end))
            followed = not gap.lapses and (self.follow_move(before, start, end) or self.follow_return(start))
            if not followed and not self.enter_stage(end) and not self.follow_landing(gap, before):
                self.compare_gap(before, gap)

    def follow_move(self, before: Side, start: int, end: int) -> bool:
        """Go on at the path that had this content and went when this one came, if there is one and no other."""
        if before.mode != ABSENT_MODE or self.is_in_doubt(before, start, end):
            return False
        tree = self.track.tree_at(start)
        twins = None if tree is None else self.sights.twins(tree, self.name)
        gone = [path for path in twins or () if self.is_absent(end, path)]
        if len(gone) != 1:
            return False
        self.path, self.at = gone[0], start
        return True

    def is_absent(self, point: int, path: RelPath) -> bool:
        side = self.track.side(point, path)
        return side is not None and side.mode == ABSENT_MODE

    def follow_return(self, start: int) -> bool:
        """Go on where the path had this content before, the last time that it had."""
        found = self.track.last_held(start, self.path, self.name)
        if found is None:
            return False
        self.at, self.came_back = found, True
        return True

    def enter_stage(self, end: int) -> bool:
        """Go on in the stage whose tool left this content at the path: it landed here."""
        found = self.stage.left_by(self.path, self.content, self.tree.instant(end))
        if found is None:
            return False
        self.bound = end
        self.go_on_stage(found)
        return True

    def go_on_stage(self, point: int) -> None:
        self.track, self.at = self.stage.alone_with(point)
        self.name = name_in(self.track.episodes[self.at // 2], self.content)

    def follow_landing(self, gap: _Gap, before: Side | None) -> bool:
        """Take back what came since a stage landed in the gap, and go on there, if what landed can be made anew."""
        since = None if gap.start < 0 else self.tree.instant(gap.start)
        point = self.stage.landed_in(self.path, since, self.tree.instant(gap.end))
        if point is None:
            return False
        begun = None
        if before is not None and before.name is not None and before.mode in FILE_MODES:
            begun = self.held_at(gap.start, before.name)
        own, at = self.stage.alone_with(point)

        def kept(name: str, episode: Episode) -> bytes | None:
            each = (content for content in (begun, self.sights.committed_now(self.path)) if content is not None)
            return next((content for content in each if name_in(episode, content) == name), None)

        content = rebuilt(own, self.path, at, kept)
        if content is None:
            return False
        taken = take_back(self.held, self.hunks_from(content))
        self.tell(taken.came, self.since_landing(own.episodes[at // 2], gap.end))
        self.held, self.content, self.bound = taken.stayed, content, gap.end
        self.go_on_stage(point)
        return True

    def since_landing(self, episode: Episode, end: int) -> LineOrigin:
        """Return what is known of lines that came after a stage had landed."""
        until = self.tree.instant(end)
        lapses = [lapse for lapse in self.history.lapses if lapse.touches(episode.landed, until)]
        reason = Unknown.TOOL_UNSEEN if lapses else None
        if reason is None and self.stage.is_later(self.path, episode, until):
            reason = Unknown.STAGED
        if reason is None and end == self.tree.now and not self.sights.is_watched(self.path):
            reason = Unknown.UNWATCHED
        return LineOrigin(
            origin=Origin.OUTSIDE if reason is None else Origin.UNKNOWN,
            path=self.path,
            line=0,
            reason=reason,
            callers=tuple(lapse.caller for lapse in lapses if lapse.caller is not None),
            since=episode.landed_at,
            until=self.tree.told_at(end),
        )

    def leave_stage(self, episode: Episode) -> bool:
        """Go on where what the stage began with was last held: in the tree, or at the end of an earlier stage."""
        earlier = self.stage.left_by(self.path, self.content, episode.started, before=episode)
        name = name_in(self.tree.episodes[0], self.content) if self.tree.episodes else ""
        found = self.tree.last_held(self.bound - 1, self.path, name, not_after=episode.started)
        if earlier is not None and (found is None or self.tree.is_by(found, self.stage.episodes[earlier // 2].started)):
            self.go_on_stage(earlier)
            return True
        if found is None:
            return False
        self.track, self.at, self.name = self.tree, found, name
        return True

    def compare_gap(self, before: Side, gap: _Gap) -> None:
        old: bytes | None = b""
        if before.mode in FILE_MODES:
            old = None if before.name is None else self.held_at(gap.start, before.name)
        if old is None:
            self.give_up(Unknown.UNREAD if before.name is None else Unknown.CONTENT_GONE, gap=gap)
            return
        taken = take_back(self.held, self.hunks_from(old))
        reason = self.doubt(before, gap)
        told = LineOrigin(
            origin=Origin.OUTSIDE if reason is None else Origin.UNKNOWN,
            path=self.path,
            line=0,
            reason=reason,
            callers=tuple(lapse.caller for lapse in gap.lapses if lapse.caller is not None),
        )
        self.tell(taken.came, self.within(told, gap))
        self.held, self.content, self.name = taken.stayed, old, before.name or ""
        self.at = gap.start

    def doubt(self, before: Side, gap: _Gap) -> Unknown | None:
        """Return why what came in a gap is not proven to be outside of every tool, None where it is."""
        if gap.lapses:
            return Unknown.TOOL_UNSEEN
        if self.stage.is_of(self.path, self.content, self.tree.instant(gap.start), self.tree.instant(gap.end)):
            return Unknown.STAGED
        return self.is_in_doubt(before, gap.start, gap.end)

    def is_in_doubt(self, before: Side, start: int, end: int) -> Unknown | None:
        """Return why it is not proven that the path came to what it held at `end` in the gap alone."""
        if end - start > 1:
            return Unknown.TREE_GONE  # an episode lies between of which only the delta is left
        if end == self.track.now and not self.sights.is_watched(self.path):
            return Unknown.UNWATCHED
        unseen = before.mode == ABSENT_MODE and not self.track.is_told(start, self.path)
        return Unknown.UNWATCHED if unseen and not self.watched_alike(start, end) else None

    def watched_alike(self, start: int, end: int) -> bool:
        """Whether the rules for what is watched were the same at both ends of a gap."""
        rules = self.sights.rules if end == self.track.now else self.track.episodes[end // 2].rules
        return rules == self.track.episodes[start // 2].rules and all(
            self.track.side(start, path) == self.track.side(end, path) for path in self.sights.ignore_files(self.path)
        )

    def lapses_between(self, start: int, end: int) -> tuple[Lapse, ...]:
        since, until = self.track.instant(start), self.track.instant(end)
        return tuple(lapse for lapse in self.history.lapses if lapse.touches(since, until))

    # What is told

    def give_up(self, reason: Unknown, episode: Episode | None = None, *, gap: _Gap | None = None) -> None:
        """Tell every line that is left as unknown."""
        told = LineOrigin(origin=Origin.UNKNOWN, path=self.path, line=0, reason=reason)
        if episode is not None:
            told = _by(told, episode, episode.callers)
        self.tell(self.held, told if gap is None else self.within(told, gap))
        self.held = {}

    def within(self, told: LineOrigin, gap: _Gap) -> LineOrigin:
        return replace(told, since=self.track.told_at(gap.start), until=self.track.told_at(gap.end))

    def tell(self, lines: Held, told: LineOrigin) -> None:
        for line, place in lines.items():
            self.origins[line] = replace(told, path=self.path, line=place + 1, came_back=self.came_back)


def _by(told: LineOrigin, episode: Episode, callers: tuple[Caller, ...]) -> LineOrigin:
    window = episode.delta.window
    return replace(
        told, callers=callers, delta_sha256=episode.digest, since=window.started_at, until=window.completed_at
    )


def _moved_from(episode: Episode, file: FileDelta) -> RelPath | None:
    """Return the path whose content a created file has taken, where exactly one was lost and one created of it."""
    if file.operation is not Operation.CREATE:
        return None
    lost = [other.path for other in episode.files.values()
            if other.operation is Operation.DELETE and other.before_hash == file.after_hash]  # fmt: skip
    made = [other for other in episode.files.values()
            if other.operation is Operation.CREATE and other.after_hash == file.after_hash]  # fmt: skip
    return lost[0] if len(lost) == 1 and len(made) == 1 else None
