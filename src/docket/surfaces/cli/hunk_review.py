"""The hunks of one file put before a person, one after the other, by the keys of `git add -p`."""

from __future__ import annotations

from collections.abc import Sequence

from docket.formats.dataclass import dataclass
from docket.formats.ledger.tree_events import FsChange
from docket.formats.workspace.hunk_choice import MODE
from docket.rules.workspace.hunks import Hunk, Sides, changes_mode, grouped
from docket.surfaces.cli import console
from docket.surfaces.cli.asking import ask_key
from docket.surfaces.cli.patches import coloured
from docket.surfaces.render.hunks import CONTEXT_LINES, group_lines

_MEANINGS = {
    "y": "take this hunk",
    "n": "leave this hunk",
    "a": "take this hunk and all that follow in this file",
    "d": "leave this hunk and all that follow in this file",
    "s": "split this hunk into smaller ones",
}
_QUIT = "q - leave the review; nothing is changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """A group of hunks, none for the change of mode."""

    hunks: tuple[Hunk, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(hunk.name for hunk in self.hunks) or frozenset((MODE,))


def choose_hunks(change: FsChange, sides: Sides | None) -> frozenset[str]:
    """Return the names of the hunks that a person takes of a file; LeftError where the person leaves."""
    questions = [_Question()] if changes_mode(change) else []
    questions += [_Question(hunks=group) for group in grouped(sides.hunks if sides else (), CONTEXT_LINES)]
    taken: set[str] = set()
    at = 0
    while at < len(questions):
        question = questions[at]
        answer = _answered(change, sides, question, (at + 1, len(questions)))
        if answer == "s":
            questions[at : at + 1] = [_Question(hunks=(hunk,)) for hunk in question.hunks]
            continue
        if answer == "y":
            taken |= question.names
        if answer == "a":
            taken |= _all(questions[at:])
        if answer in "ad":
            break
        at += 1
    return frozenset(taken)


def _answered(change: FsChange, sides: Sides | None, question: _Question, place: tuple[int, int]) -> str:
    keys = "ynad" + ("s" if len(question.hunks) > 1 else "")
    if question.hunks and sides is not None:
        for line in group_lines(sides, question.hunks):
            console.result(coloured(line))
        what = "Take this hunk"
    else:
        assert change.before is not None and change.after is not None  # noqa: S101, PT018 - its mode changes
        what = f"Change the mode from {change.before.mode:04o} to {change.after.mode:04o}"
    name = console.plain(str(change.path))
    return ask_key(f"{name} ({place[0]}/{place[1]}) {what}", keys, lambda: _help(keys))


def _help(keys: str) -> tuple[str, ...]:
    return (*(f"{key} - {_MEANINGS[key]}" for key in keys), _QUIT)


def _all(questions: Sequence[_Question]) -> frozenset[str]:
    return frozenset().union(*(question.names for question in questions))
