"""Large deltas of a history: which paths they are of stays in memory, what became of them is read when it is asked for.

The history of a project is all that tools ever changed in it; a file is blamed by a little of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from docket.formats.relpath import RelPath
from docket.formats.windows.delta import FileDelta

LARGE_BYTES = 1024 * 1024
"""How large a delta's document is whose files do not stay."""
MOST_HELD = 8
"""How many large deltas are in memory at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class FilesOfLarge(Mapping[RelPath, FileDelta]):
    """The files of a large delta: `read` returns them, UnavailableError where the delta is not there any more."""

    paths: frozenset[RelPath]
    read: Callable[[], Mapping[RelPath, FileDelta]]

    def __getitem__(self, path: RelPath) -> FileDelta:
        """Return what became of a path; KeyError where the delta is not of it."""
        if path not in self.paths:
            raise KeyError(path)
        return self.read()[path]

    def __contains__(self, path: object) -> bool:
        """Whether the delta is of a path."""
        return path in self.paths

    def __iter__(self) -> Iterator[RelPath]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)
