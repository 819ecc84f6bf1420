"""`docket blame`: which tool call each line of a file comes from."""

from __future__ import annotations

import re
import shutil
import sys
from functools import cache
from pathlib import Path

import click

from docket.engines.windows.blame import blame_file
from docket.errors import UsageError
from docket.formats.reason import Reason
from docket.rules.windows.origin import Origin
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.blaming import blame_world, locate
from docket.surfaces.render import blame as render

_RANGE = re.compile(r"(\d{1,9})(?:,(\d{1,9}))?")
_COLOURS = {Origin.TOOL: "cyan", Origin.GROUP: "magenta", Origin.OUTSIDE: "green", Origin.UNKNOWN: "bright_black"}
_LEAST_TEXT = 20


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--line", "-L", "lines", metavar="N|A,B", help="Only this line, or the lines from A to B.")
@click.option("--json", "as_json", is_flag=True, help="Print the blame as JSON.")
@click.option("--docket-dir", type=click.Path(path_type=Path), help="Where the project's evidence stands.")
def blame(file: Path, lines: str | None, docket_dir: Path | None, *, as_json: bool) -> int:
    """Show which tool call each line of FILE comes from, as far as that is recorded.

    \b
    Of each line one of four things is said:
      3f9c1a2b   the one recorded tool call that wrote it (docket windows show 3f9c1a2b)
      +9a0b1c2   tool calls that ran at the same time: one of them, and nobody knows which
      outside    it came between recorded tool calls, by none of them: a person, or a program
      unknown    nothing is known, and the reason

    The cost is that of the model call that asked for the tool, which is derived, or - where the two are not joined.

    \b
    Examples:
      docket blame src/app.py
      docket blame src/app.py --line 10,20
      docket blame src/app.py --json | jq .counts
    """
    located = locate(file, docket_dir)
    with blame_world(located.place) as world:
        found = blame_file(located.path, world)
        first, last = _range(lines, len(found.lines))
        shown = render.Shown(blame=found, first=first, last=last, calls=cache(world.calls))
        if as_json:
            console.result(console.as_json(render.as_members(shown)))
            return exits.OK
        _print(shown)
    return exits.OK


def _range(asked: str | None, count: int) -> tuple[int, int]:
    if asked is None:
        return 1, count
    found = _RANGE.fullmatch(asked)
    if found is None:
        raise UsageError(Reason.USAGE, f"{asked!r} is neither a line nor two with a comma between them")
    first = int(found[1])
    last = first if found[2] is None else int(found[2])
    if not 1 <= first <= last <= count:
        raise UsageError(Reason.USAGE, f"the file has {count:,} lines, and {asked} is not among them")
    return first, last


def _print(shown: render.Shown) -> None:
    digits = max(len(str(shown.last)), 3)
    before = render.ID_SHOWN + render.WHO_COLUMNS + render.COST_COLUMNS + digits + 5
    width = max(shutil.get_terminal_size().columns - before, _LEAST_TEXT) if sys.stdout.isatty() else None
    for row in render.rows(shown):
        mark = click.style(f"{console.plain(row.mark):<{render.ID_SHOWN}}", fg=_COLOURS[row.origin])
        who = _cut(console.plain(row.who), render.WHO_COLUMNS)
        text = console.plain(row.text)
        console.result(
            f"{mark} {who:<{render.WHO_COLUMNS}} {row.cost:>{render.COST_COLUMNS}} {row.number:>{digits}}  "
            f"{text if width is None else _cut(text, width)}".rstrip()
        )
    if shown.last:
        console.result("")
    for line in render.legend(shown):
        console.result(console.plain(line))


def _cut(text: str, columns: int) -> str:
    if text.isascii():
        return text if len(text) <= columns else f"{text[: columns - 1]}…"
    from rich.cells import cell_len, set_cell_size  # noqa: PLC0415 - only what is no ASCII is measured

    return text if cell_len(text) <= columns else f"{set_cell_size(text, columns - 1)}…"
