"""A change set under review on a terminal: its numbered list, and what of it would land."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from docket.formats.dataclass import dataclass
from docket.formats.ledger.tree_events import EntryState, FsChange
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import Kind
from docket.formats.workspace.change_set import ChangeSet
from docket.rules.workspace.renames import Rename
from docket.rules.workspace.selection import Selection
from docket.surfaces.cli.console import plain
from docket.surfaces.render.figures import plural
from docket.surfaces.render.transactions import counts, mode_note, rename_note, sign_of

_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """What is under review: the whole change set, its renames, the paths that are protected."""

    changes: ChangeSet
    moved: Mapping[RelPath, Rename]
    protected: frozenset[RelPath]


def list_lines(shown: Reviewed, selection: Selection, hunks: Mapping[RelPath, int]) -> Iterator[str]:
    """Yield the numbered list; `hunks` says how many a path has, where a part of them is taken.

    A path is at the end of its line, whole: one that is cut short could pass for another.
    """
    went = {rename.source: path for path, rename in shown.moved.items()}
    width = len(str(len(shown.changes.changes)))
    for number, change in enumerate(shown.changes.changes, 1):
        mark = _mark(change.path, selection, hunks)
        notes = mode_note(change) + rename_note(change.path, shown.moved, went)
        notes += "  (protected)" if change.path in shown.protected else ""
        yield plain(
            f"{number:>{width}} {mark:<7} {sign_of(change, shown.moved)}  {_figures(change)}  {change.path}{notes}"
        )


def landing_lines(
    taken: ChangeSet, left: int, protected: tuple[RelPath, ...], parts: Mapping[RelPath, str]
) -> Iterator[str]:
    """Yield what would land: its paths, how many are left, which are protected, and the digest that names it.

    `parts` says of a file how much of it is taken, where that is not all.
    """
    for change in taken.changes[:_MOST_SHOWN]:
        part = f"  ({parts[change.path]})" if change.path in parts else ""
        yield plain(f"  {sign_of(change, {})}  {change.path}{mode_note(change)}{part}")
    if len(taken.changes) > _MOST_SHOWN:
        yield f"  and {len(taken.changes) - _MOST_SHOWN:,} more"
    yield f"lands: {counts(taken.counts)}"
    if left:
        yield f"stays: {plural(left, 'path')}, in a transaction of its own"
    for path in protected:
        yield plain(f"protected  {path}")
    yield f"diff {taken.digest}"


def _mark(path: RelPath, selection: Selection, hunks: Mapping[RelPath, int]) -> str:
    if path not in selection.taken:
        return "[ ]"
    part = selection.taken[path]
    return "[x]" if part is None else f"[{len(part)}/{hunks.get(path, len(part))}]"


def _figures(change: FsChange) -> str:
    """Return mode and size of what would stand there, or of what stood."""
    state = change.after if change.after is not None else change.before
    return f"{_mode(state):>4} {_size(state):>10}"


def _mode(state: EntryState | None) -> str:
    return "" if state is None or state.kind == Kind.SYMLINK.value else f"{state.mode:04o}"


def _size(state: EntryState | None) -> str:
    if state is None:
        return ""
    return f"{state.size:,}" if state.kind == Kind.FILE.value and state.size is not None else state.kind
