"""Commits and recoveries that die at each call that changes something: the tree ends as it was or as planned.

By default at some of the calls, at each one under `slow`.
"""

from __future__ import annotations

import codecs
import errno
import os
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pytest

from commit_lab import NEW, Commits, told
from docket.engines.apply_recovery import Direction
from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.formats.tree.listing import Kind
from docket.formats.tree.plan import ABSENT, MakeDirectory, Remove, WriteFile
from docket.formats.workspace.state import Status
from docket.stores.workspace.journal import JournalFile
from sweeps import some
from tree_lab import (
    CountedCalls,
    Died,
    as_nobody,
    dies_at,
    fails_at,
    holds_directory,
    holds_file,
    p,
    plan_for,
    tree_of_nobody,
    whole,
    write,
)


@pytest.fixture
def sides(tmp_path):
    """The two sides of the plan, and how many calls lie between them."""
    model = Commits(tmp_path / "model")
    before = told(model.tree)
    calls = CountedCalls()
    model.commit(calls)
    assert model.status() is Status.COMMITTED
    assert not (model.folder / "journal").exists()
    return before, told(model.tree), len(calls.log)


def dead(place, at) -> Commits:
    commits = Commits(place)
    with pytest.raises(Died):
        commits.commit(CountedCalls(dies_at(at)))
    return commits


def check_over(commits: Commits, sides) -> None:
    """The tree is on one side, as the state says, and nothing is left to be recovered."""
    status = commits.status()
    assert told(commits.tree) == sides[status is Status.COMMITTED], status
    assert status in (Status.COMMITTED, Status.REFUSED)
    assert not (commits.folder / "journal").exists()
    with pytest.raises(UnavailableError):
        commits.recover()


@some(4)
def test_death_at_calls_then_recovery(tmp_path, sides, stride):
    ends = set()
    for at in range(0, sides[2], stride):
        commits = dead(tmp_path / str(at), at)
        done = commits.recover()
        assert done.is_over, done
        check_over(commits, sides)
        ends.add(commits.status())
    assert ends == {Status.COMMITTED, Status.REFUSED}


@some(9)
@pytest.mark.parametrize("direction", ["back", "forward"])
def test_death_at_calls_then_the_direction_asked_for(tmp_path, sides, direction, stride):
    reached = 0
    for at in range(2, sides[2], stride):
        commits = dead(tmp_path / str(at), at)
        done = commits.recover(direction=Direction(direction))
        if not done.is_over:  # what that direction needs is gone
            assert done.ended.blocked
            assert commits.recover().is_over
        check_over(commits, sides)
        reached += commits.status() is (Status.COMMITTED if direction == "forward" else Status.REFUSED)
    assert reached > 30 // stride


def sweep_recovery(place, sides, at, step: int) -> int:
    """Let the recovery of one death die at each call, and recover from that; return how many deaths there were."""
    count = 0
    while True:
        commits = dead(place / f"{at}-{count}", at)
        try:
            commits.recover(CountedCalls(dies_at(count)))
        except Died:
            assert commits.recover().is_over
            check_over(commits, sides)
        else:
            check_over(commits, sides)
            return count
        count += step


@pytest.mark.parametrize("part", range(4))
def test_death_of_the_recovery_too(tmp_path, sides, part):
    deaths = [sweep_recovery(tmp_path, sides, at, 5) for at in range(10 * part + 3, sides[2], 40)]
    assert sum(deaths) > 5


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_death_of_the_recovery_at_every_call(tmp_path, sides, part):
    deaths = [sweep_recovery(tmp_path, sides, at, 1) for at in range(part, sides[2], 8)]
    assert sum(deaths) > 100


@pytest.mark.slow
def test_a_recovery_that_dies_again_and_again(tmp_path, sides):
    for at in range(0, sides[2], 7):
        commits = dead(tmp_path / str(at), at)
        for count in range(60):
            try:
                commits.recover(CountedCalls(dies_at(count)))
            except Died:
                continue
            break
        check_over(commits, sides)


@some(6)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_failure_at_calls_of_the_commit(tmp_path, sides, code, stride):
    ends = set()
    for at in range(code % stride, sides[2], stride):
        commits = Commits(tmp_path / str(at))
        commits.commit(CountedCalls(fails_at(at, code)))
        if (commits.folder / "journal").exists():
            assert commits.recover().is_over
        ends.add(commits.status())
        check_over(commits, sides)
    assert ends == {Status.COMMITTED, Status.REFUSED}


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("at", [30, 75, 95, 110])
def test_a_failure_at_every_call_of_the_recovery(tmp_path, sides, code, at):
    count = 0
    while True:
        commits = dead(tmp_path / str(count), at)
        calls = CountedCalls(fails_at(count, code))
        try:
            over = commits.recover(calls).is_over
        except UnavailableError:
            over = False
        assert over or commits.recover().is_over
        check_over(commits, sides)
        if len(calls.log) <= count:
            break
        count += 2


@some(7)
@pytest.mark.parametrize("mark", ["prepared", "applied"])
def test_a_mark_that_stands_though_its_sync_failed(tmp_path, sides, mark, stride):
    """The disk said no to a mark that was written: all is put back, and who dies then ends on one side all the same."""
    written = getattr(JournalFile, mark)

    def failing(self, *given):
        written(self, *given)
        raise UnavailableError(Reason.WRITE_FAILED, "the disk said no")

    def commit(place, rule) -> tuple[Commits, CountedCalls]:
        commits, calls = Commits(place), CountedCalls(rule)
        with mock.patch.object(JournalFile, mark, failing), suppress(Died):
            commits.commit(calls)
        return commits, calls

    model, calls = commit(tmp_path / "whole", lambda number, name: None)
    check_over(model, sides)
    assert model.status() is Status.REFUSED
    first = calls.log.index("exchange" if mark == "applied" else "rename")
    ends = set()
    for at in range(first, len(calls.log), stride):
        commits, _ = commit(tmp_path / str(at), dies_at(at))
        assert commits.recover().is_over
        check_over(commits, sides)
        ends.add(commits.status())
    assert Status.REFUSED in ends


def closed(tree: Path):
    """Directories that their mode keeps closed to their owner: changed, removed, made and entered."""
    tree.mkdir()
    for name in ("ro", "ro/deep", "gone", "mode"):
        os.mkdir(tree / name)
    for name in ("ro/changed", "ro/deep/gone", "gone/in"):
        write(tree / name, b"old")
    for name in ("ro/deep", "ro", "gone", "mode"):
        (tree / name).chmod(0o555)
    return plan_for(
        tree,
        WriteFile(path=p("ro/changed"), precondition=holds_file(b"old"), content=NEW, mode=0o400),
        Remove(path=p("ro/deep/gone"), precondition=holds_file(b"old"), kind=Kind.FILE),
        Remove(path=p("gone/in"), precondition=holds_file(b"old"), kind=Kind.FILE),
        Remove(path=p("gone"), precondition=holds_directory(0o555), kind=Kind.DIRECTORY),
        MakeDirectory(path=p("mode"), precondition=holds_directory(0o555), mode=0o500),
        WriteFile(path=p("mode/in"), precondition=ABSENT, content=NEW, mode=0o444),
        MakeDirectory(path=p("made"), precondition=ABSENT, mode=0o500),
        WriteFile(path=p("made/in"), precondition=ABSENT, content=NEW, mode=0o444),
    )


def sweep_closed(place: Path, stride: int) -> None:
    model = Commits(place / "model", closed)
    before = told(model.tree)
    calls = CountedCalls()
    model.commit(calls)
    sides = before, told(model.tree)
    assert model.status() is Status.COMMITTED
    for at in range(0, len(calls.log), stride):
        for count in (None, 3, 11):
            commits = Commits(place / f"{at}-{count}", closed)
            with pytest.raises(Died):
                commits.commit(CountedCalls(dies_at(at)))
            if count is not None:
                try:
                    commits.recover(CountedCalls(dies_at(count)))
                except Died:
                    pass
                else:
                    continue
            done = commits.recover()
            assert done.is_over, str((at, count, [n[-30:] for n in whole(commits.tree) if n.startswith(b".")]))
            assert told(commits.tree) == sides[commits.status() is Status.COMMITTED], (at, count)


@some(5)
def test_death_at_calls_among_directories_that_are_closed(stride):
    codecs.lookup("ascii")  # loaded late, and nobody may not read it
    with tree_of_nobody() as place:
        as_nobody(lambda: sweep_closed(place, stride))
