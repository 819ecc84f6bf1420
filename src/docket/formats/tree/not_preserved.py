"""What kept paths had and no restore brings back: told by a manifest, of how many paths, the first of them by name.

It says nothing of paths that are not kept at all (`not_covered`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from docket.formats.canonical import JsonValue
from docket.formats.tree.attributes import is_kept
from docket.formats.tree.details import Detail, Details
from docket.formats.tree.listing import Kind
from docket.formats.tree.xattrs import can_be_named

MAX_PATHS_NAMED = 10
OWNER, NAMES_OUTSIDE, LINKED_SYMLINK = "owner", "names-outside", "linked-symlink"
ATTRIBUTE = "attribute"
TOO_LARGE, UNREADABLE = ", too large", ", unreadable"


def not_preserved(details: Details) -> Sequence[JsonValue]:
    """Return the items of a manifest's list, in the order of what they say."""
    names = Counter(item.identity for item in details.paths if item.identity is not None)
    found: defaultdict[str, list[JsonValue]] = defaultdict(list)
    counts = Counter[str]()
    for item in details.paths:
        in_tree = 0 if item.identity is None else names[item.identity]
        for what in dict.fromkeys(_losses(item, in_tree)):
            counts[what] += 1
            if counts[what] <= MAX_PATHS_NAMED:
                found[what].append(item.path.members())
    return [{"what": what, "count": counts[what], "paths": paths} for what, paths in sorted(found.items())]


def _losses(item: Detail, names_in_tree: int) -> Iterator[str]:
    if item.owner is not None:
        yield OWNER
    if item.identity is not None and item.kind != Kind.FILE:
        yield LINKED_SYMLINK
    elif names_in_tree < item.links and item.identity is not None:
        yield NAMES_OUTSIDE
    for name, value in item.xattrs:
        shown = f"{ATTRIBUTE} {name.decode('utf-8', 'backslashreplace')}"
        if isinstance(value, int):
            yield shown + TOO_LARGE
        elif value is None:
            yield shown + (UNREADABLE if is_kept(name) else "")
        elif not can_be_named(item.kind, name, value):
            yield shown
