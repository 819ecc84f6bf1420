"""`docket report --html`: the page of a run, made and written.

Rules: an existing file is only replaced where it is a page that docket made. What a page is made of is gathered by
`engines.run_page`, what it looks like is `render.page`'s.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from docket.engines.run_page.gather import gathered
from docket.engines.run_page.gathered import PageRequest
from docket.errors import UsageError
from docket.formats.reason import Reason
from docket.host.disk import SYSTEM_DISK
from docket.host.durable import publish_chunks
from docket.surfaces.render.page.document import GENERATOR, page

_HEAD_BYTES = 4096


def page_of(request: PageRequest) -> tuple[str, ...]:
    """Return the page of a run, piece by piece; DocketError where the receipt or the module cannot be read."""
    with gathered(request) as run:
        return page(run)


def write_page(pieces: Iterable[str], target: Path) -> None:
    """Write a page durably, for its owner alone; UsageError where something else stands there."""
    if os.path.lexists(target):
        _check_replaceable(target)
    parent = Path(os.path.realpath(target.parent))
    with SYSTEM_DISK.folder(parent) as folder:
        publish_chunks(folder, target.name, _encoded(pieces), overwrite=True)


def _encoded(pieces: Iterable[str]) -> Iterator[bytes]:
    for piece in pieces:
        yield piece.encode("utf-8")


def _check_replaceable(target: Path) -> None:
    detail = f"{target} is there already and is no page of docket's"
    hint = "name a file in it" if target.is_dir() else "remove it, or name another file"
    error = UsageError(Reason.ALREADY_EXISTS, detail, hint=hint)
    if not target.is_file() or target.is_symlink():
        raise error
    with target.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head and GENERATOR.encode("ascii") not in head:
        raise error


__all__ = ["PageRequest", "page_of", "write_page"]
