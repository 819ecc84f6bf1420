"""A stage gave a further name to a file that it did not change: whatever becomes of that file in the base meanwhile,
the name that lands is one of the file that was staged, or nothing lands.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from docket.engines.transaction import committing
from docket.engines.transaction.closing import close_transaction, drop_stage
from docket.engines.transaction.committing import CommitRefused, CommitRequest, Committed, commit_transaction
from docket.engines.transaction.opening import open_transaction
from docket.engines.transaction.world import OpenRequest, OpenTransaction
from docket.formats.reason import Reason
from docket.formats.workspace.state import SurfaceRules
from docket.host.confined import ConfinedTree
from matrix_lab import Trial, put_file, saved, told, world_at
from tree_lab import CountedCalls

CALLS = 30


def staged(place: Path) -> Trial:
    """`d/a` is changed, `d/new` and `d/over` become names of `d/p`, which stays."""
    base = place / "base"
    (base / "d").mkdir(parents=True)
    put_file(base / "d/a", b"old a")
    put_file(base / "d/p", b"stays")
    put_file(base / "d/over", b"old")
    world = world_at(place, "copy")
    before = told(base)
    opened = open_transaction(OpenRequest(base=base, rules=SurfaceRules()), world)
    assert isinstance(opened, OpenTransaction)
    root = opened.stage.root
    put_file(root / "d/a", b"new a")
    (root / "d/over").unlink()
    os.link(root / "d/p", root / "d/over")
    os.link(root / "d/p", root / "d/new")
    return Trial(place, base, world, close_transaction(opened, world), before, told(root))


def modes(path: Path) -> None:
    path.chmod(0o600)


def in_place(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"mine")


def linked(path: Path) -> None:
    path.unlink()
    path.symlink_to("a")


DRIFTS: dict[str, Callable[[Path], None]] = {
    "saved": saved,
    "in place": in_place,
    "mode": modes,
    "gone": Path.unlink,
    "link": linked,
}


def commit(it: Trial, at: int, drift: Callable[[Path], None]):
    done: list[int] = []

    def rule(number: int, _name: str) -> None:
        if number == at and not done:
            done.append(number)
            drift(it.base / "d/p")

    if at < 0:
        drift(it.base / "d/p")
    with mock.patch.object(committing, "open_tree", lambda root: ConfinedTree(root, calls=CountedCalls(rule))):
        return commit_transaction(CommitRequest(closed=it.closed), it.world)


@pytest.mark.parametrize("drift", DRIFTS)
def test_the_file_changed_before_the_commit(drift, tmp_path):
    it = staged(tmp_path)
    outcome = commit(it, -1, DRIFTS[drift])
    assert isinstance(outcome, CommitRefused)
    assert outcome.reason is Reason.BASE_DRIFT
    assert {path.path.raw for path in outcome.paths} == {b"d/new", b"d/over"}
    assert all("d/p" in path.detail or drift in ("gone", "link") for path in outcome.paths), outcome.paths
    now = told(it.base)
    assert {path: now.get(path) for path in (b"d/a", b"d/over", b"d/new")} == {
        b"d/a": it.before[b"d/a"],
        b"d/over": it.before[b"d/over"],
        b"d/new": None,
    }
    drop_stage(it.closed.opened, it.world)


@pytest.mark.parametrize("drift", DRIFTS)
def test_the_file_changes_during_the_commit(drift, tmp_path):
    landed = 0
    for at in range(list(DRIFTS).index(drift), CALLS, 6):
        it = staged(tmp_path / str(at))
        outcome = commit(it, at, DRIFTS[drift])
        now = told(it.base)
        if isinstance(outcome, Committed):
            landed += 1
            names = {os.lstat(it.base / name).st_ino for name in ("d/new", "d/over")}
            assert len(names) == 1
            assert now[b"d/a"] == it.after[b"d/a"]
            if drift not in ("in place", "mode"):  # those go to the file, whichever names it has
                assert now[b"d/new"] == it.after[b"d/new"]
        else:
            assert {path: now.get(path) for path in (b"d/a", b"d/over", b"d/new")} == {
                b"d/a": it.before[b"d/a"],
                b"d/over": it.before[b"d/over"],
                b"d/new": None,
            }, (at, outcome)
        assert it.leftovers() == []
        drop_stage(it.closed.opened, it.world)
    assert landed
