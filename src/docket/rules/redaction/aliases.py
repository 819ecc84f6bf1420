"""Other names for names that people and agents chose, so that all that is reckoned by a name comes out as it did.

Rules:
1. A name that is kept stands for itself; every other one is numbered, in the order of its letters. Names that differ
   in case alone have one number, and are told apart by their case. So have those that differ in what a price's pattern
   gives a meaning: they are told apart by characters of that kind that no glob gives one.
2. A pattern is kept where all it is made of may be kept and it goes on matching the same names. Else it is a mark,
   which those names have at their end that it matched.
3. No alias has a character that a glob gives a meaning, but for a pattern's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from docket.formats.dataclass import dataclass
from docket.formats.letters import lowered
from docket.formats.run.price_table import literal_pattern
from docket.formats.run.sub_budgets import SubBudget

_WILD = frozenset("*?[")


def is_wild(text: str) -> bool:
    """Whether a text as a pattern matches more than itself."""
    return not _WILD.isdisjoint(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What the numbered names are called, what beginning they keep, and which names and parts of patterns are kept."""

    word: str
    kept: Callable[[str], bool]
    kept_part: Callable[[str], bool] = bool
    head: str = ""

    def is_kept_pattern(self, pattern: str) -> bool:
        """Whether nothing of a pattern has to be hidden."""
        parts = pattern.split("*")
        return not any(is_wild(part) for part in parts) and all(self.kept_part(part) for part in parts if part)


class Aliases:
    """The names and the patterns of one kind, as `form` says; a pattern without a glob is a name."""

    def __init__(self, form: Form, names: Iterable[str], patterns: Iterable[str] = ()) -> None:
        known = set(patterns)
        wild = sorted(pattern for pattern in known if is_wild(pattern))
        self._form, self._wild = form, frozenset(wild)
        self._stems = self._numbered(set(names) | (known - set(wild)))
        self._marks: dict[str, str] = {}
        self._names: Mapping[str, str] = dict(self._stems)
        self._mark([pattern for pattern in wild if not form.is_kept_pattern(pattern)])
        while lost := [pattern for pattern in wild if pattern not in self._marks and not self._still(pattern)]:
            self._mark(lost)

    def name(self, text: str) -> str:
        """Return what stands for a name; KeyError for one that was not told of."""
        return self._names[text]

    def pattern(self, text: str) -> str:
        """Return what stands for a pattern; KeyError as above, one without a glob is a name."""
        mark = self._marks.get(text)
        if mark is not None:
            return f"*{mark}*"
        return text if text in self._wild else self._names[text]

    @property
    def hidden(self) -> list[str]:
        """The names that are not kept."""
        return [text for text, alias in self._stems.items() if text != alias]

    def _numbered(self, names: set[str]) -> dict[str, str]:
        form, alike = self._form, dict[str, dict[str, list[str]]]()
        for name in sorted(names):
            if name and not form.kept(name):
                alike.setdefault(literal_pattern(name), {}).setdefault(lowered(name), []).append(name)
        digits, stems = len(str(len(alike))), {name: name for name in names}
        for at, key in enumerate(sorted(alike), 1):
            for place, spellings in enumerate(alike[key].values()):
                number = f"{at:0{digits}}{_told_apart(place, len(alike[key]))}"
                for turn, name in enumerate(spellings):
                    head = name[: len(form.head)] if lowered(name).startswith(form.head) else ""
                    stems[name] = f"{head}{_cased(form.word, turn)}-{number}"
        return stems

    def _mark(self, patterns: Iterable[str]) -> None:
        for pattern in patterns:
            self._marks[pattern] = f"~{len(self._marks) + 1}~"
        marks = self._marks.items()
        self._names = {
            name: stem + "".join(mark for pattern, mark in marks if _matches(pattern, name))
            for name, stem in self._stems.items()
        }

    def _still(self, pattern: str) -> bool:
        return all(_matches(pattern, name) == _matches(pattern, alias) for name, alias in self._names.items())


def _matches(pattern: str, name: str) -> bool:
    return SubBudget(pattern=pattern).matches(name)


def _told_apart(place: int, count: int) -> str:
    """Return the end of a number that `count` names have, by which number `place` of them is another in any case."""
    return "".join("/]"[place >> at & 1] for at in range((count - 1).bit_length()))


def _cased(word: str, turn: int) -> str:
    """Return the spelling of a word that is number `turn` of those that differ in case."""
    return "".join(letter.upper() if turn >> at & 1 else letter for at, letter in enumerate(word))
