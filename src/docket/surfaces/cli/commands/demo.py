"""`docket demo`: a runaway agent stopped by a cap, its record verified, a forgery found. No key, no network."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docket.surfaces.cli import console, exits
from docket.surfaces.cli.options import dollars

if TYPE_CHECKING:
    from types import FrameType

    from docket.demo.show import DemoResult, Told


@click.command()
@click.option("--max-usd", default="0.05", show_default=True, metavar="USD", help="The cap of the demo's run.")
@click.option("--keep", is_flag=True, help="Leave the demo's folder behind, to look around.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON instead of the steps.")
def demo(max_usd: str, *, keep: bool, as_json: bool) -> int:
    """See a runaway agent stopped, without keys or network.

    A scripted agent asks a scripted provider without end until the cap stops it; then its receipt is verified, one
    byte of the record is changed, and verification names the event. Exit 0 only if all of it happened.

    \b
    Examples:
      docket demo
      docket demo --max-usd 0.10 --keep
      docket demo --json
    """
    from docket.demo.show import DemoOptions, run_demo  # noqa: PLC0415 - not needed for --help

    options = DemoOptions(max_usd=dollars("--max-usd", max_usd), keep=keep)
    steps = _Steps(silent=as_json)
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        result = run_demo(options, steps.show)
    finally:
        signal.signal(signal.SIGTERM, before)
    if as_json:
        console.result(console.as_json(result.to_json()))
    else:
        _sum_up(result)
    return exits.FAILED if result.problems else exits.OK


def _terminate(number: int, frame: FrameType | None) -> None:
    """End as by a signal, but with what was started ended and its folder removed."""
    del frame
    sys.exit(exits.SIGNAL_BASE + number)


class _Steps:
    """Shows what the demo tells: numbered steps, and the run's own output behind a bar."""

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._number = 0

    def show(self, told: Told) -> None:
        """Show one thing."""
        if self._silent:
            return
        if told.title:
            self._number += 1
            console.result(
                ("" if self._number == 1 else "\n") + click.style(f"{self._number}. {told.title}", bold=True)
            )
        for line in told.lines:
            bar = "   " if told.title else "   | "
            console.result(f"{bar}{console.plain(line)}".rstrip())


def _sum_up(result: DemoResult) -> None:
    console.result("")
    if result.problems:
        console.result(click.style("The demo did not go as it should:", fg="red", bold=True))
        for problem in result.problems:
            console.result(f"  - {console.plain(problem)}")
    else:
        console.result(click.style("All of it held.", fg="green", bold=True))
        console.result(f"  stopped    after ${result.spent_usd} of ${result.cap_usd}; the agent was told why")
        console.result(f"  recorded   {result.calls} calls and {len(result.changed)} changed paths, in a receipt")
        console.result(f"  checked    {result.verdict}; with one byte changed: {result.forged_verdict}")
        console.result(f"  next       {console.plain(_called())} run --max-usd 2 -- <your agent>")
    kept = console.plain(result.folder) if result.kept else "nothing; docket demo --keep leaves the files"
    console.result(f"  kept       {kept}")


def _called() -> str:
    """Return how a shell in any folder starts this docket: a demo from a fresh clone is on nobody's PATH."""
    if shutil.which("docket") is not None:
        return "docket"
    here = Path(sys.argv[0])
    if here.name == "docket" and os.access(here, os.X_OK):
        return shlex.quote(str(here.absolute()))
    return f"{shlex.quote(sys.executable)} -m docket"
