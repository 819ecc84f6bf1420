"""The review of a closed transaction on a terminal: what is looked at, what is taken, and what lands in the end.

Rules:
1. Nothing is changed here. What comes of a review is the choice and the digest that were shown and confirmed, for a
   commit that lands exactly that or nothing.
2. q, the end of input and Ctrl-C leave the review; then nothing lands.
3. What is shown is measured once, as the review begins. The stage may change meanwhile: the commit measures anew.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence

from docket.engines.transaction.closing import ClosedTransaction
from docket.engines.transaction.later import chosen_part
from docket.engines.transaction.staged_texts import StagedTexts
from docket.errors import UsageError
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.tree_events import FsChange
from docket.formats.relpath import RelPath
from docket.formats.workspace.change_set import change_set_of
from docket.formats.workspace.hunk_choice import HunkChoice
from docket.rules.workspace.hunks import Part, Sides, names_of
from docket.rules.workspace.protected import protected_hits
from docket.rules.workspace.selection import Selection
from docket.surfaces.cli import console, pager
from docket.surfaces.cli.asking import LeftError, ask
from docket.surfaces.cli.hunk_review import choose_hunks
from docket.surfaces.cli.patches import coloured, patch_lines
from docket.surfaces.render.review import Reviewed, landing_lines, list_lines

_HELP = (
    "y 1 3-5   take these paths; y alone takes all",
    "n 1 3-5   leave these paths; n alone leaves all",
    "d 2       show the diff of these paths in the pager; d alone shows all",
    "p 2       choose single hunks of these files; p alone goes through all",
    "l         show the list again",
    "c         show what would land, and land it if you say so",
    "q         leave the review; nothing is changed",
)
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)
_ONE_SCREEN_LINES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """What a person confirmed: the digest that was shown, and the choice; None for the whole change set."""

    shown: Digest
    hunks: HunkChoice | None


class Review:
    """One transaction under review, its stage open."""

    def __init__(self, closed: ClosedTransaction, texts: StagedTexts) -> None:
        self._closed, self._texts = closed, texts
        self._changes = closed.found.change_set
        protected = protected_hits(self._changes, closed.opened.base, closed.state.surface.protect)
        self._shown = Reviewed(
            changes=self._changes, moved=texts.renames(self._changes), protected=frozenset(protected)
        )
        self._selection = Selection.of_all(self._changes)
        self._hunks: dict[RelPath, int] = {}

    def run(self) -> Confirmed:
        """Go through the review; LeftError where the person leaves."""
        state = self._closed.state
        console.result(console.plain(f"transaction {state.id} of {os.fsdecode(state.base.path)}"))
        for path in self._closed.found.excluded_writes:
            console.result(console.plain(f"not landed  {path} (it is excluded, or shared and not in the tree yet)"))
        self._list()
        commands = {"y": self._take, "n": self._leave, "d": self._diff, "p": self._choose, "l": self._list_again}
        while True:
            word, _, rest = ask("What now [y,n,d,p,l,c,q,?]").partition(" ")
            if word.lower() == "q":
                raise LeftError
            if word.lower() == "c":
                confirmed = self._confirmed()
                if confirmed is not None:
                    return confirmed
                continue
            command = commands.get(word[:1].lower())
            chosen = self._numbered(word[1:] + " " + rest) if command is not None else None
            if command is None or chosen is None:
                _show(_HELP)
            else:
                command(chosen)

    def _list(self) -> None:
        lines = tuple(list_lines(self._shown, self._selection, self._hunks))
        if _fits(lines):
            _show(lines)
        else:
            pager.page(lines)

    def _changed(self) -> None:
        """Show the list as it is now; where it does not fit on the terminal, how much is taken."""
        lines = tuple(list_lines(self._shown, self._selection, self._hunks))
        total = len(self._changes.changes)
        _show(lines if _fits(lines) else (f"{len(self._selection.taken):,} of {total:,} paths are taken",))

    def _list_again(self, _: tuple[FsChange, ...]) -> None:
        self._list()

    def _take(self, chosen: tuple[FsChange, ...]) -> None:
        self._selection = self._selection.with_paths((change.path for change in chosen), take=True)
        self._changed()

    def _leave(self, chosen: tuple[FsChange, ...]) -> None:
        self._selection = self._selection.with_paths((change.path for change in chosen), take=False)
        self._changed()

    def _diff(self, chosen: tuple[FsChange, ...]) -> None:
        part = Part(taken=change_set_of(self._changes.manifest_sha256, chosen))
        pager.page(_for_terminal(patch_lines(self._closed, part)))

    def _choose(self, chosen: tuple[FsChange, ...]) -> None:
        several = len(chosen) > 1
        for change in chosen:
            sides = self._texts.sides(change)
            texts = sides if isinstance(sides, Sides) else None
            names = frozenset(names_of(change, texts))
            if names:
                taken = choose_hunks(change, texts)
                self._selection = self._selection.with_hunks(change.path, taken, of=names)
                self._hunks[change.path] = len(names)
            elif not several:
                why = sides if isinstance(sides, str) else "nothing of it can be taken by itself"
                console.result(console.plain(f"{change.path} has no hunks: {why}"))
        self._changed()

    def _confirmed(self) -> Confirmed | None:
        """Show what would land and ask; None where the person goes back to the review."""
        choice = None if self._selection.is_all else self._selection.choice()
        try:
            part = chosen_part(self._closed, hunks=choice)
        except UsageError as error:
            console.result(console.plain(error.detail))
            return None
        hits = protected_hits(part.taken, self._closed.opened.base, self._closed.state.surface.protect)
        whole = {change.path: change.after for change in self._changes.changes}
        same = sum(whole[change.path] == change.after for change in part.taken.changes)
        parts = {
            path: f"{len(names)} of {self._hunks[path]} hunks"
            for path, names in self._selection.taken.items()
            if names is not None
        }
        for line in landing_lines(part.taken, len(whole) - same, hits, parts):
            console.result(line)
        wanted = ("yes",) if hits else ("y", "yes")
        also = ", the protected paths too? Only yes does it" if hits else "?"
        answer = ask(f"Land exactly this{also} [{'yes' if hits else 'y'},n,q]").lower()
        if answer == "q":
            raise LeftError
        return Confirmed(shown=part.taken.digest, hunks=choice) if answer in wanted else None

    def _numbered(self, text: str) -> tuple[FsChange, ...] | None:
        """Return the changes that a person names by numbers, all where none is named; None where one is no number."""
        all_changes = self._changes.changes
        words = text.replace(",", " ").split()
        if not words:
            return all_changes
        found: dict[int, FsChange] = {}
        for word in words:
            first, dash, last = word.partition("-")
            if not _NUMBER.fullmatch(first) or (dash and not _NUMBER.fullmatch(last)):
                return None
            for number in range(int(first), min(int(last or first), len(all_changes)) + 1):
                if not 1 <= number <= len(all_changes):
                    return None
                found[number] = all_changes[number - 1]
        return tuple(found[number] for number in sorted(found)) or None


def _fits(lines: Sequence[str]) -> bool:
    """Whether the lines stand on the terminal with the question below them, those that are too long on several."""
    size = shutil.get_terminal_size()
    return sum(1 + len(line) // max(size.columns, 1) for line in lines) + _ONE_SCREEN_LINES <= size.lines


def _show(lines: Iterable[str]) -> None:
    for line in lines:
        console.result(line)


def _for_terminal(lines: Iterator[str]) -> Iterator[str]:
    has_colours = console.colour_for(sys.stdout)
    for line in lines:
        yield coloured(line) if has_colours else line
