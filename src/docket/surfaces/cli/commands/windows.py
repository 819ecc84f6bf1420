"""`docket windows`: what each tool call of an agent changed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from docket.engines.windows.asked_calls import AskedCalls, ledgers_of
from docket.engines.windows.listing import find_window, list_windows, show_window
from docket.errors import DocketError
from docket.formats.canonical import JsonValue
from docket.formats.windows.delta import Delta
from docket.formats.windows.records import ClosedWindow
from docket.rules.windows.cost import AskedBy
from docket.stores.windows.evidence import Evidence
from docket.stores.windows.registry_file import RegistryFile
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.commands.windows_upkeep import doctor_command, tidy_command
from docket.surfaces.cli.project import current_folder
from docket.surfaces.hooks.place import windows_place
from docket.surfaces.hooks.windows import make_of_left
from docket.surfaces.render import windows as render

_DOCKET_DIR = click.option("--docket-dir", type=click.Path(path_type=Path), help="Where the project's evidence stands.")


@click.group()
def windows() -> None:
    """Show what each tool call changed.

    \b
    Examples:
      docket windows list
      docket windows show toolu_01A
      docket windows doctor
    """


@windows.command("list")
@click.option("-n", "--limit", type=click.IntRange(1), metavar="N", help="At most so many that are over, the newest.")
@click.option("--json", "as_json", is_flag=True, help="Print the windows as JSON.")
@_DOCKET_DIR
def list_command(limit: int | None, docket_dir: Path | None, *, as_json: bool) -> int:
    """List the tool calls whose windows are known, the oldest first.

    \b
    Examples:
      docket windows list
      docket windows list -n 20
    """
    registry, evidence = _stores(docket_dir)
    found = list_windows(registry, evidence)
    closed = found.closed[-limit:] if limit else found.closed
    calls = _calls(docket_dir, evidence)
    if as_json:
        listed: dict[str, JsonValue] = {
            "closed": [_record(record, calls.of(record)) for record in closed],
            "open": [
                {**window.key.members(), "window_id": window.key.window_id, "tool_name": window.tool_name,
                 "status": window.status.value, "started_at": window.started.at}
                for window in found.open
            ],
        }  # fmt: skip
        console.result(console.as_json(listed))
        return exits.OK
    for record in closed:
        console.result(console.plain(render.closed_line(record, _delta(evidence, record), calls.of(record))))
    for window in found.open:
        console.result(console.plain(render.open_line(window)))
    if not closed and not found.open:
        console.result("no tool windows")
    return exits.OK


@windows.command("show")
@click.argument("window")
@click.option("--json", "as_json", is_flag=True, help="Print the delta as it is kept, in canonical JSON.")
@_DOCKET_DIR
def show_command(window: str, docket_dir: Path | None, *, as_json: bool) -> int:
    """Show what one tool call changed.

    WINDOW is the id of the tool use, or the window's own id, of which the first four characters are enough.

    \b
    Examples:
      docket windows show toolu_01A
      docket windows show 3f9c --json
    """
    _, evidence = _stores(docket_dir)
    if as_json:
        console.document(evidence.delta_document(find_window(evidence, window).delta_sha256) + b"\n")
        return exits.OK
    record, delta = show_window(evidence, window)
    for line in render.shown(record, delta, _calls(docket_dir, evidence).of(record)):
        console.result(console.plain(line))
    return exits.OK


windows.add_command(doctor_command)
windows.add_command(tidy_command)


def _stores(docket_dir: Path | None) -> tuple[RegistryFile, Evidence]:
    place = windows_place(current_folder(), docket_dir)
    make_of_left()
    return RegistryFile(place.windows), Evidence(place.windows)


def _calls(docket_dir: Path | None, evidence: Evidence) -> AskedCalls:
    return AskedCalls(evidence, ledgers_of(evidence, windows_place(current_folder(), docket_dir).layout))


def _delta(evidence: Evidence, record: ClosedWindow) -> Delta | None:
    with suppress(DocketError):
        return evidence.delta(record.delta_sha256)
    return None


def _record(record: ClosedWindow, asked: AskedBy | None) -> dict[str, JsonValue]:
    return {
        **record.key.members(),
        "window_id": record.key.window_id,
        "tool_name": record.tool_name,
        "closed_at": record.closed_at,
        "status": record.status.value,
        "reason": record.reason,
        "members": record.members,
        "delta_sha256": record.delta_sha256,
        "cost": None if asked is None else render.cost_members(asked),
    }
