"""`docket tx diff`: what a transaction would change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import click

from docket.engines.transaction.closing import ClosedTransaction, standing_of
from docket.engines.transaction.later import chosen_part, looked_at
from docket.engines.transaction.merging import MergeRefused
from docket.engines.transaction.staged_texts import StagedTexts
from docket.errors import UnavailableError
from docket.formats.digest import sha256
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.workspace.state import TransactionState
from docket.rules.workspace.hunks import Part
from docket.rules.workspace.protected import protected_hits
from docket.rules.workspace.renames import Rename
from docket.rules.workspace.states import Standing
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.commands.tx_merge import merge_option, merged_part, refused_lines, refused_members
from docket.surfaces.cli.patches import patch_lines
from docket.surfaces.cli.transaction_choice import (
    as_json_option,
    hunks_of,
    named_transaction,
    part_options,
    paths_of,
    transaction_argument,
    world_of,
)
from docket.surfaces.render import hunks as render_hunks
from docket.surfaces.render import transactions as render

_MADE_BY_MERGING = "it is made by merging"


@click.command()
@transaction_argument
@part_options
@merge_option
@click.option("--stat", is_flag=True, help="Print figures alone.")
@click.option("-p", "--patch", is_flag=True, help="Print the contents as a unified diff.")
@as_json_option
def diff(  # noqa: PLR0913 - each is an option
    transaction: str | None,
    *,
    only: tuple[str, ...],
    hunks: Path | None,
    merge: bool,
    stat: bool,
    patch: bool,
    as_json: bool,
) -> int:
    """Show what a transaction would change.

    The digest at the end names exactly that, for docket tx commit --approve. A file that was renamed is R, and is
    removed and added all the same. With --json each changed file has its hunks, for docket tx commit --hunks; with
    -p they are there line by line. With --merge it is what docket tx commit --merge would land, and where it would
    land nothing, exit code 44 and the conflicts.

    \b
    Examples:
      docket tx diff --stat
      docket tx diff -p --only src | less
      docket tx diff --hunks chosen.json
    """
    state = named_transaction(transaction)
    choice = hunks_of(hunks, only)
    with _opened(state) as closed, StagedTexts(closed) as texts:
        part = chosen_part(closed, only=paths_of(only), hunks=choice)
        if merge:
            found = merged_part(closed, part, world_of(state))
            if isinstance(found, MergeRefused):
                return _refused(found, as_json=as_json)
            closed, part = found  # noqa: PLW2901 - the same transaction, over the tree as it is now
        if as_json:
            console.result(console.as_json(_members(closed, part, texts, patch=patch)))
            return exits.OK
        for line in _lines(closed, part, texts.renames(part.taken), stat=stat, patch=patch):
            console.result(line)
    return exits.OK


def _refused(refused: MergeRefused, *, as_json: bool) -> int:
    for line in (console.as_json(refused_members(refused)),) if as_json else refused_lines(refused):
        console.result(line)
    return exits.COMMIT_REFUSED


def _opened(state: TransactionState) -> AbstractContextManager[ClosedTransaction]:
    if standing_of(state) is Standing.COMMITTED:
        hint = f"docket tx show {state.id} tells what it changed"
        if state.successor is not None:
            hint += f"; the rest is transaction {state.successor}"
        raise UnavailableError(Reason.NOT_CLOSED, f"{state.id} has landed, and has nothing left to land", hint=hint)
    return looked_at(state, world_of(state))


def _lines(
    closed: ClosedTransaction, part: Part, moved: Mapping[RelPath, Rename], *, stat: bool, patch: bool
) -> Iterator[str]:
    for line in () if stat else render.change_lines(part.taken, moved):
        yield console.plain(line)
    if patch:
        yield from patch_lines(closed, part)
    for path in protected_hits(part.taken, closed.opened.base, closed.state.surface.protect):
        yield console.plain(f"protected  {path}")
    for path in closed.found.excluded_writes:
        yield console.plain(f"not landed  {path} (it is excluded, or shared and not in the tree yet)")
    yield render.counts(part.taken.counts)
    yield f"diff {part.taken.digest}"


def _members(closed: ClosedTransaction, part: Part, texts: StagedTexts, *, patch: bool) -> dict[str, object]:
    whole = closed.found.change_set
    hits = frozenset(protected_hits(part.taken, closed.opened.base, closed.state.surface.protect))
    moved = texts.renames(part.taken)
    origin = {change.path: change for change in whole.changes}
    by_merging = {sha256(content) for content in part.made.values()}
    changes = []
    for change in part.taken.changes:
        members: dict[str, object] = {**change.to_data(), "protected": change.path in hits}
        if change.path in moved:
            rename = moved[change.path]
            members["renamed_from"] = {**rename.source.members(), "percent": rename.percent}
        sides = texts.sides(origin[change.path])
        if isinstance(sides, str) and change.after is not None and change.after.sha256 in by_merging:
            sides = _MADE_BY_MERGING
        changes.append(members | render_hunks.members(origin[change.path], sides, patch=patch))
    of = {} if part.taken.digest == whole.digest else {"of_diff_sha256": whole.digest}
    return {**render.members(part.taken), **of, "changes": changes}
