"""`docket hooks`: hooks that an agent keeps, outside of runs too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from docket.formats.canonical import JsonValue
from docket.rules.agents.hook_files import FILES
from docket.surfaces.cli import console, exits, hook_setup
from docket.surfaces.cli.hook_setup import HookState

_MARKS = {"installed": "set up", "partly": "set up in part: install again", "absent": "not set up"}


def _agents_like(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    return [name for name in FILES if name.startswith(begun)]


def _taking(command: Callable[..., int]) -> Callable[..., Any]:
    options = (
        click.argument("agents", nargs=-1, metavar="[AGENT]...", shell_complete=_agents_like),
        click.option("--project/--user", default=False, help="In the current folder's files; by default in yours."),
        click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group()
def hooks() -> None:
    """Let agents tell docket of their tool calls, outside of docket run too.

    In docket run --windows an agent is given hooks for that run alone, and nothing of this is needed.

    \b
    Examples:
      docket hooks install claude
      docket hooks status
    """


@hooks.command(short_help="Put docket's hooks into agents' settings.")
@_taking
@click.option("--dry-run", is_flag=True, help="Show what would be changed, and change nothing.")
def install(agents: tuple[str, ...], *, project: bool, as_json: bool, dry_run: bool) -> int:
    """Put docket's hooks into the settings of AGENT, or of every agent that is on this machine.

    Hooks of yours stay as they are, and a file that is not plain JSON is left alone. Doing it twice changes nothing.

    \b
    Examples:
      docket hooks install
      docket hooks install claude --dry-run
      docket hooks install codex --project
    """
    scope = hook_setup.scope_of(project=project)
    files = hook_setup.chosen(agents, scope, only_installed=True)
    change = hook_setup.install(scope)
    planned = [hook_setup.look(file, scope, change) for file in files]
    return _carry_out(planned, as_json=as_json, dry_run=dry_run)


@hooks.command(short_help="Take docket's hooks out again.")
@_taking
@click.option("--dry-run", is_flag=True, help="Show what would be changed, and change nothing.")
def uninstall(agents: tuple[str, ...], *, project: bool, as_json: bool, dry_run: bool) -> int:
    """Take docket's hooks out again: every other byte stays, and a file that docket made goes.

    \b
    Examples:
      docket hooks uninstall
      docket hooks uninstall codex --project
    """
    scope = hook_setup.scope_of(project=project)
    files = hook_setup.chosen(agents, scope, only_installed=False)
    planned = [hook_setup.look(file, scope, hook_setup.uninstall) for file in files]
    return _carry_out(planned, as_json=as_json, dry_run=dry_run)


@hooks.command()
@_taking
def status(agents: tuple[str, ...], *, project: bool, as_json: bool) -> int:
    """Show which agents tell docket of their tool calls.

    \b
    Examples:
      docket hooks status
      docket hooks status --project --json
    """
    scope = hook_setup.scope_of(project=project)
    states = [hook_setup.look(file, scope) for file in hook_setup.chosen(agents, scope, only_installed=False)]
    if as_json:
        _print_json(states)
    else:
        for state in states:
            _print_state(state)
    return exits.OK


def _carry_out(planned: list[HookState], *, as_json: bool, dry_run: bool) -> int:
    done = []
    for state in planned:
        if dry_run and not as_json:
            for line in state.diff() if state.is_changed else ():
                console.result(console.plain(line))
        after = state if dry_run or not state.is_changed else hook_setup.write(state)
        done.append(after)
        if not as_json and (not dry_run or after.problem is not None):
            _print_state(after, changed=state.is_changed)
    if as_json:
        _print_json(done, [state.is_changed for state in planned])
    elif dry_run and not any(state.is_changed for state in planned):
        console.result("nothing would be changed")
    failed = next((state.problem for state in done if state.problem is not None), None)
    return exits.OK if failed is None else exits.exit_code(failed)


def _print_state(state: HookState, *, changed: bool | None = None) -> None:
    if state.problem is not None:
        console.warn(console.plain(f"{state.file.agent}: {state.path}: {state.problem.detail}; it is left as it is"))
        return
    untouched = " already" if changed is False and state.events else ""
    console.result(console.plain(f"{state.file.agent:9} {_MARKS[state.word]}{untouched}  {state.path}"))
    if state.file.remark and state.events:
        console.result(console.plain(f"{'':9} {state.file.remark}"))


def _print_json(states: list[HookState], changed: list[bool] | None = None) -> None:
    rows: list[JsonValue] = []
    for index, state in enumerate(states):
        members = state.members()
        if changed is not None:
            members["changed"] = changed[index] and state.problem is None
        rows.append(members)
    console.result(console.as_json({"hooks": rows}))
