"""A receipt as Markdown, for a pull request or a ticket. Text from the record is escaped, never interpreted."""

from __future__ import annotations

import re

from docket.formats import lenient
from docket.formats.canonical import JsonObject
from docket.surfaces.cli.console import plain
from docket.surfaces.render import figures
from docket.surfaces.render.text import PATHS_SHOWN, facts

# What means something within a line. Nothing is shown at the beginning of one, where more would.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$@&])")


def escaped(text: str) -> str:
    """Return `text` with Markdown's special characters escaped and control characters visible."""
    return _SPECIAL.sub(r"\\\1", plain(text))


def report(document: JsonObject) -> str:
    """Return the report as Markdown with a final newline."""
    lines = [
        f"## {escaped(figures.text(document, 'docket_number'))}: {escaped(figures.ending(document))}",
        "",
        code(figures.command_line(document)),
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {escaped(value)} |" for name, value in facts(document)),
        "",
    ]
    by_model = lenient.rows_at(document, "totals", "by_model")
    if by_model:
        lines += [f"| {' | '.join(figures.MODEL_HEADINGS)} |", "|---|--:|--:|--:|--:|--:|"]
        lines += [f"| {' | '.join(map(escaped, figures.model_cells(row)))} |" for row in by_model]
        lines.append("")
    paths, more = figures.changed_paths(document, PATHS_SHOWN)
    if paths:
        rest = [f"- and {more:,} more: {figures.ALL_PATHS}"] * bool(more)
        lines += ["Changed paths:", "", *(f"- {code(path)}" for path in paths), *rest, ""]
    return "\n".join(lines)


def code(text: str) -> str:
    """Return `text` as inline code, with a fence longer than any run of backticks in it."""
    shown = plain(text)
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{shown}{space}{fence}"
