"""The hunks of a changed file, and the part of a change set that some of them make.

Rules (spec/workspace.md, Chosen hunks):
1. A hunk is one edit of `rules.line_difference`: lines of the base in whose place lines of the stage stand. Its
   name is its number in the file and 12 digits of the digest of where and what it is. A change of mode is the hunk
   `mode`.
2. What comes of a choice is the base's content with the chosen edits made, byte for byte; with all of them it is the
   stage's, with none the base's.
3. Only a file that was a file, by lines on both sides, has hunks of lines; a file or directory that stays one has the
   hunk `mode` where that changes. Anything else is taken whole or not at all.
4. A change that a choice makes nothing of is left; a choice that takes nothing at all is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from docket.errors import UnavailableError, UsageError
from docket.formats.dataclass import dataclass, field, replace
from docket.formats.digest import sha256
from docket.formats.ledger.tree_events import Change, EntryState, FsChange
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.listing import Kind
from docket.formats.workspace.change_set import ChangeSet, change_set_of
from docket.formats.workspace.hunk_choice import MODE, HunkChoice, TakenPath
from docket.rules.line_difference import Budget, edits, lines_of
from docket.rules.workspace.derive import derive

MAX_LINES = 50_000
_NAME_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One edit; lines count from 0. `before_start` is where `removed` stood, `after_start` where `added` stands."""

    name: str
    before_start: int
    removed: tuple[bytes, ...]
    after_start: int
    added: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """A file's lines in the base and in the stage, and the hunks between them."""

    before: tuple[bytes, ...]
    after: tuple[bytes, ...]
    hunks: tuple[Hunk, ...]

    def with_hunks(self, chosen: Collection[str]) -> bytes:
        """Return the base's content with the chosen hunks made."""
        parts: list[bytes] = []
        at = 0
        for hunk in self.hunks:
            if hunk.name in chosen:
                parts += self.before[at : hunk.before_start]
                parts += hunk.added
                at = hunk.before_start + len(hunk.removed)
        return b"".join((*parts, *self.before[at:]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a change set; `made` are the contents that stand neither in the base nor in the stage."""

    taken: ChangeSet
    made: Mapping[RelPath, bytes] = field(default_factory=dict)


def whole_because(change: FsChange) -> str | None:
    """Say why a change has no hunks of lines, as far as its states tell; None where it may have some."""
    states = (change.before, change.after)
    if any(state is None or state.kind != Kind.FILE.value for state in states):
        return "it is not a file on both sides"
    return None


def grouped(hunks: Sequence[Hunk], context: int) -> tuple[tuple[Hunk, ...], ...]:
    """Return the hunks in groups that are shown as one: between two of a group stand at most twice `context` lines."""
    groups: list[list[Hunk]] = []
    for hunk in hunks:
        last = groups[-1][-1] if groups else None
        if last is not None and hunk.before_start - last.before_start - len(last.removed) <= 2 * context:
            groups[-1].append(hunk)
        else:
            groups.append([hunk])
    return tuple(map(tuple, groups))


def sides_of(before: bytes, after: bytes) -> Sides | str:
    """Return a file's two sides, or say why it has no hunks."""
    if b"\0" in before or b"\0" in after:
        return "it is binary"
    texts = lines_of(before), lines_of(after)
    if max(map(len, texts)) > MAX_LINES:
        return f"it has more than {MAX_LINES:,} lines"
    found = [
        (edit, tuple(texts[0][edit.before_start : edit.before_end]), tuple(texts[1][edit.after_start : edit.after_end]))
        for edit in edits(*texts, Budget())
    ]
    hunks = (
        Hunk(
            name=_name(number, (edit.before_start, edit.after_start), (removed, added)),
            before_start=edit.before_start,
            removed=removed,
            after_start=edit.after_start,
            added=added,
        )
        for number, (edit, removed, added) in enumerate(found, 1)
    )
    return Sides(before=tuple(texts[0]), after=tuple(texts[1]), hunks=tuple(hunks))


def names_of(change: FsChange, sides: Sides | None) -> tuple[str, ...]:
    """Return the names of a change's hunks; `sides` is None where its content is the same or has none."""
    return (*((MODE,) if changes_mode(change) else ()), *(hunk.name for hunk in (sides.hunks if sides else ())))


def changes_mode(change: FsChange) -> bool:
    """Whether a file or directory that stays one gets another mode."""
    before, after = change.before, change.after
    if before is None or after is None or before.kind != after.kind or before.kind == Kind.SYMLINK.value:
        return False
    return before.mode != after.mode


def part_of(changes: ChangeSet, choice: HunkChoice, sides: Mapping[RelPath, Sides | str]) -> Part:
    """Return the chosen part; `sides` has those of each path of which hunks are chosen, or why it has none.

    UnavailableError(PLAN_DIFFERS) where the choice is of another change set; UsageError for a path or a hunk that is
    none of it, and where nothing is taken.
    """
    if choice.diff_sha256 != changes.digest:
        detail = f"the hunks were chosen from another change set than this one: {changes.digest}"
        raise UnavailableError(Reason.PLAN_DIFFERS, detail)
    by_path = {change.path: change for change in changes.changes}
    whole = [item.path for item in choice.take if item.hunks is None]
    taken = {item.path: item for item in (derive(changes, whole).taken.changes if whole else ())}
    made: dict[RelPath, bytes] = {}
    for item in choice.take:
        if item.hunks is None:
            continue
        if item.path in taken:
            raise UsageError(Reason.USAGE, f"{item.path} is taken whole and by hunks")
        change = by_path.get(item.path)
        if change is None:
            raise UsageError(Reason.USAGE, f"the transaction changes nothing at {item.path}")
        part, content = _made(change, item, sides.get(item.path))
        if part is not None:
            taken[item.path] = part
        if part is not None and content is not None:
            made[item.path] = content
    if not taken:
        raise UsageError(Reason.USAGE, "nothing is chosen")
    return Part(taken=change_set_of(changes.manifest_sha256, taken.values()), made=made)


def _made(change: FsChange, item: TakenPath, sides: Sides | str | None) -> tuple[FsChange | None, bytes | None]:
    """Return what the chosen hunks change, None for nothing, and the content where that is of their making."""
    fault = sides if isinstance(sides, str) else whole_because(change)
    texts = sides if isinstance(sides, Sides) else None
    chosen = frozenset(item.hunks or ())
    if fault is not None and (chosen - {MODE} or not changes_mode(change)):
        raise UsageError(Reason.USAGE, f"{item.path} has no hunks, for {fault}: take it whole or leave it")
    unknown = chosen.difference(names_of(change, texts))
    if unknown:
        hint = "docket tx diff --json names them"
        raise UsageError(Reason.USAGE, f"{item.path} has no hunk {min(unknown)}", hint=hint)
    before, after = change.before, change.after
    assert before is not None and after is not None  # noqa: S101, PT018 - else it had no hunks
    mode = after.mode if MODE in chosen else before.mode
    if texts is None or not chosen - {MODE}:
        state, content = replace(before, mode=mode), None
    else:
        content = texts.with_hunks(chosen)
        state = EntryState(kind=Kind.FILE.value, mode=mode, size=len(content), sha256=sha256(content))
    if state == before:
        return None, None
    content = None if state.sha256 in (before.sha256, after.sha256) else content
    return FsChange(path=change.path, change=Change.MODIFIED, before=before, after=state), content


def _name(number: int, starts: tuple[int, int], lines: tuple[tuple[bytes, ...], tuple[bytes, ...]]) -> str:
    head = "{} {} {} {}\n".format(*starts, *map(len, lines)).encode("ascii")
    return f"{number}-{sha256(head + b''.join((*lines[0], *lines[1])))[:_NAME_DIGITS]}"


__all__ = [
    "MAX_LINES",
    "Hunk",
    "Part",
    "Sides",
    "changes_mode",
    "grouped",
    "names_of",
    "part_of",
    "sides_of",
    "whole_because",
]
