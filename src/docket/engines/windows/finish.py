"""Finish a group whose tools have all ended, so that each step can be the last one before a death.

Order (spec/windows.md, Finish): the intent stands in the registry already; look at the tree; final state, written once;
post ref; delta; announcement; records of the windows; registry; refs and final state go.

Rules:
1. Only who published the intent looks at the tree, and once. Whoever comes later works from what was written: without
   a final state the answer is post_snapshot_lost.
2. What was written decides: a record of one window of the group names the delta of them all.
3. A group that cannot be finished is tried MAX_ATTEMPTS times (`engines.windows.deltas`) and ends as partial, with the
   last reason.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from docket.engines.windows.closers import NOBODY, is_left
from docket.engines.windows.world import WindowsWorld
from docket.errors import DocketError, PartialEvidenceError
from docket.formats.dataclass import replace
from docket.formats.digest import Digest
from docket.formats.windows.key import post_ref
from docket.formats.windows.names import PartialReason, Status
from docket.formats.windows.records import ClosedWindow, GroupFinal, PendingPartial
from docket.formats.windows.registry import Closing, Group, OpenWindow
from docket.host.git_program import Deadline
from docket.rules.windows.grouping import Ended, attempts, is_interfered

if TYPE_CHECKING:
    from docket.formats.windows.delta import Delta

_LOCK_SECONDS = 0.25


def finish_group(group_id: str, world: WindowsWorld, deadline: Deadline, *, may_look: bool) -> None:
    """Do what is left to do for a group that this process has the intent for; what fails is left for later."""
    try:
        _finish(group_id, world, deadline, may_look=may_look)
    except DocketError:
        with suppress(DocketError):
            _let_go(group_id, world)
        raise


def resume_groups(world: WindowsWorld, deadline: Deadline) -> int:
    """Finish the groups that somebody left unfinished; return how many.

    One that cannot be finished keeps no other from it; what it raised is raised in the end, or when the time is over.
    """
    count = 0
    failed: DocketError | None = None
    for group in world.registry.read().groups:
        if (
            group.sealed
            or not is_left(group.closing)
            or world.registry.read().active(group.id)
            or not _taken_over(group, world)
        ):
            continue
        try:
            finish_group(group.id, world, deadline, may_look=False)
            count += 1
        except DocketError as error:
            if deadline.is_over():
                raise
            failed = error
    for pending in world.evidence.pending():
        make_partial(pending, world)
    if failed is not None:
        raise failed
    return count


def make_partial(pending: PendingPartial, world: WindowsWorld) -> ClosedWindow:
    """Make the partial delta of a window without a group, from what was kept for it, and close the window."""
    from docket.engines.windows.deltas import lone_document  # noqa: PLC0415 - as in `_delta`

    digest = world.evidence.put_delta(lone_document(pending))
    record = ClosedWindow(
        key=pending.key,
        tool_name=pending.tool_name,
        event_id=pending.event_id,
        closed_at=pending.at,
        delta_sha256=digest,
        status=Status.PARTIAL,
        reason=pending.reason,
        members=1,
        command_summary=pending.command_summary,
        outcome=pending.outcome,
        use=pending.use,
    )
    world.announce(record, digest)
    closed = world.evidence.close_window(record)
    world.evidence.settle_pending(pending.key.window_id)
    return closed


def _finish(group_id: str, world: WindowsWorld, deadline: Deadline, *, may_look: bool) -> None:
    registry = world.registry.read()
    members = registry.members(group_id)
    if not members:
        return  # somebody else was quicker
    group = registry.group(group_id)
    final = world.evidence.final(group_id)
    if final is None:
        final = world.evidence.settle_final(_found(group, members, world, deadline, may_look=may_look))
    ended = Ended(group=group, members=members, final=final)
    ref = post_ref(world.tree.repository, group_id)
    if final.tree is not None:
        world.tree.keep(ref, final.tree)
    digest, delta = _delta(ended, world, deadline)
    for member in members:
        record = _record(ended, member, digest, delta)
        world.announce(record, digest)
        world.evidence.close_window(record)
    with world.registry.held(deadline.seconds_left()) as held:
        held.publish(held.registry.without_group(group_id))
    _release(ended, world, ref)


def _found(
    group: Group, members: tuple[OpenWindow, ...], world: WindowsWorld, deadline: Deadline, *, may_look: bool
) -> GroupFinal:
    """Look at the tree after the group, or say why there is nothing to be seen."""
    moment = members[-1].completion.moment if members[-1].completion is not None else group.created
    lost = GroupFinal(group_id=group.id, moment=moment, reason=PartialReason.POST_SNAPSHOT_LOST)
    known = next((member.reason for member in members if member.reason is not None), group.reason)
    before = members[0].baseline
    if known is not None or before is None:
        return replace(lost, reason=known or PartialReason.PRE_SNAPSHOT_MISSING)
    if not may_look:
        return lost
    try:
        looked = world.tree.look(deadline, before)
        moves = world.tree.moves(before)
    except PartialEvidenceError as error:
        return replace(lost, reason=error.reason)
    if is_interfered(world.registry.read(), group):
        return replace(lost, reason=PartialReason.TIMEOUT)
    return replace(
        lost,
        reason=None,
        tree=looked.baseline.tree,
        head=looked.baseline.head,
        head_moves=moves,
        bytes_read=looked.bytes_read,
    )


def _delta(ended: Ended, world: WindowsWorld, deadline: Deadline) -> tuple[Digest, Delta]:
    for member in ended.members:
        closed = world.evidence.closed(member.key.window_id)
        if closed is not None and closed.group_id == ended.group.id:
            return closed.delta_sha256, world.evidence.delta(closed.delta_sha256)
    from docket.engines.windows.deltas import group_document  # noqa: PLC0415 - not light, and before a tool not needed

    document, delta = group_document(ended, world, deadline)
    return world.evidence.put_delta(document), delta


def _record(ended: Ended, member: OpenWindow, digest: Digest, delta: Delta) -> ClosedWindow:
    completion, before = member.completion, ended.members[0].baseline
    return ClosedWindow(
        key=member.key,
        tool_name=member.tool_name,
        event_id="" if completion is None else completion.event_id,
        closed_at=ended.final.moment.at,
        delta_sha256=digest,
        status=delta.status,
        reason=delta.reason,
        members=len(ended.members),
        group_id=ended.group.id,
        command_summary=member.command_summary if completion is None else completion.command_summary,
        outcome=None if completion is None else completion.outcome,
        tree_before=None if before is None else before.tree,
        tree_after=ended.final.tree,
        use=member.use,
        seq=member.seq,
        rules=None if before is None else before.rules,
    )


def _release(ended: Ended, world: WindowsWorld, ref: str) -> None:
    """Give up what kept the trees; a death in here leaves refs that maintenance finds."""
    with suppress(DocketError):
        for member in ended.members:
            if member.ref is not None and member.baseline is not None:
                world.tree.release(member.ref, member.baseline.tree)
        if ended.final.tree is not None:
            world.tree.release(ref, ended.final.tree)
        world.evidence.remove_final(ended.group.id)


def _taken_over(group: Group, world: WindowsWorld) -> bool:
    """Make this process the one that finishes a group, unless somebody else was quicker."""
    with world.registry.held(_LOCK_SECONDS) as held:
        registry = held.registry
        now = next((other for other in registry.groups if other.id == group.id), None)
        if now is None or now.closing != group.closing or registry.active(group.id):
            return False
        closing = Closing(owner=world.owner(), attempts=attempts(now) + 1, seq=registry.next_seq)
        held.publish(registry.with_group(replace(now, closing=closing)))
    return True


def _let_go(group_id: str, world: WindowsWorld) -> None:
    """Say that nobody finishes the group any more, so that the next who can does."""
    with world.registry.held(_LOCK_SECONDS) as held:
        group = next((other for other in held.registry.groups if other.id == group_id), None)
        if group is not None and group.closing is not None and group.closing.owner == world.owner():
            held.publish(held.registry.with_group(replace(group, closing=replace(group.closing, owner=NOBODY))))
