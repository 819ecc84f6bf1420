"""What a commit takes out of the base and another transaction was staged of: kept, so that its work can be merged.

Rules (spec/workspace.md, Merging):
1. Nothing is kept where no other transaction over the base may land.
2. Kept are texts that could be merged, as they stand in the base right before the commit changes it.
3. That something could not be kept is told, and keeps no commit from landing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from docket.engines.apply import ConfinedTree
from docket.engines.foresee import present_content
from docket.engines.transaction.neighbours import known
from docket.errors import DocketError
from docket.formats.digest import sha256
from docket.formats.tree.listing import Kind
from docket.formats.tree.plan import Plan
from docket.formats.tree.steps import Holds, SetMode
from docket.formats.workspace.state import TransactionState
from docket.rules.workspace.merging import MAX_MERGED_BYTES, is_text
from docket.rules.workspace.neighbours import may_land
from docket.stores.workspace.ancestors import Ancestors, bases_with_ancestors
from docket.stores.workspace.transactions import Transactions


def keep_displaced(plan: Plan, tree: ConfinedTree, state: TransactionState, transactions: Transactions) -> str | None:
    """Keep what the plan displaces for those who were staged of it; return what could not be, None for nothing."""
    if not may_land(state.base.identity, state.id, known(transactions)):
        return None
    try:
        Ancestors(transactions.root, state.base.identity).keep(_texts(plan, tree))
    except DocketError as error:
        return f"what the commit displaced is not kept for other transactions to be merged with: {error.detail}"
    return None


def clear_ancestors(transactions: Transactions) -> None:
    """Remove what is kept of bases of which no transaction is left that may land; what cannot be removed stays."""
    bases = bases_with_ancestors(transactions.root)
    states = known(transactions) if bases else ()
    for base in bases:
        if not may_land(base, "", states):
            with suppress(DocketError):
                Ancestors(transactions.root, base).clear()


def _texts(plan: Plan, tree: ConfinedTree) -> Iterator[bytes]:
    for step in plan.steps:
        expected = step.precondition
        if not isinstance(expected, Holds) or isinstance(step, SetMode):
            continue
        was = expected.state
        if was.kind != Kind.FILE.value or not was.size or was.size > MAX_MERGED_BYTES:
            continue
        content = present_content(tree, step.path, MAX_MERGED_BYTES)
        if content is not None and sha256(content) == was.sha256 and is_text(content):
            yield content
