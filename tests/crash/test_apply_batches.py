"""Many steps that are made durable together: deaths, failures of the disk and other applies in the midst of a batch."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from docket.engines import apply_batches
from docket.engines.apply import Mode, Options, apply, open_tree, sweep
from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.formats.tree.listing import Kind
from docket.formats.tree.plan import (
    ABSENT,
    ANYTHING,
    MakeDirectory,
    MakeSymlink,
    Remove,
    SetMode,
    StepStatus,
    WriteFile,
)
from docket.host import syncing
from docket.host.confined import ConfinedTree
from fakes.memory_content import MemoryContent
from sweeps import some
from tree_lab import CountedCalls, Died, dies_at, fails_at, holds_file, p, plain, plan_for, whole, write

CONTENTS = MemoryContent()
NEW = CONTENTS.put([b"new"])
DONE = {StepStatus.APPLIED, StepStatus.ALREADY}
WAYS = ("one by one", "threads", "as one")


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Batches of seven steps, synced in each of the ways there are."""
    monkeypatch.setattr(apply_batches, "BATCH_STEPS", 7)
    monkeypatch.setattr(syncing, "FEW", 100 if request.param == "one by one" else 2)
    monkeypatch.setattr(syncing, "MANY", 2 if request.param == "as one" else 1000)
    monkeypatch.setattr(syncing, "MAX_TOUCHED", 1 if request.param == "as one" else 64)
    return request.param


def build(tree: Path):
    """Three batches of every kind, in several directories."""
    tree.mkdir()
    steps = []
    for name in ("a", "b", "c"):
        os.mkdir(tree / name, 0o755)
        write(tree / name / "gone", b"old")
        write(tree / name / "mode", b"old", 0o600)
        steps += [
            Remove(path=p(f"{name}/gone"), precondition=holds_file(b"old"), kind=Kind.FILE),
            SetMode(path=p(f"{name}/mode"), precondition=holds_file(b"old", 0o600), mode=0o644),
            MakeSymlink(path=p(f"{name}/link"), precondition=ABSENT, target=b"mode"),
            MakeDirectory(path=p(f"{name}/sub"), precondition=ABSENT, mode=0o755),
            WriteFile(path=p(f"{name}/sub/f"), precondition=ABSENT, content=NEW, mode=0o444),
        ]
        for number in range(2):
            write(tree / name / f"{number}", b"old")
            step = WriteFile(path=p(f"{name}/{number}"), precondition=holds_file(b"old"), content=NEW, mode=0o644)
            steps.append(step)
    return plan_for(tree, *steps)


def run(tree: Path, plan, calls=None, options=None):
    with ConfinedTree(os.fsencode(tree), calls=calls or CountedCalls()) as opened:
        return apply(plan, CONTENTS, opened, options)


def now(tree: Path):
    return {path: state for path, state in plain(whole(tree)).items() if not path.startswith(b".docket-apply-")}


@pytest.fixture
def sides(tmp_path, way):
    plan = build(tmp_path / "model")
    before, calls = now(tmp_path / "model"), CountedCalls()
    assert {item.status for item in run(tmp_path / "model", plan, calls)} == {StepStatus.APPLIED}
    with open_tree(os.fsencode(tmp_path)) as opened:
        as_one = syncing.syncs_as_one(opened.descriptor)
    assert ("sync_file_system" in calls.log) is (way == "as one" and as_one)
    return before, now(tmp_path / "model"), len(calls.log)


def check(tree: Path, sides):
    found, absent = now(tree), ("absent",)
    for path in {*sides[0], *sides[1], *found}:
        assert found.get(path, absent) in (sides[0].get(path, absent), sides[1].get(path, absent)), path


def finish(tree: Path, plan, sides):
    with open_tree(os.fsencode(tree)) as opened:
        assert all(item.detail is None for item in sweep(opened))
    check(tree, sides)
    assert {item.status for item in run(tree, plan)} <= DONE
    assert now(tree) == sides[1]
    assert sorted(os.listdir(tree)) == ["a", "b", "c"]


@some(4)
@pytest.mark.parametrize("mode", Mode)
def test_death_at_calls_of_a_batch(tmp_path, sides, mode, stride):
    deaths = 0
    for count in range(0, sides[2], stride):
        tree = tmp_path / f"tree-{count}"
        plan = build(tree)
        try:
            run(tree, plan, CountedCalls(dies_at(count)), Options(mode=mode))
        except Died:
            deaths += 1
        check(tree, sides)
        finish(tree, plan, sides)
    assert deaths > 30 // stride


def fails_from(count: int, code: int, names: tuple[str, ...]):
    """From a call on, every call of these names fails."""

    def rule(number, name):
        if number >= count and name in names:
            raise OSError(code, os.strerror(code))

    return rule


NEEDS_ROOM = ("make_file", "make_directory", "make_symlink", "write", "sync", "sync_file_system")


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_disk_that_is_full_or_broken_from_some_call_on(tmp_path, sides, code, mode):
    for count in range(0, sides[2], 9):
        tree = tmp_path / f"tree-{count}"
        plan = build(tree)
        outcomes = run(tree, plan, CountedCalls(fails_from(count, code, NEEDS_ROOM)), Options(mode=mode))
        check(tree, sides)
        undone = [item for item in outcomes if item.status not in DONE]
        assert all(item.reason and item.detail for item in undone)
        if mode is Mode.ALL_OR_NOTHING and undone:
            assert not [item for item in outcomes if item.status is StepStatus.APPLIED]
        finish(tree, plan, sides)


@pytest.mark.parametrize("code", [errno.EIO, errno.EDQUOT])
def test_one_failure_at_every_call_of_a_batch(tmp_path, sides, code):
    for count in range(0, sides[2], 3):
        tree = tmp_path / f"tree-{count}"
        plan = build(tree)
        run(tree, plan, CountedCalls(fails_at(count, code)))
        check(tree, sides)
        finish(tree, plan, sides)


def test_contents_are_durable_before_anything_changes_and_names_before_anything_goes(tmp_path, sides):
    tree = tmp_path / "tree"
    plan, calls = build(tree), CountedCalls()
    run(tree, plan, calls)
    log = [name for name in calls.log if name in ("exchange", "unlink", "write", "sync", "sync_file_system")]
    synced = [number for number, name in enumerate(log) if name.startswith("sync")]
    exchanges = [number for number, name in enumerate(log) if name == "exchange"]
    assert len(exchanges) == 6
    for number in exchanges:
        written = max(at for at, name in enumerate(log[:number]) if name == "write")
        assert any(written < at < number for at in synced), log
        gone = next(at for at, name in enumerate(log) if at > number and name == "unlink")
        assert any(number < at < gone for at in synced), log


class Sink:
    def __init__(self, fails=False):
        self.fails, self.kept, self.flushed = fails, 0, 0

    def keep(self, path, state, content):
        self.kept += 1

    def flush(self):
        if self.fails and self.kept:
            raise UnavailableError(Reason.NO_SPACE, "no room for it")
        self.flushed = self.kept


@pytest.mark.parametrize("mode", Mode)
def test_nothing_goes_before_the_sink_has_it_for_good(tmp_path, sides, mode):
    tree = tmp_path / "tree"
    plan, sink = build(tree), Sink()

    def rule(_number, name):
        if name == "unlink" and sink.kept:
            assert sink.flushed == sink.kept

    assert {item.status for item in run(tree, plan, CountedCalls(rule), Options(keep=sink, mode=mode))} <= DONE
    assert sink.flushed == sink.kept == 9


@pytest.mark.parametrize("mode", Mode)
def test_what_the_sink_loses_is_put_back(tmp_path, sides, mode):
    tree = tmp_path / "tree"
    plan = build(tree)
    before = now(tree)
    outcomes = run(tree, plan, options=Options(keep=Sink(fails=True), mode=mode))
    assert Reason.NO_SPACE in {item.reason for item in outcomes}
    assert not [item for item in outcomes if item.status is StepStatus.APPLIED]
    assert now(tree) == before


def test_two_applies_at_once(tmp_path, sides):
    """Both have the same plan: every step is done once, by either, and neither harms the other."""
    tree = tmp_path / "tree"
    plan = build(tree)
    ended = []
    threads = [threading.Thread(target=lambda: ended.append(run(tree, plan))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ended) == 3
    for outcomes in zip(*ended, strict=True):
        assert any(item.status in DONE for item in outcomes), outcomes
    finish(tree, plan, sides)


def test_links_that_change_in_a_loop_are_never_followed(tmp_path, way):
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    plan = build(tree)
    outside.mkdir()
    for name in ("gone", "mode", "0", "1"):
        write(outside / name, b"old", 0o600 if name == "mode" else 0o644)
    untouched = whole(outside)
    os.symlink(outside, tree / "other")
    done = threading.Event()

    def swap():
        while not done.is_set():
            os.rename(tree / "b", tree / "was")
            os.rename(tree / "other", tree / "b")
            os.rename(tree / "b", tree / "other")
            os.rename(tree / "was", tree / "b")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(5):
            run(tree, plan)
    finally:
        done.set()
        thread.join()
    assert whole(outside) == untouched
    with open_tree(os.fsencode(tree)) as opened:
        sweep(opened)
    run(tree, plan)
    assert plain(whole(tree))[b"b/0"] == ("file", 0o644, b"new")
    outcomes = applied_again(tree)
    assert outcomes == {StepStatus.APPLIED}


def applied_again(tree: Path):
    plan = plan_for(tree, *(Remove(path=p(f"b/{n}"), precondition=ANYTHING, kind=Kind.FILE) for n in range(2)))
    return {item.status for item in run(tree, plan)}
