"""`docket restore`: put back what a run changed, shown first."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import click

from docket.engines.restore import (
    Proposal,
    RedoRequest,
    RestoreRequest,
    RestoreWorld,
    carry_out,
    check_idle,
    propose,
    propose_redo,
)
from docket.engines.restore_documents import INSIST
from docket.engines.verify import decode_receipt, read_receipt
from docket.errors import InvalidDocumentError, UnavailableError, UsageError
from docket.formats.canonical import JsonObject, object_at
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.visible import raw_of
from docket.host.clock import SystemClock
from docket.host.ids import SystemIds
from docket.rules.selectors import compile_patterns
from docket.rules.tree.restore import Selection, Verb
from docket.stores.layout import Layout
from docket.stores.receipts import SESSION_ID, ledger_beside
from docket.stores.run_search import places_of
from docket.stores.snapshots import snapshot_path
from docket.surfaces.cli.completing import receipts_like, records_like
from docket.surfaces.cli.progress import PathProgress
from docket.surfaces.cli.project import current_folder, layout_at, locate_receipt, run_folder
from docket.surfaces.cli.restoring import RestoreArguments, head, show, tell


@click.command()
@click.argument("receipt", required=False, shell_complete=receipts_like)
@click.option("--apply", is_flag=True, help="Do it. Without this or --plan the plan is shown and nothing changes.")
@click.option("--plan", metavar="DIGEST", help="Apply exactly the plan that was shown with this digest, or nothing.")
@click.option("--path", "paths", multiple=True, metavar="PATH",
              help="Only this path, and what is below it; literally. May be repeated.")  # fmt: skip
@click.option("--glob", "globs", multiple=True, metavar="PATTERN",
              help="Only the paths that a pattern means, as in .gitignore. May be repeated.")  # fmt: skip
@click.option("--root", type=click.Path(path_type=Path), metavar="DIR",
              help="The tree that is meant, where it has moved or the documents do not agree.")  # fmt: skip
@click.option("--force", is_flag=True, help="Also over what was changed since the run; that is kept first.")
@click.option(INSIST, "insists", is_flag=True,
              help="Use a record that fails verification all the same.")  # fmt: skip
@click.option("--diff", is_flag=True, help="Show the contents as a unified diff too.")
@click.option("--redo", type=click.Path(path_type=Path), metavar="RECORD", shell_complete=records_like,
              help="Put back what a restore changed, by its record.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the plan, or what was done, as JSON.")
@click.option("--ledger", type=click.Path(path_type=Path), help="The run's ledger, where it is not found.")
@click.option("--snapshot", type=click.Path(path_type=Path), metavar="DIR",
              help="The folder of the run's snapshot, where it is not found.")  # fmt: skip
@click.option("--docket-dir", type=click.Path(path_type=Path), help="Where the project's evidence stands.")
def restore(**options: object) -> int:
    """Put back what a run changed.

    RECEIPT is a file or a docket number of this project; without it, the newest run. The run must have been started
    with --snapshot. What was changed since the run is refused unless --force, and what the run was not seen to make
    is never removed. Git's own files stay as they are unless --path or --glob names them.

    The run's record is verified first, and one that fails is not used. While a run is live in the tree nothing is
    changed.

    Exit code 0 if every path is, or could be, put back; 1 if one is refused, failed or not in the snapshot, the record
    has a gap, or a document is damaged; 2 for a wrong command line; 75 if something is not to be had.

    \b
    Examples:
      docket restore
      docket restore --diff --path src
      docket restore DKT-20260131-0A1B2C --apply
      docket restore --redo ~/.local/state/docket/.../record.json --apply
    """
    return restore_as_asked(RestoreArguments(**options))  # type: ignore[arg-type]


def restore_as_asked(asked: RestoreArguments) -> int:
    """Show or do what the command line asks for, and return the exit code."""
    _check_arguments(asked)
    progress = PathProgress()
    world = RestoreWorld(clock=SystemClock(), ids=SystemIds(), progress=progress)
    with ExitStack() as stack:
        stack.callback(progress.end)
        proposal = _proposal(asked, world, stack)
        progress.end()
        _check_selected(asked, proposal)
        idle = layout_at(Path(os.fsdecode(proposal.root)), asked.docket_dir)
        if not asked.apply and asked.plan is None:
            return show(asked, proposal, idle)
        if asked.plan is not None and asked.plan != proposal.shown_sha256:
            detail = f"the plan is another by now: {proposal.shown_sha256}; nothing was changed"
            raise InvalidDocumentError(Reason.PLAN_DIFFERS, detail, hint="docket restore shows what it is")
        check_idle(idle)
        head(asked, proposal)
        restored = carry_out(proposal, world)
        progress.end()
        return tell(asked, proposal, restored)


def _check_arguments(asked: RestoreArguments) -> None:
    if asked.redo is not None and (asked.receipt or asked.ledger or asked.snapshot):
        raise UsageError(Reason.USAGE, "--redo names a record, and no run goes with it")
    if asked.diff and asked.as_json:
        raise UsageError(Reason.USAGE, "--diff is for a person, and --json for a program: name one")


def _proposal(asked: RestoreArguments, world: RestoreWorld, stack: ExitStack) -> Proposal:
    root = None if asked.root is None else run_folder(asked.root, "--root")
    selection = _selection(asked)
    if asked.redo is not None:
        path = Path(os.path.realpath(asked.redo.parent)) / asked.redo.name
        here = current_folder() if root is None else root
        again = RedoRequest(
            record_path=path,
            layout=layout_at(here, asked.docket_dir),
            selection=selection,
            root=None if root is None else os.fsencode(root),
            force=asked.force,
        )
        return _at_home(asked, propose_redo(again, world, stack), path.parent.parent.parent)
    path = locate_receipt(asked.receipt, asked.docket_dir)
    data = read_receipt(path)
    receipt = decode_receipt(data)
    session_id = _session_id(receipt, path)
    layouts = _layouts(asked, receipt, root, path)
    snapshot, layout = _snapshot(asked, session_id, layouts)
    request = RestoreRequest(
        receipt=data,
        ledger_path=_ledger(asked, path, session_id, layouts),
        snapshot_path=snapshot,
        layout=layout,
        selection=selection,
        root=None if root is None else os.fsencode(root),
        force=asked.force,
        insists=asked.insists,
    )
    return _at_home(asked, propose(request, world, stack), snapshot.parent.parent)


def _at_home(asked: RestoreArguments, proposal: Proposal, state: Path) -> Proposal:
    """Refuse documents of one project that name the tree of another: that they agree does not make them its own."""
    root = run_folder(Path(os.fsdecode(proposal.root)), "--root")
    if asked.root is None:
        own = layout_at(root, asked.docket_dir)
        is_own = own.state == Path(os.path.realpath(state))
        if not is_own or not (own.is_split or root == current_folder()):
            raise InvalidDocumentError(
                Reason.DOCUMENTS_DISAGREE,
                f"the documents name the tree {root}, and stand in {state}, which is not that tree's own folder",
                hint="nothing was changed; name the tree that is meant with --root",
            )
    return proposal


def _selection(asked: RestoreArguments) -> Selection:
    try:
        paths = tuple(RelPath.parse(os.fsencode(path.removesuffix("/"))) for path in asked.paths)
        globs = compile_patterns(asked.globs) if asked.globs else None
    except InvalidDocumentError as error:
        detail = f"{error.detail}; paths are told from the root of the tree"
        raise UsageError(Reason.USAGE, detail) from error
    return Selection(paths=paths, globs=globs)


def _check_selected(asked: RestoreArguments, proposal: Proposal) -> None:
    """Refuse a path that the run did not change: it would be a restore of nothing that looks like one of something."""
    for named in _selection(asked).paths:
        one = Selection(paths=(named,))
        if not any(one.takes(item.path, is_directory=True) for item in proposal.intentions):
            raise UsageError(Reason.USAGE, f"the run changed nothing at {named}")
    if asked.globs and all(item.verb is Verb.SKIP for item in proposal.intentions):
        raise UsageError(Reason.USAGE, "the run changed nothing that is selected")


def _session_id(receipt: JsonObject, path: Path) -> str:
    told = object_at(receipt, "session").get("id")
    if not isinstance(told, str) or not SESSION_ID.fullmatch(told):
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{path} names no session")
    return told


def _layouts(asked: RestoreArguments, receipt: JsonObject, root: Path | None, path: Path) -> tuple[Layout, ...]:
    """Return the folders that the run's evidence may stand in: of the tree that is meant or of here, of where it ran.

    A receipt of this project's never leads into another's folder: what it says may be somebody else's.
    """
    meant = layout_at(current_folder() if root is None else root, asked.docket_dir)
    recorded = raw_of("cwd", object_at(receipt, "session"))
    is_ours = any(Path(os.path.realpath(path)).is_relative_to(place) for place in (meant.docket_dir, meant.state))
    if is_ours or recorded is None or not recorded.startswith(b"/") or b"\0" in recorded:
        return (meant,)
    return (meant, layout_at(Path(os.fsdecode(recorded)), asked.docket_dir))


def _snapshot(asked: RestoreArguments, session_id: str, layouts: tuple[Layout, ...]) -> tuple[Path, Layout]:
    if asked.snapshot is not None:
        return Path(os.path.realpath(asked.snapshot)), layouts[0]
    for layout in layouts:
        path = snapshot_path(layout, session_id)
        if os.path.lexists(path):
            return path, layout
    detail = f"no snapshot of the session {session_id} stands in {layouts[0].state}"
    hint = "docket run --snapshot keeps one; --snapshot DIR names one that stands elsewhere"
    raise UnavailableError(Reason.NOT_FOUND, detail, hint=hint)


def _ledger(asked: RestoreArguments, receipt: Path, session_id: str, layouts: tuple[Layout, ...]) -> Path:
    beside = asked.ledger or ledger_beside(receipt, session_id)
    if beside is not None:
        return beside
    for path in (path for layout in layouts for path in places_of(layout, session_id)):
        if os.path.lexists(path):
            return path
    detail = f"the ledger of {receipt} is not found"
    raise UnavailableError(Reason.NOT_FOUND, detail, hint="name it with --ledger")
