"""The folder of a live run's own files: the settings a recipe hands its agent. It goes when the run goes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from docket.host.disk import SYSTEM_DISK, Disk, reported
from docket.host.durable import publish
from docket.stores.layout import Layout

LIVE = "live"


def live_path(layout: Layout, session_id: str) -> Path:
    """Where the run's own files stand."""
    return layout.state / LIVE / session_id


@contextmanager
def live_folder(layout: Layout, session_id: str, *, disk: Disk = SYSTEM_DISK) -> Iterator[Path]:
    """Make the folder (0700) and remove it, with whatever the agent put there, at the end."""
    with disk.folder(layout.state) as state, state.folder(LIVE, create=True) as live:
        live.folder(session_id, create=True).close()
    path = live_path(layout, session_id)
    try:
        yield path
    finally:
        # A folder that cannot be removed holds no evidence; it must not turn a finished run into a failed one.
        remove_live_folder(path)


def remove_live_folder(path: Path) -> bool:
    """Remove a run's live folder with all that is in it; False if something of it is left."""
    shutil.rmtree(path, ignore_errors=True)
    return not os.path.lexists(path)


def write_live_files(folder: Path, files: Mapping[str, bytes], *, disk: Disk = SYSTEM_DISK) -> None:
    """Write the files (0600) into a live run's folder; a name may have folders in it, which are made (0700)."""
    for name, data in files.items():
        *outer, last = name.split("/")
        with ExitStack() as stack:
            opened = stack.enter_context(disk.folder(folder))
            for part in outer:
                opened = stack.enter_context(opened.folder(part, create=True))
            publish(opened, last, data)


def make_live_links(folder: Path, links: Mapping[str, str]) -> None:
    """Make links from names in a live run's folder to what stands elsewhere."""
    for name, target in links.items():
        *outer, last = name.split("/")
        at = folder
        with reported("link", folder / name):
            for part in outer:
                at /= part
                at.mkdir(mode=0o700, exist_ok=True)
            (at / last).symlink_to(target)
