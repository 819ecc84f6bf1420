"""Hunks of changed files, for a program and for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from docket.formats.ledger.tree_events import FsChange
from docket.formats.visible import visible
from docket.rules.workspace.hunks import Hunk, Sides, names_of
from docket.surfaces.cli.console import plain

CONTEXT_LINES = 3
_NO_END = "\\ No newline at end of file"


def members(change: FsChange, sides: Sides | str | None, *, patch: bool) -> dict[str, object]:
    """Return the members that tell a change's hunks: `hunks`, or `no_hunks` and why; with `patch` their lines too."""
    texts = sides if isinstance(sides, Sides) else None
    hunks: list[dict[str, object]] = [{"name": name} for name in names_of(change, None)]
    hunks += [_members(hunk, patch=patch) for hunk in (texts.hunks if texts else ())]
    return {"hunks": hunks, **({"no_hunks": sides} if isinstance(sides, str) else {})}


def _members(hunk: Hunk, *, patch: bool) -> dict[str, object]:
    found: dict[str, object] = {
        "name": hunk.name,
        "before_line": hunk.before_start + 1,
        "removed": len(hunk.removed),
        "after_line": hunk.after_start + 1,
        "added": len(hunk.added),
    }
    if patch:
        found["lines"] = [f"{sign}{visible(line.removesuffix(_LF))}" for sign, line in _signed(hunk)]
    return found


def group_lines(sides: Sides, group: Sequence[Hunk]) -> Iterator[str]:
    """Yield neighbouring hunks as one hunk of a unified diff, with the lines around them, safe for a terminal."""
    first, last = group[0], group[-1]
    start = max(0, first.before_start - CONTEXT_LINES)
    end = min(len(sides.before), last.before_start + len(last.removed) + CONTEXT_LINES)
    added = sum(len(hunk.added) - len(hunk.removed) for hunk in group)
    after = first.after_start - (first.before_start - start)
    yield f"@@ -{_range(start, end - start)} +{_range(after, end - start + added)} @@"
    at = start
    for hunk in group:
        yield from _shown((" ", line) for line in sides.before[at : hunk.before_start])
        yield from _shown(_signed(hunk))
        at = hunk.before_start + len(hunk.removed)
    yield from _shown((" ", line) for line in sides.before[at:end])


def _signed(hunk: Hunk) -> Iterator[tuple[str, bytes]]:
    yield from (("-", line) for line in hunk.removed)
    yield from (("+", line) for line in hunk.added)


def _shown(lines: Iterator[tuple[str, bytes]]) -> Iterator[str]:
    for sign, line in lines:
        text = line.removesuffix(_LF).decode("utf-8", "surrogateescape")
        yield sign + "\t".join(plain(piece) for piece in text.split("\t"))
        if not line.endswith(_LF):
            yield _NO_END


def _range(start: int, count: int) -> str:
    return f"{start + 1 if count else start},{count}"


_LF = b"\n"
