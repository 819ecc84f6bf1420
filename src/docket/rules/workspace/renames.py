"""Which added files are removed ones under another name: for showing alone, a commit knows no renames.

Rules (spec/workspace.md, Renames):
1. An addition is a rename where a removed file had its exact content, and that removal is no other's; among several
   the first in tree order is taken. An empty file has nothing to be known by.
2. Of those that are left, an addition is a rename where at least `LEAST_PERCENT` of the larger of both contents, in
   bytes of whole lines, stand in both; the pairs most alike first.
3. What that costs is bounded: it is asked only of files of at most `MAX_BYTES` each, and not at all where more than
   `MAX_FILES` were added or removed.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping

from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import Kind
from docket.formats.workspace.change_set import ChangeSet
from docket.rules.line_difference import lines_of

LEAST_PERCENT = 50
MAX_BYTES = 256 * 1024
MAX_FILES = 50


@dataclass(frozen=True, slots=True)
class Rename:
    """The path that an added file had, and how much of the content is the same, in percent."""

    source: RelPath
    percent: int = 100


@dataclass(frozen=True, slots=True)
class Unpaired:
    """Files that were removed and added, with no rename among them yet; none where there are too many."""

    removed: tuple[FsChange, ...] = ()
    added: tuple[FsChange, ...] = ()


def renames(changes: ChangeSet) -> dict[RelPath, Rename]:
    """Return, for each added path that was renamed as it was, where it stood."""
    removed: defaultdict[Digest, deque[RelPath]] = defaultdict(deque)
    for change in changes.changes:
        state = change.before
        if change.change is Change.REMOVED and state is not None and state.sha256 is not None and state.size:
            removed[state.sha256].append(change.path)
    found: dict[RelPath, Rename] = {}
    for change in changes.changes:
        state = change.after
        if change.change is Change.ADDED and state is not None and state.sha256 is not None and removed[state.sha256]:
            found[change.path] = Rename(removed[state.sha256].popleft())
    return found


def unpaired(changes: ChangeSet, found: Mapping[RelPath, Rename]) -> Unpaired:
    """Return the files whose contents are to be compared, after the renames that were found already."""
    gone = {rename.source for rename in found.values()}
    removed = [c for c in changes.changes if c.change is Change.REMOVED and c.path not in gone and _may(c.before)]
    added = [c for c in changes.changes if c.change is Change.ADDED and c.path not in found and _may(c.after)]
    if not removed or not added or max(len(removed), len(added)) > MAX_FILES:
        return Unpaired()
    return Unpaired(tuple(removed), tuple(added))


def similar(left: Unpaired, contents: Mapping[RelPath, bytes]) -> dict[RelPath, Rename]:
    """Return the renames among files by their contents; one whose content is not given is none."""
    lines = {path: Counter(lines_of(data)) for path, data in contents.items()}
    pairs = [
        (_percent((contents[old.path], contents[new.path]), (lines[old.path], lines[new.path])), old.path, new.path)
        for old in left.removed
        for new in left.added
        if old.path in contents and new.path in contents
    ]
    found: dict[RelPath, Rename] = {}
    gone: set[RelPath] = set()
    for percent, old_path, new_path in sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2])):
        if percent >= LEAST_PERCENT and old_path not in gone and new_path not in found:
            found[new_path] = Rename(old_path, percent)
            gone.add(old_path)
    return found


def _percent(contents: tuple[bytes, bytes], lines: tuple[Counter[bytes], Counter[bytes]]) -> int:
    most = max(map(len, contents))
    if min(map(len, contents)) * 100 < most * LEAST_PERCENT:
        return 0
    return sum(len(line) * number for line, number in (lines[0] & lines[1]).items()) * 100 // most


def _may(state: EntryState | None) -> bool:
    return state is not None and state.kind == Kind.FILE.value and 0 < (state.size or 0) <= MAX_BYTES
