"""The contents of a part of a change set as a diff, read from the base and from the stage."""

from __future__ import annotations

import os
from collections.abc import Iterator

import click

from docket.engines.apply import open_tree
from docket.engines.foresee import compare_contents
from docket.engines.transaction.base_contents import over_present
from docket.engines.transaction.closing import ClosedTransaction
from docket.formats.dataclass import replace
from docket.formats.tree.listing import Kind
from docket.formats.tree.plan import plan_of
from docket.formats.tree.steps import ANYTHING, MakeSymlink, Remove, Step, WriteFile
from docket.rules.workspace.commit_plan import landing
from docket.rules.workspace.hunks import Part
from docket.stores.workspace.made_contents import MadeContents
from docket.stores.workspace.tree_contents import TreeContents
from docket.surfaces.cli import console
from docket.surfaces.render import content_diff

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def patch_lines(closed: ClosedTransaction, part: Part) -> Iterator[str]:
    """Yield the contents of a part as a unified diff, safe for a terminal.

    It is from what stands in the tree now, also where that is not what was staged.
    """
    with open_tree(closed.state.base.path) as tree:
        taken = over_present(part.taken, tree).changes
    steps = (_whatever_stands(step) for step in landing(taken, closed.listing).steps)
    plan = plan_of(steps, closed.state.base.identity)
    with TreeContents(os.fsencode(closed.opened.stage.root), closed.listing.entries) as staged:
        contents = MadeContents(part.made.values(), staged)
        for compared in compare_contents(plan, closed.state.base.path, contents):
            for line in content_diff.diff_of(compared):
                yield "\t".join(console.plain(piece) for piece in line.split("\t"))


def _whatever_stands(step: Step) -> Step:
    is_file = isinstance(step, WriteFile | MakeSymlink) or (
        isinstance(step, Remove) and step.kind is not Kind.DIRECTORY
    )
    return replace(step, precondition=ANYTHING) if is_file else step


def coloured(line: str) -> str:
    """Return a line of a diff in its colour."""
    if line.startswith(("+++", "---", "diff ")):
        return click.style(line, bold=True)
    colour = _COLOURS.get(line[:1])
    return line if colour is None else click.style(line, fg=colour)
