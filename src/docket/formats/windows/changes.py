"""Paths that differ between what stood in a tree before and after a tool."""

from __future__ import annotations

from docket.formats.dataclass import dataclass
from docket.formats.relpath import RelPath
from docket.formats.windows.names import ABSENT_MODE


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a path: `name` None where there is nothing, or where it was not read (`mode` says which)."""

    mode: str = ABSENT_MODE
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChange:
    """A path that differs between two trees."""

    path: RelPath
    before: Side
    after: Side
