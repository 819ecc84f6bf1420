"""The processes of a run are gone: its windows that are open are closed, and groups that wait for nobody are finished.

Rules (spec/windows.md, In a run):
1. A window whose tool nobody has ended gets its partial delta with PROCESS_GONE and a tombstone, and leaves the
   registry; its group can tell nothing whole any more.
2. Windows of others are not touched; a group that waits only for windows of the run is finished.
3. A run that was killed left nobody to do that. Whoever opens the next window does it: the run is gone when nobody
   holds its ledger. Of a run whose ledger is not known nothing is done. It takes a share of its hook's time for that.
4. When the time is over what is left is the next one's, and so is what cannot be closed; one window is closed whatever
   time there is.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress

from docket.engines.windows.buried import without_buried
from docket.engines.windows.complete import without_window
from docket.engines.windows.finish import resume_groups
from docket.engines.windows.world import CompleteRequest, WindowsWorld
from docket.errors import DocketError
from docket.formats.windows.names import PartialReason
from docket.formats.windows.registry import OpenWindow, WindowStatus
from docket.host.git_program import Deadline
from docket.host.locks import is_held

GONE = "interrupted"
"""How a tool ended that was running when its processes were ended."""
LEAVE_SHARE = 0.25
"""How much of a hook's time goes into the windows of others at most."""
_LOCK_SECONDS = 1.0


def leave_killed(world: WindowsWorld, deadline: Deadline) -> None:
    """Close the open windows of runs that were killed; what cannot be told now is left for the next."""
    share = Deadline.within(world.budget_seconds * LEAVE_SHARE)
    until = Deadline(at_ns=min(deadline.at_ns, share.at_ns))
    with suppress(DocketError):
        active = [window for window in world.registry.read().windows if window.status is WindowStatus.ACTIVE]
        others = {window.record for window in active} - {None, world.record}
        gone = {session_id for session_id in others if session_id is not None and _is_gone(session_id, world)}
        if gone:
            leave([window.key.window_id for window in active if window.record in gone], world, until)


def _is_gone(session_id: str, world: WindowsWorld) -> bool:
    from docket.stores.ledger_reader import LOCK_SUFFIX  # noqa: PLC0415 - for windows of runs alone

    ledger = world.evidence.ledger_of(session_id)
    return ledger is not None and not is_held(ledger.with_name(ledger.name + LOCK_SUFFIX))


def leave(window_ids: Collection[str], world: WindowsWorld, deadline: Deadline) -> None:
    """Close the open ones of these windows while there is time, and finish what waits for nobody else."""
    wanted = frozenset(window_ids)
    for window in world.registry.read().windows:
        if window.key.window_id in wanted and window.status is WindowStatus.ACTIVE:
            with suppress(DocketError):
                without_window(_gone(window), world, world.moment(), PartialReason.PROCESS_GONE)
            if deadline.is_over():
                break
    with suppress(DocketError), world.registry.held(0.0 if deadline.is_over() else _LOCK_SECONDS) as held:
        held.publish(without_buried(held.registry, world))
    with suppress(DocketError):
        resume_groups(world, deadline)


def _gone(window: OpenWindow) -> CompleteRequest:
    return CompleteRequest(
        key=window.key,
        tool_name=window.tool_name,
        event_id=None if window.record is None else f"{window.record}.{window.key.window_id}",
        command_summary=window.command_summary,
        outcome=GONE,
        use=window.use,
    )
