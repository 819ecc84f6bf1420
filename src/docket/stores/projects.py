"""Every project that has left evidence in the state folder, by the `project.json` that stands in each.

A folder without one, or with one that cannot be read, is nobody's project and is passed over. Nothing is changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from docket.errors import DocketError
from docket.formats.canonical import decode_document
from docket.formats.visible import raw_of
from docket.host.disk import SYSTEM_DISK, Disk
from docket.host.regular_file import read_regular_file
from docket.stores.layout import DOCKET_DIR, PROJECT_FILE, Layout, state_home
from docket.stores.unfinished import names_in

_MAX_BYTES = 64 * 1024


def projects(environment: Mapping[str, str], *, disk: Disk = SYSTEM_DISK) -> Iterator[Layout]:
    """Yield the folders of every project, by the names of their folders."""
    home = state_home(environment)
    for name in names_in(home, disk):
        with suppress(DocketError):
            root = _root_of(home / name / PROJECT_FILE)
            if root is not None:
                yield Layout(tree_root=root, state=home / name, docket_dir=root / DOCKET_DIR, evidence=())


def _root_of(path: Path) -> Path | None:
    members = decode_document(read_regular_file(path, _MAX_BYTES))
    if not isinstance(members, Mapping):
        return None
    raw = raw_of("path", members)
    return None if raw is None or not raw.startswith(b"/") else Path(os.fsdecode(raw))
