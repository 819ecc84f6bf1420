"""Lines taken back through one change: which of them it brought in, and where the others stood before.

Places count from 0; `Held` maps a line of the present file to its place in the content that is looked at.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from docket.formats.dataclass import dataclass
from docket.formats.windows.delta import Hunk

Held = dict[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBack:
    """`came` are the lines that the change brought in, at their places after it; `stayed` those before it."""

    came: Held
    stayed: Held


def take_back(held: Held, hunks: Sequence[Hunk]) -> TakenBack:
    """Return what each line was before the hunks."""
    starts = [hunk.new_start - 1 for hunk in hunks]
    came: Held = {}
    stayed: Held = {}
    for line, place in held.items():
        index = bisect_right(starts, place) - 1
        if index < 0:
            stayed[line] = place
            continue
        hunk = hunks[index]
        beyond = place - (hunk.new_start - 1 + len(hunk.new_lines))
        if beyond < 0:
            came[line] = place
        else:
            stayed[line] = hunk.old_start - 1 + len(hunk.old_lines) + beyond
    return TakenBack(came=came, stayed=stayed)
