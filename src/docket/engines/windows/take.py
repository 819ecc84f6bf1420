"""Take a hook of an agent's: from the neutral event to the window that it opens or closes (spec/windows.md, Hooks).

Rules:
1. Where an agent gives its tool uses no id, one is made of the tool, what it was asked for and when it began. Its end
   belongs to the window of that tool and input that was opened first and that no other end has claimed; failing that,
   to the only one of that tool. An end that comes twice claims what it claimed the first time.
2. Where the end of a tool use names another turn than its beginning, the beginning's counts.
3. A window that is still open when its batch of tools, its turn or its session ends is closed as UNENDED: the tool was
   denied, or given up. One that is open when the person asks for something new has lost its end, and nothing whole is
   told of it. Those of a sub-agent end with the sub-agent's turn or the session.
4. However many windows a hook touches, it has one deadline for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from docket.engines.windows.begin import begin
from docket.engines.windows.complete import complete, without_window
from docket.engines.windows.give_up import give_up_beginning, give_up_end
from docket.engines.windows.leave import leave_killed
from docket.engines.windows.reclaim import see_to_left
from docket.engines.windows.world import BeginRequest, CompleteRequest, Outcome, WindowsWorld
from docket.formats.digest import sha256
from docket.formats.windows.key import ID_DIGITS, WindowKey
from docket.formats.windows.names import UNENDED, PartialReason
from docket.formats.windows.records import UseFacts
from docket.formats.windows.registry import OpenWindow, WindowStatus
from docket.host.git_program import Deadline
from docket.rules.windows.tool_event import DERIVED_MARK, Joins, Moments, OtherEvent, Phase, ToolEvent

_ENDING = (Moments.BATCH_END, Moments.TURN_END, Moments.SESSION_END, Moments.TURN_BEGIN)


def take(event: ToolEvent | OtherEvent, world: WindowsWorld) -> tuple[Outcome, ...]:
    """Do what a hook's event asks for; return what became of each window that it touched, none for most events."""
    deadline = world.deadline()
    if isinstance(event, OtherEvent):
        outcomes = tuple(_ended_with(event, world, deadline)) if event.moment in _ENDING else ()
    elif event.phase is Phase.BEFORE:
        leave_killed(world, deadline)
        outcomes = (begin(_begin_request(event, world), world, deadline),)
    else:
        outcomes = (complete(_complete_request(event, world), world, deadline),)
    see_to_left(world, deadline)
    return outcomes


def give_up(event: ToolEvent, world: WindowsWorld) -> Outcome | None:
    """Leave word of a tool use whose hook has no time left: no look is made and no lock is waited for.

    None where an id would have to be made anew, or where what is known already says enough.
    """
    if not event.tool_use_id and not event.stamp:
        return None
    if event.phase is Phase.BEFORE:
        return give_up_beginning(_begin_request(event, world), world)
    return give_up_end(_complete_request(event, world), world)


def facts_of(event: ToolEvent) -> UseFacts:
    """Return what is kept of a tool use beside its name."""
    return UseFacts(joins=event.joins, input_sha256=event.input_sha256, agent_id=event.agent_id)


def _begin_request(event: ToolEvent, world: WindowsWorld) -> BeginRequest:
    return BeginRequest(
        key=_key(event, world, event.tool_use_id or _derived(event, world)),
        tool_name=event.tool_name,
        command_summary=event.command_summary,
        use=facts_of(event),
    )


def _complete_request(event: ToolEvent, world: WindowsWorld) -> CompleteRequest:
    return CompleteRequest(
        key=_claimed(event, world) if event.joins is Joins.DERIVED else _begun(event, world),
        tool_name=event.tool_name,
        command_summary=event.command_summary,
        outcome=event.outcome,
        use=facts_of(event),
    )


def _key(event: ToolEvent, world: WindowsWorld, tool_use_id: str) -> WindowKey:
    return WindowKey(
        repository=world.tree.repository,
        provider=event.provider,
        session_id=event.session_id,
        turn_id=event.turn_id,
        tool_use_id=tool_use_id,
        mode=world.mode,
    )


def _derived(event: ToolEvent, world: WindowsWorld) -> str:
    """Return the id of a tool use that has none: who comes twice with one stamp gets one id."""
    return f"{event.likeness}{event.stamp or _instant(world)}"


def _instant(world: WindowsWorld) -> str:
    return f"{world.owner().pid}.{world.clock.monotonic_ns()}"


def _active(provider: str, session_id: str, world: WindowsWorld) -> tuple[OpenWindow, ...]:
    return tuple(
        window
        for window in world.registry.read().windows
        if window.status is WindowStatus.ACTIVE
        and (window.key.provider, window.key.session_id) == (provider, session_id)
        and (window.key.repository, window.key.mode) == (world.tree.repository, world.mode)
    )


def _begun(event: ToolEvent, world: WindowsWorld) -> WindowKey:
    key = _key(event, world, event.tool_use_id)
    found = [
        window.key
        for window in _active(event.provider, event.session_id, world)
        if window.key.tool_use_id == event.tool_use_id
    ]
    return key if key in found or len(found) != 1 else found[0]


def _claimed(event: ToolEvent, world: WindowsWorld) -> WindowKey:
    """Return the key of the window that an end without an id belongs to, a new one where there is none."""
    end = f"{event.provider}\0{event.session_id}\0{event.likeness}{event.stamp or _instant(world)}"
    end_id = sha256(end.encode())[:ID_DIGITS]
    before = world.evidence.claimant(f"end-{end_id}")
    if before is not None:
        return _key(event, world, before)
    for window in _candidates(event, world, end_id):
        if world.evidence.claim(window.key.window_id, end_id) == end_id:
            world.evidence.claim(f"end-{end_id}", window.key.tool_use_id)
            return window.key
    return _key(event, world, _derived(event, world))


def _candidates(event: ToolEvent, world: WindowsWorld, end_id: str) -> tuple[OpenWindow, ...]:
    free = [
        window
        for window in _active(event.provider, event.session_id, world)
        if window.key.tool_use_id.startswith(f"{DERIVED_MARK}:")
        and world.evidence.claimant(window.key.window_id) in (None, end_id)
    ]
    alike = tuple(window for window in free if window.key.tool_use_id.startswith(event.likeness))
    # Another hook may have changed what the tool was asked for.
    named = tuple(window for window in free if window.tool_name == event.tool_name)
    return alike or (named if len(named) == 1 else ())


def _ended_with(event: OtherEvent, world: WindowsWorld, deadline: Deadline) -> Iterator[Outcome]:
    for window in _active(event.provider, event.session_id, world):
        if not _is_over(window, event):
            continue
        request = CompleteRequest(
            key=window.key,
            tool_name=window.tool_name,
            command_summary=window.command_summary,
            outcome=UNENDED,
            use=window.use,
        )
        if event.moment is Moments.TURN_BEGIN:
            yield without_window(request, world, world.moment(), PartialReason.STALE_ACTIVE_WINDOW)
        else:
            yield complete(request, world, deadline)


def _is_over(window: OpenWindow, event: OtherEvent) -> bool:
    """Whether an event says that a window's tool runs no more."""
    if event.moment is Moments.SESSION_END:
        return True
    if event.moment is Moments.BATCH_END:
        return window.key.tool_use_id in event.tool_use_ids
    return (None if window.use is None else window.use.agent_id) == event.agent_id
