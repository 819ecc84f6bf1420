"""`docket runs`: the runs of this project, or of every project, with exact totals."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from docket.engines.run_listing import ListRequest, Totals, Wanted, list_runs, summed
from docket.errors import DocketError, UsageError
from docket.formats.amount import Usd
from docket.formats.canonical import JsonValue
from docket.formats.reason import Reason
from docket.formats.run.run_row import End, RunRow
from docket.formats.workspace.state import Status
from docket.host.clock import SystemClock
from docket.stores.layout import Layout
from docket.stores.projects import projects
from docket.stores.workspace.transactions import Transactions
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.completing import recipes_like
from docket.surfaces.cli.project import current_folder, layout_at, runs_above
from docket.surfaces.render import run_list

_AGO = re.compile(r"([1-9][0-9]{0,5})([mhdw])", re.ASCII)
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@click.command()
@click.option("--agent", metavar="NAME", shell_complete=recipes_like, help="Only runs of this agent.")
@click.option(
    "--since", metavar="WHEN", help="Only runs since a day (2026-01-31), an instant, or so long ago: 90m, 12h, 7d, 4w."
)
@click.option("--end", "ends", multiple=True, type=click.Choice([str(end) for end in End]),
              help="Only runs that ended so. May be repeated.")  # fmt: skip
@click.option("--live", is_flag=True, help="Only runs that are going on; the same as --end live.")
@click.option("-n", "--limit", type=click.IntRange(1), metavar="N", help="At most so many, the newest.")
@click.option("--all", "every", is_flag=True, help="The runs of every project in the state folder.")
@click.option("--json", "as_json", is_flag=True, help="Print the rows and totals as JSON.")
@click.option("--docket-dir", type=click.Path(path_type=Path), help="Where the project's evidence stands.")
def runs(**options: Any) -> int:  # noqa: ANN401 - click hands options over by name
    """List the runs of this project, the newest day first, and what they cost in all.

    A run is listed with its receipt, or, while it is going on or where it was killed, by its ledger. A receipt that
    cannot be read is listed with the reason. One whose changes wait on a stage ends in review, until they are landed
    (docket tx); one whose changes did not land is not-landed. Cost, calls and tokens below the list are the exact sums
    of what is listed.

    Exit code 0, or 1 if a receipt or a ledger among them is damaged.

    \b
    Examples:
      docket runs
      docket runs --since 7d --end cap --end failed
      docket runs --live
      docket runs --all --since 2026-01-01 --json | jq -r .totals.cost_usd
    """
    if options["every"] and options["docket_dir"] is not None:
        raise UsageError(Reason.USAGE, "--all and --docket-dir do not go together")
    wanted = Wanted(
        agent=options["agent"],
        since=None if options["since"] is None else _since(options["since"]),
        ends=frozenset(map(End, options["ends"])) | (frozenset((End.LIVE,)) if options["live"] else frozenset()),
        limit=options["limit"],
    )
    request = ListRequest(
        layouts=tuple(_layouts(options)), wanted=wanted, named=bool(options["every"]), landed=_has_landed
    )
    totals = Totals()
    rows = summed(list_runs(request), totals)
    if options["as_json"]:
        _as_json(rows, totals)
    else:
        _as_lines(rows, totals)
        if not totals.runs and not options["every"]:
            console.say(runs_above(options["docket_dir"]) or "docket runs --all lists those of every project")
    return exits.FAILED if totals.ends.get(End.DAMAGED) else exits.OK


def _has_landed(transaction: str) -> bool:
    """Whether a person landed a run's transaction after the run."""
    with suppress(DocketError):
        return Transactions.of(os.environ).load(transaction).status is Status.COMMITTED
    return False


def _layouts(options: dict[str, Any]) -> Iterator[Layout]:
    if options["every"]:
        yield from projects(os.environ)
    else:
        yield layout_at(current_folder(), options["docket_dir"])


def _since(text: str) -> str:
    """Return the RFC 3339 instant that a person means."""
    ago = _AGO.fullmatch(text)
    if ago is not None:
        with suppress(OverflowError):
            then = datetime.fromisoformat(SystemClock().now()) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
            return _spelled(then)
    try:
        return _spelled(datetime.fromisoformat(text))
    except (ValueError, OverflowError) as error:
        detail = f"--since: {text!r} is no day, no instant and no time ago"
        raise UsageError(Reason.USAGE, detail, hint="as in 2026-01-31, 2026-01-31T09:00Z, 12h or 7d") from error


def _spelled(instant: datetime) -> str:
    zoned = instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    return zoned.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _as_lines(rows: Iterator[RunRow], totals: Totals) -> None:
    columns = run_list.columns_for(shutil.get_terminal_size().columns if sys.stdout.isatty() else None)
    for row in rows:
        if totals.runs == 1:
            console.result(click.style(run_list.heading(columns), bold=True))
        console.result(click.style(run_list.line(row, columns), fg=run_list.COLOURS.get(row.end)))
    console.result(run_list.closing(totals) if totals.runs else "no runs")


def _as_json(rows: Iterator[RunRow], totals: Totals) -> None:
    """Print one document, row by row, so that many runs need no more memory than one."""
    console.result('{\n "runs": [')
    before = ""
    for row in rows:
        if before:
            console.result(f"{before},")
        before = "  " + console.as_json(row.to_json(), indent=None)
    if before:
        console.result(before)
    sums: dict[str, JsonValue] = {
        "runs": totals.runs,
        "calls": totals.calls,
        "denied": totals.denied,
        "tokens": totals.tokens,
        "cost_usd": str(Usd(totals.cost_micros)),
        "ends": {str(end): number for end, number in sorted(totals.ends.items())},
    }
    console.result(f' ],\n "totals": {console.as_json(sums, indent=None)}\n}}')
