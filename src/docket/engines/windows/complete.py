"""A tool has ended: complete its window, and finish its group when it was the last (spec/windows.md, Complete).

Rules:
1. A window is completed once. Whoever comes again, or after the record says it is over, changes nothing.
2. Without a window there is a partial delta with the reason, and a tombstone: a tool whose beginning comes later opens
   nothing. The same holds where the registry cannot be had in time, and for a window of a sealed group.
3. That the last tool of a group has ended, and who looks at the tree for it, is published in one step before the look.
"""

from __future__ import annotations

from docket.engines.windows.buried import without_buried
from docket.engines.windows.finish import finish_group, make_partial
from docket.engines.windows.world import CompleteRequest, Outcome, Said, WindowsWorld
from docket.errors import DocketError, PartialEvidenceError
from docket.formats.dataclass import dataclass, replace
from docket.formats.windows.names import PartialReason
from docket.formats.windows.records import Completion, Moment, PendingPartial, Tombstone
from docket.formats.windows.registry import Closing, OpenWindow, WindowStatus
from docket.host.git_program import Deadline, GitTimeoutError
from docket.rules.windows.grouping import completed, sealed

LOCK_RESERVE_SECONDS = 0.3
"""What is left of the budget, when the lock was waited for in vain, to say so."""


def complete(request: CompleteRequest, world: WindowsWorld, deadline: Deadline | None = None) -> Outcome:
    """Close the window of a tool that has ended, by the deadline of the hook or that of one that begins now.

    CLOSED with the record of it, WAITING while a tool that overlapped runs on, KNOWN where it was over before,
    PARTIAL with the record and the reason where nothing can be told.
    """
    deadline, now = deadline or world.deadline(), world.moment()
    closed = world.evidence.closed(request.key.window_id)
    if closed is not None:
        return Outcome(said=Said.KNOWN, closed=closed)
    try:
        published = _completed(request, world, deadline, now)
    except PartialEvidenceError as error:
        return without_window(request, world, now, error.reason)
    if published is None:
        buried = world.evidence.tombstone(request.key.window_id)
        reason = PartialReason.PRE_SNAPSHOT_MISSING if buried is None else buried.reason
        return without_window(request, world, now, reason)
    if published.is_sealed:
        return without_window(request, world, now, PartialReason.STALE_ACTIVE_WINDOW)
    window = published.window
    if not published.is_last:
        return Outcome(said=Said.KNOWN if published.is_known else Said.WAITING, window=window)
    try:
        finish_group(window.group_id, world, deadline, may_look=True)
    except DocketError as error:
        return Outcome(said=Said.WAITING, window=window, reason=error.reason, detail=error.detail)
    closed = world.evidence.closed(request.key.window_id)
    return Outcome(said=Said.CLOSED, closed=closed, reason=None if closed is None else closed.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Published:
    """What the registry says of a window whose tool has ended; `is_last` for whoever must finish its group."""

    window: OpenWindow
    is_known: bool = False
    is_last: bool = False
    is_sealed: bool = False


def without_window(request: CompleteRequest, world: WindowsWorld, now: Moment, reason: str) -> Outcome:
    """Give a tool of which nothing can be told its partial delta, and its window a tombstone."""
    pending = PendingPartial(
        key=request.key,
        event_id=request.event_id or event_id(request, world),
        reason=reason,
        tool_name=request.tool_name,
        at=now.at,
        command_summary=request.command_summary,
        outcome=request.outcome,
        use=request.use,
    )
    world.evidence.bury(Tombstone(key=request.key, at=now.at, reason=reason))
    closed = make_partial(world.evidence.pend(pending), world)
    return Outcome(said=Said.PARTIAL, closed=closed, reason=closed.reason)


def event_id(request: CompleteRequest, world: WindowsWorld) -> str:
    """Return the name of the event that a tool has ended: it begins with the run's session, where there is one."""
    if world.record is not None:
        return f"{world.record}.{request.key.window_id}"
    return f"{request.key.window_id}.post"


def completion_of(request: CompleteRequest, world: WindowsWorld, now: Moment) -> Completion:
    """Return what is taken down of a tool's end."""
    return Completion(
        moment=now,
        event_id=request.event_id or event_id(request, world),
        command_summary=request.command_summary,
        outcome=request.outcome,
    )


def _completed(request: CompleteRequest, world: WindowsWorld, deadline: Deadline, now: Moment) -> _Published | None:
    """Publish that the tool has ended; None where it has no window."""
    with world.registry.held(_wait(deadline)) as held:
        registry = without_buried(sealed(held.registry, now), world)
        window = registry.window(request.key)
        if window is None or window.status is WindowStatus.COMPLETE or registry.group(window.group_id).sealed:
            held.publish(registry)
            if window is None:
                return None
            return _Published(window=window, is_known=True, is_sealed=registry.group(window.group_id).sealed)
        registry = completed(registry, window, completion_of(request, world, now))
        is_last = not registry.active(window.group_id)
        if is_last:
            closing = Closing(owner=world.owner(), attempts=1, seq=registry.next_seq)
            registry = registry.with_group(replace(registry.group(window.group_id), closing=closing))
        held.publish(registry)
        return _Published(window=window, is_last=is_last)


def _wait(deadline: Deadline) -> float:
    try:
        return max(deadline.seconds_left() - LOCK_RESERVE_SECONDS, 0.0)
    except GitTimeoutError as error:
        raise PartialEvidenceError(PartialReason.TIMEOUT, error.detail) from error
