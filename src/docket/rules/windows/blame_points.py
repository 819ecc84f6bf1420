"""The instants at which a tree was looked at, and what stood at a path then.

The points of a track are numbered: 2i is before its episode i, 2i + 1 after it, and `now` the last one, the present.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from docket.formats.relpath import RelPath
from docket.formats.windows.changes import Side
from docket.formats.windows.names import Hashes
from docket.rules.windows.blame_history import Episode
from docket.rules.windows.naming import content_name


class TreeSights(Protocol):
    """What can be looked up of trees."""

    def present(self, path: RelPath) -> Side:
        """Return what stands at a path now."""
        ...

    def side(self, tree: str, path: RelPath) -> Side | None:
        """Return what stood at a path in a tree, None where the tree is not kept any more."""
        ...


class Points:
    """The points of one track; without `sights` only what deltas say is known, and there is no present."""

    def __init__(self, episodes: Sequence[Episode], sights: TreeSights | None) -> None:
        self.episodes, self._sights = episodes, sights

    @property
    def now(self) -> int:
        """The point of the present."""
        return 2 * len(self.episodes)

    def side(self, point: int, path: RelPath) -> Side | None:
        """Return what stood at a path, None where that is not known."""
        if point == self.now:
            return None if self._sights is None else self._sights.present(path)
        file = self.episodes[point // 2].files.get(path)
        if file is not None:
            mode, name = (file.after_mode, file.after_hash) if point % 2 else (file.before_mode, file.before_hash)
            return Side(mode=mode, name=name if name.strip("0") else None)
        tree = self.tree_at(point)
        return None if tree is None or self._sights is None else self._sights.side(tree, path)

    def tree_at(self, point: int) -> str | None:
        """Return the tree of a point, None where no record names it."""
        episode = self.episodes[point // 2]
        return episode.tree_after if point % 2 else episode.tree_before

    def is_told(self, point: int, path: RelPath) -> bool:
        """Whether a delta tells what stood at a path."""
        return path in self.episodes[point // 2].files

    def seen_before(self, point: int, path: RelPath) -> tuple[Side | None, int]:
        """Return the last side that is known before a point, and its point; (None, -1) where none is."""
        for earlier in range(point - 1, -1, -1):
            found = self.side(earlier, path)
            if found is not None:
                return found, earlier
        return None, -1

    def last_held(self, point: int, path: RelPath, name: str, *, not_after: datetime | None = None) -> int | None:
        """Return the last point up to one at which a path had a content, None where it never had."""
        for earlier in range(min(point, self.now - 1), -1, -1):
            if not_after is not None and self._at(earlier) > not_after:
                continue
            side = self.side(earlier, path)
            if side is not None and side.name == name:
                return earlier
        return None

    def left_by(
        self, path: RelPath, content: bytes, until: datetime | None, before: Episode | None = None
    ) -> int | None:
        """Return the point after the last episode that ended by an instant and left a content at a path.

        `before` is one that it must stand before.
        """
        last = len(self.episodes) if before is None else self.episodes.index(before)
        for index in range(last - 1, -1, -1):
            episode = self.episodes[index]
            file = episode.files.get(path)
            in_time = until is None or episode.completed <= until
            if file is not None and in_time and file.after_hash == name_in(episode, content):
                return 2 * index + 1
        return None

    def landed_in(self, path: RelPath, since: datetime | None, until: datetime | None) -> int | None:
        """Return the point after the last episode that changed a path and whose stage landed between two instants."""
        for index in range(len(self.episodes) - 1, -1, -1):
            landed = self.episodes[index].landed
            if landed is None or path not in self.episodes[index].files:
                continue
            if (since is None or landed >= since) and (until is None or landed <= until):
                return 2 * index + 1
        return None

    def alone_with(self, point: int) -> tuple[Points, int]:
        """Return the points of the tree alone that the episode of a point is of, and that point among them."""
        repository = self.episodes[point // 2].callers[0].key.repository
        own = [episode for episode in self.episodes if episode.callers[0].key.repository == repository]
        return Points(own, None), 2 * own.index(self.episodes[point // 2]) + point % 2

    def is_of(self, path: RelPath, content: bytes, since: datetime | None, until: datetime | None) -> bool:
        """Whether an episode changed a path, or left a content anywhere, that may have landed between two instants."""
        return any(
            path in episode.files or name_in(episode, content) in {file.after_hash for file in episode.files.values()}
            for episode in self.episodes
            if (until is None or episode.completed <= until)
            and (since is None or episode.landed is None or episode.landed >= since)
        )

    def is_later(self, path: RelPath, landed: Episode, until: datetime | None) -> bool:
        """Whether an episode on another stage, over by an instant, changed a path and may have landed after one."""
        return any(
            path in episode.files
            and episode.callers[0].key.repository != landed.callers[0].key.repository
            and (until is None or episode.completed <= until)
            and (episode.landed is None or landed.landed is None or episode.landed > landed.landed)
            for episode in self.episodes
        )

    def is_by(self, point: int, instant: datetime) -> bool:
        """Whether a point that is no present was by an instant."""
        return self._at(point) <= instant

    def instant(self, point: int) -> datetime | None:
        """Return when a point was, None for the present."""
        return None if point == self.now else self._at(point)

    def told_at(self, point: int) -> str | None:
        """Return the instant that a record gives a point, None for the present."""
        if point == self.now:
            return None
        window = self.episodes[point // 2].delta.window
        return window.completed_at if point % 2 else window.started_at

    def _at(self, point: int) -> datetime:
        episode = self.episodes[point // 2]
        return episode.completed if point % 2 else episode.started


def name_in(episode: Episode, content: bytes) -> str:
    """Return what the delta of an episode calls a content."""
    return content_name(content, episode.delta.hashes or Hashes.CONTENT_SHA256)
