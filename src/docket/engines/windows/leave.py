"""The processes of a run are gone: its windows that are open are closed, and groups that wait for nobody are finished.

Rules (spec/windows.md, In a run):
1. A window whose tool nobody has ended gets its partial delta with PROCESS_GONE and a tombstone, and leaves the
   registry; its group can tell nothing whole any more.
2. Windows of others are not touched; a group that waits only for windows of the run is finished.
3. A run that was killed left nobody to do that. Whoever opens the next window does it: the run is gone when nobody
   holds its ledger. Of a run whose ledger is not known nothing is done.
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
from docket.formats.windows.registry import WindowStatus
from docket.host.git_program import Deadline
from docket.host.locks import is_held
from docket.stores.ledger_reader import LOCK_SUFFIX

GONE = "interrupted"
"""How a tool ended that was running when its processes were ended."""
_LOCK_SECONDS = 1.0


def leave_killed(world: WindowsWorld, deadline: Deadline) -> None:
    """Close the open windows of runs that were killed; what cannot be told now is left for the next."""
    with suppress(DocketError):
        active = [window for window in world.registry.read().windows if window.status is WindowStatus.ACTIVE]
        others = {window.record for window in active} - {None, world.record}
        gone = {session_id for session_id in others if session_id is not None and _is_gone(session_id, world)}
        if gone:
            leave([window.key.window_id for window in active if window.record in gone], world, deadline)


def _is_gone(session_id: str, world: WindowsWorld) -> bool:
    ledger = world.evidence.ledger_of(session_id)
    return ledger is not None and not is_held(ledger.with_name(ledger.name + LOCK_SUFFIX))


def leave(window_ids: Collection[str], world: WindowsWorld, deadline: Deadline) -> None:
    """Close the open ones of these windows, and finish what waits for nobody else."""
    wanted = frozenset(window_ids)
    for window in world.registry.read().windows:
        if window.key.window_id in wanted and window.status is WindowStatus.ACTIVE:
            request = CompleteRequest(
                key=window.key,
                tool_name=window.tool_name,
                event_id=None if window.record is None else f"{window.record}.{window.key.window_id}",
                command_summary=window.command_summary,
                outcome=GONE,
                use=window.use,
            )
            without_window(request, world, world.moment(), PartialReason.PROCESS_GONE)
    with suppress(DocketError), world.registry.held(_LOCK_SECONDS) as held:
        held.publish(without_buried(held.registry, world))
    with suppress(DocketError):
        resume_groups(world, deadline)
