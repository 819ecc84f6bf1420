"""A hook has no time left: say so in a few small files, so that a tool is never unknown without a reason.

Rules (spec/windows.md, Hooks):
1. What the registry says already stands: a window that was opened stays open, one that was completed is finished by
   whoever comes next.
2. Otherwise the window gets a tombstone, and after its tool a partial delta, both with TIMEOUT. Neither a look nor the
   registry's lock is needed: who holds the registry next takes out a window with a tombstone.
"""

from __future__ import annotations

from docket.engines.windows.complete import without_window
from docket.engines.windows.world import BeginRequest, CompleteRequest, Outcome, Said, WindowsWorld
from docket.formats.windows.names import PartialReason
from docket.formats.windows.records import Tombstone
from docket.formats.windows.registry import WindowStatus


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
    reason = PartialReason.TIMEOUT if window is not None else PartialReason.PRE_SNAPSHOT_MISSING
    return without_window(request, world, world.moment(), reason if buried is None else buried.reason)
