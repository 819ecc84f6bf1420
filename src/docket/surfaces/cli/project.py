"""Where the command line finds a project's folders and documents."""

from __future__ import annotations

import os
from pathlib import Path

from docket.errors import UsageError
from docket.formats.reason import Reason
from docket.stores.layout import Layout, resolve_layout
from docket.stores.receipts import find_receipt


def layout_at(root: Path, docket_dir: Path | None) -> Layout:
    """Return the folders of the project at `root`."""
    return resolve_layout(root, docket_dir=docket_dir, environment=os.environ)


def locate_receipt(ref: str | None, docket_dir: Path | None) -> Path:
    """Return the receipt a person means: a path, a docket number, or the project's newest."""
    return find_receipt(layout_at(current_folder(), docket_dir), ref)


def current_folder() -> Path:
    """Return the folder docket was called in; UsageError if it has been deleted."""
    try:
        return Path.cwd()
    except OSError as error:
        detail = f"the current folder cannot be used: {error.strerror}"
        raise UsageError(Reason.NOT_FOUND, detail, hint="change into a folder that exists") from error
