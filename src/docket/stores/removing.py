"""Removing a folder of evidence with all that is in it, and telling what it takes on the disk.

Rules:
1. The document that makes a folder count goes first, durably: whoever dies in between leaves what counts for nothing.
2. No link is followed, and nothing is looked for deeper than docket puts anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from docket.errors import UnavailableError
from docket.host.disk import FileFigures, Folder

MAX_DEPTH = 8


def remove_published(parent: Folder, name: str, document: str) -> None:
    """Remove the folder `name` of `parent`, its `document` first; UnavailableError where something of it is left."""
    with parent.folder(name) as folder:
        if folder.look(document) is not None:
            folder.remove(document)
            folder.sync()
        remove_below(folder)
    parent.remove_folder(name)
    parent.sync()


def remove_below(folder: Folder, depth: int = 0) -> None:
    """Remove everything in an open folder; UnavailableError where something of it is left."""
    for name in folder.names():
        found = folder.look(name)
        if found is None:
            continue
        if not found.is_folder or depth >= MAX_DEPTH:
            folder.remove(name)
            continue
        with folder.folder(name) as inner:
            remove_below(inner, depth + 1)
        folder.remove_folder(name)


def files_below(folder: Folder, depth: int = 0) -> Iterator[FileFigures]:
    """Yield the figures of every file in an open folder and below; a folder in it that cannot be opened is left out."""
    for name in folder.names():
        found = folder.look(name)
        if found is not None and found.is_file:
            yield found
        elif found is not None and found.is_folder and depth < MAX_DEPTH:
            with suppress(UnavailableError), folder.folder(name) as inner:
                yield from files_below(inner, depth + 1)
