"""How much comparing of names with patterns a reader takes upon itself (spec/receipt.md, Limits of a reader).

A record of a megabyte can hold so many patterns and names that comparing each with each takes hours. What a comparison
can take at most is counted before it is made, the same by every reader, whatever it takes in the end.
"""

from __future__ import annotations

from collections.abc import Iterable

from docket.formats.dataclass import dataclass

MOST_STEPS = 2**30
GLOB_STEPS = 2**17
"""What a pattern costs by itself where it has to be read first."""
_BESIDE = 16


def weight(text: str) -> int:
    """Return how much a name or a pattern counts: its characters, and what comes with any."""
    return len(text) + _BESIDE


def weight_of(texts: Iterable[str]) -> int:
    """Return how much all of them count."""
    return sum(weight(text) for text in texts)


@dataclass(slots=True)
class Effort:
    """The steps of one use, and how many are `left`: below nothing once more were asked for."""

    left: int = MOST_STEPS

    def take(self, steps: int) -> bool:
        """Count so many steps; False where they are more than are left, now and from then on."""
        self.left -= steps
        return not self.is_spent

    @property
    def is_spent(self) -> bool:
        """Whether more steps were asked for than there are."""
        return self.left < 0
