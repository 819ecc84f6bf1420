"""The changed files of a run: their list, and their diffs where both contents are held.

Rules:
1. A diff is shown only between contents that have the digests of the record; where a side is not held, that is said.
2. Diffs are bounded: the first changed paths, MOST_LINES lines of one, MOST_LINES_IN_ALL of all. What a bound keeps
   out is said where it would stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from docket.engines.run_page.gathered import ComparedPath
from docket.formats.canonical import JsonObject
from docket.rules.analysis.told import ChangedPath, Recorded
from docket.surfaces.render import figures
from docket.surfaces.render.content_diff import diff_of
from docket.surfaces.render.figures import plural
from docket.surfaces.render.page.html import Html, element, joined, line_escaped
from docket.surfaces.render.page.tables import Table, table

MOST_LINES = 2_000
MOST_LINES_IN_ALL = 40_000
_SIGNS = {"added": "A", "modified": "M", "removed": "D", "retyped": "T"}
_CLASSES = {"+": "add", "-": "del", "@": "at"}


class LinesLeft:
    """How many lines may still be shown in one page."""

    def __init__(self, lines: int = MOST_LINES_IN_ALL) -> None:
        self._left = lines

    def take(self, lines: Sequence[str]) -> tuple[Sequence[str], int]:
        """Return the lines that may be shown of these, and how many may not."""
        shown = min(len(lines), MOST_LINES, self._left)
        self._left -= shown
        return lines[:shown], len(lines) - shown


def files(document: JsonObject, told: Recorded, compared: Iterable[ComparedPath], left: LinesLeft) -> Html:
    """Return the section's contents."""
    parts: list[Html] = [element("p", f"{_capital(figures.files(document))}.")]
    if not told.has_events:
        paths, more = figures.changed_paths(document, 25)
        rest = [element("p", f"and {more:,} more; the ledger, which is not at hand, names every one", class_="muted")]
        return joined([*parts, element("ul", [element("li", code(path)) for path in paths]), *rest * bool(more)])
    shown = [_one(one, left) for one in compared]
    parts += shown
    others = told.changes[len(shown) :]
    if others:
        rows = [(_sign(change), str(change.path), _size(change.before), _size(change.after)) for change in others]
        parts.append(
            table(
                Table(
                    name="paths",
                    caption="Further changed paths" if shown else "Changed paths",
                    headings=("How", "Path", "Before", "After"),
                    rows=rows,
                    numbers=frozenset((2, 3)),
                    left_out=told.left_out["changes"],
                )
            )
        )
    return joined(parts)


def _one(one: ComparedPath, left: LinesLeft) -> Html:
    changed = one.changed
    diff = () if one.compared is None else tuple(diff_of(one.compared))
    counts = Counter(line[:1] for line in diff if not line.startswith(("+++", "---")))
    counted = [
        element("span", f"+{counts['+']:,}", class_="add"),
        " ",
        element("span", f"\N{MINUS SIGN}{counts['-']:,}", class_="del"),
    ]
    head = [
        element("span", _sign(changed), aria_hidden="true", class_=f"sign {_class(changed.change)}"),
        element("span", changed.change, class_="hidden"),
        " ",
        code(str(changed.path)),
        " ",
        element("span", counted if counts["+"] or counts["-"] else _sizes(changed), class_="counts"),
    ]
    if not diff and not one.why_not:  # a directory has nothing to open
        return element("p", head, class_="file flat")
    inside = lines(diff, left) if diff else element("p", one.why_not, class_="muted")
    return element("details", element("summary", head), inside, class_="file")


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


__all__ = ["LinesLeft", "code", "files", "lines"]
