"""The changed files of a run: their list, and their diffs where both contents are held.

Rules:
1. A diff is shown only between contents that have the digests of the record; where a side is not held, that is said.
2. Diffs are bounded: MOST_DIFFS files, MOST_LINES lines of one, MOST_LINES_IN_ALL of all. What a bound keeps out is
   said where it would stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from docket.formats.canonical import JsonObject
from docket.formats.dataclass import dataclass
from docket.surfaces.render import figures
from docket.surfaces.render.figures import plural
from docket.surfaces.render.page.html import Html, element, joined, line_escaped
from docket.surfaces.render.page.record import ChangedPath, Recorded
from docket.surfaces.render.page.tables import Table, table

MOST_DIFFS = 300
MOST_LINES = 2_000
MOST_LINES_IN_ALL = 40_000
_SIGNS = {"added": "A", "modified": "M", "removed": "D", "retyped": "T"}
_CLASSES = {"+": "add", "-": "del", "@": "at"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PathDiff:
    """A changed path with its diff's lines in git's form, or why there is none."""

    changed: ChangedPath
    lines: tuple[str, ...] = ()
    why_not: str = ""


class LinesLeft:
    """How many lines may still be shown in one page."""

    def __init__(self, lines: int = MOST_LINES_IN_ALL) -> None:
        self._left = lines

    def take(self, lines: Sequence[str]) -> tuple[Sequence[str], int]:
        """Return the lines that may be shown of these, and how many may not."""
        shown = min(len(lines), MOST_LINES, self._left)
        self._left -= shown
        return lines[:shown], len(lines) - shown


def files(document: JsonObject, told: Recorded, diffs: Sequence[PathDiff], left: LinesLeft) -> Html:
    """Return the section's contents."""
    parts: list[Html] = [element("p", f"{_capital(figures.files(document))}.")]
    if not told.has_events:
        paths, more = figures.changed_paths(document, 25)
        rest = [element("p", f"and {more:,} more; the ledger, which is not at hand, names every one", class_="muted")]
        return joined([*parts, element("ul", [element("li", code(path)) for path in paths]), *rest * bool(more)])
    parts += [_one(diff, left) for diff in diffs[:MOST_DIFFS]]
    others = told.changes[len(diffs[:MOST_DIFFS]) :]
    if others:
        rows = [(_sign(change), str(change.path), _size(change.before), _size(change.after)) for change in others]
        parts.append(
            table(
                Table(
                    name="paths",
                    caption="Further changed paths" if diffs else "Changed paths",
                    headings=("How", "Path", "Before", "After"),
                    rows=rows,
                    numbers=frozenset((2, 3)),
                    left_out=told.left_out["changes"],
                )
            )
        )
    return joined(parts)


def _one(diff: PathDiff, left: LinesLeft) -> Html:
    changed = diff.changed
    counts = Counter(line[:1] for line in diff.lines if not line.startswith(("+++", "---")))
    figures_ = [
        element("span", f"+{counts['+']:,}", class_="add"),
        " ",
        element("span", f"\N{MINUS SIGN}{counts['-']:,}", class_="del"),
    ]
    summary = element(
        "summary",
        element("span", _sign(changed), aria_hidden="true", class_=f"sign {_class(changed.change)}"),
        element("span", changed.change, class_="hidden"),
        " ",
        code(str(changed.path)),
        " ",
        element("span", figures_ if counts["+"] or counts["-"] else _sizes(changed), class_="counts"),
    )
    inside = lines(diff.lines, left) if diff.lines else element("p", diff.why_not, class_="muted")
    return element("details", summary, inside, class_="file")


def lines(shown: Sequence[str], left: LinesLeft) -> Html:
    """Return lines of a diff, coloured by their first sign, as many as may be shown."""
    taken, kept_out = left.take(shown)
    drawn = joined((_line(line) for line in taken), between="\n")
    more = element("p", f"{plural(kept_out, 'more line')} not shown here.", class_="muted")
    return joined([element("pre", drawn, class_="diff", tabindex="0"), *[more] * bool(kept_out)])


def _line(line: str) -> Html:
    name = "head" if line.startswith(("+++", "---", "diff ")) else _CLASSES.get(line[:1])
    return element("span", line_escaped(line), class_=name) if name else line_escaped(line)


def code(text: str) -> Html:
    """Return a name or a path as code, from left to right whatever it holds."""
    return element("code", text, dir="ltr")


def _sign(changed: ChangedPath) -> str:
    return _SIGNS.get(changed.change, "?")


def _class(change: str) -> str:
    return change if change in _SIGNS else "other"


def _sizes(changed: ChangedPath) -> str:
    before, after = _size(changed.before), _size(changed.after)
    return f"{before} → {after}" if before and after else after or before


def _size(state: JsonObject | None) -> str:
    if state is None:
        return ""
    kind, size = figures.text(state, "kind"), state.get("size")
    return f"{size:,} B" if isinstance(size, int) else kind


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


__all__ = ["MOST_DIFFS", "LinesLeft", "PathDiff", "code", "files", "lines"]
