"""Looking at what a plan would do changes nothing: not even the modes of directories that must be opened to look."""

from __future__ import annotations

import os

import pytest

from docket.engines.apply import open_tree
from docket.engines.foresee import compare_contents, foresee
from docket.formats.tree.listing import Kind
from docket.formats.tree.plan import Remove, StepStatus, WriteFile
from fakes.memory_content import MemoryContent
from tree_lab import as_nobody, holds_directory, holds_file, p, plan_for, tree_of_nobody, write

CONTENTS = MemoryContent()
NEW = CONTENTS.put([b"new"])
MODES = {"": 0o555, "ro": 0o555, "ro/empty": 0o555, "blind": 0o300, "shut": 0o000}
CHANGED_FILES = ("top", "ro/x", "blind/x", "shut/x")


def closed(tree):
    for name in list(MODES)[1:]:
        os.mkdir(tree / name)
    for name in CHANGED_FILES:
        write(tree / name, b"old")
    for name in reversed(MODES):
        os.chmod(tree / name, MODES[name])


def plan_over(tree):
    steps = [
        WriteFile(path=p(name), precondition=holds_file(b"old"), content=NEW, mode=0o644) for name in CHANGED_FILES
    ]
    return plan_for(tree, *steps, Remove(path=p("ro/empty"), precondition=holds_directory(0o555), kind=Kind.DIRECTORY))


def modes(tree):
    found = {"": os.stat(tree).st_mode & 0o777}
    for folder, folders, _ in os.walk(tree):
        for name in folders:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, tree)] = os.stat(path).st_mode & 0o777
    return found


def test_a_dry_run_leaves_closed_directories_as_they_are():
    with tree_of_nobody() as tree:

        def work():
            closed(tree)
            with open_tree(os.fsencode(tree)) as opened:
                found = foresee(plan_over(tree), opened)
            assert [item.outcome for item in found] == [None] * 5
            assert modes(tree) == MODES

        as_nobody(work)


def test_a_directory_that_can_be_looked_into_is_never_opened_further():
    with tree_of_nobody() as tree:

        def work():
            closed(tree)
            seen = []
            with open_tree(os.fsencode(tree)) as opened:
                foresee(plan_over(tree), opened, lambda _done: seen.append(modes(tree)))
            assert [{name: found[name] for name in ("", "ro", "ro/empty")} for found in seen] == [
                {"": 0o555, "ro": 0o555, "ro/empty": 0o555}
            ] * 5

        as_nobody(work)


def test_a_dry_run_that_is_interrupted_leaves_them_too():
    with tree_of_nobody() as tree:

        def interrupt(done):
            if done == 4:
                raise KeyboardInterrupt

        def work():
            closed(tree)
            with pytest.raises(KeyboardInterrupt), open_tree(os.fsencode(tree)) as opened:
                foresee(plan_over(tree), opened, interrupt)
            assert modes(tree) == MODES

        as_nobody(work)


@pytest.mark.parametrize("shown", [1, 4])
def test_a_diff_leaves_them_too_shown_to_its_end_or_not(shown):
    with tree_of_nobody() as tree:

        def work():
            closed(tree)
            compared = compare_contents(plan_over(tree), os.fsencode(tree), CONTENTS)
            found = [next(compared) for _ in range(shown)]
            compared.close()
            assert [(item.before, item.after) for item in found] == [(b"old", b"new")] * shown
            assert modes(tree) == MODES

        as_nobody(work)


def test_an_outcome_is_told_where_a_step_would_not_be_done():
    with tree_of_nobody() as tree:

        def work():
            write(tree / "x", b"another")
            step = WriteFile(path=p("x"), precondition=holds_file(b"old"), content=NEW, mode=0o644)
            with open_tree(os.fsencode(tree)) as opened:
                (found,) = foresee(plan_for(tree, step), opened)
            assert found.outcome is not None
            assert found.outcome.status is StepStatus.REFUSED

        as_nobody(work)
