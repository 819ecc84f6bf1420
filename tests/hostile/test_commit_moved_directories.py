"""More directories are changed than are held open, and one that is not held is moved away before all is put back: what
landed in it cannot be reached, and the transaction never says that nothing landed.
"""

from __future__ import annotations

from pathlib import Path
from unittest import mock

import pytest

from docket.engines.apply_recovery import Direction
from docket.engines.transaction import committing
from docket.engines.transaction.closing import close_transaction, drop_stage, standing_of
from docket.engines.transaction.committing import CommitRefused, CommitRequest, commit_transaction
from docket.engines.transaction.opening import open_transaction
from docket.engines.transaction.world import OpenRequest, OpenTransaction
from docket.formats.workspace.state import Status, SurfaceRules
from docket.host import holders
from docket.host.confined import ConfinedTree
from docket.rules.workspace.states import Standing
from matrix_lab import Trial, put_file, saved, told, world_at
from tree_lab import CountedCalls

KINDS = ("new", "mode", "changed", "gone")


def staged(place: Path, kind: str) -> Trial:
    """A thing in `a` is made, altered, changed or removed; then one in `b` and one in `c` are changed."""
    base = place / "base"
    for name in ("a", "b", "c"):
        (base / name).mkdir(parents=True)
        put_file(base / name / "f", b"old")
    world = world_at(place, "copy")
    before = told(base)
    opened = open_transaction(OpenRequest(base=base, rules=SurfaceRules()), world)
    assert isinstance(opened, OpenTransaction)
    root = opened.stage.root
    match kind:
        case "new":
            put_file(root / "a/new", b"new")
        case "mode":
            (root / "a/f").chmod(0o600)
        case "changed":
            put_file(root / "a/f", b"new")
        case _:
            (root / "a/f").unlink()
    put_file(root / "b/f", b"new")
    put_file(root / "c/f", b"new")
    return Trial(place, base, world, close_transaction(opened, world), before, told(root))


def commit(it: Trial):
    """`a` is moved away and `c/f` saved when the second exchange comes: `c` cannot be changed, and all goes back."""
    done: list[int] = []

    def rule(_number: int, name: str) -> None:
        if name == "exchange" and told(it.base).get(b"b/f") == it.after[b"b/f"] and not done:
            done.append(1)
            (it.base / "a").rename(it.base / "moved")
            saved(it.base / "c/f")

    with mock.patch.object(committing, "open_tree", lambda root: ConfinedTree(root, calls=CountedCalls(rule))):
        outcome = commit_transaction(CommitRequest(closed=it.closed), it.world)
    assert done
    return outcome


def landed_in(it: Trial) -> bool:
    """Whether what was done in `a` stands where that is now."""
    now = told(it.base)
    return any(
        now.get(b"moved" + path[1:]) != it.before.get(path)
        for path in {*it.before, *it.after}
        if path.startswith(b"a/")
    )


@pytest.mark.parametrize("kind", KINDS)
def test_what_landed_where_nobody_can_reach_it_is_no_refusal(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(holders, "MAX_HELD", 1)
    it = staged(tmp_path, kind)
    outcome = commit(it)
    assert isinstance(outcome, CommitRefused)
    assert landed_in(it)
    assert it.status() is Status.COMMITTING
    assert standing_of(it.world.transactions.load(it.closed.state.id)) is Standing.INTERRUPTED_COMMIT
    assert "docket tx recover" in outcome.detail
    assert it.leftovers()
    done = it.recover()
    assert not done.is_over
    (it.base / "moved").rename(it.base / "a")
    done = it.recover(direction=Direction.BACK, force=True)
    assert done.is_over, done
    now = told(it.base)
    assert {path: now.get(path) for path in it.before if path != b"c/f"} == {
        path: state for path, state in it.before.items() if path != b"c/f"
    }
    assert b"a/new" not in now
    assert it.status() is Status.REFUSED
    assert it.leftovers() == []
    drop_stage(it.closed.opened, it.world)


@pytest.mark.parametrize("kind", KINDS)
def test_what_landed_where_it_is_held_is_put_back(kind, tmp_path):
    it = staged(tmp_path, kind)
    outcome = commit(it)
    assert isinstance(outcome, CommitRefused)
    assert not landed_in(it)
    assert it.status() is Status.REFUSED
    assert it.leftovers() == []
    drop_stage(it.closed.opened, it.world)
