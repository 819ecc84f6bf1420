"""The paths of a tool call that is undone, one after the other: looked at, decided, and made into steps.

Rules:
1. A path is looked at through the confined tree, no link on the way followed.
2. The directories above what is made again are made where nothing stands, or where the tool's own file or link stood
   that goes with the same undoing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from docket.engines.apply import ConfinedTree
from docket.engines.foresee import present_content
from docket.engines.windows.undo_contents import UndoContents
from docket.errors import DocketError
from docket.formats.dataclass import dataclass, replace
from docket.formats.ledger.tree_events import EntryState
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.address import Address
from docket.formats.tree.changes import target_of
from docket.formats.tree.listing import Kind
from docket.formats.tree.steps import ABSENT, Holds, MakeDirectory, MakeSymlink, Remove, WriteFile
from docket.formats.windows.delta import FileDelta
from docket.formats.windows.names import ABSENT_MODE, EXECUTABLE_MODE, SYMLINK_MODE, Operation
from docket.host.git_merge import GitMerge
from docket.host.looking import look
from docket.host.reaching import Refusal
from docket.rules.tree.git_metadata import GitMetadata, owner_of
from docket.rules.tree.restore import Intention, Verb
from docket.rules.windows.undo import (
    Becomes,
    MergeText,
    Standing,
    Target,
    as_before,
    decide_undo,
    intention_of,
    refusal_of,
)
from docket.rules.windows.undo_hunks import without_hunks
from docket.rules.workspace.merging import Unmergeable, conflicting, untaken

_CHANGED = "it was changed since"
_BLOCKED = (Reason.NOT_A_DIRECTORY, Reason.IS_A_SYMLINK)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneTree:
    """The tree, the contents, docket's own paths in it, the bits that new files are without, and the largest file."""

    tree: ConfinedTree
    contents: UndoContents
    evidence: tuple[RelPath, ...]
    mask: int
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    standing: Standing
    content: bytes | None = None


class Undoing:
    """What becomes of each path of one delta; `conflicts` are texts that could not be merged."""

    def __init__(
        self,
        undone: UndoneTree,
        files: Iterable[FileDelta],
        merger: Callable[[], GitMerge],
        labels: tuple[str, str, str],
    ) -> None:
        self.conflicts: dict[RelPath, bytes] = {}
        self._undone, self._merger, self._labels = undone, merger, labels
        every = tuple(files)
        self._git = GitMetadata(file.path for file in every)
        self._created = frozenset(file.path for file in every if file.operation is Operation.CREATE)
        removed = (file.path for file in every if file.operation is Operation.DELETE)
        self._were_folders = frozenset(above for path in removed for above in path.above())
        self._found: dict[RelPath, Intention] = {}
        self._git_merge: GitMerge | None = None
        self._parts: dict[str, bytes] = {}

    def leave(self, path: RelPath) -> None:
        """Take down that a path is not meant."""
        self._found[path] = Intention(path=path, verb=Verb.SKIP, reason=Reason.NOT_SELECTED)

    def take(self, file: FileDelta, places: Collection[int] | None) -> None:
        """Decide a path; `places` are those of the hunks that are meant, None for all of the file."""
        self._parts = {}
        try:
            found = self._decided(file, places)
        except DocketError as error:
            found = Unmergeable(reason=Reason(error.reason), detail=error.detail)
        self._found[file.path] = refusal_of(file.path, found) if isinstance(found, Unmergeable) else found

    def intentions(self) -> list[Intention]:
        """Return all of them, with the directories that are needed above."""
        for item in list(self._found.values()):
            if isinstance(item.step, WriteFile | MakeSymlink):
                for above in item.path.above():
                    self._need(above)
        return list(self._found.values())

    def _decided(self, file: FileDelta, places: Collection[int] | None) -> Intention | Unmergeable:
        own = self._not_ours(file.path)
        looked = own or self._looked(file.path)
        if isinstance(looked, Unmergeable):
            return looked
        if file.path in self._were_folders and looked.standing.is_directory:
            return as_before(file.path)
        part = file if places is None else self._part(file, places, looked)
        if isinstance(part, Unmergeable):
            return part
        decision = decide_undo(part, looked.standing)
        if isinstance(decision, MergeText):
            return self._merged(part, looked, decision)
        return self._becomes(part, looked, decision) if isinstance(decision, Becomes) else decision

    def _not_ours(self, path: RelPath) -> Unmergeable | None:
        if any(path == own or own in path.above() for own in self._undone.evidence):
            return Unmergeable(reason=Reason.NOT_OURS, detail="docket's own evidence is never undone")
        folder = self._git.folder_of(path)
        if folder is not None:
            return Unmergeable(reason=Reason.GIT_METADATA, detail=f"{owner_of(folder)} own files are never undone")
        return None

    def _looked(self, path: RelPath) -> _Looked | Unmergeable:
        state = self._state(path)
        if isinstance(state, Refusal):
            is_cleared = state.reason in _BLOCKED and any(above in self._created for above in path.above())
            if not is_cleared:
                return Unmergeable(reason=state.reason, detail=state.detail)
            state = None
        if state is None or state.kind not in (Kind.FILE.value, Kind.SYMLINK.value):
            return _Looked(standing=Standing(state=state))
        content = target_of(state) if state.kind == Kind.SYMLINK.value else self._read(path, state)
        if content is None:
            return Unmergeable(reason=Reason.UNREADABLE, detail="what stands there now cannot be read")
        name = self._undone.contents.name_of(content)
        return _Looked(standing=Standing(state=state, name=name), content=content)

    def _state(self, path: RelPath) -> EntryState | Refusal | None:
        """Return what stands at a path, None for nothing, or why that cannot be told."""
        tree = self._undone.tree
        reached = tree.ways.reach(path)
        if isinstance(reached, Refusal):
            return None if reached.reason is Reason.NOT_FOUND else reached
        with reached:
            found = look(*reached.place, tree.ways.own_mode)
        return found if found is None or isinstance(found, Refusal) else found.state

    def _read(self, path: RelPath, state: EntryState) -> bytes | None:
        content = present_content(self._undone.tree, path, self._undone.most)
        if content is None or state.sha256 is None:
            return None
        return content if Address.of(content).sha256 == state.sha256 else None

    def _part(self, file: FileDelta, places: Collection[int], looked: _Looked) -> FileDelta | Unmergeable:
        """Return the delta of the file as if the tool had made the hunks at these places alone."""
        is_whole = len(places) == len(file.hunks)
        if is_whole and file.operation is not Operation.EDIT:
            return file
        after = self._undone.contents.after(file, looked.content)
        target = None if after is None else without_hunks(after, file, places)
        if after is None or target is None:
            return _gone("what the tool left there")
        name = self._undone.contents.name_of(target)
        self._parts = {file.after_hash: after, name: target}
        return replace(
            file, operation=Operation.EDIT, before_mode=file.after_mode, before_hash=name, hunks=(), truncated=True
        )

    def _becomes(self, file: FileDelta, looked: _Looked, decision: Becomes) -> Intention | Unmergeable:
        path, side, state = file.path, decision.side, looked.standing.state
        if side == looked.standing.side:
            return as_before(path)
        if side.mode == ABSENT_MODE:
            return intention_of(path, state, Target(), self._undone.mask)
        content = looked.content if side.name == looked.standing.name else self._before(file, looked)
        if content is None:
            return _gone("what stood there before the tool")
        if side.mode == SYMLINK_MODE:
            return intention_of(path, state, Target(link=content), self._undone.mask)
        target = Target(content=self._undone.contents.keep(content), executable=side.mode == EXECUTABLE_MODE)
        return intention_of(path, state, target, self._undone.mask)

    def _merged(self, file: FileDelta, looked: _Looked, decision: MergeText) -> Intention | Unmergeable:
        before, after, now = self._before(file, looked), self._after(file, looked), looked.content
        if before is None or after is None or now is None:
            return _gone(f"{_CHANGED}, and what the tool {'found' if before is None else 'left'} there")
        texts = (now, after, before)
        why = untaken(texts, _CHANGED)
        if why is not None:
            return why
        if self._git_merge is None:
            self._git_merge = self._merger()
        done = self._git_merge.merge(texts, self._labels)
        if done.conflicts:
            self.conflicts[file.path] = done.content
            return conflicting(done.conflicts, "the same lines were changed since")
        executable = decision.mode == EXECUTABLE_MODE
        state = looked.standing.state
        if done.content == now and state is not None and executable == bool(state.mode & 0o100):
            return as_before(file.path)
        target = Target(content=self._undone.contents.keep(done.content), executable=executable, merged=True)
        return intention_of(file.path, state, target, self._undone.mask)

    def _before(self, file: FileDelta, looked: _Looked) -> bytes | None:
        part = self._parts.get(file.before_hash)
        return self._undone.contents.before(file, looked.content) if part is None else part

    def _after(self, file: FileDelta, looked: _Looked) -> bytes | None:
        part = self._parts.get(file.after_hash)
        return self._undone.contents.after(file, looked.content) if part is None else part

    def _need(self, folder: RelPath) -> None:
        """Have a directory made where none stands."""
        known, state = self._found.get(folder), self._state(folder)
        if isinstance(state, Refusal):
            state = None  # what stands above it goes, or the plan is refused
        is_removed = known is not None and isinstance(known.step, Remove)
        is_refused = known is not None and known.verb is Verb.REFUSED
        if is_refused or (state is not None and not is_removed):
            return
        step = MakeDirectory(
            path=folder, precondition=ABSENT if state is None else Holds(state), mode=0o777 & ~self._undone.mask
        )
        self._found[folder] = Intention(path=folder, verb=Verb.DIRECTORY, step=step)


def _gone(what: str) -> Unmergeable:
    return Unmergeable(reason=Reason.CONTENT_MISSING, detail=f"{what} is not kept any more")
