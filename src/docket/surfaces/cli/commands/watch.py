"""`docket watch`: a run as it goes, on another terminal, or as it went."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.stores.layout import Layout
from docket.stores.live_boundary import read_boundary
from docket.stores.run_search import RunFound, live_runs
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.completing import receipts_like
from docket.surfaces.cli.found import locate_run
from docket.surfaces.cli.project import current_folder, layout_at
from docket.surfaces.cli.watching import JsonScreen, LinesScreen, LiveScreen, Pace, PageScreen, Screen, await_run
from docket.surfaces.cli.watching import watch as carry_out


@click.command()
@click.argument("run", required=False, shell_complete=receipts_like)
@click.option("--once", is_flag=True, help="Print one frame and end.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON: a line each time something is new, or one document with --once.",
)
@click.option("--wait", "awaits", is_flag=True, help="Wait for a run to begin, if none is going on.")
@click.option("--lines", is_flag=True, help="Print a plain line an event, as into a pipe.")
@click.option(
    "--url", is_flag=True, help="Print where the living run's boundary answers healthz, readyz and metrics, and end."
)
@click.option(
    "--interval",
    "interval_seconds",
    type=click.FloatRange(0.05, 60),
    default=0.25,
    show_default=True,
    metavar="SECONDS",
    help="Time between two looks.",
)
@click.option("--docket-dir", type=click.Path(path_type=Path), help="Where the project's evidence stands.")
def watch(run: str | None, **options: Any) -> int:  # noqa: ANN401 - click hands options over by name
    """Watch a run from another terminal.

    RUN is a docket number, a session id, or the path of a ledger or a receipt; without it, the newest run of this
    project that is going on, else its newest. Shown are what was spent of each cap, the last calls, refusals, tools
    and, once the run has ended, the files it changed. The run is looked at and not touched: Ctrl-C ends the watch
    alone.

    Into a pipe a plain line is printed for each event.

    \b
    Examples:
      docket watch
      docket watch DKT-20260131-0A1B2C --once
      docket watch --wait
      docket watch --json | jq -r .cost_usd
      curl -s "$(docket watch --url)/metrics"
      docket watch .docket/runs/3f9c0a1b2d4e.jsonl --lines
    """
    layout = layout_at(current_folder(), options["docket_dir"])
    pace = Pace(interval_seconds=options["interval_seconds"], once=bool(options["once"]))
    found = locate_run(layout, run) if run is not None or not options["awaits"] else await_run(layout, pace)
    if isinstance(found, int):
        return found
    if options["url"]:
        return _tell_url(layout, found)
    screen = _screen(once=pace.once, as_json=options["as_json"], lines=options["lines"])
    return carry_out(found, screen, lambda: _others(layout, found), pace)


def _tell_url(layout: Layout, run: RunFound) -> int:
    url = read_boundary(layout, run.session_id)
    if url is None:
        detail = f"the run {run.docket_number or run.session_id} has no boundary that answers"
        raise UnavailableError(Reason.NOT_FOUND, detail, hint="only a run that is going on has one")
    console.result(f"{url}/docket")
    return exits.OK


def _screen(*, once: bool, as_json: bool, lines: bool) -> Screen:
    if as_json:
        return JsonScreen(once=once)
    if lines or (not once and not sys.stdout.isatty()):
        return LinesScreen()
    return PageScreen() if once else LiveScreen()


def _others(layout: Layout, watched: RunFound) -> tuple[str, ...]:
    runs = live_runs(layout)
    return tuple(run.docket_number or run.session_id for run in runs if run.session_id != watched.session_id)
