"""Hooks that die at any step of the disk: afterwards the same delta comes out, or a partial that says why."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

import windows_lab
from disks.faulty_disk import FaultyDisk, never, stop_at
from docket.engines.windows.finish import resume_groups
from docket.engines.windows.world import Outcome, Said
from docket.errors import DocketError
from docket.formats.process_identity import ProcessIdentity
from docket.formats.windows.delta import Limits, encode_delta
from docket.formats.windows.names import PartialReason, Status
from docket.formats.windows.registry import WindowStatus
from docket.host.disk import SYSTEM_DISK
from docket.host.liveness import own_identity
from windows_lab import WindowsLab, told

MOST_STEPS = 400
WANTED = {"a": ("edit", [], ["4"])}


class StoppedClock:
    """A clock that stands still, so that equal windows have equal bytes."""

    def now(self) -> str:
        return "2026-01-01T00:00:00.000Z"

    def monotonic_ns(self) -> int:
        return 0


def dead() -> ProcessIdentity:
    """A process of this boot that is gone."""
    return ProcessIdentity(pid=2**22 + 1, started="1", boot_id=own_identity().boot_id)


def at(lab: WindowsLab, disk: FaultyDisk | None = None) -> WindowsLab:
    """The lab as another process sees it: one that is dead afterwards where it works on a faulty disk."""
    reopen = windows_lab.reopened if (lab.tree / ".git").exists() else windows_lab.reopened_folder
    other = reopen(lab.root, disk=disk or SYSTEM_DISK)
    world = replace(other.world, clock=StoppedClock())
    other.world = world if disk is None else replace(world, owner=dead)
    return other


def dying(lab: WindowsLab, count: int, use: str, *, post: bool) -> bool:
    """A hook that dies after so many steps; whether it came to its end before."""
    disk = FaultyDisk(SYSTEM_DISK)
    try:
        other = at(lab, disk)
        disk.log.clear()
        disk.rule = stop_at(count)
        with suppress(DocketError):
            _ = other.post(use) if post else other.pre(use)
    finally:
        disk.rule = never
    return disk.steps <= count


def append(lab: WindowsLab, text: str) -> None:
    with (lab.tree / "a").open("a") as file:
        file.write(text)


def recovered(lab: WindowsLab, use: str) -> Outcome:
    """What comes of the window, once another process has seen to what was left, and the hook comes a second time."""
    survivor = at(lab)
    registry = survivor.world.registry.read()
    window = registry.window(survivor.key(use))
    if window is None or window.status is WindowStatus.COMPLETE:
        append(lab, "later\n")  # nobody may take this for the tool's
    resume_groups(survivor.world, windows_lab.deadline())
    return survivor.post(use)


def outcome_is_right(lab: WindowsLab, outcome: Outcome) -> None:
    delta = lab.delta(outcome)
    if delta.status is Status.COMPLETE:
        assert told(delta) == WANTED
    else:
        assert delta.reason in (PartialReason.POST_SNAPSHOT_LOST, PartialReason.REGISTRY_LOCK_TIMEOUT)
    assert lab.world.registry.read().groups == ()


@pytest.mark.parametrize(
    "stride", [4, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.timeout(300)])], ids=["some", "every"]
)
def test_a_post_that_dies_at_any_step_gives_the_same_bytes_or_says_what_was_lost(tmp_path, stride):
    found, done = [], False
    for count in range(0, MOST_STEPS, stride):
        lab = windows_lab.folder_lab(tmp_path / str(count))
        at(lab).pre("u")
        append(lab, "4\n")
        done = dying(lab, count, "u", post=True)
        outcome = recovered(lab, "u")
        outcome_is_right(lab, outcome)
        # How much had to be read for it is a matter of the instant, not of the death.
        found.append(replace(lab.delta(outcome), limits=Limits(files_observed=1)))
        shutil.rmtree(lab.root)
        if done:
            break
    assert done
    whole = [encode_delta(delta) for delta in found if delta.status is Status.COMPLETE]
    assert len(set(whole)) == 1
    assert len(whole) > len(found) / 3 > 5


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_post_in_a_git_worktree_may_die_at_any_step_too(tmp_path):
    lab = windows_lab.git_lab(tmp_path)
    for count in range(0, MOST_STEPS, 5):
        use = f"u{count}"
        (lab.tree / "a").write_text("1\n2\n3\n")
        at(lab).pre(use)
        append(lab, "4\n")
        done = dying(lab, count, use, post=True)
        outcome_is_right(lab, recovered(lab, use))
        if done:
            break
    assert done


def test_a_pre_that_dies_at_any_step_leaves_a_window_or_none(tmp_path):
    lab = windows_lab.folder_lab(tmp_path)
    for count in range(MOST_STEPS):
        use = f"u{count}"
        (lab.tree / "a").write_text("1\n2\n3\n")
        done = dying(lab, count, use, post=False)
        if not done:
            assert at(lab).pre(use).said in (Said.OPENED, Said.KNOWN, Said.SETTLED)
        append(lab, "4\n")
        outcome = at(lab).post(use)
        delta = lab.delta(outcome)
        assert delta.status is Status.PARTIAL or told(delta) == WANTED
        assert lab.world.registry.read().groups == ()
        if done:
            break
    assert done


def test_garbage_that_a_death_left_changes_nothing(tmp_path):
    lab = windows_lab.folder_lab(tmp_path)
    for folder in ("", "closed", "deltas", "finals", "tombstones", "partials", "kept"):
        (lab.windows / folder).mkdir(exist_ok=True)
        Path(lab.windows / folder / ".x.json.0123456789abcdef.tmp").write_bytes(b"{")
    lab.pre("u")
    append(lab, "4\n")
    assert told(lab.delta(lab.post("u"))) == WANTED
