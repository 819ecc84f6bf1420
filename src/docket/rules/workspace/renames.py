"""Which added files are removed ones under another name: for showing alone, a commit knows no renames.

Rules: an addition is a rename where a removed file had its exact content, and that removal is no other's; among several
the first in tree order is taken. An empty file has nothing to be known by.
"""

from __future__ import annotations

from collections import defaultdict, deque

from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import Change
from docket.formats.relpath import RelPath
from docket.formats.workspace.change_set import ChangeSet


def renames(changes: ChangeSet) -> dict[RelPath, RelPath]:
    """Return, for each added path that was renamed, the path it had."""
    removed: defaultdict[Digest, deque[RelPath]] = defaultdict(deque)
    for change in changes.changes:
        state = change.before
        if change.change is Change.REMOVED and state is not None and state.sha256 is not None and state.size:
            removed[state.sha256].append(change.path)
    found: dict[RelPath, RelPath] = {}
    for change in changes.changes:
        state = change.after
        if change.change is Change.ADDED and state is not None and state.sha256 is not None and removed[state.sha256]:
            found[change.path] = removed[state.sha256].popleft()
    return found
