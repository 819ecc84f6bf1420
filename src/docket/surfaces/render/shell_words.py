"""Command lines for a person to copy into a POSIX shell: quoted where they must be, and free of control characters."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable


def shell_line(words: Iterable[str]) -> str:
    """Return the words as one command line; what cannot be shown is escaped in $'…', which shells read alike."""
    return " ".join(shell_word(word) for word in words)


def shell_word(word: str) -> str:
    """Return one word; foreign bytes of file names (surrogate escapes) too."""
    if word.isprintable() or not word:
        return shlex.quote(word)
    escaped = "".join(_escaped(byte) for byte in os.fsencode(word))
    return f"$'{escaped}'"


def _escaped(byte: int) -> str:
    if byte in b"'\\":
        return f"\\{chr(byte)}"
    # Octal of three digits ends by itself, whatever follows.
    return chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"
