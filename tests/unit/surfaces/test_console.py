"""Text for a terminal: nothing that a name or a document holds may drive it."""

from __future__ import annotations

import io
import json

import pytest

from docket.errors import UsageError
from docket.formats.reason import Reason
from docket.surfaces.cli import console
from docket.surfaces.cli.main import main


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 漢", "plain é 漢"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\nb\tc\r", "a\\x0ab\\x09c\\x0d"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202eevil", "\\u202eevil"),
        ("half \ud800", "half \\ud800"),
        ("caf\udce9", "caf\\xe9"),
        ("tag \U000e0041", "tag \\U000e0041"),
    ],
)
def test_control_characters_are_made_visible(text, shown):
    assert console.plain(text) == shown


def test_json_holds_no_control_character_and_no_other_text_than_it_was_given():
    given = {"name": "\x1b[31m\x7f\x9b é \u202e \udcff"}

    assert console.as_json(given, indent=None) == '{"name": "\\u001b[31m\\u007f\\u009b \\u00e9 \\u202e \\udcff"}'
    assert json.loads(console.as_json(given)) == given


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


def test_a_name_cannot_begin_a_line_of_dockets(capsys):
    error = UsageError(Reason.USAGE, "a\ndocket: b", hint="c\r\ndocket: d", points=("e\ndocket: f", "g"))
    console.fail(error)
    assert capsys.readouterr().err == (
        "docket: error: a\\x0adocket: b\n  e\\x0adocket: f\n  g\ndocket: c\\x0d\\x0adocket: d\n"
    )


FAKE = "x\ndocket: receipt ok\ny"


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify", FAKE],
        ["verify", "README.md", FAKE],
        ["report", FAKE],
        ["report", "--docket-dir", FAKE],
        ["run", "--policy", FAKE, "--", "true"],
        ["run", "--cwd", FAKE, "--", "true"],
        ["run", "--upstream", FAKE, "--", "true"],
        ["run", "--max-usd", FAKE, "--", "true"],
        ["run", "--agent", FAKE, "--", "true"],
        ["run", f"--{FAKE}"],
        ["init", FAKE],
        ["prices", FAKE],
        [FAKE],
    ],
)
def test_no_argument_can_begin_a_line_of_dockets(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCKET_STATE_DIR", str(tmp_path / "state"))
    assert main(arguments) != 0
    told = capsys.readouterr()
    assert not [line for line in (told.out + told.err).splitlines() if line.startswith("docket: receipt ok")]
    assert "\\x0adocket: receipt ok" in told.out + told.err or "\\ndocket: receipt ok" in told.out + told.err


def test_a_policy_with_a_name_of_several_lines_keeps_its_problems_apart(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DOCKET_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    policy = tmp_path / "p\ndocket: fine.toml"
    policy.write_text("[caps]\nmax_usdd = 1\nmax_tokenz = 1\n")
    assert main(["run", "--policy", str(policy), "--", "true"]) == 43
    lines = capsys.readouterr().err.splitlines()
    assert [line[:14] for line in lines] == ["docket: error:", "  line 2: caps", "  line 3: caps", "docket: nothin"]
