"""The machine as the ports of a run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from docket.engines import boundary
from docket.engines.boundary import Boundary, BoundaryRequest, BoundaryWorld
from docket.engines.observe import ObserveRequest, ObserveWorld, observe_tree
from docket.engines.supervise.request import WindowsAsked
from docket.errors import UnavailableError
from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.tree.listing import Listing
from docket.host import process
from docket.host.process import Agent, SpawnRequest
from docket.host.regular_file import read_regular_file
from docket.stores.layout import Layout
from docket.stores.statcache import StatCache
from docket.surfaces.cli import console
from docket.surfaces.render import text

if TYPE_CHECKING:
    from docket.engines.windows.world import WindowsWorld

STAT_CACHE = "statcache"
MAX_INPUT_BYTES = 4 * 1024 * 1024
_PLATFORM = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-")
# Without -P, a folder `docket` in the tree would be what is started.
HOOK_COMMAND = (sys.executable, "-P", "-m", "docket")


def start_boundary(request: BoundaryRequest, world: BoundaryWorld) -> Boundary:
    """Start the boundary in its own thread."""
    return boundary.start(request, world)


def observer(layout: Layout) -> Callable[[ObserveRequest], Listing]:
    """Return the scanner with the project's own cache of digests."""
    return observing(stat_cache(layout))


def stat_cache(layout: Layout) -> StatCache:
    """Return the project's own cache of digests, read anew."""
    return StatCache(layout.state / STAT_CACHE)


def observing(cache: StatCache) -> Callable[[ObserveRequest], Listing]:
    """Return the scanner with that cache of digests."""
    world = ObserveWorld(cache=cache)
    return lambda request: observe_tree(request, world)


def windows(asked: WindowsAsked) -> WindowsWorld:
    """Return the ports of the windows of a run, opened anew."""
    from docket.surfaces.hooks.place import windows_place  # noqa: PLC0415 - with a hook
    from docket.surfaces.hooks.wiring import StagedTree, windows_world  # noqa: PLC0415 - as above

    place = windows_place(asked.folder, asked.docket_dir)
    return windows_world(place, None if asked.stage is None else StagedTree(asked.stage, asked.transaction))


def spawn(request: SpawnRequest) -> Agent:
    """Start the agent through its launcher."""
    return process.spawn(request)


def print_report(document: JsonObject) -> None:
    """Print a whole report on standard error."""
    console.note(text.rendered(document, colour=console.colour_for(sys.stderr)))


def host_facts() -> dict[str, JsonValue]:
    """Return what a session records of the machine."""
    system = os.uname()
    try:
        library = (os.confstr("CS_GNU_LIBC_VERSION") or "").replace(" ", "")
    except (ValueError, OSError):  # another C library
        library = ""
    # platform.platform() says the same, and starts a program for what it then leaves out.
    told = f"{system.sysname}-{system.release}-{system.machine}-with-{library}"
    if not library or not _PLATFORM.issuperset(told) or "--" in told:
        import platform  # noqa: PLC0415 - for what stands here needs it alone

        told = platform.platform()
    return {"platform": told, "python": sys.version.split()[0], "machine": system.machine}


def file_reader(folder: Path) -> Callable[[str], bytes | None]:
    """Return what reads the files a recipe asks for, relative paths from `folder`; None for what cannot be read.

    A name that ends in a slash gives the names in that folder, sorted, one a line.
    """

    def read(name: str) -> bytes | None:
        try:
            if name.endswith("/"):
                return _listed(folder / name)
            return read_regular_file(folder / name, MAX_INPUT_BYTES)
        except UnavailableError:
            return None

    return read


def _listed(folder: Path) -> bytes | None:
    try:
        names = sorted(os.listdir(os.fsencode(folder)))  # noqa: PTH208 - names as bytes
    except OSError:
        return None
    return b"\n".join(name for name in names if b"\n" not in name)
