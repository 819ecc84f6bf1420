"""The machine's ports for each engine, and where the command line finds a project's documents."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from docket.formats.canonical import JsonValue
from docket.stores.layout import Layout, resolve_layout
from docket.stores.receipts import find_receipt


def layout_at(root: Path, docket_dir: Path | None) -> Layout:
    """Return the folders of the project at `root`."""
    return resolve_layout(root, docket_dir=docket_dir, environment=os.environ)


def locate_receipt(ref: str | None, docket_dir: Path | None) -> Path:
    """Return the receipt a person means: a path, a docket number, or the project's newest."""
    return find_receipt(layout_at(Path.cwd(), docket_dir), ref)


def host_facts() -> dict[str, JsonValue]:
    """Return what a session records of the machine."""
    return {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def read_small_file(path: str, limit_bytes: int = 4 * 1024 * 1024) -> bytes | None:
    """Return a file's bytes; None where it does not exist, cannot be read, is no regular file or is larger."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        try:
            data = file.read(limit_bytes + 1)
        except OSError:
            return None
    return None if data is None or len(data) > limit_bytes else data
