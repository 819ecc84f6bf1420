"""Which transaction a person means, and the options that the commands about transactions share."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docket.errors import InvalidDocumentError, UnavailableError, UsageError
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.workspace.hunk_choice import MAX_CHOICE_BYTES, HunkChoice, decode_choice
from docket.formats.workspace.state import TransactionState
from docket.stores.workspace.transactions import STATE, Damaged, Transactions
from docket.surfaces.cli.project import current_folder, layout_at
from docket.surfaces.cli.transactions import transaction_world

if TYPE_CHECKING:
    from docket.engines.transaction.world import TransactionWorld

OPENS_ONE = "docket run --workspace-tx opens one"
LISTS_THEM = "docket tx list --all names them"
KEPT = "what the run made is in its folder stage"


def as_json_option(function: click.decorators.FC) -> click.decorators.FC:
    """Give a command `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def transaction_argument(function: click.decorators.FC) -> click.decorators.FC:
    """Give a command the argument `[ID]`."""
    return click.argument("transaction", required=False, metavar="[ID]", shell_complete=ids_like)(function)


def part_options(function: click.decorators.FC) -> click.decorators.FC:
    """Give a command `--only` and `--hunks`."""
    only = click.option("--only", multiple=True, metavar="PATH", shell_complete=paths_like,
                        help="Only this path, and what is below it; literally. May be repeated.")  # fmt: skip
    hunks = click.option("--hunks", metavar="FILE", type=click.Path(path_type=Path, allow_dash=True),
                         help="Only the paths and hunks that FILE names; - reads standard input.")  # fmt: skip
    return only(hunks(function))


def ids_like(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """Return the ids that begin so, for the shell."""
    return [item.id for item in reversed(Transactions.of(os.environ).every()) if item.id.startswith(begun)]


def paths_like(context: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Return the paths that the transaction was last found to change and that begin so, for the shell."""
    try:
        state = named_transaction(context.params.get("transaction"))
        changes = Transactions.of(os.environ).changes(state.id)
    except (UnavailableError, UsageError, InvalidDocumentError):
        return []
    names = (os.fsdecode(change.path.raw) for change in (changes.changes if changes else ()))
    return [name for name in names if name.startswith(begun)]


def named_transaction(wanted: str | None) -> TransactionState:
    """Return the transaction whose id begins so, None for the newest of the tree that a person stands in."""
    found = Transactions.of(os.environ).every()
    if wanted is None:
        return _newest_here(found)
    named = [item for item in found if item.id.startswith(wanted)]
    if len(named) != 1:
        what = "no transaction is" if not named else f"{len(named)} transactions are"
        raise UsageError(Reason.NOT_FOUND, f"{what} called {wanted!r}", hint=LISTS_THEM)
    if isinstance(named[0], Damaged):
        raise _damaged(named[0])
    return named[0]


def is_here(state: TransactionState) -> bool:
    """Whether a transaction is of the tree that a person stands in, or of one that this lies in."""
    return state.base.path in {os.fsencode(folder) for folder in _above()}


def _newest_here(found: Iterable[TransactionState | Damaged]) -> TransactionState:
    """Return the newest of the tree that a person stands in: nobody lands work in another tree without naming it.

    InvalidDocumentError where one that cannot be read may be that one: an older one is not what the person means.
    """
    found = tuple(found)
    states = [item for item in found if not isinstance(item, Damaged) and is_here(item)]
    if not states:
        unread = [item.path for item in found if isinstance(item, Damaged)]
        hint = "docket tx list --all names those of other trees" if found else OPENS_ONE
        if unread:
            hint += f"; {unread[0]}, which cannot be read, may be of this one"
        raise UnavailableError(Reason.NOT_FOUND, f"there is no transaction of {_above()[0]}", hint=hint)
    for item in found:
        if isinstance(item, Damaged) and _may_be_newer(item, states[-1]):
            hint = f"it may be the newest of this tree; to mean the one before it, name it: {states[-1].id}"
            raise _damaged(item, hint=hint)
    return states[-1]


def _may_be_newer(damaged: Damaged, state: TransactionState) -> bool:
    """Whether something was written in a transaction's folder since another was opened; one without a state is none."""
    try:
        (damaged.path / STATE).lstat()
        changed_at = damaged.path.stat().st_mtime
    except OSError:
        return False
    return changed_at >= datetime.fromisoformat(state.opened_at).timestamp()


def _damaged(item: Damaged, hint: str = KEPT) -> InvalidDocumentError:
    return InvalidDocumentError(Reason.WRONG_VALUE, f"{item.path} cannot be read: {item.detail}", hint=hint)


def _above() -> tuple[Path, ...]:
    here = current_folder().resolve()
    return (here, *here.parents)


def world_of(state: TransactionState) -> TransactionWorld:
    """Return the ports for one transaction."""
    return transaction_world(layout_at(Path(os.fsdecode(state.base.path)), None))


def paths_of(only: tuple[str, ...]) -> tuple[RelPath, ...]:
    """Return the paths that a person named; UsageError for one that is none."""
    try:
        return tuple(RelPath.parse(os.fsencode(path.removesuffix("/"))) for path in only)
    except InvalidDocumentError as error:
        raise UsageError(Reason.USAGE, f"{error.detail}; paths are told from the root of the tree") from error


def hunks_of(file: Path | None, only: tuple[str, ...]) -> HunkChoice | None:
    """Read the choice in a file, None for none.

    UsageError where paths are chosen too; UnavailableError where it cannot be read; InvalidDocumentError where it is
    no choice.
    """
    if file is None:
        return None
    if only:
        raise UsageError(Reason.USAGE, "--hunks and --only do not go together: a path may stand in the file, too")
    try:
        with click.open_file(os.fspath(file), "rb") as stream:
            document = stream.read(MAX_CHOICE_BYTES + 1)
    except OSError as error:
        raise UnavailableError(Reason.UNREADABLE, f"{file} cannot be read: {error.strerror or error}") from error
    try:
        return decode_choice(document)
    except InvalidDocumentError as error:
        raise InvalidDocumentError(error.reason, f"{file}: {error.detail}") from error
