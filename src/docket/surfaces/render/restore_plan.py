"""What a restore would do, and did, for a person: a line a path, a sentence, and a unified diff."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator

from docket.engines.foresee import Compared
from docket.engines.restore import Proposal, Restored
from docket.formats.tree.restore_record import RestoredPath
from docket.formats.tree.steps import Link, MakeDirectory, MakeSymlink, SetMode, Step, StepStatus, WriteFile
from docket.formats.visible import visible
from docket.rules.tree.restore import Intention, Verb

REFUSED = frozenset((StepStatus.REFUSED, StepStatus.FAILED))
_DONE = {
    Verb.WRITE: "written", Verb.RECREATE: "recreated", Verb.REMOVE: "removed", Verb.MODE: "mode set",
    Verb.SYMLINK: "linked", Verb.DIRECTORY: "made", Verb.LINK: "linked",
}  # fmt: skip


def proposed_lines(proposal: Proposal) -> Iterator[tuple[str, str, str]]:
    """Yield, for each path that is selected: the word for what would happen, the path, and what to know of it."""
    for item in proposal.intentions:
        if item.verb is Verb.SKIP:
            continue
        found = proposal.foreseen.get(item.path)
        if found is not None and found.outcome is not None:
            is_check = item.verb is Verb.KEEP and found.outcome.status is StepStatus.ALREADY
            word = str(item.verb) if is_check else str(found.outcome.status)
            yield word, str(item.path), found.outcome.detail or item.detail or ""
        else:
            yield str(item.verb), str(item.path), item.detail or _told(item.step)


def done_lines(restored: Restored) -> Iterator[tuple[str, str, str]]:
    """Yield, for each path: the word for what happened, the path, and what to know of it."""
    for item in restored.record.paths:
        if item.verb != Verb.SKIP:
            yield _word(item), str(item.path), item.detail or ""


def proposed_counts(proposal: Proposal) -> Counter[str]:
    """Return how many paths would be restored, are already, would be refused, stay, and are not covered."""
    return Counter(_class(item, proposal.status(item)) for item in proposal.intentions)


def done_counts(restored: Restored) -> Counter[str]:
    """Return the same figures of what was done."""
    tally: Counter[str] = Counter()
    for item in restored.record.paths:
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
    told += [f"{counts[name]:,} {words}" for name, words in names.items() if counts[name]]
    return ", ".join(told)


def diff_of(compared: Compared) -> Iterator[str]:
    """Yield the lines of a unified diff from what stands there to what would."""
    name = str(compared.path)
    head = (
        "/dev/null" if compared.before is None else f"a/{name}",
        "/dev/null" if compared.after is None else f"b/{name}",
    )
    texts = [_text(side) for side in (compared.before, compared.after)]
    if compared.too_large or None in texts:
        yield f"Files a/{name} and b/{name} differ"
        return
    before, after = (text.splitlines(keepends=True) for text in texts if text is not None)
    for line in difflib.unified_diff(before, after, *head):
        yield line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def _text(data: bytes | None) -> str | None:
    if data is not None and b"\0" in data:
        return None
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError:
        return None


def _word(item: RestoredPath) -> str:
    if item.status is None or (item.verb == Verb.KEEP and item.status is StepStatus.ALREADY):
        return item.verb
    if item.status is StepStatus.APPLIED:
        return _DONE.get(Verb(item.verb), "restored")
    return str(item.status)


def _class(item: Intention, status: StepStatus | None) -> str:
    return _class_of(item.verb, status, has_step=item.step is not None)


def _class_of(verb: Verb, status: StepStatus | None, *, has_step: bool) -> str:
    if verb is Verb.REFUSED or status in REFUSED:
        return "refused"
    if verb is Verb.KEEP:
        return "kept"
    if has_step:
        return "already" if status is StepStatus.ALREADY else "restored"
    return {Verb.NOT_COVERED: "not_covered", Verb.SKIP: "not_selected"}.get(verb, "kept")


def _told(step: Step | None) -> str:
    match step:
        case WriteFile():
            return f"{step.content.size:,} bytes, mode {step.mode:o}"
        case MakeDirectory() | SetMode():
            return f"mode {step.mode:o}"
        case MakeSymlink():
            return f"to {visible(step.target)}"
        case Link():
            return f"another name of {step.to}"
        case _:
            return ""
