"""From a tool's event to its window: what a hook in a process of its own does with it."""

from __future__ import annotations

from pathlib import Path

from docket.engines.windows.begin import begin
from docket.engines.windows.complete import complete
from docket.engines.windows.reclaim import see_to_left
from docket.engines.windows.world import BeginRequest, CompleteRequest, Outcome
from docket.formats.windows.key import key_text
from docket.rules.windows.tool_event import Phase, ToolEvent
from docket.surfaces.hooks.wiring import windows_place, windows_world

MAX_MEMBERS = 64


def tell(event: ToolEvent, folder: Path) -> Outcome:
    """Open or close the window of a tool in the tree of a folder."""
    world = windows_world(windows_place(folder))
    key = event.key(world.tree.repository)
    deadline = world.deadline()
    if event.phase is Phase.BEFORE:
        outcome = begin(BeginRequest(key=key, tool_name=event.tool_name, command_summary=event.command_summary), world)
    else:
        outcome = complete(
            CompleteRequest(
                key=key, tool_name=event.tool_name, command_summary=event.command_summary, outcome=event.outcome
            ),
            world,
        )
    see_to_left(world, deadline)
    return outcome


def note_unknown(agent: str, event: str, members: list[str], folder: Path) -> None:
    """Keep the shape of a payload that nobody knows: its event and the names of its members, none of its values."""
    world = windows_world(windows_place(folder))
    shown = [key_text(name)[:MAX_MEMBERS] for name in members[:MAX_MEMBERS]]
    world.evidence.note_unknown(agent, key_text(event)[:MAX_MEMBERS], tuple(shown))
