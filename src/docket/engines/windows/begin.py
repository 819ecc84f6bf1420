"""A tool is about to run: look at the tree, and register the window (spec/windows.md, Begin).

Rules:
1. Whoever comes twice changes nothing: the tree as it was at the first time is the one that counts. What is over, or
   has a tombstone, opens nothing.
2. The tree is looked at without the lock. If a tool ended meanwhile and none runs with which the window overlaps, it
   is looked at again, the last time under the lock: what that tool did is not this one's.
3. Who joins a group in which a tool is running needs no look: the tree before a group is that of its first window. So
   those who begin at once look one after another, and all but the first find a group to join.
4. While somebody looks at the tree after another group, a window waits, so that its tool does not run into that look.
5. A look that fails opens the window all the same, with the reason; a registry that cannot be had leaves a tombstone.
"""

from __future__ import annotations

import time

from docket.engines.windows.buried import without_buried
from docket.engines.windows.closers import is_left
from docket.engines.windows.world import BeginRequest, Outcome, Said, WindowsWorld
from docket.errors import PartialEvidenceError
from docket.formats.dataclass import replace
from docket.formats.windows.key import pre_ref
from docket.formats.windows.names import PartialReason
from docket.formats.windows.records import Moment, Tombstone
from docket.formats.windows.registry import Baseline, OpenWindow, Registry, WindowStatus
from docket.host.git_program import Deadline, GitTimeoutError
from docket.rules.windows.grouping import begun, closing_beside, group_for, joinable, sealed

MAX_LOOKS = 3
WAIT_SHARE = 0.5
"""How much of the budget a window waits at most for a look after another group."""
TURN_SHARE = 0.4
"""How much of the budget a window waits at most for the looks of those who began before it."""
_PAUSE_SECONDS = 0.01
_LOOK_SHARE_SECONDS = 0.3
"""What is left of the budget for the registry when a look runs out of time."""


def begin(request: BeginRequest, world: WindowsWorld, deadline: Deadline | None = None) -> Outcome:
    """Open the window of a tool that is about to run, by the deadline of the hook or that of one that begins now.

    OPENED or KNOWN with the window, SETTLED where it is over already, PARTIAL where nothing will be known of it.
    """
    deadline, started = deadline or world.deadline(), world.moment()
    settled = _settled(request, world)
    if settled is not None:
        return settled
    try:
        return _begin(request, world, deadline, started)
    except PartialEvidenceError as error:
        tombstone = Tombstone(key=request.key, at=started.at, reason=error.reason)
        reason = world.evidence.bury(tombstone).reason
        return Outcome(said=Said.PARTIAL, reason=reason, detail=error.detail)


def _settled(request: BeginRequest, world: WindowsWorld) -> Outcome | None:
    window_id = request.key.window_id
    closed = world.evidence.closed(window_id)
    tombstone = world.evidence.tombstone(window_id)
    if closed is None and tombstone is None:
        return None
    reason = tombstone.reason if tombstone is not None else None
    return Outcome(said=Said.SETTLED, closed=closed, reason=reason)


def _begin(request: BeginRequest, world: WindowsWorld, deadline: Deadline, started: Moment) -> Outcome:
    wait_until = time.monotonic() + world.budget_seconds * WAIT_SHARE
    with world.registry.in_turn(world.budget_seconds * TURN_SHARE):
        return _in_turn(request, world, deadline, started, wait_until)


def _in_turn(
    request: BeginRequest, world: WindowsWorld, deadline: Deadline, started: Moment, wait_until: float
) -> Outcome:
    looks, seen = 0, -1
    found: Baseline | PartialEvidenceError | None = None
    while True:
        registry = world.registry.read()
        known = registry.window(request.key)
        if known is not None:
            return Outcome(said=Said.KNOWN, window=known)
        if _shared(registry, request) is None and (found is None or registry.epoch != seen):
            seen, looks = registry.epoch, looks + 1
            found = _looked(world, deadline)
        with world.registry.held(_wait(deadline)) as held:
            registry = without_buried(sealed(held.registry, started), world)
            held.publish(registry)  # or the next turn would find again what is found here
            known, settled = registry.window(request.key), _settled(request, world)
            if known is not None or settled is not None:
                return settled or Outcome(said=Said.KNOWN, window=known)
            alone, before = joinable(registry, request.key) is None, _shared(registry, request) or found
            again = before is None or (alone and registry.epoch != seen)
            if again and looks >= MAX_LOOKS:
                before, again = _looked(world, deadline), False  # while the lock is held no tool ends
            busy = alone and _is_busy(registry, request) and time.monotonic() < wait_until
            if before is not None and not again and not busy:
                window = _registered(request, world, registry, started, before)
                held.publish(begun(registry, window, group_for(registry, request.key, started)))
                return Outcome(said=Said.OPENED, window=held.registry.window(request.key), reason=window.reason)
        if busy:
            time.sleep(_PAUSE_SECONDS)


def _shared(registry: Registry, request: BeginRequest) -> Baseline | None:
    """Return the tree before the group that the window would join, None where there is none."""
    group = joinable(registry, request.key)
    return None if group is None else registry.members(group.id)[0].baseline


def _looked(world: WindowsWorld, deadline: Deadline) -> Baseline | PartialEvidenceError:
    try:
        early = Deadline(at_ns=deadline.at_ns - int(_LOOK_SHARE_SECONDS * 1e9))
        return world.tree.look(early).baseline
    except PartialEvidenceError as error:
        return error


def _wait(deadline: Deadline) -> float:
    try:
        return deadline.seconds_left()
    except GitTimeoutError as error:
        raise PartialEvidenceError(PartialReason.TIMEOUT, error.detail) from error


def _is_busy(registry: Registry, request: BeginRequest) -> bool:
    return not is_left(closing_beside(registry, request.key))


def _registered(
    request: BeginRequest,
    world: WindowsWorld,
    registry: Registry,
    started: Moment,
    found: Baseline | PartialEvidenceError,
) -> OpenWindow:
    group = group_for(registry, request.key, started)
    window = OpenWindow(
        key=request.key,
        tool_name=request.tool_name,
        group_id=group.id,
        seq=registry.next_seq,
        status=WindowStatus.ACTIVE,
        started=started,
        reason=PartialReason.SNAPSHOT_STORE_UNAVAILABLE,
        command_summary=request.command_summary,
        record=world.record,
        use=request.use,
    )
    if isinstance(found, PartialEvidenceError):
        return replace(window, reason=found.reason)
    ref = pre_ref(world.tree.repository, group.id, request.key)
    try:
        world.tree.keep(ref, found.tree)
    except PartialEvidenceError as error:
        return replace(window, reason=error.reason)
    return replace(window, reason=None, baseline=found, ref=ref)
