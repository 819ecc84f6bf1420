"""`docket game-day`: an agent run through one fault after the other, with a post-mortem at the end."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docket.errors import UsageError
from docket.formats.reason import Reason
from docket.host.clock import SystemClock
from docket.rules.wording import were
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.completing import files_like, phases_like, recipes_like
from docket.surfaces.cli.options import dollars
from docket.surfaces.cli.project import current_folder, layout_at

if TYPE_CHECKING:
    from docket.demo.game_day import GameDayOptions, Told
    from docket.rules.drills.post_mortem import GameDay, PhaseReport


@click.command(name="game-day", context_settings={"allow_interspersed_args": False})
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- AGENT [ARGS]...]", shell_complete=files_like)
@click.option("--phases", metavar="NAME,NAME…", shell_complete=phases_like,
              help="Run only these; the baseline is always among them.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), help="Folder to make and write into.")
@click.option("--agent", metavar="NAME", shell_complete=recipes_like,
              help="Launch recipe to use, or none; by default the program decides.")  # fmt: skip
@click.option("--fault-seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the faults.")
@click.option("--max-minutes", default="3", show_default=True, metavar="MINUTES", help="How long a phase may last.")
@click.option("--online", is_flag=True, help="Let the agent's real providers answer; costs money, needs --max-usd.")
@click.option("--max-usd", metavar="AMOUNT", help="Dollars each phase may spend with --online.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON instead of the phases.")
def game_day(command: tuple[str, ...], **options: object) -> int:
    """Run an agent through faults, and write down what it did.

    Each phase is a run under docket with one thing going wrong: a rate limit, an outage, a slow or broken stream, a
    truncated reply, a reached cap. Without AGENT a scripted one is drilled, and without --online a scripted provider
    answers: no key, no network, no cost. The agent works in a copy of the current folder.

    Exit 0: every phase was run and nothing needs attention. 1: there are findings; the post-mortem says which. 75: a
    phase could not be run, and the others have no findings.

    \b
    Examples:
      docket game-day
      docket game-day -- claude -p "fix the failing test" --dangerously-skip-permissions
      docket game-day --phases rate-limit,reset -- codex exec "add a changelog entry"
      docket game-day --online --max-usd 0.50 -- aider --message "rename Foo to Bar" foo.py
    """
    from docket.demo.game_day import run_game_day  # noqa: PLC0415 - not needed for --help

    asked = _asked(command, options)
    shown = _Phases(len(asked.phases), silent=bool(options["as_json"]))
    day, ended_by = run_game_day(asked, shown.show)
    if options["as_json"]:
        console.result(console.as_json(day.to_json() | {"out": str(asked.out)}))
    else:
        _sum_up(day, asked.out)
    if ended_by is not None:
        return exits.SIGNAL_BASE + ended_by
    return exits.FAILED if day.findings else exits.UNAVAILABLE if day.missing else exits.OK


def _asked(command: tuple[str, ...], options: Mapping[str, object]) -> GameDayOptions:
    """Return what the command line asks for; UsageError says what is wrong with it."""
    from docket.demo.game_day import GameDayOptions  # noqa: PLC0415 - not needed for --help
    from docket.rules.drills.phases import chosen  # noqa: PLC0415 - as above
    from docket.rules.policy.override import Overrides  # noqa: PLC0415 - as above

    online, max_usd = bool(options["online"]), options["max_usd"]
    if online != (max_usd is not None):
        raise UsageError(
            Reason.USAGE,
            "--online spends money, and --max-usd says how much a phase may: give both or neither",
            hint="as in: docket game-day --online --max-usd 0.50 -- claude -p …",
        )
    Overrides.parse({"max_minutes": options["max_minutes"]})
    now = SystemClock().now()
    project = current_folder()
    layout = None if options["out"] is not None else layout_at(project, None)
    out = options["out"] if layout is None else layout.docket_dir / "game-days" / re.sub(r"[-:]", "", now[:19])
    return GameDayOptions(
        phases=chosen(name.strip() for name in str(options["phases"] or "").split(",") if name.strip()),
        command=command,
        out=Path(str(out)).absolute(),
        project=project,
        began_at=now,
        layout=layout,
        agent=None if options["agent"] is None else str(options["agent"]),
        seed=int(str(options["fault_seed"])),
        max_minutes=str(options["max_minutes"]),
        max_usd=None if max_usd is None else str(dollars("--max-usd", str(max_usd))),
    )


class _Phases:
    """Shows each phase as it begins, on a terminal, and as it ends."""

    def __init__(self, count: int, *, silent: bool) -> None:
        self._count, self._silent = count, silent
        self._number = 0
        self._is_terminal = sys.stderr.isatty()

    def show(self, told: Told) -> None:
        """Show one thing."""
        if self._silent:
            return
        if told.report is None and not told.problem:
            self._number += 1
            if self._is_terminal:
                console.overwrite(f"{self._number}/{self._count} {told.phase.name}: {told.phase.title} …")
            return
        if self._is_terminal:
            console.overwrite("")
        if told.report is None:
            console.result(f"{told.phase.name:<12} could not be run: {console.plain(told.problem)}")
            return
        for line in _ended(told.report):
            console.result(line)


def _ended(report: PhaseReport) -> list[str]:
    judgement = report.judgement
    word = click.style(f"{judgement.word:<12}", fg="green" if judgement.fine else "yellow")
    lines = [f"{report.phase.name:<12} {word} {console.plain(judgement.seen)}"]
    if judgement.advice:
        lines.append(f"{'':<26}{console.plain(judgement.advice)}")
    return lines


def _sum_up(day: GameDay, out: Path) -> None:
    found = len(day.findings)
    console.result("")
    if day.missing:
        whose = "its" if len(day.missing) == 1 else "their"
        said = f"{were(len(day.missing), 'phase')} not run to {whose} end."
        console.result(click.style(said, fg="yellow", bold=True))
    elif found:
        verb = "needs" if found == 1 else "need"
        console.result(click.style(f"{found} of {len(day.reports)} phases {verb} attention.", fg="yellow", bold=True))
    else:
        console.result(click.style("Nothing needs attention.", fg="green", bold=True))
    if day.reports and not any(report.judgement.word == "record wrong" for report in day.reports):
        estimated = sum(report.facts.estimated for report in day.reports)
        known = (
            f"; {estimated} calls were billed by an estimate"
            if estimated
            else ", and every cost is the provider's count"
        )
        console.result(f"  records      every receipt is what it should be{known}")
    console.result(f"  post-mortem  {console.plain(str(out / 'post-mortem.md'))}")
