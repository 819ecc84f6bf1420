"""From a hook's event to its windows: what a hook in a process of its own does with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from docket.engines.windows.take import take
from docket.engines.windows.world import Outcome
from docket.formats.windows.key import key_text
from docket.rules.windows.tool_event import Moments, OtherEvent, ToolEvent
from docket.stores.windows.registry_file import REGISTRY, RegistryFile
from docket.surfaces.hooks.wiring import WindowsPlace, windows_place, windows_world

MAX_MEMBERS = 64


def tell(event: ToolEvent | OtherEvent, folder: Path, seconds: float | None = None) -> tuple[Outcome, ...]:
    """Do what an event asks for in the tree of a folder, in that many seconds or in what a hook has."""
    place = windows_place(folder)
    if isinstance(event, OtherEvent) and not _concerns(event, place):
        return ()  # without a look at git, for nearly every turn ends so
    world = windows_world(place)
    return take(event, world if seconds is None else replace(world, budget_seconds=min(seconds, world.budget_seconds)))


def _concerns(event: OtherEvent, place: WindowsPlace) -> bool:
    """Whether a window is open that the event may end."""
    if event.moment is Moments.OTHER or not (place.windows / REGISTRY).exists():
        return False
    session = (event.provider, event.session_id)
    open_windows = RegistryFile(place.windows).read().windows
    return any((window.key.provider, window.key.session_id) == session for window in open_windows)


def note_unknown(agent: str, event: str, members: list[str], folder: Path) -> None:
    """Keep the shape of a payload that nobody knows: its event and the names of its members, none of its values."""
    world = windows_world(windows_place(folder))
    shown = [key_text(name)[:MAX_MEMBERS] for name in members[:MAX_MEMBERS]]
    world.evidence.note_unknown(agent, key_text(event)[:MAX_MEMBERS], tuple(shown))
