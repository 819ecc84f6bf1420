"""The command line itself: help without imports, unknown commands, and the table of exit codes in the docs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from docket import __version__
from docket.errors import (
    DocketError,
    InvalidDocumentError,
    RefusedBeforeStartError,
    UnavailableError,
    UsageError,
)
from docket.surfaces.cli import exits, root
from docket.surfaces.cli.main import main

REPOSITORY = Path(__file__).resolve().parents[3]


def test_version_imports_neither_click_nor_asyncio():
    program = "import sys; from docket.surfaces.cli.main import main; main(['--version']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    first, modules = done.stdout.splitlines()
    assert first == f"docket {__version__}"
    assert not any(f"'{name}'" in modules for name in ("click", "asyncio", "rich", "dataclasses", "json"))


def test_a_run_starts_without_what_only_some_runs_need():
    program = "import sys; import docket.surfaces.cli.root, docket.surfaces.cli.commands.run; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    heavy = {"asyncio", "cryptography", "dataclasses", "difflib", "email", "http", "logging", "pathspec", "rich",
             "sqlite3", "tomllib", "docket.engines.boundary.run", "docket.engines.windows.tidy"}  # fmt: skip
    assert heavy & {name for loaded in done.stdout.split() for name in (loaded, loaded.partition(".")[0])} == set()


def test_help_lists_every_command_and_imports_none(capsys):
    before = {name for name in sys.modules if name.startswith("docket.surfaces.cli.commands.")}
    assert main(["--help"]) == 0
    after = {name for name in sys.modules if name.startswith("docket.surfaces.cli.commands.")}
    assert after == before
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in root.COMMANDS)


@pytest.mark.parametrize("name", root.COMMANDS)
def test_every_command_has_help_with_an_example(name, capsys):
    assert main([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"docket {name}" in shown
    assert "Example" in shown


def test_an_unknown_command_names_the_nearest(capsys):
    assert main(["verfiy"]) == exits.USAGE
    assert "verify" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["run", "--no-such-flag", "--", "true"], ["run", "--port", "x", "--", "true"]])
def test_a_wrong_flag_is_a_usage_error(arguments, capsys):
    assert main(arguments) == exits.USAGE
    assert capsys.readouterr().err.strip()


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (UsageError, 2),
        (RefusedBeforeStartError, 43),
        (UnavailableError, 75),
        (InvalidDocumentError, 1),
        (DocketError, 70),
    ],
)
def test_each_error_has_its_exit_code(kind, code):
    assert exits.exit_code(kind("reason", "detail")) == code


def test_the_reference_page_holds_the_table():
    page = (REPOSITORY / "docs/reference/exit-codes.md").read_text()
    for code, meaning in exits.MEANINGS:
        assert f"| {code} | {meaning} |" in page


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_call_docket(shell, capsys):
    assert main(["completion", shell]) == 0
    assert "_DOCKET_COMPLETE" in capsys.readouterr().out


def test_no_command_at_all_prints_the_help_as_it_is(capsys):
    assert main([]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("Usage: docket [OPTIONS] COMMAND")
    assert "Error" not in told.err
    assert "\\x0a" not in told.err
    assert "\n  verify " in told.err


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["run", "--agent", "c"], ["claude-code", "codex", "copilot", "cline"]),
        (["init", "--from", "ai"], ["aider"]),
        (["report", "--mark"], ["--markdown"]),
        (["rec"], ["recover"]),
    ],
)
def test_the_shell_is_offered_names(typed, offered):
    *before, begun = typed
    found = ShellComplete(root.root, {}, "docket", "_DOCKET_COMPLETE").get_completions(before, begun)
    assert [item.value for item in found] == offered
