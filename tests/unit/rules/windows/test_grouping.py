"""Groups of windows by hand: who joins, what is over, what is left when one is given up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from docket.formats.process_identity import ProcessIdentity
from docket.formats.windows.key import WindowKey
from docket.formats.windows.names import Hashes
from docket.formats.windows.records import Completion, Moment
from docket.formats.windows.registry import Baseline, Closing, Group, OpenWindow, Registry, WindowStatus
from docket.rules.windows.grouping import (
    HORIZON_MS,
    begun,
    closing_beside,
    completed,
    elapsed_ms,
    given_up,
    group_for,
    is_interfered,
    joinable,
    sealed,
)

START = Moment(at="2026-01-01T00:00:00Z", monotonic_ms=1_000, boot_id="b")
KEY = WindowKey(repository="r", provider="claude", session_id="s", turn_id="t", tool_use_id="u")
OTHER = replace(KEY, tool_use_id="v")


def window(key: WindowKey) -> OpenWindow:
    return OpenWindow(
        key=key, tool_name="Bash", group_id="", seq=0, status=WindowStatus.ACTIVE, started=START, ref="refs/x",
        baseline=Baseline(tree="1" * 40, hashes=Hashes.SHA1, clock_us=1),
    )  # fmt: skip


def with_windows(*keys: WindowKey) -> Registry:
    registry = Registry()
    for key in keys:
        registry = begun(registry, window(key), group_for(registry, key, START))
    return registry


def test_a_second_window_joins_while_a_tool_runs_and_none_of_another_mode_does():
    registry = with_windows(KEY, OTHER, replace(KEY, mode="stage"))
    first, second, third = registry.windows
    assert (first.seq, second.seq, third.seq) == (1, 2, 3)
    assert first.group_id == second.group_id != third.group_id
    assert len(registry.groups) == 2
    assert registry.next_seq == 4


def test_nobody_joins_a_group_that_is_sealed_or_in_which_no_tool_runs():
    registry = with_windows(KEY)
    group = registry.groups[0]
    assert joinable(registry, OTHER) == group
    assert joinable(registry.with_group(replace(group, sealed=True)), OTHER) is None
    done = completed(registry, registry.windows[0], Completion(moment=START, event_id="e"))
    assert (joinable(done, OTHER), done.epoch) == (None, 1)


@pytest.mark.parametrize(
    ("boot_id", "at", "monotonic_ms", "wanted"),
    [("b", "2026-01-01T02:00:00Z", 1_500, 500), ("b", "2025-12-31T22:00:00Z", 4_601_000, 4_600_000),
     ("b", "2026-01-01T00:00:01Z", 500, 0), ("c", "2026-01-01T00:00:02.500Z", 7, 2_500),
     ("c", "2025-12-31T22:00:00Z", 10**9, 0)],
)  # fmt: skip
def test_time_is_by_the_monotonic_clock_in_one_boot_and_never_goes_back(boot_id, at, monotonic_ms, wanted):
    assert elapsed_ms(START, Moment(at=at, monotonic_ms=monotonic_ms, boot_id=boot_id)) == wanted


def test_a_group_is_sealed_at_its_horizon_and_not_while_somebody_finishes_it():
    registry = with_windows(KEY)
    just = replace(START, monotonic_ms=START.monotonic_ms + HORIZON_MS - 1)
    over = replace(START, monotonic_ms=START.monotonic_ms + HORIZON_MS)
    assert not sealed(registry, just).groups[0].sealed
    assert sealed(registry, over).groups[0].sealed
    closing = Closing(owner=ProcessIdentity(pid=1, started="1", boot_id="b"), attempts=1, seq=2)
    assert not sealed(registry.with_group(replace(registry.groups[0], closing=closing)), over).groups[0].sealed


def test_a_window_that_is_given_up_leaves_its_group_with_the_reason_or_nothing():
    registry = with_windows(KEY, OTHER)
    left = given_up(registry, registry.windows[0], "registry_lock_timeout")
    assert ([item.key for item in left.windows], left.groups[0].reason, left.epoch) == (
        [OTHER], "registry_lock_timeout", 1)  # fmt: skip
    assert given_up(left, left.windows[0], "timeout") == Registry(next_seq=3, epoch=2)


def test_a_tool_that_began_during_the_look_after_a_group_is_told():
    registry = with_windows(KEY)
    group = registry.groups[0]
    assert closing_beside(registry, OTHER) is None
    assert not is_interfered(registry, group)
    closing = Closing(owner=ProcessIdentity(pid=1, started="1", boot_id="b"), attempts=1, seq=registry.next_seq)
    done = completed(registry, registry.windows[0], Completion(moment=START, event_id="e"))
    done = done.with_group(replace(group, closing=closing))
    assert closing_beside(done, OTHER) == closing
    assert not is_interfered(done, done.groups[0])
    again = begun(done, window(OTHER), Group(id="1" * 32, repository="r", mode="tree", created=START))
    assert is_interfered(again, again.group(group.id))
    elsewhere = replace(OTHER, repository="q")
    again = begun(done, window(elsewhere), Group(id="1" * 32, repository="q", mode="tree", created=START))
    assert not is_interfered(again, again.group(group.id))
