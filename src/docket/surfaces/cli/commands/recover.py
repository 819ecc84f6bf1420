"""`docket recover`: the receipts of runs that were killed before they could write them."""

from __future__ import annotations

from pathlib import Path

import click

from docket.engines.recover import Outcome, RecoverRequest, RecoverWorld, Recovery, State
from docket.engines.recover import recover as carry_out
from docket.errors import UsageError
from docket.formats.reason import Reason
from docket.host.clock import SystemClock
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.completing import killed_like
from docket.surfaces.cli.project import current_folder, layout_at, runs_above

_COLOURS = {State.RECOVERED: "green", State.DAMAGED: "red", State.UNAVAILABLE: "red"}
_WIDTH = 15


@click.command()
@click.argument("session", required=False, shell_complete=killed_like)
@click.option("--all", "every", is_flag=True, help="Every run of this project; the same as naming none.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcomes as JSON, one for each run of the project.")
@click.option("--docket-dir", type=click.Path(path_type=Path), help="Where the project's evidence stands.")
def recover(session: str | None, *, every: bool, dry_run: bool, as_json: bool, docket_dir: Path | None) -> int:
    """Write the receipts of runs that were killed.

    SESSION is a run's session id or docket number; without it, every run of this project is looked at. A run that is
    still going on is not touched. The receipt derives from the ledger as it stands: where the end was not recorded,
    the receipt says so, and verifies as incomplete. Nothing is signed here; what a run had signed before its end is
    kept. What the dead run left behind is removed.

    Exit code 0 if nothing is left to recover, 1 if a ledger is damaged, 75 if something was not to be had.

    \b
    Examples:
      docket recover --dry-run
      docket recover
      docket recover DKT-20260131-0A1B2C
      docket recover --json | jq '.outcomes[] | select(.state == "recovered") | .receipt'
    """
    if session is not None and every:
        raise UsageError(Reason.USAGE, "a session and --all do not go together")
    request = RecoverRequest(layout=layout_at(current_folder(), docket_dir), session=session, dry_run=dry_run)
    recovery = carry_out(request, RecoverWorld(clock=SystemClock()))
    if as_json:
        console.result(console.as_json(_members(recovery, dry_run=dry_run)))
    else:
        _tell(recovery, dry_run=dry_run)
        above = None if recovery.outcomes else runs_above(docket_dir)
        if above is not None:
            console.say(above)
    return _exit_code(recovery, named=session is not None)


def _exit_code(recovery: Recovery, *, named: bool) -> int:
    states = {outcome.state for outcome in recovery.outcomes}
    if State.DAMAGED in states:
        return exits.FAILED
    if State.UNAVAILABLE in states or (named and State.STILL_RUNNING in states):
        return exits.UNAVAILABLE
    return exits.OK


def _members(recovery: Recovery, *, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "outcomes": [_outcome(one) for one in recovery.outcomes],
        "strays": [str(path) for path in recovery.strays],
    }


def _outcome(one: Outcome) -> dict[str, object]:
    return {
        "session_id": one.session_id,
        "docket_number": one.docket_number,
        "state": str(one.state),
        "reason": one.reason,
        "detail": one.detail or None,
        "receipt": None if one.receipt_path is None else str(one.receipt_path),
        "has_end": one.has_end,
        "torn_tail": None if one.torn_tail is None else str(one.torn_tail),
        "removed": [str(path) for path in one.removed],
        "problems": list(one.problems),
    }


def _tell(recovery: Recovery, *, dry_run: bool) -> None:
    told = [one for one in recovery.outcomes if one.state is not State.NOTHING_TO_DO or one.removed or one.detail]
    for one in told:
        name = one.docket_number or one.session_id
        console.result(f"{click.style(f'{one.state:<{_WIDTH}}', fg=_COLOURS.get(one.state))} {console.plain(name)}")
        for line in _lines(one, dry_run=dry_run):
            console.result(f"{'':<{_WIDTH}} {console.plain(line)}")
    for path in recovery.strays:
        console.result(f"{'removed':<{_WIDTH}} {console.plain(str(path))}")
    if not told and not recovery.strays:
        console.result(f"nothing to recover: {_all_well(len(recovery.outcomes))}")
    elif dry_run:
        console.result("nothing was changed: this is what docket recover would do")


def _all_well(runs: int) -> str:
    if runs == 0:
        return "there is no run here"
    return "1 run with its receipt" if runs == 1 else f"{runs:,} runs, each with its receipt"


def _lines(one: Outcome, *, dry_run: bool) -> list[str]:
    lines = [one.detail] if one.detail else []
    if one.receipt_path is not None:
        lines.append(f"receipt {one.receipt_path}")
    if one.has_end is False:
        lines.append("no end was recorded: the receipt says so, and verifies as incomplete")
    if one.torn_tail is not None:
        lines.append(f"a torn last line was put aside: {one.torn_tail}")
    if one.removed:
        lines.append(f"{'would remove' if dry_run else 'removed'} {', '.join(path.name for path in one.removed)}")
    return lines + list(one.problems)
