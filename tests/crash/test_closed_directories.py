"""Calls that fail while directories of one's own are open for the moment, and descriptors that run out."""

from __future__ import annotations

import errno
import os
import resource
from contextlib import suppress

import pytest

from docket.engines.apply import Options, apply, open_tree
from docket.formats.reason import Reason
from docket.formats.tree.plan import ABSENT, MakeDirectory, StepStatus, WriteFile
from docket.host.confined import ConfinedTree
from fakes.memory_content import MemoryContent
from tree_lab import CountedCalls, as_nobody, holds_file, p, plan_for, root_of, tree_of_nobody, write

CONTENTS = MemoryContent()
NEW = CONTENTS.put([b"new"])
MODES = {"": 0o555, "ro": 0o555, "shut": 0o000}
FAILING = ("make_directory", "make_file", "write", "sync", "chmod")


def closed(tree):
    for name in ("ro", "shut"):
        (tree / name).mkdir()
        write(tree / name / "x", b"old")
    for name in reversed(MODES):
        os.chmod(tree / name, MODES[name])


def steps():
    return (
        WriteFile(path=p("ro/x"), precondition=holds_file(b"old"), content=NEW, mode=0o644),
        WriteFile(path=p("shut/x"), precondition=holds_file(b"old"), content=NEW, mode=0o644),
        MakeDirectory(path=p("made"), precondition=ABSENT, mode=0o500),
    )


def fails_nth(name, nth):
    """The nth call of a name fails; `done` tells whether it was reached."""
    seen, done = [], []

    def rule(_number, called):
        if called == name:
            seen.append(called)
            if len(seen) == nth and not done:
                done.append(True)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return rule, done


@pytest.mark.parametrize("name", FAILING)
def test_whatever_fails_leaves_nothing_open_and_nothing_behind(name):
    """A directory that may not be closed again is all that may stay, and that is told."""
    with tree_of_nobody() as home:

        def work():
            nth = 0
            while True:
                nth += 1
                tree = home / f"tree-{nth}"
                tree.mkdir()
                closed(tree)
                rule, done = fails_nth(name, nth)
                with ConfinedTree(os.fsencode(tree), calls=CountedCalls(rule)) as opened:
                    outcomes = apply(plan_for(tree, *steps()), CONTENTS, opened)
                    trouble = opened.trouble
                if not done:
                    assert {item.status for item in outcomes} == {StepStatus.APPLIED}
                    break
                modes = {part: os.stat(tree / part).st_mode & 0o777 for part in MODES}
                if trouble is None:
                    assert modes == MODES, nth
                    assert [entry for entry in os.listdir(tree) if entry.startswith(".docket")] == [], nth
            assert nth > 2

        as_nobody(work)


def test_a_mode_that_cannot_be_changed_refuses_the_path_and_leaves_no_note():
    with tree_of_nobody() as tree:

        def work():
            closed(tree)
            os.chmod(tree, 0o700)

            def rule(_number, name):
                if name == "chmod":
                    raise OSError(errno.EPERM, os.strerror(errno.EPERM))

            plan = plan_for(tree, steps()[0])
            with ConfinedTree(os.fsencode(tree), calls=CountedCalls(rule)) as opened:
                (outcome,) = apply(plan, CONTENTS, opened)
                assert (outcome.status, outcome.reason) == (StepStatus.FAILED, Reason.NOT_PERMITTED)
                assert opened.trouble is None
            assert sorted(os.listdir(tree)) == ["ro", "shut"]

        as_nobody(work)


def test_descriptors_that_run_out_are_an_outcome(tmp_path):
    write(tmp_path / "x", b"old")
    plan = plan_for(tmp_path, WriteFile(path=p("x"), precondition=holds_file(b"old"), content=NEW, mode=0o644))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with open_tree(os.fsencode(tmp_path)) as tree:
        held = []
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 256), hard))
            with suppress(OSError):
                while True:
                    held.append(os.dup(tree.descriptor))
            (outcome,) = apply(plan, CONTENTS, tree, Options())
        finally:
            for descriptor in held:
                os.close(descriptor)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert outcome.status is StepStatus.FAILED
    assert (tmp_path / "x").read_bytes() == b"old"
    assert root_of(tmp_path) == plan.root


def test_what_could_not_be_put_back_is_told_by_the_tree(tmp_path):
    """A person's own thing in the way keeps the staging directory, and its name is told."""

    class Meddled(CountedCalls):
        def unlink(self, parent, name):
            if name.startswith(b"0."):
                write(b"/proc/self/fd/%d/theirs" % parent, b"somebody's")
            super().unlink(parent, name)

    write(tmp_path / "x", b"old")
    plan = plan_for(tmp_path, WriteFile(path=p("x"), precondition=holds_file(b"old"), content=NEW, mode=0o644))
    with ConfinedTree(os.fsencode(tmp_path), calls=Meddled()) as tree:
        (outcome,) = apply(plan, CONTENTS, tree)
        (left,) = [name for name in os.listdir(tmp_path) if name.startswith(".docket")]
        assert tree.trouble is not None
        assert left in tree.trouble
    assert outcome.status is StepStatus.APPLIED
