"""`docket tx`: staged work, shown, landed, discarded and cleared away."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docket.engines.foresee import compare_contents
from docket.engines.transaction.closing import ClosedTransaction, standing_of
from docket.engines.transaction.committing import Committed
from docket.engines.transaction.later import LaterCommit, clear, clearable, commit_later, discard_later, looked_at
from docket.errors import InvalidDocumentError, UnavailableError, UsageError
from docket.formats.digest import parse_digest
from docket.formats.ledger.payload_codec import to_members
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.plan import plan_of
from docket.formats.workspace.change_set import ChangeSet
from docket.formats.workspace.state import TransactionState
from docket.rules.workspace.commit_plan import landing
from docket.rules.workspace.derive import derive
from docket.rules.workspace.protected import protected_hits
from docket.stores.workspace.transactions import Damaged, Transactions
from docket.stores.workspace.tree_contents import TreeContents
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.commands.tx_recover import recover
from docket.surfaces.cli.project import current_folder, layout_at
from docket.surfaces.cli.transactions import transaction_world
from docket.surfaces.render import content_diff
from docket.surfaces.render import transactions as render
from docket.surfaces.render.figures import plural

if TYPE_CHECKING:
    from docket.engines.transaction.world import TransactionWorld

DEFAULT_DAYS = 30
_OPENS_ONE = "docket run --workspace-tx opens one"


def _as_json(function: click.decorators.FC) -> click.decorators.FC:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def _id(function: click.decorators.FC) -> click.decorators.FC:
    return click.argument("transaction", required=False, metavar="[ID]", shell_complete=_ids_like)(function)


def _ids_like(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    return [item.id for item in Transactions.of(os.environ).every() if item.id.startswith(begun)]


def _only(function: click.decorators.FC) -> click.decorators.FC:
    return click.option("--only", multiple=True, metavar="PATH",
                        help="Only this path, and what is below it; literally. May be repeated.")(function)  # fmt: skip


@click.group()
def tx() -> None:
    """Review, land or discard the work of runs with --workspace-tx.

    A transaction is what such a run left on its stage, a copy of the tree: to land one is to make its changes in the
    tree. ID may be the beginning of one; without it, the newest transaction of this tree is meant. list, show and diff
    change nothing.

    \b
    Examples:
      docket tx list
      docket tx diff -p
      docket tx commit --approve DIGEST
      docket tx commit --only src --from-discarded 1f2e3d4c5b6a
      docket tx recover --dry-run
      docket tx gc --dry-run
    """


@tx.command("list")
@_as_json
def list_(*, as_json: bool) -> int:
    """List the transactions of all trees, the oldest first."""
    found = Transactions.of(os.environ).every()
    if as_json:
        console.result(console.as_json([_row(item) for item in found]))
        return exits.OK
    if not found:
        console.result("there is no transaction")
        console.say(_OPENS_ONE)
    for item in found:
        console.result(
            console.plain(_damaged(item) if isinstance(item, Damaged) else render.row(item, standing_of(item)))
        )
    return exits.OK


@tx.command()
@_id
@_as_json
def show(transaction: str | None, *, as_json: bool) -> int:
    """Show how a transaction stands, and what it changes."""
    state = _state(transaction)
    world = _world(state)
    if as_json:
        changes = _changes_now(state, world)
        members = {**to_members(state), "standing": str(standing_of(state))}
        console.result(console.as_json({**members, "change_set": None if changes is None else _members(changes)}))
        return exits.OK
    for line in render.state_lines(state, standing_of(state)):
        console.result(console.plain(line))
    changes = _changes_now(state, world)
    for line in render.change_lines(changes) if changes is not None else ():
        console.result(console.plain(line))
    return exits.OK


@tx.command()
@_id
@_only
@click.option("--stat", is_flag=True, help="Print figures alone.")
@click.option("-p", "--patch", is_flag=True, help="Print the contents as a unified diff.")
@_as_json
def diff(transaction: str | None, *, only: tuple[str, ...], stat: bool, patch: bool, as_json: bool) -> int:
    """Show what a transaction would change.

    The digest at the end names exactly that, for docket tx commit --approve.
    """
    state = _state(transaction)
    with looked_at(state, _world(state)) as closed:
        whole = closed.found.change_set
        changes = derive(whole, _paths(only)).taken if only else whole
        if as_json:
            console.result(console.as_json(_members(changes)))
            return exits.OK
        for line in () if stat else render.change_lines(changes):
            console.result(console.plain(line))
        if patch:
            _show_contents(closed, changes)
        hits = protected_hits(changes, closed.opened.base, state.surface.protect)
        for path in hits:
            console.result(console.plain(f"protected  {path}"))
        for path in closed.found.excluded_writes:
            console.result(console.plain(f"not landed  {path} (it was excluded)"))
        console.result(render.counts(changes.counts))
        console.result(f"diff {changes.digest}")
    return exits.OK


@tx.command()
@_id
@_only
@click.option("--approve", metavar="DIGEST", help="Land exactly the change set of this digest, protected paths too.")
@click.option("--from-discarded", is_flag=True, help="Land what was discarded when its run ended.")
@_as_json
def commit(
    transaction: str | None, *, only: tuple[str, ...], approve: str | None, from_discarded: bool, as_json: bool
) -> int:
    """Land a transaction, all or nothing.

    Exit code 0 if it landed, 44 if the commit was refused and nothing changed, 75 if it cannot be landed from where it
    stands.
    """
    state = _state(transaction)
    try:
        shown = None if approve is None else parse_digest(approve)
    except InvalidDocumentError as error:
        raise UsageError(Reason.USAGE, f"--approve: {error.detail}") from error
    asked = LaterCommit(transaction=state.id, only=_paths(only), shown=shown, from_discarded=from_discarded)
    done = commit_later(asked, _world(state))
    landed = isinstance(done.outcome, Committed)
    if as_json:
        record = Path(done.record).read_text("utf-8")
        console.result(record.rstrip("\n"))
        return exits.OK if landed else exits.COMMIT_REFUSED
    for line in render.outcome_lines(done):
        console.result(console.plain(line))
    return exits.OK if landed else exits.COMMIT_REFUSED


@tx.command()
@_id
def discard(transaction: str | None) -> int:
    """Say that a transaction does not land.

    Its stage stays until docket tx gc clears it away; until then docket tx commit --from-discarded lands it.
    """
    state = _state(transaction)
    discard_later(state.id, _world(state))
    console.result(f"{state.id} is discarded")
    return exits.OK


@tx.command()
@click.option("--days", type=click.IntRange(min=0), default=DEFAULT_DAYS, show_default=True,
              help="Keep what changed within so many days.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Name them, and remove nothing.")
def gc(*, days: int, dry_run: bool) -> int:
    """Clear away transactions that are over.

    They have landed, were refused or discarded, and did not change for some days. What did not land is lost with them.
    """
    store = Transactions.of(os.environ)
    before = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.999Z")
    found = clearable(store, before)
    if not found:
        console.result(f"no transaction is over and older than {plural(days, 'day')}")
    for state in found:
        if not dry_run:
            clear(state, store)
        word = "would be removed" if dry_run else "removed"
        console.result(console.plain(f"{word}  {render.row(state, standing_of(state))}"))
    return exits.OK


tx.add_command(recover)


def _state(wanted: str | None) -> TransactionState:
    found = Transactions.of(os.environ).every()
    if wanted is None:
        return _newest_here([item for item in found if not isinstance(item, Damaged)])
    named = [item for item in found if item.id.startswith(wanted)]
    if len(named) != 1:
        what = "no transaction is" if not named else f"{len(named)} transactions are"
        raise UsageError(Reason.NOT_FOUND, f"{what} called {wanted!r}", hint="docket tx list names them")
    if isinstance(named[0], Damaged):
        raise InvalidDocumentError(Reason.WRONG_VALUE, f"{named[0].path} cannot be read: {named[0].detail}")
    return named[0]


def _newest_here(found: list[TransactionState]) -> TransactionState:
    """Return the newest of the tree that a person stands in: nobody lands work in another tree without naming it."""
    here = current_folder().resolve()
    trees = {os.fsencode(folder) for folder in (here, *here.parents)}
    states = [item for item in found if item.base.path in trees]
    if not states:
        hint = "docket tx list names those of other trees" if found else _OPENS_ONE
        raise UnavailableError(Reason.NOT_FOUND, f"there is no transaction of {here}", hint=hint)
    return states[-1]


def _world(state: TransactionState) -> TransactionWorld:
    return transaction_world(layout_at(Path(os.fsdecode(state.base.path)), None))


def _paths(only: tuple[str, ...]) -> tuple[RelPath, ...]:
    try:
        return tuple(RelPath.parse(os.fsencode(path.removesuffix("/"))) for path in only)
    except InvalidDocumentError as error:
        raise UsageError(Reason.USAGE, f"{error.detail}; paths are told from the root of the tree") from error


def _changes_now(state: TransactionState, world: TransactionWorld) -> ChangeSet | None:
    """Return what the stage changes now, or what was found last where it is gone."""
    try:
        with looked_at(state, world) as closed:
            return closed.found.change_set
    except UnavailableError:
        return world.transactions.changes(state.id)


def _show_contents(closed: ClosedTransaction, changes: ChangeSet) -> None:
    plan = plan_of(landing(changes, closed.listing).steps, closed.state.base.identity)
    with TreeContents(os.fsencode(closed.opened.stage.root), closed.listing.entries) as contents:
        for compared in compare_contents(plan, closed.state.base.path, contents):
            for line in content_diff.diff_of(compared):
                console.result("\t".join(console.plain(part) for part in line.split("\t")))


def _row(item: TransactionState | Damaged) -> dict[str, object]:
    if isinstance(item, Damaged):
        return {"id": item.id, "standing": "damaged", "detail": item.detail}
    return {**to_members(item), "standing": str(standing_of(item))}


def _members(changes: ChangeSet) -> dict[str, object]:
    return {
        "diff_sha256": changes.digest,
        "manifest_sha256": changes.manifest_sha256,
        "counts": to_members(changes.counts),
        "changes": [item.to_data() for item in changes.changes],
    }


def _damaged(item: Damaged) -> str:
    return f"{item.id}  damaged  {item.detail}"
