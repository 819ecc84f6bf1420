"""Which windows belong together, and when nothing more can come of them (spec/windows.md, Groups).

Rules:
1. A window joins the group of its repository and mode that is not sealed and in which a tool is running; overlap is
   transitive. Otherwise it begins one.
2. An hour after its first window a group is sealed. How old it is, the monotonic clock says within one boot; after
   another boot the wall clock, which makes nothing older than it is by going back.
3. Sequence numbers order windows, not clocks.
"""

from __future__ import annotations

from docket.formats.dataclass import dataclass, replace
from docket.formats.windows.key import WindowKey, group_id
from docket.formats.windows.records import Completion, GroupFinal, Moment
from docket.formats.windows.registry import Closing, Group, OpenWindow, Registry, WindowStatus

HORIZON_MS = 60 * 60 * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A group whose tools have all ended, with its windows by sequence number and what was found at its end."""

    group: Group
    members: tuple[OpenWindow, ...]
    final: GroupFinal

    @property
    def reason(self) -> str | None:
        """Why nothing can be told of it, None where something can."""
        reasons = (self.group.reason, *(member.reason for member in self.members), self.final.reason)
        return next((reason for reason in reasons if reason is not None), None)


def elapsed_ms(since: Moment, until: Moment) -> int:
    """Return how long it was from one instant to another, at least 0."""
    if since.boot_id == until.boot_id:
        return max(until.monotonic_ms - since.monotonic_ms, 0)
    from datetime import datetime  # noqa: PLC0415 - after another boot alone

    gone = datetime.fromisoformat(until.at) - datetime.fromisoformat(since.at)
    return max(int(gone.total_seconds() * 1000), 0)


def is_over(group: Group, now: Moment) -> bool:
    """Whether a group is past its horizon."""
    return elapsed_ms(group.created, now) >= HORIZON_MS


def sealed(registry: Registry, now: Moment) -> Registry:
    """Return the registry in which every group past its horizon that is not being finished is sealed."""
    groups = (
        replace(group, sealed=True) if not group.sealed and group.closing is None and is_over(group, now) else group
        for group in registry.groups
    )
    return replace(registry, groups=tuple(groups))


def joinable(registry: Registry, key: WindowKey) -> Group | None:
    """Return the group that a new window of that key joins."""
    return next(
        (
            group
            for group in registry.groups
            if (group.repository, group.mode) == (key.repository, key.mode)
            and not group.sealed
            and registry.active(group.id)
        ),
        None,
    )


def closing_beside(registry: Registry, key: WindowKey) -> Closing | None:
    """Return how a group of the same repository and mode is being finished now, None where none is."""
    return next(
        (
            group.closing
            for group in registry.groups
            if group.closing is not None and (group.repository, group.mode) == (key.repository, key.mode)
        ),
        None,
    )


def group_for(registry: Registry, key: WindowKey, now: Moment) -> Group:
    """Return the group of a new window: one that it joins, or one that it begins."""
    return joinable(registry, key) or Group(
        id=group_id(key.window_id, registry.next_seq), repository=key.repository, mode=key.mode, created=now
    )


def begun(registry: Registry, window: OpenWindow, group: Group) -> Registry:
    """Return the registry with a new window, which has the next sequence number."""
    added = replace(window, seq=registry.next_seq, group_id=group.id)
    return replace(registry, next_seq=registry.next_seq + 1).with_group(group).with_window(added)


def completed(registry: Registry, window: OpenWindow, completion: Completion) -> Registry:
    """Return the registry in which a window's tool has ended."""
    done = replace(window, status=WindowStatus.COMPLETE, completion=completion)
    return replace(registry, epoch=registry.epoch + 1).with_window(done)


def given_up(registry: Registry, window: OpenWindow, reason: str) -> Registry:
    """Return the registry without a window that has evidence of its own; its group can tell nothing whole any more."""
    group = registry.group(window.group_id)
    rest = replace(
        registry,
        epoch=registry.epoch + 1,
        windows=tuple(other for other in registry.windows if other.key != window.key),
    )
    if not rest.members(group.id):
        return rest.without_group(group.id)
    return rest.with_group(replace(group, reason=group.reason or reason))


def attempts(group: Group) -> int:
    """Return how often somebody began to finish a group."""
    return 0 if group.closing is None else group.closing.attempts


def is_interfered(registry: Registry, group: Group) -> bool:
    """Whether a tool of the same repository and mode began before the look after a group was over."""
    closing = group.closing
    return closing is not None and any(
        window.seq >= closing.seq and (window.key.repository, window.key.mode) == (group.repository, group.mode)
        for window in registry.windows
    )
