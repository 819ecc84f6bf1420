"""The listing of a stage of which only what changed was looked at.

Rules: where a backend names the paths that may have changed, those and everything below them are what the pass saw;
everything else is what the base's listing says, for there the stage shows the base's own.
"""

from __future__ import annotations

from collections.abc import Iterable

from docket.formats.relpath import RelPath
from docket.formats.tree.listing import Listing, tree_order
from docket.formats.tree.parts import with_part


def outermost(paths: Iterable[RelPath]) -> tuple[RelPath, ...]:
    """Return the paths without those that lie below another of them, in tree order."""
    kept: list[RelPath] = []
    for path in sorted(set(paths), key=lambda item: tree_order(item.raw)):
        if not kept or not path.raw.startswith(kept[-1].raw + b"/"):
            kept.append(path)
    return tuple(kept)


def laid_over(base: Listing, part: Listing, roots: Iterable[RelPath]) -> Listing:
    """Return the base's listing with everything at and below `roots` as `part` saw it."""
    # What stands where a root should lie below it is seen in its place.
    return with_part(base, part, outermost((*roots, *(record.path for record in part.records))))
