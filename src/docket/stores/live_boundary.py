"""Where a living run's boundary is found by whoever may look into the state folder: `live/<session>/boundary.json`.

The file is 0600 in a folder of 0700, holds the address with the run's token, and goes with the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from docket.errors import DocketError
from docket.formats.canonical import decode_document, encode_document
from docket.host.disk import SYSTEM_DISK, Disk
from docket.stores.layout import Layout
from docket.stores.live import live_path, write_live_files

BOUNDARY_FILE = "boundary.json"
_MAX_BYTES = 4096


def write_boundary(run_dir: Path, url: str, *, disk: Disk = SYSTEM_DISK) -> None:
    """Tell where the boundary is; `url` is its base URL, token included."""
    write_live_files(run_dir, {BOUNDARY_FILE: encode_document({"format": "docket/live/v1", "url": url})}, disk=disk)


def read_boundary(layout: Layout, session_id: str, *, disk: Disk = SYSTEM_DISK) -> str | None:
    """Return the base URL of a living run's boundary, None where it is not known."""
    try:
        with disk.folder(live_path(layout, session_id)) as folder, folder.open(BOUNDARY_FILE) as file:
            document = decode_document(file.read(0, _MAX_BYTES))
    except DocketError:
        return None
    url = document.get("url") if isinstance(document, Mapping) else None
    return url if isinstance(url, str) and url.startswith("http://127.0.0.1:") else None
