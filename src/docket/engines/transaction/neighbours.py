"""Other transactions over the same base: which of them a path of ours ran into, told beside a refusal.

Rules: `rules.workspace.neighbours` says who counts; what cannot be read of another transaction names nobody, for a
refusal must not fail because of one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from docket.engines.transaction.world import TransactionWorld
from docket.errors import DocketError
from docket.formats.relpath import RelPath
from docket.formats.workspace.change_set import ChangeSet
from docket.formats.workspace.state import TransactionState
from docket.rules.workspace.neighbours import LandedPaths, landed_since
from docket.stores.workspace.transactions import Damaged, Transactions


def known(transactions: Transactions) -> tuple[TransactionState, ...]:
    """Return the transactions of a state folder that can be read."""
    with suppress(DocketError):
        return tuple(state for state in transactions.every() if not isinstance(state, Damaged))
    return ()


def who_landed_on(state: TransactionState, paths: Iterable[RelPath], world: TransactionWorld) -> Mapping[RelPath, str]:
    """Return the transactions that landed, since this one was opened, on those of the paths on which one did."""
    landed: list[tuple[str, ChangeSet]] = []
    for other in landed_since(state, known(world.transactions)):
        with suppress(DocketError):
            changes = world.transactions.changes(other.id)
            if changes is not None:
                landed.append((other.id, changes))
    known_paths = LandedPaths.of(landed)
    found = ((path, known_paths.who_changed(path)) for path in paths)
    return {path: name for path, name in found if name is not None}


def sentence(names: Sequence[str]) -> str:
    """Return what is said of the transactions that landed there; nothing where there is none."""
    one_by_one = tuple(dict.fromkeys(names))
    if not one_by_one:
        return ""
    word = "transaction" if len(one_by_one) == 1 else "transactions"
    return f"; {word} {' and '.join(one_by_one)} landed there meanwhile"
