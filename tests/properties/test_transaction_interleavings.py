"""Transactions over one base, and a person beside them, in any order: held against a model of plain mappings.

The model: a commit lands, whole, if each path that its stage changed still holds in the base what it held when it was
staged, or what would land; else nothing of it lands.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from docket.engines.observe import ObserveWorld, observe_tree
from docket.engines.transaction.backends.copy import CopyBackend
from docket.engines.transaction.closing import close_transaction
from docket.engines.transaction.committing import CommitRequest, Committed, commit_transaction
from docket.engines.transaction.opening import open_transaction
from docket.engines.transaction.world import OpenRequest, OpenTransaction, TransactionWorld
from docket.formats.reason import Reason
from docket.formats.workspace.state import SurfaceRules
from docket.host.clock import SystemClock
from docket.host.ids import SystemIds
from docket.stores.workspace.transactions import Transactions

NAMES = ("a", "b", "d/x", "d/y")
Tree = dict[str, str]

edits = st.tuples(st.sampled_from(NAMES), st.sampled_from(["1", "2", None]))
actions = st.one_of(
    st.tuples(st.just("open"), st.integers(0, 2)),
    st.tuples(st.just("stage"), st.integers(0, 2), edits),
    st.tuples(st.just("person"), edits),
    st.tuples(st.just("commit"), st.integers(0, 2)),
)


class Model:
    """What every tree should hold."""

    def __init__(self, base: Tree) -> None:
        self.base = dict(base)
        self.staged: dict[int, tuple[Tree, Tree]] = {}

    def lands(self, number: int) -> bool:
        """Whether the commit of a stage lands; if so it does."""
        was, now = self.staged.pop(number)
        changed = [name for name in NAMES if was.get(name) != now.get(name)]
        if any(self.base.get(name) not in (was.get(name), now.get(name)) for name in changed):
            return False
        for name in changed:
            put(self.base, name, now.get(name))
        return True


def put(tree: Tree, name: str, content: str | None) -> None:
    if content is None:
        tree.pop(name, None)
    else:
        tree[name] = content


def write(root: Path, name: str, content: str | None) -> None:
    path = root / name
    if content is None:
        path.unlink(missing_ok=True)
    else:
        path.write_text(content)


def read(root: Path) -> Tree:
    return {name: (root / name).read_text() for name in NAMES if (root / name).exists()}


def bench(root: Path) -> TransactionWorld:
    around = ObserveWorld(copies=0)
    return TransactionWorld(
        observe=lambda request: observe_tree(request, around),
        clock=SystemClock(),
        ids=SystemIds(),
        transactions=Transactions(root / "state" / "workspace-tx"),
        backends=(CopyBackend(),),
    )


def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as made:
        yield Path(made).resolve()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(actions, max_size=14))
def test_whatever_the_order_each_commit_lands_whole_or_not_at_all(steps: list[tuple[object, ...]]) -> None:
    hold_against_the_model(steps)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(actions, max_size=30))
def test_long_orders_too(steps: list[tuple[object, ...]]) -> None:
    hold_against_the_model(steps)


def hold_against_the_model(steps: list[tuple[object, ...]]) -> None:
    for root in folder():
        base = root / "base"
        (base / "d").mkdir(parents=True)
        write(base, "a", "0")
        write(base, "d/x", "0")
        world, model = bench(root), Model(read(base))
        opened: dict[int, OpenTransaction] = {}
        for step in steps:
            match step:
                case ("open", int(number)) if number not in opened:
                    found = open_transaction(OpenRequest(base=base, rules=SurfaceRules()), world)
                    assert isinstance(found, OpenTransaction), found
                    opened[number] = found
                    model.staged[number] = dict(model.base), dict(model.base)
                case ("stage", int(number), (str(name), content)) if number in opened:
                    write(opened[number].stage.root, name, content)  # type: ignore[arg-type]
                    put(model.staged[number][1], name, content)  # type: ignore[arg-type]
                case ("person", (str(name), content)):
                    write(base, name, content)  # type: ignore[arg-type]
                    put(model.base, name, content)  # type: ignore[arg-type]
                case ("commit", int(number)) if number in opened:
                    closed = close_transaction(opened.pop(number), world)
                    outcome = commit_transaction(CommitRequest(closed=closed), world)
                    assert isinstance(outcome, Committed) is model.lands(number), outcome
                    if not isinstance(outcome, Committed):
                        assert outcome.reason is Reason.BASE_DRIFT
                    closed.opened.stage.close()
                case _:
                    pass
            assert read(base) == model.base
        for left in opened.values():
            left.stage.close()
        assert sorted(path.name for path in base.iterdir() if path.name.startswith(".")) == []
