"""Letters by Unicode 14: what came later stands for itself, whatever the interpreter knows of it."""

from __future__ import annotations

import pytest

from docket.formats.letters import is_printable, lowered


@pytest.mark.parametrize(
    ("text", "lower"),
    [
        ("GPT-5", "gpt-5"),
        ("\xc4\u0130", "\xe4i\u0307"),
        ("\u039f\u03a3", "\u03bf\u03c2"),
        ("A\ua7cb", "a\ua7cb"),
        ("\U00010d50A", "\U00010d50a"),
        ("\u039f\u03a3\ua7cb", "\u03bf\u03c2\ua7cb"),
        ("\ua7cb\u03a3", "\ua7cb\u03c3"),
    ],
)
def test_lower_case(text: str, lower: str) -> None:
    assert lowered(text) == lower


@pytest.mark.parametrize("text", ["", "a", "\xe9", "\U0001f600", "\u0378", "\U00032000", "\U0010ffff"])
def test_printable(text: str) -> None:
    assert is_printable(text)


@pytest.mark.parametrize("mark", ["\0", " ", "\x7f", "\xa0", "\xad", "\u200b", "\u202e", "\u2029", "\ufeff", "\ue000"])
def test_not_printable(mark: str) -> None:
    assert not is_printable(f"a{mark}")
