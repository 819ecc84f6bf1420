"""A hook has no time left: say so in a few small files, so that a tool is never unknown without a reason.

Rules (spec/windows.md, Hooks):
1. What the registry says already stands: a window that was opened stays open, one that was completed is finished by
   whoever comes next.
2. The end of a tool beside which another of its group runs needs no look: it is published where the registry can be had
   at once, and the group is told of when the last of them has ended.
3. Otherwise the window gets a tombstone, and after its tool a partial delta, both with TIMEOUT. Neither a look nor the
   registry's lock is needed: who holds the registry next takes out a window with a tombstone.
"""

from __future__ import annotations

from contextlib import suppress

from docket.engines.windows.complete import completion_of, without_window
from docket.engines.windows.world import BeginRequest, CompleteRequest, Outcome, Said, WindowsWorld
from docket.errors import DocketError
from docket.formats.windows.names import PartialReason
from docket.formats.windows.records import Tombstone
from docket.formats.windows.registry import WindowStatus
from docket.rules.windows.grouping import completed

_LOCK_SECONDS = 0.05


def give_up_beginning(request: BeginRequest, world: WindowsWorld) -> Outcome | None:
    """Let the window of a tool that is about to run not be opened; None where it is open or over."""
    window_id = request.key.window_id
    if world.registry.read().window(request.key) is not None or world.evidence.closed(window_id) is not None:
        return None
    tombstone = Tombstone(key=request.key, at=world.moment().at, reason=PartialReason.TIMEOUT)
    return Outcome(said=Said.PARTIAL, reason=world.evidence.bury(tombstone).reason)


def give_up_end(request: CompleteRequest, world: WindowsWorld) -> Outcome | None:
    """Close the window of a tool that has ended without a look; None where it is complete or over."""
    window_id = request.key.window_id
    if world.evidence.closed(window_id) is not None:
        return None
    window = world.registry.read().window(request.key)
    if window is not None and window.status is WindowStatus.COMPLETE:
        return None
    buried = world.evidence.tombstone(window_id)
    if window is not None and buried is None and _is_completed_beside(request, world):
        return None
    reason = PartialReason.TIMEOUT if window is not None else PartialReason.PRE_SNAPSHOT_MISSING
    return without_window(request, world, world.moment(), reason if buried is None else buried.reason)


def _is_completed_beside(request: CompleteRequest, world: WindowsWorld) -> bool:
    """Publish that a tool has ended if another one of its group runs on; whether that could be done."""
    with suppress(DocketError), world.registry.held(_LOCK_SECONDS) as held:
        registry, now = held.registry, world.moment()
        window = registry.window(request.key)
        if window is None or window.status is WindowStatus.COMPLETE or registry.group(window.group_id).sealed:
            return False
        if all(other.key == request.key for other in registry.active(window.group_id)):
            return False  # the last one must look
        held.publish(completed(registry, window, completion_of(request, world, now)))
        return True
    return False
