"""Whether a stage stood still between the run's pass after and the closing pass, which look at different surfaces.

Rules (spec/workspace.md, Settling):
1. What lands is what the record of the run tells of: a path that either pass saw changed says the same in both.
2. A path at which the pass after does not look (ignored, not watched, a store of version control) says nothing.
"""

from __future__ import annotations

from collections.abc import Collection

from docket.formats.relpath import RelPath
from docket.formats.tree.listing import Listing, Omission, decode_record, tree_order
from docket.formats.tree.spans import own_line
from docket.formats.tree.surface import Surface

_FEW = 1_000  # above that, taking all lines apart costs less than finding each


def changed_between(after: Listing, closing: Listing, changed: Collection[RelPath], surface: Surface) -> RelPath | None:
    """Return the first path of `changed` that the two passes do not tell alike; `surface` is that of `after`."""
    wanted = frozenset(changed)
    first, second = _lines(after, wanted), _lines(closing, wanted)
    found = [path for path in _paths(first - second) if path in wanted]
    found += [path for path in _paths(second - first) if path in wanted and _is_seen(path, surface)]
    return min(found, key=lambda path: tree_order(path.raw), default=None)


def _lines(listing: Listing, wanted: Collection[RelPath]) -> set[bytes]:
    if len(wanted) > _FEW:
        return set(listing.lines())
    document = listing.document
    return {document[slice(*own_line(document, path))].removesuffix(b"\n") for path in wanted} - {b""}


def _paths(lines: Collection[bytes]) -> list[RelPath]:
    """Return the paths of entries; what was left out was not compared."""
    records = (decode_record(line) for line in lines)
    return [record.path for record in records if not isinstance(record, Omission)]


def _is_seen(path: RelPath, surface: Surface) -> bool:
    if surface.watched is not None:
        return False
    above = tuple(path.above())
    if surface.roots and not any(place in surface.roots for place in (path, *above)):
        return False
    if any(surface.left_out(place.raw, is_directory=True) is not None for place in above):
        return False
    return (
        surface.left_out(path.raw, is_directory=False) is None and surface.left_out(path.raw, is_directory=True) is None
    )
