"""Where the records of paths stand in a document of one record a line, in tree order, after a header line.

Rules:
1. Lines are found by bisecting the text: of a tree of any size some twenty lines are read.
2. A line that is met and names no path is refused; the others are not looked at.
"""

from __future__ import annotations

from docket.formats.canonical import decode
from docket.formats.reading import Reader
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import tree_order

_BELOW_EVERY_NAME = b"\x01"  # tree order spells a slash as NUL, and no name holds one


def span(document: bytes, path: RelPath) -> tuple[int, int]:
    """Return where the records of a path and of everything below it begin and end; both alike where there is none."""
    order = tree_order(path.raw)
    return first_not_before(document, order), first_not_before(document, order + _BELOW_EVERY_NAME)


def own_line(document: bytes, path: RelPath) -> tuple[int, int]:
    """Return where the record of a path itself begins and ends; both are where it would stand if there is none."""
    start = first_not_before(document, tree_order(path.raw))
    end = document.find(b"\n", start)
    return start, end + 1 if end >= 0 and path_of(document[start:end]) == path else start


def first_not_before(document: bytes, order: bytes) -> int:
    """Return where the first record begins that does not stand before `order`, as `tree_order` gives it."""
    low, high = document.index(b"\n") + 1, len(document)
    while low < high:
        middle = (low + high) // 2
        start = document.rfind(b"\n", low, middle) + 1 or low
        end = document.index(b"\n", start)
        if tree_order(path_of(document[start:end]).raw) < order:
            low = end + 1
        else:
            high = start
    return low


def path_of(line: bytes) -> RelPath:
    """Return the path of a record; InvalidDocumentError where it names none."""
    reader = Reader(decode(line), "a record")
    return RelPath.from_members({key: reader.any(key) for key in ("path", "path_b64") if reader.has(key)})
