"""From a hook's event to its windows: what a hook in a process of its own does with it."""

from __future__ import annotations

from pathlib import Path

from docket.engines.windows.take import give_up, take
from docket.engines.windows.world import Outcome
from docket.errors import DocketError
from docket.formats.dataclass import replace
from docket.formats.windows.key import key_text
from docket.rules.agents.hooks import HOOK_READERS
from docket.rules.windows.tool_event import HookEvent, Moments, OtherEvent, ToolEvent
from docket.stores.windows.registry_file import REGISTRY, RegistryFile
from docket.surfaces.hooks.left_word import LeftWord, forget, is_old, left, read_left
from docket.surfaces.hooks.place import WindowsPlace, windows_place
from docket.surfaces.hooks.upkeep import is_due, tidy_in_passing
from docket.surfaces.hooks.wiring import windows_world

MAX_MEMBERS = 64


def tell(event: ToolEvent | OtherEvent, folder: Path, seconds: float | None = None) -> tuple[Outcome, ...]:
    """Do what an event asks for in the tree of a folder, in that many seconds or in what a hook has."""
    place = windows_place(folder)
    make_of_left()
    if isinstance(event, OtherEvent) and not _concerns(event, place):
        return ()  # without a look at git, for nearly every turn ends so
    world = windows_world(place)
    if seconds is not None:
        world = replace(world, budget_seconds=min(seconds, world.budget_seconds))
    deadline = world.deadline()
    outcomes = take(event, world)
    if is_due(outcomes) and not deadline.is_over():
        tidy_in_passing(place, deadline.seconds_left())
    return outcomes


def _concerns(event: OtherEvent, place: WindowsPlace) -> bool:
    """Whether a window is open that the event may end."""
    if event.moment is Moments.OTHER or not (place.windows / REGISTRY).exists():
        return False
    session = (event.provider, event.session_id)
    open_windows = RegistryFile(place.windows).read().windows
    return any((window.key.provider, window.key.session_id) == session for window in open_windows)


def leave_word(event: HookEvent, folder: Path) -> None:
    """Say of a tool use whose hook has no time left that this is so."""
    if isinstance(event, ToolEvent):
        give_up(event, windows_world(windows_place(folder)))


def make_of_left() -> int:
    """Make of the word that hooks without time have left what they would have; return how many had left any.

    Word of which nothing can be made now, in a folder that is there, stays for the next one until it is old.
    """
    words = left()
    for path in words:
        word = read_left(path)
        if word is None or word.agent not in HOOK_READERS or _is_done(word) or is_old(path):
            forget(path)
    return len(words)


def _is_done(word: LeftWord) -> bool:
    """Make of word what the hook would have; whether nothing more can come of it."""
    event = HOOK_READERS[word.agent](word.event, word.payload)
    told = event.folder if isinstance(event, ToolEvent) else None
    folder = Path(next((name for name in (word.project, told, word.folder) if name), "."))
    try:
        leave_word(event, folder)
    except (DocketError, OSError):
        return not folder.is_dir()
    except ValueError:
        return True
    return True


def note_unknown(agent: str, event: str, members: list[str], folder: Path) -> None:
    """Keep the shape of a payload that nobody knows: its event and the names of its members, none of its values."""
    world = windows_world(windows_place(folder))
    shown = [key_text(name)[:MAX_MEMBERS] for name in members[:MAX_MEMBERS]]
    world.evidence.note_unknown(agent, key_text(event)[:MAX_MEMBERS], tuple(shown))
