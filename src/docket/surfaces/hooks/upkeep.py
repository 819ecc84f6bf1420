"""Tidying in passing: the stores of windows keep to their limits without anybody asking (spec/windows.md, Tidying).

Rules:
1. It happens when a hook or a run has done everything else, in its own process and in bounded time; what is left then
   is for the next. Nothing that fails in it is told: nobody asked, and `docket windows doctor` says what is wrong.
2. Nothing happens while a tool runs.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from docket.errors import DocketError
from docket.stores.windows.registry_file import REGISTRY, RegistryFile
from docket.surfaces.hooks.place import WindowsPlace, windows_place

# Most runs have no windows to tidy, and learn that from this module alone.
if TYPE_CHECKING:
    from docket.engines.windows.world import Outcome
    from docket.stores.windows.upkeep import Upkeep

HARD_BYTES = 2 * 1024**3
"""How large a store stays though all in it is of today."""
EVERY_WINDOWS = 64
"""After how many windows a hook tidies."""
AFTER_RUN_SECONDS = 1.0


def upkeep_of(place: WindowsPlace) -> Upkeep:
    """Return who clears the store of a place."""
    if place.git is not None:
        from docket.host.git_place import object_format  # noqa: PLC0415 - as below
        from docket.stores.windows.git_store import open_git_store  # noqa: PLC0415 - one of two kinds of trees
        from docket.stores.windows.git_upkeep import GitUpkeep  # noqa: PLC0415 - as above

        return GitUpkeep(place.windows, open_git_store(place.windows, place.git, object_format(place.git)))
    from docket.engines.windows.folder_upkeep import FolderUpkeep  # noqa: PLC0415 - one of two kinds of trees

    return FolderUpkeep(place.windows)


def is_due(outcomes: Iterable[Outcome]) -> bool:
    """Whether one of the windows that were closed is one after which a hook tidies."""
    numbers = (outcome.closed.seq for outcome in outcomes if outcome.closed is not None)
    return any(number is not None and number % EVERY_WINDOWS == 0 for number in numbers)


def tidy_after_run(folder: Path, docket_dir: Path | None) -> None:
    """Tidy the store of a folder's windows for AFTER_RUN_SECONDS at most."""
    with suppress(DocketError, OSError):
        tidy_in_passing(windows_place(folder, docket_dir), AFTER_RUN_SECONDS)


def tidy_in_passing(place: WindowsPlace, seconds: float) -> None:
    """Tidy the store of a place for so many seconds at most, unless a tool runs."""
    with suppress(DocketError):
        if not (place.windows / REGISTRY).exists() or RegistryFile(place.windows).read().windows:
            return
        from docket.engines.windows.tidy import TidyRequest, tidy  # noqa: PLC0415 - hardly any hook tidies
        from docket.surfaces.hooks.wiring import windows_world  # noqa: PLC0415 - as above

        request = TidyRequest(
            windows=place.windows, now_ns=time.time_ns(), apply=True, seconds=seconds, hard_bytes=HARD_BYTES
        )
        tidy(request, windows_world(place), upkeep_of(place))
