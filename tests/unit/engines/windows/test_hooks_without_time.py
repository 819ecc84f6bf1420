"""Hooks that run out of time, and those that begin at once: what is known is said, and one look serves them all."""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass, replace

import pytest

import windows_lab
from docket.engines.windows.give_up import give_up_beginning, give_up_end
from docket.engines.windows.world import BeginRequest, CompleteRequest, Said
from docket.errors import PartialEvidenceError
from docket.formats.windows.names import PartialReason
from docket.formats.windows.registry import Baseline
from docket.host.git_program import Deadline
from docket.stores.windows.looked import Looked, TreeStore
from windows_lab import WindowsLab, told, write


@pytest.fixture(params=["git", "folder"])
def lab(request, tmp_path) -> WindowsLab:
    if request.param == "git" and shutil.which("git") is None:
        pytest.skip("needs git")
    return windows_lab.git_lab(tmp_path) if request.param == "git" else windows_lab.folder_lab(tmp_path)


@dataclass
class CountingTree:
    """A store of trees that counts the looks before tools; the first `fails` of them have no time."""

    inner: TreeStore
    looks: int = 0
    fails: int = 0

    def look(self, deadline: Deadline, before: Baseline | None = None) -> Looked:
        self.looks += before is None
        if self.looks <= self.fails:
            raise PartialEvidenceError(PartialReason.TIMEOUT, "there was no time")
        return self.inner.look(deadline, before)

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


def counting(lab: WindowsLab) -> CountingTree:
    tree = CountingTree(lab.store)
    lab.world = replace(lab.world, tree=tree)
    return tree


def give_up_pre(lab: WindowsLab, use: str):
    return give_up_beginning(BeginRequest(key=lab.key(use), tool_name="Bash"), lab.world)


def give_up_post(lab: WindowsLab, use: str):
    return give_up_end(CompleteRequest(key=lab.key(use), tool_name="Bash"), lab.world)


def test_a_beginning_without_time_opens_nothing_and_its_end_says_why(lab):
    assert give_up_pre(lab, "u").reason == PartialReason.TIMEOUT
    assert lab.pre("u").said is Said.SETTLED
    closed = lab.post("u")
    assert (closed.said, closed.reason) == (Said.PARTIAL, PartialReason.TIMEOUT)


def test_a_window_that_was_opened_just_before_stays_open(lab):
    lab.pre("u")
    assert give_up_pre(lab, "u") is None
    write(lab.tree / "a", "1\n2\n3\n4\n")
    assert told(lab.delta(lab.post("u"))) == {"a": ("edit", [], ["4"])}
    assert give_up_pre(lab, "u") is give_up_post(lab, "u") is None


def test_an_end_without_time_closes_its_window_and_the_next_tool_has_its_own(lab):
    lab.pre("u")
    write(lab.tree / "a", "1\n2\n3\n4\n")
    first = give_up_post(lab, "u")
    assert (first.closed.reason, lab.delta(first).files) == (PartialReason.TIMEOUT, ())
    assert lab.post("u").closed == first.closed
    lab.pre("v")
    write(lab.tree / "a", "1\n2\n3\n4\n5\n")
    assert told(lab.delta(lab.post("v"))) == {"a": ("edit", [], ["5"])}
    assert lab.world.registry.read().groups == ()


def test_an_end_without_time_and_without_a_window_says_that_its_beginning_is_missing(lab):
    assert give_up_post(lab, "u").closed.reason == PartialReason.PRE_SNAPSHOT_MISSING


def test_an_end_that_was_published_is_left_to_who_finishes_it(lab):
    lab.pre("u")
    lab.pre("v")
    lab.post("u")
    assert give_up_post(lab, "u") is None
    write(lab.tree / "a", "1\n2\n3\n4\n")
    assert told(lab.delta(lab.post("v"))) == {"a": ("edit", [], ["4"])}


def test_who_joins_needs_no_look(lab):
    tree = counting(lab)
    lab.pre("u")
    write(lab.tree / "a", "1\n2\n3\n4\n")
    lab.pre("v")
    write(lab.tree / "a", "1\n2\n3\n4\n5\n")
    assert lab.post("u").said is Said.WAITING
    lab.pre("w")
    assert tree.looks == 1
    lab.post("v")
    assert told(lab.delta(lab.post("w"))) == {"a": ("edit", [], ["4", "5"])}
    lab.pre("x")
    assert tree.looks == 2
    write(lab.tree / "a", "1\n2\n3\n4\n5\n6\n")
    assert told(lab.delta(lab.post("x"))) == {"a": ("edit", [], ["6"])}


def test_who_joins_a_group_of_which_nothing_is_known_looks_and_the_group_stays_partial(lab):
    tree = counting(lab)
    tree.fails = 1
    lab.pre("u")
    assert tree.looks == 1
    lab.pre("v")
    assert tree.looks == 2
    lab.post("u")
    assert lab.delta(lab.post("v")).reason == PartialReason.TIMEOUT


def test_of_those_who_begin_at_once_one_looks(lab):
    tree, ready, count = counting(lab), threading.Barrier(8), 8

    def begin(number: int) -> None:
        ready.wait()
        lab.pre(f"u{number}")

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tree.looks == 1
    assert len(lab.world.registry.read().windows) == count
    baselines = {window.baseline.tree for window in lab.world.registry.read().windows}
    assert len(baselines) == 1


def test_a_turn_that_cannot_be_had_is_not_waited_for_longer_than_its_share(lab):
    lab.world = replace(lab.world, budget_seconds=3.0)
    with lab.world.registry.in_turn(0.0):
        assert lab.pre("u").said is Said.OPENED


def test_an_end_without_time_beside_a_tool_that_runs_on_is_an_end_like_another(lab):
    lab.pre("u")
    lab.pre("v")
    write(lab.tree / "a", "1\n2\n3\n4\n")
    assert give_up_post(lab, "u") is None
    assert give_up_post(lab, "u") is None, "it stands in the registry"
    write(lab.tree / "a", "1\n2\n3\n4\n5\n")
    closed = lab.post("v")
    assert told(lab.delta(closed)) == {"a": ("edit", [], ["4", "5"])}
    assert sorted(use.tool_use_id for use in lab.delta(closed).tool_uses) == ["u", "v"]
    assert lab.world.evidence.closed(lab.key("u").window_id).reason is None


def test_an_end_without_time_is_a_partial_one_where_the_registry_cannot_be_had_at_once(lab):
    lab.pre("u")
    lab.pre("v")
    with lab.world.registry.held(1.0):
        assert give_up_post(lab, "u").reason == PartialReason.TIMEOUT
    assert lab.post("v").reason == PartialReason.TIMEOUT, "of the group nothing whole is known"
