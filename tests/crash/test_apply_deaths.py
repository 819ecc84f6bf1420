"""An apply that dies at each call that changes something, or whose call fails: every path is as it was or as planned.

What is left over is cleared by the next one, which then finishes the plan.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from docket.engines.apply import Mode, Options, apply, leftover_names, open_tree, sweep
from docket.formats.tree.listing import Kind
from docket.formats.tree.plan import (
    ABSENT,
    ANYTHING,
    Link,
    MakeDirectory,
    MakeSymlink,
    Remove,
    SetMode,
    StepStatus,
    WriteFile,
)
from docket.host.confined import ConfinedTree
from docket.host.leftovers import LeftoverState
from fakes.memory_content import MemoryContent
from sweeps import some
from tree_lab import (
    CountedCalls,
    Died,
    dies_at,
    fails_at,
    holds_directory,
    holds_file,
    holds_link,
    p,
    plain,
    plan_for,
    whole,
    write,
)

CONTENTS = MemoryContent()
NEW = CONTENTS.put([b"new"])
SPARSE = CONTENTS.put([b"x" + bytes(100_000)])


def build(tree: Path):
    """A tree, and a plan with every kind of step for it."""
    tree.mkdir()
    write(tree / "changed", b"old")
    write(tree / "retyped", b"old")
    write(tree / "gone", b"old")
    write(tree / "mode", b"old", 0o600)
    os.mkdir(tree / "empty", 0o755)
    os.mkdir(tree / "full", 0o755)
    write(tree / "full/inside", b"in")
    os.symlink("one", tree / "link")
    os.mkdir(tree / "becomes-link", 0o755)
    return plan_for(
        tree,
        WriteFile(path=p("changed"), precondition=holds_file(b"old"), content=NEW, mode=0o640, mtime_ns=10**18),
        MakeDirectory(path=p("retyped"), precondition=holds_file(b"old"), mode=0o555),
        WriteFile(path=p("retyped/f"), precondition=ABSENT, content=SPARSE, mode=0o444, sparse=True),
        Remove(path=p("gone"), precondition=holds_file(b"old"), kind=Kind.FILE),
        SetMode(path=p("mode"), precondition=holds_file(b"old", 0o600), mode=0o644),
        WriteFile(path=p("empty"), precondition=holds_directory(), content=NEW, mode=0o644),
        Remove(path=p("full/inside"), precondition=ANYTHING, kind=Kind.FILE),
        Remove(path=p("full"), precondition=holds_directory(), kind=Kind.DIRECTORY),
        MakeSymlink(path=p("link"), precondition=holds_link("one"), target=b"two"),
        MakeSymlink(path=p("becomes-link"), precondition=holds_directory(), target=b"full"),
        MakeSymlink(path=p("added"), precondition=ABSENT, target=b"../.."),
        Link(path=p("twin"), precondition=ABSENT, to=p("changed")),
    )


def run(tree: Path, plan, calls=None, options=None):
    with ConfinedTree(os.fsencode(tree), calls=calls or CountedCalls()) as opened:
        return apply(plan, CONTENTS, opened, options)


def swept(tree: Path):
    with open_tree(os.fsencode(tree)) as opened:
        found = sweep(opened)
        assert leftover_names(opened) == ()
    return found


@pytest.fixture
def sides(tmp_path):
    """The plan's two sides, told without inodes, and how many calls lie between them."""
    plan = build(tmp_path / "model")
    before = plain(whole(tmp_path / "model"))
    calls = CountedCalls()
    assert {item.status for item in run(tmp_path / "model", plan, calls)} == {StepStatus.APPLIED}
    return before, plain(whole(tmp_path / "model")), len(calls.log)


def check(tree: Path, sides):
    """Every path is on one side; but for staging directories nothing else is there."""
    before, after, _ = sides
    now = {path: state for path, state in plain(whole(tree)).items() if not path.startswith(b".docket-apply-")}
    absent = ("absent",)
    for path in {*before, *after, *now}:
        sides_of_it = {before.get(path, absent), after.get(path, absent)}
        if path == b"retyped":  # a directory closed to its owner is open until what it holds is there
            sides_of_it.add(("directory", 0o755))
        assert now.get(path, absent) in sides_of_it, path


@pytest.mark.parametrize("mode", Mode)
def test_death_at_every_call(tmp_path, sides, mode):
    count, deaths = 0, 0
    while True:
        tree = tmp_path / f"tree-{count}"
        plan = build(tree)
        try:
            run(tree, plan, CountedCalls(dies_at(count)), Options(mode=mode))
        except Died:
            deaths += 1
        else:
            break
        check(tree, sides)
        assert all(item.state is LeftoverState.REMOVED for item in swept(tree))
        check(tree, sides)
        outcomes = run(tree, plan)
        assert {item.status for item in outcomes} <= {StepStatus.APPLIED, StepStatus.ALREADY}, outcomes
        assert plain(whole(tree)) == sides[1]
        count += 1
    assert deaths == count > 60


@some(3)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EMLINK])
def test_a_failure_at_calls(tmp_path, sides, code, stride):
    failures = 0
    for count in range(0, sides[2], stride):
        tree = tmp_path / f"tree-{count}"
        plan = build(tree)
        before = plain(whole(tree))
        outcomes = run(tree, plan, CountedCalls(fails_at(count, code)))
        now = plain(whole(tree))
        failed = [item for item in outcomes if item.status in (StepStatus.FAILED, StepStatus.REFUSED)]
        failures += bool(failed)
        for item in failed:
            assert item.reason, item
            assert item.detail, item
            if item.path.raw != b"retyped":
                assert now.get(item.path.raw) == before.get(item.path.raw), (count, item)
        check(tree, sides)
        swept(tree)
        run(tree, plan)
        assert plain(whole(tree)) == sides[1], count
    assert failures > 40 // stride


PROGRAM = """
import os, sys
sys.path.insert(0, sys.argv[3])
from pathlib import Path
from crash.test_apply_deaths import CONTENTS, build, run
from tree_lab import CountedCalls
tree, at = Path(sys.argv[1]), int(sys.argv[2])
def rule(number, name):
    if number == at:
        os.kill(os.getpid(), 9)
run(tree, build(tree), CountedCalls(rule))
"""


@pytest.mark.parametrize("at", [0, 3, 9, 17, 24, 33, 41, 52, 60, 65])
def test_a_real_kill(tmp_path, sides, at):
    tree = tmp_path / "tree"
    tests = Path(__file__).parents[1]
    child = subprocess.run([sys.executable, "-c", PROGRAM, tree, str(at), tests], check=False)
    assert child.returncode == -signal.SIGKILL
    check(tree, sides)
    swept(tree)
    check(tree, sides)


def test_a_live_apply_is_left_alone(tree_of_one):
    tree, plan = tree_of_one
    seen = []

    def rule(number, name):
        if name == "exchange":
            with open_tree(os.fsencode(tree)) as other:
                seen.extend(sweep(other))

    assert run(tree, plan, CountedCalls(rule))[0].status is StepStatus.APPLIED
    assert [item.state for item in seen] == [LeftoverState.IN_USE]
    assert os.listdir(tree) == ["x"]


@pytest.fixture
def tree_of_one(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    write(tree / "x", b"old")
    step = WriteFile(path=p("x"), precondition=holds_file(b"old"), content=NEW, mode=0o644)
    return tree, plan_for(tree, step)


def dies_after(name):
    """Nothing happens after the first call of that name."""
    seen = []

    def rule(_number, met):
        if seen:
            raise Died
        if met == name:
            seen.append(met)

    return rule


def test_a_save_that_was_displaced_when_it_died_comes_back(tree_of_one):
    tree, plan = tree_of_one
    after = dies_after("exchange")

    def rule(number, name):
        after(number, name)
        if name == "exchange":
            write(tree / "saved", b"an edit")
            os.rename(tree / "saved", tree / "x")

    with pytest.raises(Died):
        run(tree, plan, CountedCalls(rule))
    assert (tree / "x").read_bytes() == b"new"
    swept(tree)
    assert (tree / "x").read_bytes() == b"an edit"


def test_what_cannot_come_back_stays_and_is_told(tree_of_one):
    tree, plan = tree_of_one
    after = dies_after("exchange")

    def rule(number, name):
        after(number, name)
        if name == "exchange":
            write(tree / "x", b"an edit")

    with pytest.raises(Died):
        run(tree, plan, CountedCalls(rule))
    write(tree / "saved", b"and another")
    os.rename(tree / "saved", tree / "x")
    for _ in range(2):
        with open_tree(os.fsencode(tree)) as opened:
            (left,) = sweep(opened)
        assert left.state is LeftoverState.KEPT
        assert left.plan == plan.digest
        (name,) = [name for name in os.listdir(tree / os.fsdecode(left.name)) if name.startswith("0.")]
        assert name in left.detail
        assert (tree / os.fsdecode(left.name) / name).read_bytes() == b"an edit"
        assert (tree / "x").read_bytes() == b"and another"


def test_what_was_promised_to_somebody_is_not_swept(tree_of_one):
    tree, plan = tree_of_one

    class Sink:
        def keep(self, path, state, content):
            raise Died

    with pytest.raises(Died):
        run(tree, plan, options=Options(keep=Sink()))
    with open_tree(os.fsencode(tree)) as opened:
        (left,) = sweep(opened)
    assert left.state is LeftoverState.KEPT
    assert "what stood at x" in left.detail
