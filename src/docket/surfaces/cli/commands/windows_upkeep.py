"""`docket windows doctor` and `docket windows tidy`: what is wrong with what is kept of windows, and what may go."""

from __future__ import annotations

import time
from pathlib import Path

import click

from docket.engines.windows.doctor import DoctorWorld, Examined, Found, examine
from docket.engines.windows.tidy import DEFAULT_BUDGET_BYTES, Tidied, TidyRequest, tidy
from docket.formats.canonical import JsonValue
from docket.formats.windows.records import Moment
from docket.host.clock import SystemClock
from docket.host.liveness import own_identity
from docket.stores.windows.evidence import Evidence
from docket.stores.windows.registry_file import RegistryFile
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.project import current_folder
from docket.surfaces.hooks.place import windows_place
from docket.surfaces.hooks.upkeep import upkeep_of
from docket.surfaces.hooks.windows import make_of_left
from docket.surfaces.hooks.wiring import windows_world
from docket.surfaces.render.figures import plural

_DOCKET_DIR = click.option("--docket-dir", type=click.Path(path_type=Path), help="Where the project's evidence stands.")
_BUDGET = click.option(
    "--max-bytes", type=click.IntRange(0), metavar="N", default=DEFAULT_BUDGET_BYTES, show_default=True,
    help="What trees and contents may take; the oldest that nothing needs go until they keep to it.",
)  # fmt: skip
_SHOWN = 20


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
@_BUDGET
@_DOCKET_DIR
def doctor_command(max_bytes: int, docket_dir: Path | None, *, as_json: bool) -> int:
    """Say what is wrong with what is kept of tool windows.

    Nothing is changed. The exit code is 1 where something does not heal by itself.

    \b
    Examples:
      docket windows doctor
      docket windows doctor --json
    """
    place = windows_place(current_folder(), docket_dir)
    clock, me = SystemClock(), own_identity()
    world = DoctorWorld(
        registry=RegistryFile(place.windows),
        evidence=Evidence(place.windows),
        now=Moment(at=clock.now(), monotonic_ms=clock.monotonic_ns() // 1_000_000, boot_id=me.boot_id),
        store=lambda: (windows_world(place).tree, upkeep_of(place)),
    )
    if not place.windows.is_dir():
        console.result(console.as_json({"found": []}) if as_json else "no tool windows")
        return exits.OK
    examined = examine(TidyRequest(windows=place.windows, now_ns=time.time_ns(), budget_bytes=max_bytes), world)
    if as_json:
        console.result(console.as_json(_examined(examined)))
    else:
        _tell(examined)
    return exits.FAILED if any(one.is_fault for one in examined.found) else exits.OK


@click.command("tidy", short_help="Remove what tool windows need no more.")
@click.option("--apply", is_flag=True, help="Remove it; without this nothing changes.")
@click.option("--json", "as_json", is_flag=True, help="Print what went, or would go, as JSON.")
@_BUDGET
@_DOCKET_DIR
def tidy_command(max_bytes: int, docket_dir: Path | None, *, apply: bool, as_json: bool) -> int:
    """Remove what tool windows need no more: trees and contents, never evidence.

    Nothing goes that is younger than a day, or while a tool runs. Without --apply it is told what would go.

    \b
    Examples:
      docket windows tidy
      docket windows tidy --apply --max-bytes 0
    """
    make_of_left()
    place = windows_place(current_folder(), docket_dir)
    if not place.windows.is_dir():
        console.result(console.as_json({"applied": apply}) if as_json else "no tool windows")
        return exits.OK
    request = TidyRequest(windows=place.windows, now_ns=time.time_ns(), apply=apply, budget_bytes=max_bytes)
    done = tidy(request, windows_world(place), upkeep_of(place))
    if as_json:
        console.result(console.as_json(_tidied(done, request)))
    else:
        _tell_tidied(done, request)
    return exits.UNAVAILABLE if done.deferred or done.left else exits.OK


def _tell(examined: Examined) -> None:
    for one in examined.found:
        hint = "" if one.hint is None else f"; {one.hint}"
        console.result(console.plain(f"{'!' if one.is_fault else '-'} {one.finding} {one.subject}: {one.detail}{hint}"))
    opened = "an unknown number" if examined.open_windows is None else f"{examined.open_windows:,}"
    size = "of unknown size" if examined.store_bytes is None else f"of {plural(examined.store_bytes, 'byte')}"
    console.result(f"{opened} open, {examined.closed_windows:,} over, a store {size}")


def _tell_tidied(done: Tidied, request: TidyRequest) -> None:
    for name in (*done.names, *done.leftovers)[:_SHOWN]:
        console.result(console.plain(name))
    more = len(done.names) + len(done.leftovers) - _SHOWN
    if more > 0:
        console.result(f"and {more:,} more")
    went = request.apply and done.deferred is None
    console.result(
        f"{plural(done.objects, 'object')}, {plural(done.freed_bytes, 'byte')} of {done.store_bytes:,} "
        f"{'freed' if went else 'would be freed'}"
    )
    if done.deferred is not None:
        console.warn(console.plain(f"nothing was removed now: {done.deferred}"))
    if done.left:
        console.warn(f"{plural(done.left, 'thing')} left for a later time")


def _examined(examined: Examined) -> dict[str, JsonValue]:
    return {
        "found": [_found(one) for one in examined.found],
        "open_windows": examined.open_windows,
        "closed_windows": examined.closed_windows,
        "store_bytes": examined.store_bytes,
    }


def _found(one: Found) -> dict[str, JsonValue]:
    return {
        "finding": str(one.finding), "subject": one.subject, "detail": one.detail, "hint": one.hint,
        "is_fault": one.is_fault,
    }  # fmt: skip


def _tidied(done: Tidied, request: TidyRequest) -> dict[str, JsonValue]:
    return {
        "applied": request.apply,
        "store_bytes": done.store_bytes,
        "freed_bytes": done.freed_bytes,
        "objects": done.objects,
        "names": list(done.names),
        "leftovers": list(done.leftovers),
        "deferred": done.deferred,
        "left": done.left,
    }
