"""What a restore would do, and did, for a person: a line a path, the figures, a sentence, and the same as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from docket.engines.foresee import StatesAfter
from docket.engines.restore import Proposal, Restored
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.ledger.tree_events import EntryState
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.tree.changes import target_of
from docket.formats.tree.listing import Kind
from docket.formats.tree.restore_record import RestoredPath, state_members
from docket.formats.tree.steps import Link, MakeDirectory, MakeSymlink, Remove, SetMode, Step, StepStatus, WriteFile
from docket.formats.visible import text_members, visible
from docket.rules.tree.restore import Intention, Verb
from docket.surfaces.render.figures import plural

COUNTS = ("restored", "already", "refused", "kept", "not_covered", "not_selected")
_REFUSED = frozenset((StepStatus.REFUSED, StepStatus.FAILED))
_FAILED = frozenset((StepStatus.FAILED, StepStatus.SKIPPED))
_DONE = {
    Verb.WRITE: "written", Verb.RECREATE: "recreated", Verb.REMOVE: "removed", Verb.MODE: "mode set",
    Verb.SYMLINK: "linked", Verb.DIRECTORY: "made", Verb.LINK: "linked",
}  # fmt: skip
_SINCE = {False: "changed since the run: ", True: "changed meanwhile: "}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a plan: the word for what would happen or did, the path, and what to know of it."""

    word: str
    path: str
    detail: str = ""


def proposed_lines(proposal: Proposal) -> Iterator[Line]:
    """Yield a line for each path that is selected; git's own files are one line a folder."""
    return _folded(_proposed(proposal), proposal.intentions)


def done_lines(proposal: Proposal, restored: Restored) -> Iterator[Line]:
    """Yield a line for each path that was selected; git's own files are one line a folder."""
    lines = ((item.path, _done(proposal, item)) for item in restored.record.paths if item.verb != Verb.SKIP)
    return _folded(lines, proposal.intentions)


def proposed_counts(proposal: Proposal) -> Counter[str]:
    """Return how many paths would be restored, are already, would be refused, stay, and are not covered.

    Those that would fail are among the refused, and counted as `failed` too; of those that stay, `stay` are not as
    they were before the run.
    """
    tally: Counter[str] = Counter()
    for item in proposal.intentions:
        status = proposal.status(item)
        tally[_class_of(item.verb, status, has_step=item.step is not None)] += 1
        tally["failed"] += status is StepStatus.FAILED
        tally["stay"] += item.verb is Verb.KEEP and item.reason is not None
    return tally


def done_counts(restored: Restored) -> Counter[str]:
    """Return the same figures of what was done."""
    tally: Counter[str] = Counter()
    for item in restored.record.paths:
        tally["failed"] += item.status in _FAILED
        tally["stay"] += item.verb == Verb.KEEP and item.status is None
        if item.status is StepStatus.SKIPPED:
            tally["refused"] += 1
        else:
            tally[_class_of(Verb(item.verb), item.status, has_step=item.status is not None)] += 1
    return tally


def sentence(counts: Counter[str], *, done: bool) -> str:
    """Return the figures as a sentence without its end."""
    verb = "restored" if done else "would be restored"
    told = [f"{counts['restored']:,} {verb}"]
    names = {"already": "as they were already", "refused": "refused", "kept": "kept as they are",
             "not_covered": "not in the snapshot", "not_selected": "not selected"}  # fmt: skip
    shown = {**counts, "refused": counts["refused"] - counts["failed"]}
    told += [f"{shown[name]:,} {words}" for name, words in names.items() if shown.get(name)]
    told += [f"{counts['failed']:,} {'failed' if done else 'would fail'}"] * bool(counts["failed"])
    return ", ".join(told)


def not_back(counts: Counter[str], *, done: bool) -> str | None:
    """Return a sentence that says how many of the selected paths are not as they were before; None where none is."""
    classes = {"refused": "refused", "failed": "failed" if done else "would fail",
               "not_covered": "not in the snapshot", "stay": "left as they are"}  # fmt: skip
    shown = {**counts, "refused": counts["refused"] - counts["failed"]}
    told = [f"{shown[name]:,} {words}" for name, words in classes.items() if shown.get(name)]
    if not told:
        return None
    total = counts["refused"] + counts["not_covered"] + counts["stay"]
    verb = f"{'is' if total == 1 else 'are'} NOT" if done else "would NOT be"
    return f"{plural(total, 'path')} {verb} back as before the run: {', '.join(told)}"


def warnings(proposal: Proposal) -> Iterator[str]:
    """Yield what a person must know of what the run left and a restore leaves too."""
    return (item.warning for item in proposal.intentions if item.warning is not None)


def proposed_members(proposal: Proposal) -> dict[str, JsonValue]:
    """Return the plan as JSON members (docs/reference/restore.md)."""
    counts, states = proposed_counts(proposal), StatesAfter(proposal.foreseen.values())
    return {
        "dry_run": True,
        **_origin(proposal),
        "plan_sha256": proposal.plan.digest,
        "shown_sha256": proposal.shown_sha256,
        "forced": proposal.force,
        "counts": {name: counts[name] for name in COUNTS},
        "paths": [_proposed_path(proposal, item, states) for item in proposal.intentions],
    }


def done_members(proposal: Proposal, restored: Restored) -> dict[str, JsonValue]:
    """Return what was done as JSON members (docs/reference/restore.md): the record's, and what goes with it."""
    counts = done_counts(restored)
    return {
        "dry_run": False,
        **_origin(proposal),
        **restored.record.members(),
        "counts": {name: counts[name] for name in COUNTS},
        "record": str(restored.record_path) if restored.problem is None else None,
        "problem": restored.problem,
        "leftovers": list(restored.leftovers),
    }


def _origin(proposal: Proposal) -> dict[str, JsonValue]:
    verdict = proposal.origin.verdict
    return {
        "docket_number": proposal.origin.docket_number,
        "session_id": proposal.origin.session_id,
        **text_members("root", proposal.root),
        "redo_of": proposal.origin.redo_of,
        "verdict": None if verdict is None else str(verdict.word),
        "failures": [] if verdict is None else list(verdict.failures),
        "remarks": list(proposal.remarks),
        "warnings": list(warnings(proposal)),
        "changes_known": proposal.changes_known,
    }


def _proposed_path(proposal: Proposal, item: Intention, states: StatesAfter) -> dict[str, JsonValue]:
    found, status = proposal.foreseen.get(item.path), proposal.status(item)
    outcome = None if found is None else found.outcome
    reason = item.reason if outcome is None else outcome.reason
    members: dict[str, JsonValue] = {
        **item.path.members(),
        "verb": str(item.verb),
        "status": None if status is None else str(status),
        "reason": None if reason is None else str(reason),
        "detail": item.detail if outcome is None else outcome.detail or item.detail,
    }
    if found is not None and outcome is None:
        now = states.of(found)
        members["was"] = None if found.was is None else state_members(found.was)
        members["now"] = None if now is None else state_members(now)
    return members


def _proposed(proposal: Proposal) -> Iterator[tuple[RelPath, Line]]:
    for item in proposal.intentions:
        if item.verb is Verb.SKIP:
            continue
        found = proposal.foreseen.get(item.path)
        outcome = None if found is None else found.outcome
        if outcome is not None:
            is_check = item.verb is Verb.KEEP and outcome.status is StepStatus.ALREADY
            word = str(item.verb) if is_check else str(outcome.status)
            detail = _since(proposal, outcome.reason, outcome.detail or item.detail or "")
        else:
            word, was = str(item.verb), None if found is None else found.was
            told = _told(item.step, was) if item.step is not None else ""
            detail = "; ".join(part for part in (told, item.detail) if part)
        yield item.path, Line(word=word, path=str(item.path), detail=detail)


def _folded(lines: Iterable[tuple[RelPath, Line]], intentions: Iterable[Intention]) -> Iterator[Line]:
    """Yield the lines, those of git's own files as one for each folder of git's."""
    folders = {item.path: item.folder for item in intentions if item.folder is not None}
    words = {item.folder: item.detail for item in intentions if item.folder is not None}
    sizes = Counter(folders.values())
    told: set[RelPath] = set()
    for path, line in lines:
        folder = folders.get(path)
        if folder is None or sizes[folder] == 1:
            yield line
        elif folder not in told:
            told.add(folder)
            yield Line(word=line.word, path=str(folder), detail=f"{sizes[folder]:,} of {words[folder]}")


def _since(proposal: Proposal, reason: str | Reason | None, detail: str) -> str:
    is_of_call = proposal.origin.delta_sha256 is not None
    return f"{_SINCE[is_of_call]}{detail}" if reason == Reason.CHANGED_SINCE else detail


def _done(proposal: Proposal, item: RestoredPath) -> Line:
    return Line(word=_word(item), path=str(item.path), detail=_since(proposal, item.reason, item.detail or ""))


def _word(item: RestoredPath) -> str:
    if item.status is None or (item.verb == Verb.KEEP and item.status is StepStatus.ALREADY):
        return item.verb
    if item.status is StepStatus.APPLIED:
        return _DONE.get(Verb(item.verb), "restored")
    return str(item.status)


def _class_of(verb: Verb, status: StepStatus | None, *, has_step: bool) -> str:
    if verb is Verb.REFUSED or status in _REFUSED:
        return "refused"
    if verb is Verb.KEEP:
        return "kept"
    if has_step:
        return "already" if status is StepStatus.ALREADY else "restored"
    return {Verb.NOT_COVERED: "not_covered", Verb.SKIP: "not_selected"}.get(verb, "kept")


def _told(step: Step, was: EntryState | None) -> str:
    match step:
        case WriteFile():
            return f"{plural(step.content.size, 'byte')}, mode {step.mode:o}{_over(was, step)}"
        case MakeDirectory():
            return f"mode {step.mode:o}{_over(was, step)}"
        case SetMode():
            return f"mode {step.mode:o}" if was is None else f"mode {was.mode:o} to {step.mode:o}"
        case MakeSymlink():
            return f"to {visible(step.target)}{_over(was, step)}"
        case Link():
            return f"another name of {step.to}{_over(was, step)}"
        case Remove():
            return "" if was is None else _state(was)


def _over(was: EntryState | None, step: Step) -> str:
    """Return what a step would be done over, in the words that tell it from what it leaves."""
    if was is None:
        return ""
    if isinstance(step, WriteFile) and was.kind == Kind.FILE.value:
        return f", over {plural(was.size or 0, 'byte')}" + ("" if was.mode == step.mode else f", mode {was.mode:o}")
    if isinstance(step, MakeDirectory) and was.kind == Kind.DIRECTORY.value:
        return f", over mode {was.mode:o}"
    return f", over {_state(was)}"


def _state(state: EntryState) -> str:
    match state.kind:
        case Kind.FILE.value:
            return f"a file of {plural(state.size or 0, 'byte')}"
        case Kind.SYMLINK.value:
            return f"a link to {visible(target_of(state))}"
        case _:
            return f"a {state.kind}"


__all__ = [
    "COUNTS",
    "Line",
    "done_counts",
    "done_lines",
    "done_members",
    "not_back",
    "proposed_counts",
    "proposed_lines",
    "proposed_members",
    "sentence",
    "warnings",
]
