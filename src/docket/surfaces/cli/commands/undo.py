"""`docket undo`: take back what one tool call changed, across whatever was changed since, shown first."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import click

from docket.engines.restore import EVERYTHING, RestoreWorld, carry_out, check_idle, settle_leftovers
from docket.engines.windows.listing import find_window, newest_deltas
from docket.engines.windows.undo import UndoProposal, UndoRequest, propose_undo
from docket.errors import DocketError, InvalidDocumentError, PartialEvidenceError, UnavailableError, UsageError
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.host.clock import SystemClock
from docket.host.ids import SystemIds
from docket.rules.tree.restore import Selection
from docket.stores.windows.evidence import Evidence
from docket.surfaces.cli.commands.restore import restore_as_asked
from docket.surfaces.cli.completing import records_like, tool_uses_like
from docket.surfaces.cli.progress import PathProgress
from docket.surfaces.cli.project import current_folder
from docket.surfaces.cli.restoring import RestoreArguments
from docket.surfaces.cli.undoing import UndoArguments, refuse, show, tell
from docket.surfaces.hooks.place import WindowsPlace, windows_place
from docket.surfaces.hooks.wiring import windows_world


@click.command()
@click.argument("tool_use", required=False, shell_complete=tool_uses_like)
@click.option("--hunk", "hunks", multiple=True, type=click.IntRange(1), metavar="N",
              help="Only this hunk, by its number in docket windows show. May be repeated.")  # fmt: skip
@click.option("--path", "paths", multiple=True, metavar="PATH",
              help="Only this path, and what is below it; literally. May be repeated.")  # fmt: skip
@click.option("--group", is_flag=True, help="Undo all that ran at the same time as the tool call, as one.")
@click.option("--apply", is_flag=True, help="Do it. Without this or --plan the plan is shown and nothing changes.")
@click.option("--plan", metavar="DIGEST", help="Apply exactly the plan that was shown with this digest, or nothing.")
@click.option("--diff", is_flag=True, help="Show the contents as a unified diff too.")
@click.option("--redo", type=click.Path(path_type=Path), metavar="RECORD", shell_complete=records_like,
              help="Put back what an undo changed, by its record.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the plan, or what was done, as JSON.")
@click.option("--docket-dir", type=click.Path(path_type=Path), help="Where the project's evidence stands.")
def undo(**options: object) -> int:
    """Take back what one tool call changed.

    TOOL_USE is the id of the tool use, or its window's id, of which the first four characters are enough; docket
    windows list shows them. What was changed since, by other tools or by a person, stays: texts are merged by their
    lines. If the same lines were changed since, or what the tool made is another thing now, the conflict is shown and
    nothing at all is done; --path leaves the paths with conflicts out.

    Exit code 0 if it was, or could be, undone; 1 if there is a conflict, something failed or a document is damaged;
    2 for a wrong command line; 75 if something is not to be had.

    \b
    Examples:
      docket undo toolu_01A
      docket undo toolu_01A --diff --hunk 2
      docket undo 3f9c --path src --apply
      docket undo --redo ~/.local/state/docket/.../record.json --apply
    """
    asked = UndoArguments(**options)  # type: ignore[arg-type]
    _check_arguments(asked)
    if asked.redo is not None:
        return restore_as_asked(_redo(asked))
    return _carried_out(asked)


def _carried_out(asked: UndoArguments) -> int:
    progress = PathProgress()
    world = RestoreWorld(clock=SystemClock(), ids=SystemIds(), progress=progress)
    place = windows_place(current_folder(), asked.docket_dir)
    with ExitStack() as stack:
        stack.callback(progress.end)
        request = _request(asked, place)
        if asked.changes:
            check_idle(place.layout)
            settle_leftovers(request.root, place.layout, world)
        found = _proposed(request, place, world, stack)
        progress.end()
        if not asked.changes:
            return show(asked, found, _running(place))
        if found.refused:
            return refuse(asked, found)
        if asked.plan is not None and asked.plan != found.proposal.shown_sha256:
            detail = f"the plan is another by now: {found.proposal.shown_sha256}; nothing was changed"
            raise InvalidDocumentError(Reason.PLAN_DIFFERS, detail, hint="docket undo shows what it is")
        restored = carry_out(found.proposal, world)
        progress.end()
        return tell(asked, found, restored, _running(place))


def _check_arguments(asked: UndoArguments) -> None:
    named = (asked.tool_use, asked.hunks, asked.group)
    if asked.redo is not None and any(named):
        raise UsageError(Reason.USAGE, "--redo names a record, and no tool call goes with it")
    if asked.redo is None and not asked.tool_use:
        raise UsageError(Reason.USAGE, "name a tool call", hint="docket windows list shows them")
    if asked.diff and asked.as_json:
        raise UsageError(Reason.USAGE, "--diff is for a person, and --json for a program: name one")


def _request(asked: UndoArguments, place: WindowsPlace) -> UndoRequest:
    evidence = Evidence(place.windows)
    record = find_window(evidence, asked.tool_use or "")
    return UndoRequest(
        record=record,
        delta=evidence.delta(record.delta_sha256),
        layout=place.layout,
        root=os.fsencode(place.layout.tree_root),
        selection=_selection(asked),
        hunks=frozenset(asked.hunks),
        group=asked.group,
        mask=_mask(),
        history=lambda: newest_deltas(evidence),
    )


def _proposed(request: UndoRequest, place: WindowsPlace, world: RestoreWorld, stack: ExitStack) -> UndoProposal:
    try:
        return propose_undo(request, windows_world(place).tree, world, stack)
    except PartialEvidenceError as error:
        raise UnavailableError(
            Reason.CONTENT_MISSING, f"what was kept of the tree is not there: {error.detail}"
        ) from error


def _selection(asked: UndoArguments) -> Selection:
    try:
        paths = tuple(RelPath.parse(os.fsencode(path.removesuffix("/"))) for path in asked.paths)
    except InvalidDocumentError as error:
        raise UsageError(Reason.USAGE, f"{error.detail}; paths are told from the root of the tree") from error
    return Selection(paths=paths) if paths else EVERYTHING


def _running(place: WindowsPlace) -> tuple[str, ...]:
    """Return the tools that run in the tree now: what is changed meanwhile is recorded as theirs."""
    return tuple(_active(place))


def _active(place: WindowsPlace) -> Iterator[str]:
    from docket.formats.windows.registry import WindowStatus  # noqa: PLC0415 - beside the registry
    from docket.stores.windows.registry_file import RegistryFile  # noqa: PLC0415 - a look at the end

    try:
        windows = RegistryFile(place.windows).read().windows
    except DocketError:
        return
    for window in windows:
        if window.status is WindowStatus.ACTIVE:
            yield f"{window.tool_name} {window.key.tool_use_id}"


def _redo(asked: UndoArguments) -> RestoreArguments:
    return RestoreArguments(
        receipt=None, redo=asked.redo, apply=asked.apply, plan=asked.plan, paths=asked.paths, globs=(), root=None,
        force=False, insists=False, diff=asked.diff, as_json=asked.as_json, ledger=None, snapshot=None,
        docket_dir=asked.docket_dir,
    )  # fmt: skip


def _mask() -> int:
    """Return the bits that this process makes no file with."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
