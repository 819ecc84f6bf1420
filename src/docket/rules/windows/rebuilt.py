"""A content that is not kept any more, made anew of an earlier one and the hunks since (spec/windows.md, Blame).

What is made counts only if its name is the one that was asked for, at every step.
"""

from __future__ import annotations

from collections.abc import Callable

from docket.formats.relpath import RelPath
from docket.formats.windows.delta import FileDelta
from docket.formats.windows.names import FILE_MODES
from docket.rules.windows.blame_history import Episode
from docket.rules.windows.blame_points import Points, name_in
from docket.rules.windows.undo_hunks import after_of

Kept = Callable[[str, Episode], bytes | None]
_Step = tuple[Episode, FileDelta]


def rebuilt(points: Points, path: RelPath, point: int, kept: Kept) -> bytes | None:
    """Return what a path held at a point; None where nothing that is kept leads there through hunks alone."""
    steps: list[_Step] = []
    content: bytes | None = None
    for index in range((point + 1) // 2 - 1, -1, -1):
        episode = points.episodes[index]
        file = episode.files.get(path)
        if file is None:
            continue
        if steps and steps[-1][1].before_hash != file.after_hash:
            return None
        steps.append((episode, file))
        content = kept(file.before_hash, episode) if file.before_mode in FILE_MODES else b""
        if content is not None:
            break
    return None if content is None else _forward(content, steps)


def _forward(content: bytes, steps: list[_Step]) -> bytes | None:
    for episode, file in reversed(steps):
        after = after_of(content, file)
        if after is None or name_in(episode, after) != file.after_hash:
            return None
        content = after
    return content
