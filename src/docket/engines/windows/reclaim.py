"""What hooks see to in passing: groups that somebody left unfinished, and groups that are past their horizon.

Rules (spec/windows.md, Groups):
1. Of a sealed group every window gets a tombstone, and one whose tool had ended a partial delta. Both are written
   without the lock; the group leaves the registry only if it is still what it was.
2. What cannot be done now is left for the next.
"""

from __future__ import annotations

from contextlib import suppress

from docket.engines.windows.finish import make_partial, resume_groups
from docket.engines.windows.world import WindowsWorld
from docket.errors import DocketError
from docket.formats.dataclass import dataclass
from docket.formats.windows.names import PartialReason
from docket.formats.windows.records import PendingPartial, Tombstone
from docket.formats.windows.registry import OpenWindow
from docket.host.git_program import Deadline

_LOCK_SECONDS = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclaimed:
    """A sealed group that was removed: how many of its windows had ended, and how many got a tombstone."""

    group_id: str
    completed: int
    tombstoned: int


def see_to_left(world: WindowsWorld, deadline: Deadline) -> None:
    """Finish and reclaim what can be in the time there is; nothing that fails here is anybody's fault."""
    with suppress(DocketError):
        resume_groups(world, deadline)
    with suppress(DocketError):
        reclaim_sealed(world, deadline)


def reclaim_sealed(world: WindowsWorld, deadline: Deadline) -> tuple[Reclaimed, ...]:
    """Remove the groups that are sealed, with what evidence there can be of their windows.

    One that cannot be removed now keeps no other from it; after one, no further one is begun when the time is over.
    """
    found = []
    registry = world.registry.read()
    for group in registry.groups:
        if not group.sealed:
            continue
        with suppress(DocketError):
            reclaimed = _reclaimed(group.id, registry.members(group.id), world)
            if reclaimed is not None:
                found.append(reclaimed)
        if deadline.is_over():
            break
    return tuple(found)


def _reclaimed(group_id: str, members: tuple[OpenWindow, ...], world: WindowsWorld) -> Reclaimed | None:
    """Remove a group; None where it is no more what it was."""
    completed = sum(_settled(member, world) for member in members)
    with world.registry.held(_LOCK_SECONDS) as held:
        if held.registry.members(group_id) != members:
            return None
        held.publish(held.registry.without_group(group_id))
    for member in members:
        if member.ref is not None and member.baseline is not None:
            with suppress(DocketError):  # a name that stays is an orphan, which tidying finds
                world.tree.release(member.ref, member.baseline.tree)
    return Reclaimed(group_id=group_id, completed=completed, tombstoned=len(members))


def _settled(member: OpenWindow, world: WindowsWorld) -> bool:
    """Write what there can be of a window; whether its tool had ended."""
    reason = str(PartialReason.STALE_ACTIVE_WINDOW)
    completion = member.completion
    if completion is not None and world.evidence.closed(member.key.window_id) is None:
        pending = PendingPartial(
            key=member.key,
            event_id=completion.event_id,
            reason=reason,
            tool_name=member.tool_name,
            at=completion.moment.at,
            command_summary=completion.command_summary,
            outcome=completion.outcome,
            use=member.use,
        )
        make_partial(world.evidence.pend(pending), world)
    world.evidence.bury(Tombstone(key=member.key, at=member.started.at, reason=reason))
    return completion is not None
