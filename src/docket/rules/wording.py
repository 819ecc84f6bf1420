"""How a number of things is said in the sentences that rules make: the same words wherever they stand."""

from __future__ import annotations


def count_of(number: int, word: str) -> str:
    """Return `1 call` or `2 calls`."""
    return f"{number} {word}" if number == 1 else f"{number:,} {word}s"


def were(number: int, word: str, words: str = "") -> str:
    """Return `1 call was` or `2 calls were`; `words` is a plural that is made in another way."""
    return f"1 {word} was" if number == 1 else f"{number:,} {words or f'{word}s'} were"


def times(number: int) -> str:
    """Return `once` or `2 times`."""
    return "once" if number == 1 else f"{number:,} times"
