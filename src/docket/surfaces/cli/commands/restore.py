"""`docket restore`: put back what a run changed, shown first."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import click

from docket.engines.foresee import compare_contents
from docket.engines.restore import (
    Proposal,
    RedoRequest,
    Restored,
    RestoreRequest,
    RestoreWorld,
    carry_out,
    propose,
    propose_redo,
)
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
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.completing import receipts_like
from docket.surfaces.cli.project import current_folder, layout_at, locate_receipt, run_folder
from docket.surfaces.render import restore_plan as render

_COLOURS = {"refused": "red", "failed": "red", "skipped": "red", "not-covered": "yellow", "keep": "cyan"}
_WIDTH = 12
_MAX_REMARK = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    receipt: str | None
    redo: Path | None
    apply: bool
    plan: str | None
    paths: tuple[str, ...]
    globs: tuple[str, ...]
    root: Path | None
    force: bool
    diff: bool
    as_json: bool
    ledger: Path | None
    snapshot: Path | None
    docket_dir: Path | None


@click.command()
@click.argument("receipt", required=False, shell_complete=receipts_like)
@click.option("--apply", is_flag=True, help="Do it. Without this the plan is shown and nothing is changed.")
@click.option("--plan", metavar="DIGEST", help="Do exactly the plan that was shown with this digest, or nothing.")
@click.option("--path", "paths", multiple=True, metavar="PATH",
              help="Only this path, and what is below it; literally. May be repeated.")  # fmt: skip
@click.option("--glob", "globs", multiple=True, metavar="PATTERN",
              help="Only the paths that a pattern means, as in .gitignore. May be repeated.")  # fmt: skip
@click.option("--root", type=click.Path(path_type=Path), metavar="DIR",
              help="The tree that is meant, where it has moved or the documents do not agree.")  # fmt: skip
@click.option("--force", is_flag=True, help="Also over what was changed since the run; that is kept first.")
@click.option("--diff", is_flag=True, help="Show the contents as a unified diff too.")
@click.option("--redo", type=click.Path(path_type=Path), metavar="RECORD",
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

    Exit code 0 if every path is, or could be, put back; 1 if one is refused or failed, or a document is damaged; 75
    if something is not to be had.

    \b
    Examples:
      docket restore
      docket restore --diff --path src
      docket restore DKT-20260131-0A1B2C --apply
      docket restore --redo ~/.local/state/docket/.../record.json --apply
    """
    asked = _Asked(**options)  # type: ignore[arg-type]
    if asked.redo is not None and (asked.receipt or asked.ledger or asked.snapshot):
        raise UsageError(Reason.USAGE, "--redo names a record, and no run goes with it")
    world = RestoreWorld(clock=SystemClock(), ids=SystemIds())
    with ExitStack() as stack:
        proposal = _proposal(asked, world, stack)
        _check_selected(asked, proposal)
        if not asked.apply and asked.plan is None:
            return _show(asked, proposal)
        if asked.plan is not None and asked.plan != proposal.plan.digest:
            detail = f"the plan is another by now: {proposal.plan.digest}; nothing was changed"
            raise InvalidDocumentError(Reason.PLAN_DIFFERS, detail, hint="docket restore shows what it is")
        if not asked.as_json and asked.diff:
            _show_diff(proposal)
        return _tell(asked, proposal, carry_out(proposal, world))


def _proposal(asked: _Asked, world: RestoreWorld, stack: ExitStack) -> Proposal:
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
        return propose_redo(again, world, stack)
    path = locate_receipt(asked.receipt, asked.docket_dir)
    receipt = decode_receipt(read_receipt(path))
    session_id = _session_id(receipt, path)
    layouts = _layouts(asked, receipt, root)
    snapshot, layout = _snapshot(asked, session_id, layouts)
    request = RestoreRequest(
        receipt=receipt,
        ledger_path=_ledger(asked, path, session_id, layouts),
        snapshot_path=snapshot,
        layout=layout,
        selection=selection,
        root=None if root is None else os.fsencode(root),
        force=asked.force,
    )
    proposal = propose(request, world, stack)
    run_folder(Path(os.fsdecode(proposal.root)), "--root")
    return proposal


def _selection(asked: _Asked) -> Selection:
    try:
        paths = tuple(RelPath.parse(os.fsencode(path.removesuffix("/"))) for path in asked.paths)
        globs = compile_patterns(asked.globs) if asked.globs else None
    except InvalidDocumentError as error:
        detail = f"{error.detail}; paths are told from the root of the tree"
        raise UsageError(Reason.USAGE, detail) from error
    return Selection(paths=paths, globs=globs)


def _check_selected(asked: _Asked, proposal: Proposal) -> None:
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


def _layouts(asked: _Asked, receipt: JsonObject, root: Path | None) -> tuple[Layout, ...]:
    """Return the folders that the run's evidence may stand in: of the tree that is meant, of here, of where it ran."""
    recorded = raw_of("cwd", object_at(receipt, "session"))
    places = [current_folder() if root is None else root]
    if recorded is not None and recorded.startswith(b"/") and b"\0" not in recorded:
        places.append(Path(os.fsdecode(recorded)))
    return tuple(layout_at(place, asked.docket_dir) for place in places)


def _snapshot(asked: _Asked, session_id: str, layouts: tuple[Layout, ...]) -> tuple[Path, Layout]:
    if asked.snapshot is not None:
        return Path(os.path.realpath(asked.snapshot)), layouts[0]
    for layout in layouts:
        path = snapshot_path(layout, session_id)
        if os.path.lexists(path):
            return path, layout
    detail = f"no snapshot of the session {session_id} stands in {layouts[0].state}"
    hint = "docket run --snapshot keeps one; --snapshot DIR names one that stands elsewhere"
    raise UnavailableError(Reason.NOT_FOUND, detail, hint=hint)


def _ledger(asked: _Asked, receipt: Path, session_id: str, layouts: tuple[Layout, ...]) -> Path:
    beside = asked.ledger or ledger_beside(receipt, session_id)
    if beside is not None:
        return beside
    for path in (path for layout in layouts for path in places_of(layout, session_id)):
        if os.path.lexists(path):
            return path
    detail = f"the ledger of {receipt} is not found"
    raise UnavailableError(Reason.NOT_FOUND, detail, hint="name it with --ledger")


def _show(asked: _Asked, proposal: Proposal) -> int:
    counts = render.proposed_counts(proposal)
    if asked.as_json:
        console.result(console.as_json(_members(proposal)))
        return exits.FAILED if counts["refused"] else exits.OK
    _head(proposal)
    for word, path, detail in render.proposed_lines(proposal):
        _line(word, path, detail)
    if asked.diff:
        _show_diff(proposal)
    console.result(f"plan {proposal.plan.digest}")
    console.result(f"{render.sentence(counts, done=False)}; nothing was changed")
    if counts["restored"]:
        console.say("docket restore --apply does it; with --plan DIGEST exactly this or nothing")
    return exits.FAILED if counts["refused"] else exits.OK


def _show_diff(proposal: Proposal) -> None:
    for compared in compare_contents(proposal.plan, proposal.root, proposal.contents):
        for line in render.diff_of(compared):
            console.result("\t".join(console.plain(part) for part in line.split("\t")))


def _tell(asked: _Asked, proposal: Proposal, restored: Restored) -> int:
    counts = render.done_counts(restored)
    for leftover in restored.leftovers:
        console.warn(console.plain(leftover[:_MAX_REMARK]))
    code = exits.FAILED if counts["refused"] else exits.OK
    if asked.as_json:
        record = {**restored.record.members(), "record": str(restored.record_path)}
        console.result(console.as_json(record))
        return code
    _head(proposal)
    for word, path, detail in render.done_lines(restored):
        _line(word, path, detail)
    console.result(render.sentence(counts, done=True))
    console.result(console.plain(f"record {restored.record_path}"))
    return code


def _head(proposal: Proposal) -> None:
    root = console.plain(os.fsdecode(proposal.root))
    console.result(f"{console.plain(proposal.origin.docket_number)}  {root}")
    for remark in proposal.remarks:
        console.warn(console.plain(remark))


def _line(word: str, path: str, detail: str) -> None:
    shown = click.style(f"{word:<{_WIDTH}}", fg=_COLOURS.get(word))
    console.result(f"{shown} {console.plain(path)}" + (f"  ({console.plain(detail)})" if detail else ""))


def _members(proposal: Proposal) -> dict[str, object]:
    return {
        "dry_run": True,
        "docket_number": proposal.origin.docket_number,
        "session_id": proposal.origin.session_id,
        "root": os.fsdecode(proposal.root),
        "plan_sha256": proposal.plan.digest,
        "forced": proposal.force,
        "remarks": list(proposal.remarks),
        "paths": [
            {
                **item.path.members(),
                "verb": str(item.verb),
                "status": None if (status := proposal.status(item)) is None else str(status),
                "reason": _reason(proposal, item.path, item.reason),
            }
            for item in proposal.intentions
        ],
    }


def _reason(proposal: Proposal, path: RelPath, reason: Reason | None) -> str | None:
    found = proposal.foreseen.get(path)
    told = reason if found is None or found.outcome is None else found.outcome.reason
    return None if told is None else str(told)
