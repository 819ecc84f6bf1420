"""`docket tx commit`: a transaction, or a part of it, landed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from docket.engines.transaction.closing import standing_of
from docket.engines.transaction.committing import Committed
from docket.engines.transaction.later import LaterCommit, commit_later, looked_at
from docket.engines.transaction.staged_texts import StagedTexts
from docket.errors import InvalidDocumentError, UsageError
from docket.formats.dataclass import replace
from docket.formats.digest import Digest, parse_digest
from docket.formats.reason import Reason
from docket.formats.workspace.state import TransactionState
from docket.rules.workspace.states import Standing
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.asking import LeftError, is_attended
from docket.surfaces.cli.commands.tx_merge import merge_option
from docket.surfaces.cli.commit_signing import sign_option, signing_world, tell_of_signature
from docket.surfaces.cli.transaction_choice import (
    as_json_option,
    hunks_of,
    named_transaction,
    part_options,
    paths_of,
    transaction_argument,
    world_of,
)
from docket.surfaces.render import transactions as render

if TYPE_CHECKING:
    from docket.engines.transaction.world import TransactionWorld


@click.command()
@transaction_argument
@part_options
@click.option("--approve", metavar="DIGEST", help="Land exactly the change set of this digest, protected paths too.")
@click.option("--from-discarded", is_flag=True, help="Land what was discarded when its run ended.")
@merge_option
@click.option("--yes", is_flag=True, help="Land it without a review on the terminal.")
@sign_option
@as_json_option
def commit(transaction: str | None, *, yes: bool, sign: str | None, as_json: bool, **chosen: Any) -> int:  # noqa: ANN401
    """Land a transaction, all or nothing.

    On a terminal and without options it is put before you first: its paths, their diffs, and which of them, down to
    single hunks, are to land. Nothing is changed before you have seen the digest of what would land and confirmed it.
    What you leave goes on as a transaction of its own. The run's receipt stays as it is: a record of its own is
    written, which --sign, or the key of your policy, signs.

    Exit code 0 if it landed, 44 if the commit was refused or you left the review, and nothing changed, 75 if it cannot
    be landed from where it stands.

    \b
    Examples:
      docket tx commit
      docket tx commit --yes
      docket tx commit --only src --only README.md
      docket tx commit --hunks chosen.json
      docket tx commit --merge
    """
    state = named_transaction(transaction)
    asked = _asked(state, chosen)
    world = signing_world(state, sign)
    is_reviewed = asked == LaterCommit(transaction=state.id) and not (yes or as_json) and is_attended()
    return _landed(_reviewed(state) if is_reviewed else asked, state, world, as_json=as_json)


def _asked(state: TransactionState, chosen: Mapping[str, Any]) -> LaterCommit:
    return LaterCommit(
        transaction=state.id,
        only=paths_of(chosen["only"]),
        hunks=hunks_of(chosen["hunks"], chosen["only"]),
        shown=_digest(chosen["approve"]),
        from_discarded=chosen["from_discarded"],
        merge=chosen["merge"],
    )


def _landed(asked: LaterCommit | None, state: TransactionState, world: TransactionWorld, *, as_json: bool) -> int:
    """Land what is asked for, None for nothing, and tell how that ended; return the exit code."""
    if asked is None:
        console.say("nothing was changed")
        return exits.COMMIT_REFUSED
    done = commit_later(asked, world)
    document = Path(done.record).read_bytes()
    if as_json:
        console.result(document.decode("utf-8").rstrip("\n"))
    for line in () if as_json else render.outcome_lines(done):
        console.result(console.plain(line))
    tell_of_signature(state, document)
    return exits.OK if isinstance(done.outcome, Committed) else exits.COMMIT_REFUSED


def _reviewed(state: TransactionState) -> LaterCommit | None:
    """Return what a person confirmed, None where the person left; what cannot land is left to the commit to refuse."""
    asked = LaterCommit(transaction=state.id)
    if standing_of(state) not in (Standing.CLOSED, Standing.REFUSED):
        return asked
    from docket.surfaces.cli.review import Review  # noqa: PLC0415 - what a terminal alone needs

    try:
        with looked_at(state, world_of(state)) as closed, StagedTexts(closed) as texts:
            if not closed.found.change_set.changes:
                return asked
            confirmed = Review(closed, texts).run()
    except LeftError:
        return None
    except KeyboardInterrupt:
        console.result("")
        console.say("nothing was changed")
        raise
    return replace(asked, shown=confirmed.shown, hunks=confirmed.hunks)


def _digest(text: str | None) -> Digest | None:
    try:
        return None if text is None else parse_digest(text)
    except InvalidDocumentError as error:
        raise UsageError(Reason.USAGE, f"--approve: {error.detail}") from error
