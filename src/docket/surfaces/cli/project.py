"""Where the command line finds a project's folders and documents."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path

from docket.errors import DocketError, UsageError
from docket.formats.reason import Reason
from docket.stores.layout import Layout, resolve_layout
from docket.stores.receipts import find_receipt
from docket.stores.unfinished import newest_lacks_receipt, unfinished
from docket.surfaces.cli import console


def layout_at(root: Path, docket_dir: Path | None) -> Layout:
    """Return the folders of the project at `root`."""
    return resolve_layout(root, docket_dir=docket_dir, environment=os.environ)


def locate_receipt(ref: str | None, docket_dir: Path | None) -> Path:
    """Return the receipt a person means: a path, a docket number, or the project's newest."""
    return find_receipt(layout_at(current_folder(), docket_dir), ref)


def warn_of_unfinished(layout: Layout) -> None:
    """Say in one line how many killed runs of this project have no receipt yet; nothing is parsed."""
    with suppress(DocketError):  # a folder that cannot be looked into is told by whoever needs it
        left = len(unfinished(layout))
        if left:
            who = "1 earlier run was" if left == 1 else f"{left} earlier runs were"
            _warn(layout, f"{who} killed and left no receipt")


def warn_of_newest(layout: Layout) -> None:
    """Say that a run newer than the newest receipt has none, or how many there are."""
    with suppress(DocketError):
        if unfinished(layout):
            warn_of_unfinished(layout)
        elif newest_lacks_receipt(layout):
            _warn(layout, "the newest run has no receipt")


def _warn(layout: Layout, what: str) -> None:
    place = "" if layout.is_split else f" --docket-dir {shlex.quote(str(layout.docket_dir))}"
    here = "" if os.path.realpath(".") == str(layout.tree_root) else f" in {layout.tree_root}"
    console.warn(console.plain(f"{what}: run docket recover{place}{here}"))


def current_folder() -> Path:
    """Return the folder docket was called in; UsageError if it has been deleted."""
    try:
        return Path.cwd()
    except OSError as error:
        detail = f"the current folder cannot be used: {error.strerror}"
        raise UsageError(Reason.NOT_FOUND, detail, hint="change into a folder that exists") from error
