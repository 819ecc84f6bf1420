"""`docket tx commit`: a transaction, or a part of it, landed."""

from __future__ import annotations

from pathlib import Path

import click

from docket.engines.transaction.committing import Committed
from docket.engines.transaction.later import LaterCommit, commit_later
from docket.errors import InvalidDocumentError, UsageError
from docket.formats.digest import Digest, parse_digest
from docket.formats.reason import Reason
from docket.surfaces.cli import console, exits
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


@click.command()
@transaction_argument
@part_options
@click.option("--approve", metavar="DIGEST", help="Land exactly the change set of this digest, protected paths too.")
@click.option("--from-discarded", is_flag=True, help="Land what was discarded when its run ended.")
@as_json_option
def commit(  # noqa: PLR0913 - each is an option
    transaction: str | None,
    *,
    only: tuple[str, ...],
    hunks: Path | None,
    approve: str | None,
    from_discarded: bool,
    as_json: bool,
) -> int:
    """Land a transaction, all or nothing.

    Exit code 0 if it landed, 44 if the commit was refused and nothing changed, 75 if it cannot be landed from where it
    stands.
    """
    state = named_transaction(transaction)
    asked = LaterCommit(
        transaction=state.id,
        only=paths_of(only),
        hunks=hunks_of(hunks, only),
        shown=_digest(approve),
        from_discarded=from_discarded,
    )
    done = commit_later(asked, world_of(state))
    landed = isinstance(done.outcome, Committed)
    if as_json:
        record = Path(done.record).read_text("utf-8")
        console.result(record.rstrip("\n"))
        return exits.OK if landed else exits.COMMIT_REFUSED
    for line in render.outcome_lines(done):
        console.result(console.plain(line))
    return exits.OK if landed else exits.COMMIT_REFUSED


def _digest(text: str | None) -> Digest | None:
    try:
        return None if text is None else parse_digest(text)
    except InvalidDocumentError as error:
        raise UsageError(Reason.USAGE, f"--approve: {error.detail}") from error
