"""Repositories outside of a tree that its git would write to: what of them an agent on a stage may only read.

Rules (spec/workspace.md, Git; docs/adr):
1. A stage at the tree's own path shows the rest of the system as it is. A repository there that the tree's git belongs
   to (a linked worktree's, a submodule's, one around the tree) is mounted over itself so that nothing can be written.
2. What does not stand is left out, and so is what lies in the tree by its real path: the stage has it.
3. A place that the tree lies in is refused: it cannot be kept from being written without the tree.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import Listing, Omission
from docket.formats.tree.parts import records_at
from docket.formats.visible import visible
from docket.rules.workspace.git_reach import COMMON, GIT, absolute, gitdir_of, is_within, places_outside
from docket.rules.workspace.preflight import Refusal

MAX_DOCUMENT_BYTES = 64 * 1024


def read_only_places(
    base: Path, listing: Listing, documents: Iterable[tuple[RelPath, bytes]]
) -> tuple[bytes, ...] | Refusal:
    """Return the real paths that an agent on a stage of `base`, shown at its own path, may only read."""
    root = os.fsencode(base)
    named = [item.place for item in places_outside(listing, root, documents)]
    if all(isinstance(record, Omission) for record in records_at(listing, (RelPath(GIT),)).values()):
        named += _around(base)
    found: set[bytes] = set()
    for place in named:
        for real in _with_common(os.path.realpath(place)):
            if is_within(root, real):
                detail = f"git in {base} writes to {visible(real)}, in which the tree itself lies"
                return Refusal(reason=Reason.LEADS_INTO_BASE, detail=detail, hint="run docket in that directory")
            if not is_within(real, root) and os.path.lexists(real):
                found.add(real)
    return tuple(sorted(place for place in found if not any(is_within(place, other) for other in found - {place})))


def _around(base: Path) -> Iterator[bytes]:
    """Yield the repository that git finds above a tree that has none of its own."""
    for folder in base.parents:
        place = os.fsencode(folder / ".git")
        if os.path.isdir(place):  # noqa: PTH112 - a path of bytes
            yield place
            return
        document = _read(place)
        named = None if document is None else gitdir_of(document, os.fsencode(folder))
        if named is not None:
            yield named
            return


def _with_common(place: bytes) -> Iterator[bytes]:
    yield place
    document = _read(place + b"/" + COMMON)
    if document is not None:
        yield os.path.realpath(absolute(document.rstrip(b"\r\n"), place))


def _read(place: bytes) -> bytes | None:
    if not os.path.isfile(place):  # noqa: PTH113 - a path of bytes; a FIFO would be waited for without an end
        return None
    try:
        with open(place, "rb") as file:  # noqa: PTH123 - a path of bytes
            return file.read(MAX_DOCUMENT_BYTES)
    except OSError:
        return None
