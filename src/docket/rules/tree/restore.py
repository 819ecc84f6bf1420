"""What a restore does about each path that a run changed, from the run's record alone.

Rules (spec/restore.md, The plan):
1. The manifest says what stood at a path, the ledger's `fs.change` what the run left there; nothing is looked at.
2. A step is done only where the path still holds what the run left. Under `force` it is done over anything.
3. Only what the run was seen to create is removed: that the snapshot has no such path is not enough.
4. Where the documents do not agree about a path, or one of them names it twice, it is refused.
5. What git keeps of itself is left unless it is selected by name; docket's own evidence is never touched.
6. A directory that holds something that stays is not removed.

It does nothing (engines.apply) and reads nothing (engines.restore).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum

from docket.formats.dataclass import dataclass, replace
from docket.formats.ledger.tree_events import EntryState, FsChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import symlink_state, target_of
from docket.formats.tree.listing import MAX_MODE, Kind, tree_order
from docket.formats.tree.manifest import (
    Kept,
    Manifest,
    NotCovered,
    SnapshotDirectory,
    SnapshotFile,
    SnapshotSymlink,
)
from docket.formats.tree.steps import (
    ABSENT,
    ANYTHING,
    MAX_DIRECTORY_MODE,
    MAX_FILE_MODE,
    Holds,
    Link,
    MakeDirectory,
    MakeSymlink,
    Precondition,
    Remove,
    SetMode,
    Step,
    WriteFile,
)
from docket.formats.tree.xattrs import named_acl, named_xattrs
from docket.rules.selectors import Selector
from docket.rules.tree.git_metadata import GitMetadata, marks_repository, owner_of

_ORDINARY = (Kind.FILE.value, Kind.DIRECTORY.value, Kind.SYMLINK.value)


class Verb(StrEnum):
    """What is to happen to a path."""

    WRITE = "write"
    RECREATE = "recreate"
    REMOVE = "remove"
    MODE = "mode"
    SYMLINK = "symlink"
    DIRECTORY = "directory"
    LINK = "link"
    KEEP = "keep"
    SKIP = "skip"
    NOT_COVERED = "not-covered"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Intention:
    """What is to happen to one path: a step, or none and why; `folder` is the git folder that it is kept with.

    `warning` is what a person must know of what stays there.
    """

    path: RelPath
    verb: Verb
    step: Step | None = None
    reason: Reason | None = None
    detail: str | None = None
    folder: RelPath | None = None
    warning: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The paths that are meant: these and all below them, literally, and what the patterns mean; none means all."""

    paths: tuple[RelPath, ...] = ()
    globs: Selector | None = None

    @property
    def is_everything(self) -> bool:
        """Whether nothing was named."""
        return not self.paths and self.globs is None

    def takes(self, path: RelPath, *, is_directory: bool) -> bool:
        """Whether a path is meant."""
        if self.is_everything or any(_is_at_or_below(path, named) for named in self.paths):
            return True
        return self.globs is not None and self.globs.matches(path, is_directory=is_directory)

    def names(self, path: RelPath, git: GitMetadata) -> bool:
        """Whether a path of git's own is meant as such, not merely a folder that holds it."""
        patterns = () if self.globs is None else self.globs.patterns
        return git.is_named(path, self.paths, patterns)


def intentions(
    manifest: Manifest, changes: Sequence[FsChange], selection: Selection | None = None, *, force: bool = False
) -> tuple[Intention, ...]:
    """Return what is to happen to each path that `changes` name, in tree order.

    A file that is to become another name of one that the run left alone brings that one along, as a step that only
    checks it.
    """
    decided = _Decision(manifest, changes, selection or Selection(), force=force).each()
    return tuple(sorted(_with_holders_kept(decided), key=lambda item: tree_order(item.path.raw)))


def files_needed(changes: Iterable[FsChange]) -> Callable[[bytes], bool]:
    """Return which of a manifest's files `intentions` needs, by their paths; all of a `link_group` beside them."""
    named = frozenset(change.path.raw for change in changes)
    return lambda raw: raw in named or marks_repository(raw)


def state_of_kept(entry: Kept) -> EntryState:
    """Return the state that a manifest's entry tells."""
    match entry:
        case SnapshotFile():
            return EntryState(
                kind=Kind.FILE.value, mode=entry.mode, size=entry.content.size, sha256=entry.content.sha256
            )
        case SnapshotDirectory():
            return EntryState(kind=Kind.DIRECTORY.value, mode=entry.mode)
        case _:
            return symlink_state(entry.target)


def state_fault(state: EntryState) -> tuple[Reason, str] | None:
    """Return why nothing can be compared with a state, None where it tells all that its kind has and nothing else."""
    if state.kind not in _ORDINARY:
        return Reason.SPECIAL_FILE, f"a {state.kind} is neither made nor removed"
    if not 0 <= state.mode <= MAX_MODE:
        return Reason.WRONG_VALUE, "its mode has bits that no mode has"
    if state.kind == Kind.SYMLINK.value:
        whole = bool(target_of(state)) and state == symlink_state(target_of(state))
        return None if whole else (Reason.WRONG_VALUE, "its target is not told in its only spelling")
    if state.kind == Kind.FILE.value and state.sha256 is None:
        return Reason.NOT_RECORDED, "what the run left there was not read"
    members = (state.size is not None and state.size >= 0, state.sha256 is not None, state.target is None)
    told = (True, True, True) if state.kind == Kind.FILE.value else (False, False, True)
    return None if members == told else (Reason.WRONG_VALUE, f"it tells something else than a {state.kind} has")


class _Decision:
    def __init__(self, manifest: Manifest, changes: Sequence[FsChange], selection: Selection, *, force: bool) -> None:
        self._kept: dict[RelPath, Kept] = {entry.path: entry for entry in manifest.kept()}
        self._not_covered: dict[RelPath, NotCovered] = {item.path: item for item in manifest.not_covered}
        self._evidence = manifest.head.surface.evidence
        self._changes = changes
        self._selection = selection
        self._force = force
        self._git = GitMetadata([*self._kept, *self._not_covered, *(change.path for change in changes)])
        self._times = Counter(change.path for change in changes)
        self._needed = frozenset(self._removed_above())
        self._groups: defaultdict[int, list[SnapshotFile]] = defaultdict(list)
        for entry in manifest.files:
            if entry.link_group is not None:
                self._groups[entry.link_group].append(entry)
        self._parted = frozenset(self._parted_groups())
        self._leaders: dict[int, RelPath] = {}
        self._guards: dict[RelPath, Intention] = {}

    def each(self) -> list[Intention]:
        """Return the intention of every path, once each."""
        found = {change.path: self._of(change) for change in self._changes}
        return [*found.values(), *self._guards.values()]

    def _removed_above(self) -> Iterator[RelPath]:
        """Yield the directories that the run removed above what is selected: without them nothing can stand there."""
        removed = {item.path for item in self._changes if item.after is None}
        for change in self._changes:
            if change.before is not None and self._takes(change):
                yield from (above for above in change.path.above() if above in removed)

    def _parted_groups(self) -> Iterator[int]:
        """Yield the groups of names of one file of which a name is gone, or another file now."""
        for change in self._changes:
            entry = self._kept.get(change.path)
            if not isinstance(entry, SnapshotFile) or entry.link_group is None:
                continue
            if self._takes(change) and not _is_only_mode(entry, change.after):
                yield entry.link_group

    def _takes(self, change: FsChange) -> bool:
        kinds = {state.kind for state in (change.before, change.after) if state is not None}
        return self._selection.takes(change.path, is_directory=Kind.DIRECTORY.value in kinds)

    def _of(self, change: FsChange) -> Intention:
        path = change.path
        if self._times[path] > 1:
            return _refused(path, Reason.DUPLICATE_KEY, "the ledger tells of it more than once")
        if any(_is_at_or_below(path, evidence) for evidence in self._evidence):
            return _refused(path, Reason.NOT_OURS, "docket's own evidence is never restored")
        if not self._takes(change) and path not in self._needed:
            return Intention(
                path=path, verb=Verb.SKIP, reason=Reason.NOT_SELECTED, warning=self._git.program_at(change)
            )
        folder = self._git.folder_of(path)
        if folder is not None and not self._selection.names(path, self._git):
            detail = f"{owner_of(folder)} own files stay as they are; select them by --path to restore them too"
            return Intention(
                path=path,
                verb=Verb.KEEP,
                reason=Reason.GIT_METADATA,
                detail=detail,
                folder=RelPath(folder) if folder else None,
                warning=self._git.program_at(change),
            )
        return self._created(change) if change.before is None else self._stood(change, change.before)

    def _created(self, change: FsChange) -> Intention:
        path, after = change.path, change.after
        if after is None or path in self._kept:
            return _disagree(path)
        hidden = self._hidden(path)
        if hidden is not None:
            detail = f"what stood there before is not known: {hidden.path} was not kept"
            return Intention(path=path, verb=Verb.NOT_COVERED, reason=hidden.reason, detail=detail)
        expected = self._expected(path, after)
        if isinstance(expected, Intention):
            return expected
        step = Remove(path=path, precondition=expected, kind=Kind(after.kind))
        return Intention(path=path, verb=Verb.REMOVE, step=step)

    def _stood(self, change: FsChange, before: EntryState) -> Intention:
        path, entry = change.path, self._kept.get(change.path)
        if entry is None:
            return self._uncovered(change, before)
        if state_of_kept(entry) != before or before == change.after:
            return _disagree(path)
        expected = self._expected(path, change.after)
        if isinstance(expected, Intention):
            return expected
        match entry:
            case SnapshotDirectory():
                mode = entry.mode & MAX_DIRECTORY_MODE
                xattrs = named_xattrs(Kind.DIRECTORY, entry.mode, entry.attributes())
                made = MakeDirectory(
                    path=path, precondition=expected, mode=mode, mtime_ns=entry.mtime_ns, xattrs=xattrs
                )
                return _told(Intention(path=path, verb=Verb.DIRECTORY, step=made), entry, mode)
            case SnapshotSymlink():
                link = MakeSymlink(path=path, precondition=expected, target=entry.target, mtime_ns=entry.mtime_ns)
                return Intention(path=path, verb=Verb.SYMLINK, step=link)
            case _:
                return self._file(entry, change.after, expected)

    def _file(self, entry: SnapshotFile, after: EntryState | None, expected: Precondition) -> Intention:
        path, mode = entry.path, entry.mode & MAX_FILE_MODE
        xattrs = named_xattrs(Kind.FILE, entry.mode, entry.attributes())
        if not self._force and _is_only_mode(entry, after) and entry.link_group not in self._parted:
            acl = named_acl(xattrs)
            step = SetMode(path=path, precondition=expected, mode=mode, mtime_ns=entry.mtime_ns, acl=acl)
            return _told(Intention(path=path, verb=Verb.MODE, step=step), entry, mode)
        other = self._other_name(entry)
        if other is not None:
            return Intention(path=path, verb=Verb.LINK, step=Link(path=path, precondition=expected, to=other))
        write = WriteFile(
            path=path,
            precondition=expected,
            content=entry.content,
            mode=mode,
            mtime_ns=entry.mtime_ns,
            sparse=entry.sparse,
            xattrs=xattrs,
        )
        verb = Verb.RECREATE if after is None else Verb.WRITE
        return _told(Intention(path=path, verb=verb, step=write), entry, mode)

    def _other_name(self, entry: SnapshotFile) -> RelPath | None:
        """Return the path whose file an entry was another name of; None where it becomes a file by itself."""
        if entry.link_group is None:
            return None
        for other in self._groups[entry.link_group]:
            if other.path not in self._times and other.mode <= MAX_FILE_MODE:
                # Where the precondition holds nothing is left to write: the step only checks.
                check = WriteFile(
                    path=other.path,
                    precondition=Holds(state_of_kept(other)),
                    content=other.content,
                    mode=other.mode,
                )
                detail = "the file that other names become names of again"
                self._guards[other.path] = Intention(path=other.path, verb=Verb.KEEP, step=check, detail=detail)
                return other.path
        leader = self._leaders.setdefault(entry.link_group, entry.path)
        return None if leader == entry.path else leader

    def _uncovered(self, change: FsChange, before: EntryState) -> Intention:
        path, after, hidden = change.path, change.after, self._hidden(change.path)
        if hidden is None:
            detail = "the snapshot does not hold what stood there"
            return Intention(path=path, verb=Verb.NOT_COVERED, reason=Reason.NOT_COVERED, detail=detail)
        only_mode = after is not None and (after.kind, after.size, after.sha256) == (
            Kind.FILE.value,
            before.size,
            before.sha256,
        )
        if hidden.path == path and only_mode and after is not None and before.kind == after.kind and hidden.mode:
            expected = self._expected(path, after)
            if hidden.mode == before.mode and isinstance(expected, Holds):
                mode = before.mode & MAX_FILE_MODE
                return Intention(path=path, verb=Verb.MODE, step=SetMode(path=path, precondition=expected, mode=mode))
        detail = hidden.detail or f"{hidden.path} was not kept"
        return Intention(path=path, verb=Verb.NOT_COVERED, reason=hidden.reason, detail=detail)

    def _hidden(self, path: RelPath) -> NotCovered | None:
        for place in (path, *path.above()):
            found = self._not_covered.get(place)
            if found is not None:
                return found
        return None

    def _expected(self, path: RelPath, after: EntryState | None) -> Precondition | Intention:
        """Return what must stand at the path now, or why nothing is done there."""
        fault = None if after is None else state_fault(after)
        if fault is not None and not (self._force and fault[0] is Reason.NOT_RECORDED):
            return _refused(path, *fault)
        if self._force:
            return ANYTHING
        return ABSENT if after is None else Holds(after)


def _with_holders_kept(decided: Iterable[Intention]) -> Iterator[Intention]:
    """Turn the removal of a directory that holds what stays into its keeping."""
    items = list(decided)
    stays: dict[RelPath, RelPath] = {}
    for item in items:
        if item.step is None or not isinstance(item.step, Remove):
            for above in item.path.above():
                stays.setdefault(above, item.path)
    for item in items:
        if item.verb is Verb.REMOVE and item.path in stays:
            detail = f"it holds {stays[item.path]}, which stays"
            yield replace(item, verb=Verb.KEEP, step=None, reason=Reason.NOT_EMPTY, detail=detail)
        else:
            yield item


def _is_only_mode(entry: SnapshotFile, after: EntryState | None) -> bool:
    """Whether a file still has the content that is kept."""
    return after is not None and (after.size, after.sha256) == (entry.content.size, entry.content.sha256)


def _told(item: Intention, entry: SnapshotFile | SnapshotDirectory, given: int) -> Intention:
    """Return an intention with what the entry has and the step does not give, in words."""
    told = []
    if entry.mode != given:
        told.append(f"the mode is {given:o}, not {entry.mode:o}: such powers are never given back")
    kind = Kind.FILE if isinstance(entry, SnapshotFile) else Kind.DIRECTORY
    attributes = entry.attributes()
    if len(named_xattrs(kind, entry.mode, attributes) or ()) != len(attributes):
        told.append("its ACL does not go with its mode, and is not given back")
    return replace(item, detail="; ".join(told) or None)


def _refused(path: RelPath, reason: Reason, detail: str) -> Intention:
    return Intention(path=path, verb=Verb.REFUSED, reason=reason, detail=detail)


def _disagree(path: RelPath) -> Intention:
    detail = "the ledger and the manifest do not agree about what stood there before"
    return _refused(path, Reason.DOCUMENTS_DISAGREE, detail)


def _is_at_or_below(path: RelPath, folder: RelPath) -> bool:
    return path == folder or path.raw.startswith(folder.raw + b"/")
