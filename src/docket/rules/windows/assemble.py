"""From a group's windows, its final state and what changed to the delta of it (spec/windows.md, Deltas)."""

from __future__ import annotations

from collections.abc import Sequence

from docket.formats.windows.delta import Actor, Delta, FileDelta, Limits, Span, ToolUse
from docket.formats.windows.names import Scope, Status
from docket.formats.windows.records import PendingPartial
from docket.formats.windows.registry import OpenWindow
from docket.rules.windows.grouping import Ended, elapsed_ms


def group_delta(ended: Ended, files: Sequence[FileDelta]) -> Delta:
    """Return the delta of a group of which all could be told."""
    first = ended.members[0].baseline
    return Delta(
        scope=_scope(ended.members),
        status=Status.COMPLETE,
        window=_span(ended.members),
        actors=_actors(ended.members),
        tool_uses=_tool_uses(ended.members),
        files=tuple(files),
        limits=Limits(
            files_observed=len(files),
            bytes_read=ended.final.bytes_read,
            truncated=any(file.truncated for file in files),
        ),
        hashes=None if first is None else first.hashes,
        head_before=None if first is None else first.head,
        head_after=ended.final.head,
        head_moves=ended.final.head_moves,
    )


def partial_delta(ended: Ended, reason: str) -> Delta:
    """Return the delta of a group of which nothing can be told."""
    return Delta(
        scope=_scope(ended.members),
        status=Status.PARTIAL,
        reason=reason,
        window=_span(ended.members),
        actors=_actors(ended.members),
        tool_uses=_tool_uses(ended.members),
    )


def lone_partial(partial: PendingPartial) -> Delta:
    """Return the delta of a window that has no group to be told with."""
    key = partial.key
    return Delta(
        scope=Scope.TOOL,
        status=Status.PARTIAL,
        reason=partial.reason,
        window=Span(started_at=partial.at, completed_at=partial.at, duration_ms=0),
        actors=(Actor(provider=key.provider, session_id=key.session_id, turn_id=key.turn_id),),
        tool_uses=(
            ToolUse(
                tool_use_id=key.tool_use_id,
                tool_name=partial.tool_name,
                event_id=partial.event_id,
                actor=0,
                command_summary=partial.command_summary,
                outcome=partial.outcome,
            ),
        ),
    )


def _scope(members: Sequence[OpenWindow]) -> Scope:
    return Scope.TOOL if len(members) == 1 else Scope.CONCURRENT_GROUP


def _span(members: Sequence[OpenWindow]) -> Span:
    first = min((member.started for member in members), key=lambda moment: moment.at)
    ends = [member.completion.moment for member in members if member.completion is not None]
    last = max(ends, key=lambda moment: moment.at)
    return Span(started_at=first.at, completed_at=last.at, duration_ms=elapsed_ms(first, last))


def _actor(member: OpenWindow) -> Actor:
    return Actor(provider=member.key.provider, session_id=member.key.session_id, turn_id=member.key.turn_id)


def _actors(members: Sequence[OpenWindow]) -> tuple[Actor, ...]:
    return tuple(sorted({_actor(member) for member in members}))


def _tool_uses(members: Sequence[OpenWindow]) -> tuple[ToolUse, ...]:
    actors = _actors(members)
    return tuple(
        ToolUse(
            tool_use_id=member.key.tool_use_id,
            tool_name=member.tool_name,
            event_id=member.completion.event_id,
            actor=actors.index(_actor(member)),
            command_summary=member.completion.command_summary or member.command_summary,
            outcome=member.completion.outcome,
        )
        for member in members
        if member.completion is not None
    )
