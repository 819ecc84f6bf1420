"""What undoing a tool call does about one path: from the delta and what stands there now, without any content.

Rules (spec/windows.md, Undo):
1. Three sides are compared: what the tool left (the ancestor), what stands there now (ours), what stood there before
   the tool (theirs). Where now is what the tool left, it becomes what stood there before, whatever kind that is.
2. Content and executable bit are merged each for itself, and contents by their lines, only where all three sides are
   regular files.
3. What the tool made is removed only while it is what the tool made. What the tool removed is made again only where
   nothing stands. Anything else is a conflict.
4. What was not read, and a repository in the tree, is not undone.
5. The bits of a mode that a delta does not tell stay as they are; what is made anew has those that the mask leaves.

What is done with it is `engines.windows.undo`'s.
"""

from __future__ import annotations

from typing import TypeAlias

from docket.formats.dataclass import dataclass
from docket.formats.ledger.tree_events import EntryState
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.listing import Kind
from docket.formats.tree.steps import (
    ABSENT,
    MAX_FILE_MODE,
    Holds,
    MakeSymlink,
    Precondition,
    Remove,
    SetMode,
    WriteFile,
)
from docket.formats.windows.changes import Side
from docket.formats.windows.delta import FileDelta
from docket.formats.windows.names import (
    ABSENT_MODE,
    EXECUTABLE_MODE,
    FILE_MODES,
    GITLINK_MODE,
    REGULAR_MODE,
    SYMLINK_MODE,
    Operation,
)
from docket.rules.tree.restore import Intention, Verb
from docket.rules.workspace.merging import Unmergeable, three_way

_OTHER_MODE = "other"
_EXECUTABLE, _READABLE = 0o111, 0o444


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What stands at a path now, None for nothing; `name` is what the delta would call its content."""

    state: EntryState | None = None
    name: str | None = None

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return self.state is not None and self.state.kind == Kind.DIRECTORY.value

    @property
    def side(self) -> Side:
        """The same as a delta tells it."""
        if self.state is None:
            return Side()
        if self.state.kind == Kind.FILE.value:
            mode = EXECUTABLE_MODE if self.state.mode & 0o100 else REGULAR_MODE
            return Side(mode=mode, name=self.name)
        if self.state.kind == Kind.SYMLINK.value:
            return Side(mode=SYMLINK_MODE, name=self.name)
        return Side(mode=_OTHER_MODE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Becomes:
    """The path becomes this."""

    side: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeText:
    """The path becomes a file with the merge of the three contents, and this mode."""

    mode: str


UndoDecision: TypeAlias = Becomes | MergeText | Unmergeable


def sides_of(file: FileDelta) -> tuple[Side, Side]:
    """Return what stood at a path before the tool and after it."""
    return _side(file.before_mode, file.before_hash), _side(file.after_mode, file.after_hash)


def decide_undo(file: FileDelta, standing: Standing) -> UndoDecision:
    """Return what becomes of a path."""
    before, after = sides_of(file)
    now = standing.side
    if GITLINK_MODE in (before.mode, after.mode):
        return Unmergeable(reason=Reason.NOT_MERGEABLE, detail="it is a repository of its own, which is not undone")
    for side, words in ((before, "what stood there before the tool"), (after, "what the tool left there")):
        if side.mode != ABSENT_MODE and side.name is None:
            return Unmergeable(reason=Reason.NOT_RECORDED, detail=f"{words} was not read")
    whole = three_way(after, before, now)
    if whole is not None:
        return Becomes(side=whole)
    if after.mode == ABSENT_MODE and standing.is_directory:
        return Becomes(side=before)  # the plan refuses it unless everything in the directory goes
    if not {before.mode, after.mode, now.mode} <= FILE_MODES:
        return _conflict(file, now)
    mode = three_way(after.mode, before.mode, now.mode)
    assert mode is not None  # noqa: S101 - of two modes one is the ancestor's
    content = three_way(after.name, before.name, now.name)
    if content is not None:
        return Becomes(side=Side(mode=mode, name=content))
    if file.binary:
        return Unmergeable(reason=Reason.NOT_MERGEABLE, detail="it was changed since, and it is no text")
    return MergeText(mode=mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a path is to be: nothing, a link to `link`, or a file with this content, executable or not.

    `merged`: the content holds what was changed since, too.
    """

    content: Address | None = None
    executable: bool = False
    link: bytes | None = None
    merged: bool = False


def intention_of(path: RelPath, state: EntryState | None, target: Target, mask: int) -> Intention:
    """Return the step that makes a path the target while it is in that state; `mask` is what new files are without."""
    expected: Precondition = ABSENT if state is None else Holds(state)
    if target.link is not None:
        return Intention(
            path=path, verb=Verb.SYMLINK, step=MakeSymlink(path=path, precondition=expected, target=target.link)
        )
    if target.content is None:
        assert state is not None  # noqa: S101 - where nothing stands nothing is to be removed
        return Intention(
            path=path, verb=Verb.REMOVE, step=Remove(path=path, precondition=expected, kind=Kind(state.kind))
        )
    is_file = state is not None and state.kind == Kind.FILE.value
    base = state.mode if is_file and state is not None else 0o666 & ~mask
    mode = _mode(base, mask=0 if is_file else mask, executable=target.executable)
    if is_file and state is not None and (state.size, state.sha256) == (target.content.size, target.content.sha256):
        return Intention(path=path, verb=Verb.MODE, step=SetMode(path=path, precondition=expected, mode=mode))
    return Intention(
        path=path,
        verb=Verb.RECREATE if state is None else Verb.WRITE,
        step=WriteFile(path=path, precondition=expected, content=target.content, mode=mode),
        detail="merged with what was changed since" if target.merged else None,
    )


def refusal_of(path: RelPath, why: Unmergeable) -> Intention:
    """Return that nothing can be done about a path, and why."""
    return Intention(path=path, verb=Verb.REFUSED, reason=why.reason, detail=why.detail)


def as_before(path: RelPath) -> Intention:
    """Return that nothing is left to do about a path."""
    return Intention(path=path, verb=Verb.KEEP, detail="it is as before the tool")


def _mode(base: int, *, mask: int, executable: bool) -> int:
    """Return a mode with the executable bits of who may read, or without any."""
    kept = base & MAX_FILE_MODE
    if not executable:
        return kept & ~_EXECUTABLE
    if kept & 0o100:
        return kept
    return kept | ((kept & _READABLE) >> 2 | 0o100) & ~mask


def _side(mode: str, name: str) -> Side:
    return Side(mode=mode, name=name if name.strip("0") else None)


def _conflict(file: FileDelta, now: Side) -> Unmergeable:
    match file.operation:
        case Operation.CREATE:
            detail = "the tool made it, and it was changed since"
        case Operation.DELETE:
            detail = "the tool removed it, and something else stands there now"
        case _ if now.mode == ABSENT_MODE:
            detail = "the tool changed it, and it was removed since"
        case _:
            detail = "the tool changed it, and it is another thing since"
    return Unmergeable(reason=Reason.MERGE_CONFLICT, detail=detail)
