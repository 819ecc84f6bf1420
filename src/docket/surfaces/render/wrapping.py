"""Lines that are as long as a terminal is wide, and no longer: sentences are wrapped between words, names never cut.

`width` is a terminal's, None where there is none: then a line is as long as what it says.
"""

from __future__ import annotations

import textwrap


def wrapped(text: str, width: int | None, *, lead: str = "", margin: str | None = None) -> list[str]:
    """Return `text` behind `lead`, wrapped; further lines begin with `margin`, with as many blanks where it is None."""
    if width is None:
        return [lead + text]
    further = " " * len(lead) if margin is None else margin
    return textwrap.wrap(
        text,
        width,
        initial_indent=lead,
        subsequent_indent=further,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    ) or [lead]
