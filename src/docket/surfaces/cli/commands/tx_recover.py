"""`docket tx recover`: commits that were interrupted, ended."""

from __future__ import annotations

import os
from pathlib import Path

import click

from docket.engines.apply import LeftoverState
from docket.engines.apply_recovery import Asked, Direction
from docket.engines.transaction.closing import standing_of
from docket.engines.transaction.recovering import (
    Recovered,
    clear_leftovers,
    interrupted_commits,
    recover_transaction,
)
from docket.errors import InvalidDocumentError, UsageError
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.workspace.state import TransactionState
from docket.rules.workspace.states import Standing
from docket.stores.workspace.transactions import Damaged, Transactions
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.commit_signing import sign_option, signing_worlds
from docket.surfaces.cli.project import current_folder
from docket.surfaces.cli.transaction_choice import world_of
from docket.surfaces.render import recoveries


@click.command()
@click.argument("transaction", required=False, metavar="[ID]")
@click.option("--all", "every", is_flag=True, help="Every interrupted commit, of all trees.")
@click.option("--back", "direction", flag_value=Direction.BACK.value, help="To the tree as it was.")
@click.option("--forward", "direction", flag_value=Direction.FORWARD.value, help="To the tree as it was to be.")
@click.option("--keep-theirs", multiple=True, metavar="PATH",
              help="Leave this path as somebody else left it. May be repeated.")  # fmt: skip
@click.option("--force", is_flag=True, help="Overwrite what others wrote since; it is kept beside the record.")
@click.option("--dry-run", is_flag=True, help="Say where each path stands, and change nothing.")
@sign_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def recover(  # noqa: PLR0913 - each is an option
    transaction: str | None,
    *,
    every: bool,
    direction: str | None,
    keep_theirs: tuple[str, ...],
    force: bool,
    dry_run: bool,
    sign: str | None,
    as_json: bool,
) -> int:
    """End a commit that was interrupted: the whole of it, or nothing.

    Each path is looked at. Where nobody else came, the commit is finished if all that it needs is at hand, else put
    back. Where somebody did, nothing is done until --keep-theirs or --force says what becomes of it. Without ID, those
    of this tree are meant, and what an interrupted restore left in it.

    Exit code 0 if nothing is left to be recovered, 1 if something stands in the way.
    """
    if every and transaction is not None:
        raise UsageError(Reason.USAGE, "--all and an ID do not go together")
    asked = Asked(
        direction=None if direction is None else Direction(direction),
        theirs=frozenset(_path(path) for path in keep_theirs),
        force=force,
        dry_run=dry_run,
    )
    found = _chosen(transaction, every=every)
    worlds = [world_of(state) for state in found] if dry_run else signing_worlds(found, sign)
    done = [recover_transaction(state.id, asked, world) for state, world in zip(found, worlds, strict=True)]
    if as_json:
        console.result(console.as_json([recoveries.members(item) for item in done]))
    for item in () if as_json else done:
        for line in recoveries.recovery_lines(item, dry_run=dry_run):
            console.result(console.plain(line))
    over = all(item.is_over or (dry_run and _may(item)) for item in done)
    if transaction is None and not every:
        over = _cleared(found, dry_run=dry_run, quiet=as_json) and over
    return exits.OK if over else exits.FAILED


def _chosen(wanted: str | None, *, every: bool) -> tuple[TransactionState, ...]:
    store = Transactions.of(os.environ)
    found = interrupted_commits(store)
    if every:
        return found
    if wanted is not None:
        named = tuple(state for state in found if state.id.startswith(wanted))
        if len(named) != 1:
            detail = f"no interrupted commit is called {wanted!r}" if not named else f"{wanted!r} is not the only one"
            raise UsageError(Reason.NOT_FOUND, detail, hint="docket tx list names them")
        return named
    here = os.fsencode(_tree())
    return tuple(state for state in found if state.base.path == here)


def _tree() -> Path:
    """Return the tree that a person stands in: the nearest of a transaction, else the current folder."""
    here = current_folder().resolve()
    bases = {state.base.path for state in interrupted_commits(Transactions.of(os.environ))}
    return next((folder for folder in (here, *here.parents) if os.fsencode(folder) in bases), here)


def _cleared(found: tuple[TransactionState, ...], *, dry_run: bool, quiet: bool) -> bool:
    """Clear away what others than these commits left, and tell of it."""
    own = tuple(f"{state.id} " for state in found)
    left = [item for item in clear_leftovers(_tree(), dry_run=dry_run) if not (item.detail or "").startswith(own)]
    for item in left:
        console.say(console.plain(recoveries.leftover_line(item)))
    if not left and not found and not quiet:
        console.result(
            "no commit in this tree was interrupted" if _tell_cut_runs() else "nothing in this tree was interrupted"
        )
    return not any(item.state in (LeftoverState.INTERRUPTED, LeftoverState.KEPT) for item in left)


def _tell_cut_runs() -> bool:
    """Say which runs over this tree were cut short before any commit: that is not ended here."""
    here = os.fsencode(_tree())
    found = [item for item in Transactions.of(os.environ).every() if not isinstance(item, Damaged)]
    cut = [item for item in found if item.base.path == here and standing_of(item) is Standing.INTERRUPTED]
    for item in cut:
        console.say(
            f"the run of {item.id} was cut short, and nothing of it landed: docket tx discard {item.id} ends it"
        )
    return bool(cut)


def _may(item: Recovered) -> bool:
    return item.ended is None or not item.ended.blocked


def _path(text: str) -> RelPath:
    try:
        return RelPath.parse(os.fsencode(text.removesuffix("/")))
    except InvalidDocumentError as error:
        raise UsageError(Reason.USAGE, f"--keep-theirs: {error.detail}; paths are told from the tree's root") from error
