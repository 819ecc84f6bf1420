"""`docket agents`: what it says of a machine on which a few agents are installed, as transcripts on file.

To write them anew after a change that is meant: DOCKET_WRITE_GOLDEN=1 pytest tests/unit/surfaces/test_agents_command.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from docket.rules.agents.interface import AgentFacts
from docket.rules.agents.registry import RECIPES
from docket.surfaces.cli import installed
from docket.surfaces.cli.installed import Installed, find

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "agents"


def program(path: Path, text: str = "#!/bin/sh\nexit 1\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def npm_package(root: Path, package: str, version: str, script: str) -> Path:
    folder = root / "node_modules" / package
    real = program(folder / script)
    (folder / "package.json").write_text(json.dumps({"name": package, "version": version}))
    return real


@pytest.fixture
def machine(tmp_path):
    """A PATH with gemini as tried, claude in another version, aider in an environment, and pi that tells nothing."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    real = npm_package(tmp_path / "lib", "@google/gemini-cli", "0.61.0", "bundle/gemini.js")
    (bin_folder / "gemini").symlink_to(real)
    program(tmp_path / "share/claude/versions/9.9.9")
    (bin_folder / "claude").symlink_to(tmp_path / "share/claude/versions/9.9.9")
    program(tmp_path / "venv/bin/aider")
    (tmp_path / "venv/lib/python3.12/site-packages/aider_chat-0.86.2.dist-info").mkdir(parents=True)
    (bin_folder / "aider").symlink_to(tmp_path / "venv/bin/aider")
    program(bin_folder / "pi")
    return tmp_path


def transcript(machine, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "docket", "agents", *arguments],
        env={"PATH": str(machine / "bin"), "HOME": str(machine), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return f"$ docket agents {' '.join(arguments)}".rstrip() + (
        f"\n{done.stdout}{done.stderr}exit {done.returncode}\n".replace(str(machine), "/machine")
    )


@pytest.mark.parametrize("arguments", [(), ("claude",), ("gemini",), ("none",), ("copilot", "--json"), ("codx",)])
def test_the_transcript_is_the_one_on_file(machine, arguments):
    path = GOLDEN / f"{'_'.join(word.strip('-') for word in arguments) or 'all'}.txt"
    said = transcript(machine, *arguments)
    if os.environ.get("DOCKET_WRITE_GOLDEN"):
        path.write_text(said)
    assert said == path.read_text()


def test_every_recipe_stands_in_the_list(machine):
    documents = json.loads("".join(transcript(machine, "--json").splitlines(keepends=True)[1:-1]))
    assert [document["name"] for document in documents] == [recipe.name for recipe in RECIPES]
    here = {document["name"]: document["installed"] for document in documents if document["installed"]}
    assert {name: found["version"] for name, found in here.items()} == {
        "claude-code": "9.9.9",
        "gemini": "0.61.0",
        "aider": "0.86.2",
        "pi": None,
    }
    tried = {document["name"]: document["on_a_tried_version"] for document in documents}
    assert (tried["claude-code"], tried["gemini"], tried["pi"], tried["codex"]) == (False, True, None, None)


def facts(name, *packages):
    return AgentFacts(
        title="x", program=name, packages=packages, tried=("1",), reached="", token="", retries="", signals=""
    )


def found(tmp_path, monkeypatch, name="x", *packages):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return find(facts(name, *packages))


def test_what_is_not_there_or_has_no_program_is_not_installed(tmp_path, monkeypatch):
    assert found(tmp_path, monkeypatch) is None
    assert find(facts("")) is None


def test_a_launcher_for_a_platform_counts_as_its_package(tmp_path, monkeypatch):
    real = npm_package(tmp_path, "@x/cli-linux", "2.0.0", "bin/x")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/x").symlink_to(real)
    assert found(tmp_path, monkeypatch, "x", "x") == Installed(path=str(tmp_path / "bin/x"), version="2.0.0")


def test_a_package_beside_the_program_counts(tmp_path, monkeypatch):
    npm_package(tmp_path, "pkg", "3.1", "index.js")
    program(tmp_path / "bin/x")
    assert found(tmp_path, monkeypatch, "x", "pkg").version == "3.1"


@pytest.mark.parametrize("document", ["[]", "{", '{"name": 1}', '{"name": "pkg"}', "[" * 100_000])
def test_a_package_that_cannot_be_read_says_nothing(tmp_path, monkeypatch, document):
    npm_package(tmp_path, "pkg", "1", "index.js")
    (tmp_path / "node_modules/pkg/package.json").write_text(document)
    program(tmp_path / "bin/x", "#!/bin/sh\necho x 7.8.9\n")
    assert found(tmp_path, monkeypatch, "x", "pkg").version == "7.8.9"


def test_a_script_of_an_environment_names_its_interpreter(tmp_path, monkeypatch):
    (tmp_path / "venv/lib/python3.11/site-packages/my_pkg-4.5.dist-info").mkdir(parents=True)
    program(tmp_path / "bin/x", f"#!{tmp_path}/venv/bin/python\n")
    assert found(tmp_path, monkeypatch, "x", "my-pkg").version == "4.5"


def test_a_program_that_does_not_answer_in_time_has_no_version(tmp_path, monkeypatch):
    monkeypatch.setattr(installed, "PATIENCE_SECONDS", 0.2)
    program(tmp_path / "bin/x", "#!/bin/sh\nexec /bin/sleep 30\n")
    assert found(tmp_path, monkeypatch).version is None


def test_a_program_that_leaves_another_behind_is_heard_and_both_are_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(installed, "PATIENCE_SECONDS", 2.0)
    left = tmp_path / "left"
    program(tmp_path / "bin/x", f"#!/bin/sh\n/bin/sleep 600 &\necho $! > {left}\necho x 1.2.3\n")
    assert found(tmp_path, monkeypatch).version == "1.2.3"
    stat, until = Path(f"/proc/{int(left.read_text())}/stat"), time.monotonic() + 30
    # Gone, or dead and not yet waited for by whoever inherited it.
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX":
        assert time.monotonic() < until


def test_of_a_program_that_does_not_stop_talking_not_all_is_kept(tmp_path, monkeypatch):
    program(tmp_path / "bin/x", "#!/bin/sh\nexec /usr/bin/yes no-version\n")
    assert found(tmp_path, monkeypatch).version is None


def test_a_program_that_cannot_be_started_has_no_version(tmp_path, monkeypatch):
    program(tmp_path / "bin/x", "no program\x00")
    assert found(tmp_path, monkeypatch).version is None
