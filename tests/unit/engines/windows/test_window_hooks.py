"""Hooks twice, late, reversed, missing and at once: what becomes of windows and groups, by hand."""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass, replace

import pytest

import windows_lab
from docket.engines.windows.begin import begin
from docket.engines.windows.finish import resume_groups
from docket.engines.windows.reclaim import reclaim_sealed
from docket.engines.windows.world import BeginRequest, Said
from docket.errors import UnavailableError
from docket.formats.process_identity import ProcessIdentity
from docket.formats.reason import Reason
from docket.formats.windows.names import PartialReason, Scope, Status
from docket.host.clock import SystemClock
from docket.host.git_program import Deadline
from docket.host.holding import Holding
from docket.stores.windows.registry_file import REGISTRY
from windows_lab import WindowsLab, told, write

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@dataclass
class Clock:
    """A clock that is set by hand."""

    wall_s: int = 0
    monotonic_s: int = 0

    def now(self) -> str:
        hours, seconds = divmod(self.wall_s, 3600)
        return f"2026-01-01T{hours:02d}:{seconds // 60:02d}:{seconds % 60:02d}.000Z"

    def monotonic_ns(self) -> int:
        return self.monotonic_s * 1_000_000_000


@pytest.fixture(params=["git", "folder"])
def lab(request, tmp_path) -> WindowsLab:
    if request.param == "git" and shutil.which("git") is None:
        pytest.skip("needs git")
    return windows_lab.git_lab(tmp_path) if request.param == "git" else windows_lab.folder_lab(tmp_path)


def append(lab: WindowsLab, text: str, name: str = "a") -> None:
    with (lab.tree / name).open("a") as file:
        file.write(text)


def test_a_second_pre_does_not_move_the_beginning(lab):
    assert lab.pre("u").said is Said.OPENED
    append(lab, "4\n")
    assert lab.pre("u").said is Said.KNOWN
    assert told(lab.delta(lab.post("u"))) == {"a": ("edit", [], ["4"])}


def test_a_second_post_changes_nothing(lab):
    lab.pre("u")
    append(lab, "4\n")
    first = lab.post("u")
    append(lab, "5\n")
    second = lab.post("u")
    assert (second.said, second.closed) == (Said.KNOWN, first.closed)
    assert lab.pre("u").said is Said.SETTLED


def test_a_post_without_a_pre_is_partial_and_a_later_pre_opens_nothing(lab):
    closed = lab.post("u")
    assert (closed.said, closed.reason) == (Said.PARTIAL, PartialReason.PRE_SNAPSHOT_MISSING)
    assert (lab.delta(closed).status, lab.delta(closed).files) == (Status.PARTIAL, ())
    assert lab.world.evidence.tombstone(lab.key("u").window_id).reason == PartialReason.PRE_SNAPSHOT_MISSING
    assert lab.pre("u").said is Said.SETTLED
    assert lab.world.registry.read().windows == ()
    lab.pre("v")
    append(lab, "4\n")
    assert told(lab.delta(lab.post("v"))) == {"a": ("edit", [], ["4"])}


def test_overlapping_tools_are_one_group_without_an_author(lab):
    lab.pre("u", session_id="one")
    append(lab, "u\n")
    lab.pre("v", session_id="two")
    append(lab, "v\n")
    assert lab.post("u", session_id="one").said is Said.WAITING
    lab.pre("w", session_id="one")
    append(lab, "w\n")
    assert lab.post("v", session_id="two").said is Said.WAITING
    last = lab.post("w", session_id="one")
    delta = lab.delta(last)
    assert (delta.scope, told(delta)) == (Scope.CONCURRENT_GROUP, {"a": ("edit", [], ["u", "v", "w"])})
    assert [(use.tool_use_id, delta.actors[use.actor].session_id) for use in delta.tool_uses] == [
        ("u", "one"), ("w", "one"), ("v", "two")]  # fmt: skip
    every = [lab.world.evidence.closed(lab.key(name, session_id=session).window_id)
             for name, session in (("u", "one"), ("v", "two"), ("w", "one"))]  # fmt: skip
    assert {record.delta_sha256 for record in every} == {last.closed.delta_sha256}
    lab.pre("x")
    append(lab, "x\n")
    assert told(lab.delta(lab.post("x"))) == {"a": ("edit", [], ["x"])}


def test_tools_after_one_another_each_have_their_own(lab):
    for number in range(3):
        lab.pre(f"u{number}")
        append(lab, f"{number}\n")
        assert told(lab.delta(lab.post(f"u{number}"))) == {"a": ("edit", [], [str(number)])}


def test_sixteen_tools_at_once_leave_no_tombstone_and_lose_no_line(lab):
    ready = threading.Barrier(16)

    def run(number: int) -> None:
        ready.wait()
        lab.pre(f"u{number}")
        write(lab.tree / f"f{number}", f"{number}\n")
        lab.post(f"u{number}")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(lab.world.evidence.every_tombstone()) == []
    assert lab.world.registry.read().windows == ()
    records = list(lab.world.evidence.every_closed())
    deltas = {record.delta_sha256: lab.world.evidence.delta(record.delta_sha256) for record in records}
    uses = sorted(use.tool_use_id for delta in deltas.values() for use in delta.tool_uses)
    assert (len(records), uses) == (16, sorted(f"u{number}" for number in range(16)))
    for delta in deltas.values():
        assert delta.reason is None
        assert {f"f{use.tool_use_id[1:]}" for use in delta.tool_uses} == {str(file.path) for file in delta.files}


def held_by_somebody(lab: WindowsLab) -> Holding:
    folder = lab.world.registry._disk.folder(lab.windows)
    with folder:
        return folder.hold("lock", exclusive=True, wait_seconds=1.0)


def test_a_lock_that_cannot_be_had_leaves_a_tombstone_and_the_later_post_tells_nothing_newer(lab):
    lab.pre("u")
    append(lab, "4\n")
    quick = replace(lab.world, budget_seconds=0.2)
    held = held_by_somebody(lab)
    lab.world = quick
    first = lab.post("u")
    held.release()
    assert (first.said, first.reason) == (Said.PARTIAL, PartialReason.REGISTRY_LOCK_TIMEOUT)
    append(lab, "later\n")
    lab.world = replace(quick, budget_seconds=windows_lab.SECONDS)
    assert lab.post("u").closed == first.closed
    lab.pre("v")
    append(lab, "5\n")
    assert told(lab.delta(lab.post("v"))) == {"a": ("edit", [], ["5"])}
    assert lab.world.registry.read().groups == ()


def test_a_pre_that_cannot_have_the_lock_opens_nothing_and_its_post_says_why(lab):
    held = held_by_somebody(lab)
    lab.world = replace(lab.world, budget_seconds=0.4)
    outcome = lab.pre("u")
    held.release()
    assert outcome.said is Said.PARTIAL
    lab.world = replace(lab.world, budget_seconds=windows_lab.SECONDS)
    closed = lab.post("u")
    assert (closed.said, closed.reason) == (Said.PARTIAL, outcome.reason)


def test_an_hour_seals_a_group_by_the_monotonic_clock_and_not_by_the_wall(lab):
    clock = Clock()
    lab.world = replace(lab.world, clock=clock)
    lab.pre("u")
    clock.wall_s = 2 * 3600
    clock.monotonic_s = 60
    lab.pre("v")
    assert len(lab.world.registry.read().groups) == 1
    clock.monotonic_s = 3600
    lab.pre("w")
    groups = lab.world.registry.read().groups
    assert sorted(group.sealed for group in groups) == [False, True]
    late = lab.post("u")
    assert (late.said, late.reason) == (Said.PARTIAL, PartialReason.STALE_ACTIVE_WINDOW)
    append(lab, "w\n")
    assert told(lab.delta(lab.post("w"))) == {"a": ("edit", [], ["w"])}


def test_after_another_boot_the_wall_clock_tells_how_old_a_group_is(lab):
    clock = Clock(monotonic_s=10_000)
    lab.world = replace(lab.world, clock=clock, owner=lambda: ProcessIdentity(pid=1, started="1", boot_id="one"))
    lab.pre("u")
    lab.world = replace(lab.world, owner=lambda: ProcessIdentity(pid=1, started="1", boot_id="two"))
    clock.monotonic_s, clock.wall_s = 5, 1800
    lab.pre("v")
    assert len(lab.world.registry.read().groups) == 1
    clock.wall_s = 3600
    lab.pre("w")
    assert len(lab.world.registry.read().groups) == 2


def test_a_sealed_group_is_reclaimed_with_a_partial_for_what_ended_and_a_tombstone_for_all(lab):
    clock = Clock()
    lab.world = replace(lab.world, clock=clock)
    lab.pre("u")
    lab.pre("v")
    assert lab.post("u").said is Said.WAITING
    clock.monotonic_s = 3601
    lab.pre("w")
    (reclaimed,) = reclaim_sealed(lab.world, windows_lab.deadline())
    assert (reclaimed.completed, reclaimed.tombstoned) == (1, 2)
    closed = lab.world.evidence.closed(lab.key("u").window_id)
    assert (closed.status, closed.reason) == (Status.PARTIAL, PartialReason.STALE_ACTIVE_WINDOW)
    assert lab.world.evidence.closed(lab.key("v").window_id) is None
    assert {stone.key.tool_use_id for stone in lab.world.evidence.every_tombstone()} == {"u", "v"}
    assert [window.key.tool_use_id for window in lab.world.registry.read().windows] == ["w"]
    assert len(lab.store.refs()) == 1
    late = lab.post("v")
    assert (late.said, late.reason) == (Said.PARTIAL, PartialReason.STALE_ACTIVE_WINDOW)
    assert reclaim_sealed(lab.world, windows_lab.deadline()) == ()


def test_a_sealed_group_that_cannot_be_reclaimed_keeps_no_other_from_it(lab, monkeypatch):
    clock = Clock()
    lab.world = replace(lab.world, clock=clock)
    for hour, use in enumerate(("first", "second", "third")):
        clock.monotonic_s = 3601 * hour
        lab.pre(use)
    registry = lab.world.registry.read()
    broken, whole = (group.id for group in registry.groups if group.sealed)
    (stuck,) = registry.members(broken)
    bury = lab.world.evidence.bury

    def buried(tombstone):
        if tombstone.key == stuck.key:
            raise UnavailableError(Reason.NO_SPACE, "there is no room")
        return bury(tombstone)

    monkeypatch.setattr(lab.world.evidence, "bury", buried)
    assert reclaim_sealed(lab.world, Deadline.within(0)) == ()  # the first one takes what time there is
    (reclaimed,) = reclaim_sealed(lab.world, windows_lab.deadline())
    assert (reclaimed.group_id, reclaimed.tombstoned) == (whole, 1)
    groups = lab.world.registry.read().groups
    assert {group.id: group.sealed for group in groups if group.sealed} == {broken: True}
    assert len(groups) == 2


def test_a_corrupt_registry_stops_everything_and_is_left_as_it_is(lab):
    lab.pre("u")
    path = lab.windows / REGISTRY
    damaged = path.read_bytes().replace(b'"seq":1', b'"seq":9')
    path.write_bytes(damaged)
    for attempt in (lambda: lab.pre("v"), lambda: lab.post("u")):
        with pytest.raises(UnavailableError) as refused:
            attempt()
        assert refused.value.reason == Reason.REGISTRY_CORRUPT
    assert path.read_bytes() == damaged


def test_two_pres_of_one_tool_at_once_are_one_window(lab):
    ready, outcomes = threading.Barrier(2), []

    def run() -> None:
        ready.wait()
        outcomes.append(begin(BeginRequest(key=lab.key("u"), tool_name="Bash"), lab.world))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcome.said for outcome in outcomes) == [Said.KNOWN, Said.OPENED]
    assert len(lab.world.registry.read().windows) == 1


def test_a_finisher_that_died_before_it_looked_leaves_a_partial_never_a_later_look(lab, monkeypatch):
    lab.pre("u")
    append(lab, "4\n")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(lab.store, "look", die)
    with pytest.raises(KeyboardInterrupt):
        lab.post("u")
    monkeypatch.undo()
    append(lab, "later\n")
    gone = replace(lab.world, owner=lambda: ProcessIdentity(pid=1, started="another", boot_id="another"))
    registry = lab.world.registry
    with registry.held(1.0) as held:
        (group,) = held.registry.groups
        dead = replace(group.closing, owner=ProcessIdentity(pid=2**22 + 1, started="1", boot_id=gone.owner().boot_id))
        held.publish(held.registry.with_group(replace(group, closing=dead)))
    assert resume_groups(lab.world, windows_lab.deadline()) == 1
    closed = lab.world.evidence.closed(lab.key("u").window_id)
    assert (closed.status, closed.reason) == (Status.PARTIAL, PartialReason.POST_SNAPSHOT_LOST)
    assert registry.read().groups == ()


def test_the_clock_of_the_machine_is_the_default(lab):
    assert isinstance(lab.world.clock, SystemClock)


def test_a_group_that_cannot_be_finished_keeps_no_other_from_it(lab, monkeypatch):
    gone = ProcessIdentity(pid=2**22 + 1, started="1", boot_id=lab.world.owner().boot_id)
    own, lab.world = lab.world, replace(lab.world, owner=lambda: gone)
    with monkeypatch.context() as patch:
        patch.setattr("docket.engines.windows.complete.finish_group", lambda *_, **__: None)
        for use in ("first", "second"):
            lab.pre(use)
            lab.post(use)
    lab.world = own
    groups = {window.key.tool_use_id: window.group_id for window in own.registry.read().windows}
    broken, whole = groups["first"], groups["second"]
    settle_final = own.evidence.settle_final

    def settled(final):
        if final.group_id == broken:
            raise UnavailableError(Reason.NO_SPACE, "there is no room")
        return settle_final(final)

    monkeypatch.setattr(own.evidence, "settle_final", settled)
    with pytest.raises(UnavailableError, match="no room"):
        resume_groups(own, windows_lab.deadline())

    assert own.evidence.closed(lab.key("second").window_id).group_id == whole
    assert [group.id for group in own.registry.read().groups] == [broken]
