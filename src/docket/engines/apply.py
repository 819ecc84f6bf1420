"""Apply a plan to a tree: the order, the durability and the outcomes; the one user of the confined writer.

Rules:
1. Path by path (engines.apply_batches), each step is done or not on its own, and every path ends as it was or as
   planned. All or nothing (engines.apply_whole), the first step that cannot be done puts all others back.
2. What a step displaces goes only after the names that changed are synced, and after `keep`, if there is one, has
   taken it.
3. A directory's last mode and time are set when everything in it is done, deepest first.
4. Every step has an outcome, in the plan's order; only a tree that cannot be used at all raises.
5. A root that is not the plan's refuses every step.
6. A tree opened as not durable is one that nobody would miss, such as a stage. What it is to hold is made where its
   name is free, without building it aside and without a sync; whoever dies meanwhile leaves a part. What stands there
   is replaced as safely as anywhere. The plain files of such a tree are copied in without steps (engines.apply_files).

It does not decide what to do (rules.tree) and does not clear what dead applies left (`sweep`, for the caller to ask).
"""

from __future__ import annotations

import os

from docket.engines.apply_batches import path_by_path
from docket.engines.apply_files import Filling
from docket.engines.apply_options import DisplacedSink, Journal, Mode, Options
from docket.engines.apply_whole import all_or_nothing
from docket.engines.apply_work import Work
from docket.formats.reason import Reason
from docket.formats.tree.plan import Outcome, Plan
from docket.host.confined import ConfinedTree
from docket.host.disk import reported
from docket.host.leftovers import Leftover, LeftoverState, interrupted, leftover_names
from docket.host.leftovers import sweep as _sweep
from docket.host.reaching import Refusal
from docket.stores.content import ContentReader


def open_tree(root: bytes, *, durable: bool = True) -> ConfinedTree:
    """Open the tree at `root` for `apply`; UnavailableError if that cannot be. The caller closes it."""
    return ConfinedTree(root, durable=durable)


def apply(
    plan: Plan, content: ContentReader, tree: ConfinedTree, options: Options | None = None
) -> tuple[Outcome, ...]:
    """Do the plan's steps and return what became of each, in order, and of a file that stopped the filling.

    Whatever fails is an outcome; if docket's own things could not be removed from the tree afterwards, `tree.trouble`
    says so and `sweep` removes them later. An exception that ends the program leaves what a killed one does.
    """
    options = options or Options()
    if plan.root != tree.identity:
        detail = "the plan was made for another directory than the one that stands at the root's path"
        return tuple(Refusal(Reason.ROOT_REPLACED, detail).outcome(step.path) for step in plan.steps)
    journal = None if options.journal is None else options.journal.note
    tree.begin(plan, keeps=options.keep is not None, journal=journal)
    work = Work(plan, content, tree, options)
    outcomes = all_or_nothing(work) if options.mode is Mode.ALL_OR_NOTHING else path_by_path(work, options.filling)
    try:
        left = tree.end()
    except OSError as error:
        tree.trouble = f"something of docket's own is left in the tree: {(error.strerror or str(error)).lower()}"
    else:
        tree.trouble = None if left is None else f"what could not be put back or removed is left in the tree, in {left}"
    return outcomes


def sweep(tree: ConfinedTree, owned: str | None = None) -> tuple[Leftover, ...]:
    """Clear away what dead applies left in the tree (host.leftovers); UnavailableError where that cannot be."""
    with reported("clear up", os.fsdecode(tree.path)):
        return _sweep(tree, owned)


__all__ = [
    "ConfinedTree",
    "ContentReader",
    "DisplacedSink",
    "Filling",
    "Journal",
    "Leftover",
    "LeftoverState",
    "Mode",
    "Options",
    "apply",
    "interrupted",
    "leftover_names",
    "open_tree",
    "sweep",
]
