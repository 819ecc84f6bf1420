"""The hunks of a delta: the edits of `docket/lines/v1` with the lines they speak of (spec/windows.md)."""

from __future__ import annotations

from collections.abc import Sequence

from docket.formats.windows.delta import Hunk
from docket.rules.line_difference import Budget, edits

MAX_LINES = 2**20


def diff_lines(old: Sequence[bytes], new: Sequence[bytes], budget: Budget) -> tuple[Hunk, ...]:
    """Return the hunks that make `new` of `old`."""
    return tuple(
        Hunk(
            old_start=edit.before_start + 1,
            new_start=edit.after_start + 1,
            old_lines=tuple(old[edit.before_start : edit.before_end]),
            new_lines=tuple(new[edit.after_start : edit.after_end]),
        )
        for edit in edits(old, new, budget)
    )
