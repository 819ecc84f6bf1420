"""`docket snapshots show` and `extract`: what a snapshot holds, how the tree differs from it, one file out of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from docket.engines.kept_contents import content_of, differences_now, extract
from docket.engines.observe import ObserveWorld, observe_tree
from docket.errors import InvalidDocumentError, UsageError
from docket.formats.ledger.tree_events import Change, EntryState
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import Difference
from docket.formats.tree.manifest_scan import Keep
from docket.formats.tree.restore_record import state_members
from docket.rules.tree.restore import state_of_kept
from docket.stores.receipts import DOCKET_NUMBER, SESSION_ID
from docket.stores.run_search import run_of_number
from docket.stores.snapshots import Snapshot, open_snapshot, snapshot_path
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.completing import snapshots_like
from docket.surfaces.cli.project import current_folder, layout_at, run_folder
from docket.surfaces.render.figures import plural

_WIDTH = 12
_WORDS = {Change.ADDED: "new", Change.REMOVED: "missing", Change.MODIFIED: "changed", Change.RETYPED: "changed"}
_STANDARD_OUTPUT = "-"


@click.command(short_help="Name what a snapshot holds, or how the tree differs from it.")
@click.argument("session", shell_complete=snapshots_like)
@click.option("--diff", is_flag=True, help="Compare the tree with the snapshot instead.")
@click.option("--root", type=click.Path(path_type=Path), metavar="DIR", help="The tree to compare, if it has moved.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--docket-dir", type=click.Path(path_type=Path), help="Where the project's evidence stands.")
def show(session: str, *, diff: bool, root: Path | None, as_json: bool, docket_dir: Path | None) -> int:
    """Name what a snapshot holds, or with --diff how the tree differs from it now, whoever changed it.

    SESSION is a run's session id or docket number. Nothing is changed. This is for a run that was killed, which no
    restore can undo because nobody saw what it changed.

    \b
    Examples:
      docket snapshots show 0123456789ab
      docket snapshots show DKT-20260131-0A1B2C --diff
    """
    with _opened(session, docket_dir) as snapshot:
        if diff:
            named = None if root is None else os.fsencode(run_folder(root, "--root"))
            found = differences_now(snapshot, named, lambda request: observe_tree(request, ObserveWorld()))
            _tell_differences(found, as_json=as_json)
        else:
            _tell_entries(snapshot, as_json=as_json)
    return exits.OK


@click.command("extract", short_help="Take one file out of a snapshot.")
@click.argument("session", shell_complete=snapshots_like)
@click.argument("path")
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to write it: a new file, or - for a pipe.")
@click.option("--docket-dir", type=click.Path(path_type=Path), help="Where the project's evidence stands.")
def extract_one(session: str, path: str, *, output: str, docket_dir: Path | None) -> int:
    """Take one file out of a snapshot, to a new file that its owner alone can read.

    SESSION is a run's session id or docket number, PATH is told from the root of the tree. Nothing is overwritten.

    \b
    Examples:
      docket snapshots extract 0123456789ab src/app.py -o app.py.before
      docket snapshots extract DKT-20260131-0A1B2C src/app.py -o - | diff - src/app.py
    """
    try:
        wanted = RelPath.parse(os.fsencode(path))
    except InvalidDocumentError as error:
        raise UsageError(Reason.USAGE, f"{error.detail}; paths are told from the root of the tree") from error
    with _opened(session, docket_dir, lambda raw: raw == wanted.raw) as snapshot:
        if output == _STANDARD_OUTPUT:
            with content_of(snapshot, wanted) as stream:
                for chunk in stream:
                    console.document(chunk)
        else:
            extract(snapshot, wanted, Path(output))
            console.say(f"{console.plain(str(wanted))} as it was before the run: {console.plain(output)}")
    return exits.OK


@contextmanager
def _opened(session: str, docket_dir: Path | None, keep: Keep | None = None) -> Iterator[Snapshot]:
    layout = layout_at(current_folder(), docket_dir)
    if DOCKET_NUMBER.fullmatch(session.upper()):
        run = run_of_number(layout, session.upper())
        session = session if run is None else run.session_id
    path = snapshot_path(layout, session)
    if not SESSION_ID.fullmatch(session) or not os.path.lexists(path):
        detail = f"no snapshot of {session} stands in {layout.state}"
        raise UsageError(Reason.NOT_FOUND, detail, hint="docket snapshots list names what is")
    snapshot = open_snapshot(path, keep=keep)
    try:
        yield snapshot
    finally:
        snapshot.close()


def _tell_entries(snapshot: Snapshot, *, as_json: bool) -> None:
    entries = sorted(snapshot.manifest.kept(), key=lambda item: item.path)
    lost = snapshot.manifest.not_covered
    if as_json:
        kept = [{**item.path.members(), **state_members(state_of_kept(item))} for item in entries]
        gaps = [{**item.path.members(), "reason": str(item.reason), "detail": item.detail} for item in lost]
        console.result(console.as_json({"entries": kept, "not_covered": gaps}))
        return
    for item in entries:
        console.result(f"{_state(state_of_kept(item)):<{_WIDTH}} {console.plain(str(item.path))}")
    for gap in lost:
        why = console.plain(gap.detail or str(gap.reason))
        console.result(f"{'not-covered':<{_WIDTH}} {console.plain(str(gap.path))}  ({why})")
    console.result(f"{plural(len(entries), 'path')} kept, {len(lost):,} not covered")


def _state(state: EntryState) -> str:
    return f"{state.mode:o} {state.size:,}" if state.size is not None else state.kind


def _tell_differences(found: tuple[Difference, ...], *, as_json: bool) -> None:
    if as_json:
        members = [
            {
                **item.path.members(),
                "word": _WORDS[item.change],
                "before": None if item.before is None else state_members(item.before),
                "now": None if item.after is None else state_members(item.after),
            }
            for item in found
        ]
        console.result(console.as_json({"differences": members}))
        return
    for item in found:
        console.result(f"{_WORDS[item.change]:<{_WIDTH}} {console.plain(str(item.path))}")
    console.result(f"{plural(len(found), 'path')} {'differs' if len(found) == 1 else 'differ'} from the snapshot")
    if found:
        console.say("docket snapshots extract takes a file out of it; what is new here may be anybody's")
