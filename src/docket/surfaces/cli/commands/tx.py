"""`docket tx`: staged work, listed, shown, discarded and cleared away; the larger commands stand beside this module."""

from __future__ import annotations

import os
import shutil
import sys
from datetime import UTC, datetime, timedelta

import click

from docket.engines.transaction.closing import standing_of
from docket.engines.transaction.later import clear, clearable, discard_later, looked_at
from docket.engines.transaction.recovering import awaits_recovery
from docket.engines.transaction.world import TransactionWorld
from docket.errors import DocketError, UnavailableError
from docket.formats.ledger.payload_codec import to_members
from docket.formats.workspace.change_set import ChangeSet
from docket.formats.workspace.state import TransactionState
from docket.rules.workspace.states import Standing
from docket.stores.workspace.transactions import Damaged, Transactions
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.commands import tx_merge
from docket.surfaces.cli.commands.tx_commit import commit
from docket.surfaces.cli.commands.tx_diff import diff
from docket.surfaces.cli.commands.tx_recover import recover
from docket.surfaces.cli.transaction_choice import (
    OPENS_ONE,
    as_json_option,
    is_here,
    named_transaction,
    transaction_argument,
    world_of,
)
from docket.surfaces.render import transaction_list
from docket.surfaces.render import transactions as render
from docket.surfaces.render.figures import plural

DEFAULT_DAYS = 30
_DAMAGED = "damaged"
_STANDINGS = (*(str(item) for item in Standing), _DAMAGED)


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
      docket tx commit                      review it on the terminal, then land it
      docket tx commit --yes                land it without a review
      docket tx commit --approve DIGEST     land exactly that, protected paths too
      docket tx commit --merge              merge texts that were changed in the tree too
      docket tx commit --only src --from-discarded 1f2e3d4c5b6a
      docket tx recover --dry-run
      docket tx gc --dry-run
    """


@tx.command("list")
@click.option("--all", "every", is_flag=True, help="The transactions of all trees.")
@click.option("--standing", "standings", multiple=True, type=click.Choice(_STANDINGS), metavar="STANDING",
              help=f"Only those that stand so: {', '.join(_STANDINGS)}. May be repeated.")  # fmt: skip
@as_json_option
def list_(*, every: bool, standings: tuple[str, ...], as_json: bool) -> int:
    """List the transactions of this tree, the oldest first.

    Those of this tree are those of the folder you stand in and of the folders above it. One that cannot be read is
    listed as damaged, whatever its tree. Where docket tx recover is needed that is said, in JSON by awaits_recovery.

    \b
    Examples:
      docket tx list
      docket tx list --standing closed --standing refused
      docket tx list --all --json | jq -r '.[].id'
    """
    found = Transactions.of(os.environ).every()
    rows = [item for item in found if every or isinstance(item, Damaged) or is_here(item)]
    shown = [item for item in rows if not standings or _standing(item) in standings]
    if as_json:
        console.result(console.as_json([_row(item) for item in shown]))
        return exits.OK
    _as_lines(shown, every=every)
    if not shown:
        console.result("there is no transaction" if not rows else "no transaction stands so")
        console.say(_elsewhere(len(found) - len(rows)) or OPENS_ONE)
    return exits.OK


@tx.command()
@transaction_argument
@as_json_option
def show(transaction: str | None, *, as_json: bool) -> int:
    """Show how a transaction stands, and what it changes.

    Of one that is over and whose stage is gone, what was found last is shown.

    \b
    Examples:
      docket tx show
      docket tx show 1f2e --json
    """
    state = named_transaction(transaction)
    world = world_of(state)
    if as_json:
        changes = _changes_now(state, world)
        members = _row(state)
        change_set = None if changes is None else render.members(changes)
        conflicts = tx_merge.conflict_members(state, changes, world)
        told = {"conflicts": conflicts} if conflicts else {}
        console.result(console.as_json({**members, "change_set": change_set, **told}))
        return exits.OK
    for line in render.state_lines(state, standing_of(state)):
        console.result(console.plain(line))
    if awaits_recovery(state, Transactions.of(os.environ)):
        console.result(f"{'recovery':<18} {transaction_list.ENDS_IT}")
    changes = _changes_now(state, world)
    for line in render.change_lines(changes) if changes is not None else ():
        console.result(console.plain(line))
    for line in tx_merge.conflict_lines(state, changes, world):
        console.result(line)
    return exits.OK


tx.add_command(diff)
tx.add_command(commit)


@tx.command()
@transaction_argument
@as_json_option
def discard(transaction: str | None, *, as_json: bool) -> int:
    """Say that a transaction does not land.

    Its stage stays until docket tx gc clears it away; until then docket tx commit --from-discarded lands it.

    \b
    Examples:
      docket tx discard
      docket tx discard 1f2e --json
    """
    named = named_transaction(transaction)
    state = discard_later(named.id, world_of(named))
    if as_json:
        console.result(console.as_json(_row(state)))
        return exits.OK
    console.result(f"{state.id} is discarded")
    console.say(
        f"docket tx commit --from-discarded {state.id} lands it all the same, until docket tx gc clears it away"
    )
    return exits.OK


@tx.command()
@click.option("--days", type=click.IntRange(min=0), default=DEFAULT_DAYS, show_default=True,
              help="Keep what changed within so many days.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Name them, and remove nothing.")
@as_json_option
def gc(*, days: int, dry_run: bool, as_json: bool) -> int:
    """Clear away transactions of all trees that are over.

    They have landed, were refused or discarded, and did not change for some days. What did not land is lost with them.
    One that cannot be removed is told, in JSON under not_removed; the others go all the same, and the exit code is 1.

    \b
    Examples:
      docket tx gc --dry-run
      docket tx gc --days 7 --json
    """
    store = Transactions.of(os.environ)
    before = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S.999Z")
    found = clearable(store, before)
    if not found and not as_json:
        console.result(f"no transaction is over and older than {plural(days, 'day')}")
    rows: list[dict[str, object]] = []
    left: list[dict[str, object]] = []
    for state in found:
        row = _row(state)
        fault = None if dry_run else _cleared(state, store)
        if fault is not None:
            left.append({"id": state.id, "reason": fault.reason, "detail": fault.detail})
            console.say(console.plain(f"{state.id} is not removed: {fault.detail}"))
            continue
        rows.append(row)
        word = "would be removed" if dry_run else "removed"
        if not as_json:
            console.result(console.plain(f"{word}  {render.row(state, standing_of(state))}"))
    if as_json:
        not_removed = {"not_removed": left} if left else {}
        console.result(console.as_json({"removed": not dry_run, "transactions": rows, **not_removed}))
    return exits.FAILED if left else exits.OK


tx.add_command(recover)


def _cleared(state: TransactionState, store: Transactions) -> DocketError | None:
    """Remove a transaction, or return why it is not."""
    try:
        clear(state, store)
    except DocketError as error:
        return error
    return None


def _changes_now(state: TransactionState, world: TransactionWorld) -> ChangeSet | None:
    """Return what the stage changes now, or what was found last where it is gone."""
    try:
        with looked_at(state, world) as closed:
            return closed.found.change_set
    except UnavailableError:
        return world.transactions.changes(state.id)


def _as_lines(found: list[TransactionState | Damaged], *, every: bool) -> None:
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    columns = transaction_list.columns_for(width, with_trees=every)
    for number, item in enumerate(found):
        if not number:
            console.result(click.style(transaction_list.heading(columns), bold=True))
        if isinstance(item, Damaged):
            console.result(click.style(console.plain(f"{item.id}  {_DAMAGED}: {item.detail}"), fg="red"))
            continue
        awaits = awaits_recovery(item, Transactions.of(os.environ))
        row = transaction_list.Row(state=item, standing=standing_of(item), awaits_recovery=awaits)
        console.result(click.style(transaction_list.line(row, columns), fg=transaction_list.COLOURS.get(row.standing)))


def _elsewhere(number: int) -> str | None:
    if not number:
        return None
    return f"docket tx list --all lists {plural(number, 'transaction')} of other trees"


def _standing(item: TransactionState | Damaged) -> str:
    return _DAMAGED if isinstance(item, Damaged) else str(standing_of(item))


def _row(item: TransactionState | Damaged) -> dict[str, object]:
    if isinstance(item, Damaged):
        return {"id": item.id, "standing": _DAMAGED, "detail": item.detail}
    awaits = {"awaits_recovery": True} if awaits_recovery(item, Transactions.of(os.environ)) else {}
    return {**to_members(item), "standing": _standing(item), **awaits}
