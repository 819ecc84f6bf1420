"""Text for a terminal: nothing that a name or a document holds may drive it."""

from __future__ import annotations

import io

import pytest

from docket.surfaces.cli import console


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 漢", "plain é 漢"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\nb\tc\r", "a\\x0ab\\x09c\\x0d"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202eevil", "\\u202eevil"),
        ("half \ud800", "half \\ud800"),
    ],
)
def test_control_characters_are_made_visible(text, shown):
    assert console.plain(text) == shown


class Stream(io.StringIO):
    def __init__(self, *, is_terminal):
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal


@pytest.mark.parametrize(
    ("is_terminal", "variables", "coloured"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (False, {"DOCKET_FORCE_COLOR": "1"}, True),
        (True, {"NO_COLOR": "1", "DOCKET_FORCE_COLOR": "1"}, True),
    ],
)
def test_colours_only_on_a_terminal(monkeypatch, is_terminal, variables, coloured):
    for name in ("NO_COLOR", "DOCKET_FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert console.colour_for(Stream(is_terminal=is_terminal)) is coloured


@pytest.mark.parametrize("code", [0x061C, 0x200E, 0x2028, 0x2029, 0x2066, 0x206F, 0xFEFF])
def test_what_cannot_be_seen_is_made_visible(code):
    assert console.plain(f"a{chr(code)}b") == f"a\\u{code:04x}b"
