"""`docket init` as a person runs it."""

from __future__ import annotations

import os

import pytest

from docket.formats.amount import Usd
from docket.formats.run.policy_toml import parse_policy
from docket.surfaces.cli.main import main


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(path):
    return parse_policy(path.read_bytes(), str(path))


def test_it_writes_a_policy_and_says_how_to_go_on(folder, capsys):
    assert main(["init", "--from", "codex", "--max-usd", "0.5"]) == 0
    policy = read(folder / "docket.toml")
    assert policy.name == "codex"
    assert policy.caps.max_usd == Usd(500_000)
    out = capsys.readouterr().out
    assert "wrote docket.toml" in out
    assert "docket run --policy docket.toml -- codex exec" in out


def test_the_default_is_five_dollars_for_any_program(folder):
    assert main(["init"]) == 0
    policy = read(folder / "docket.toml")
    assert policy.name == "generic"
    assert policy.caps.max_usd == Usd(5_000_000)


def test_path_and_name_are_taken(folder):
    assert main(["init", "--path", "p.toml", "--name", "nightly run"]) == 0
    assert read(folder / "p.toml").name == "nightly run"


def test_a_missing_folder_is_made_and_the_next_command_names_the_file(folder, capsys):
    assert main(["init", "--path", "my config/docket/policy.toml"]) == 0
    assert read(folder / "my config" / "docket" / "policy.toml").name == "generic"
    assert "docket run --policy 'my config/docket/policy.toml' -- ./my-agent" in capsys.readouterr().out


@pytest.mark.parametrize("force", [False, True])
def test_a_file_that_stands_there_is_replaced_only_by_force(folder, capsys, force):
    target = folder / "docket.toml"
    target.write_text("mine")
    assert main(["init", *(["--force"] if force else [])]) == (0 if force else 2)
    assert (target.read_text() == "mine") is not force
    if not force:
        error = capsys.readouterr().err
        assert "docket.toml exists" in error
        assert "--force" in error
    assert [path.name for path in folder.iterdir()] == ["docket.toml"]


def test_by_force_a_link_is_replaced_and_not_followed(folder):
    elsewhere = folder / "elsewhere"
    elsewhere.write_text("mine")
    (folder / "docket.toml").symlink_to(elsewhere)
    assert main(["init"]) == 2
    assert main(["init", "--force"]) == 0
    assert elsewhere.read_text() == "mine"
    assert not (folder / "docket.toml").is_symlink()
    assert (folder / "docket.toml").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--from", "claud"], "did you mean claude-code?"),
        (["--max-usd", "five"], "--max-usd"),
        (["--max-usd", "-1"], "--max-usd"),
        (["--name", ""], "--name must be a line of text"),
        (["--name", "a\nb"], "--name must be a line of text"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error_and_writes_nothing(folder, capsys, arguments, says):
    assert main(["init", *arguments]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert "Traceback" not in error
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("extra", [[], ["--force"]])
def test_a_place_that_cannot_be_written_is_told(folder, capsys, extra):
    (folder / "file").write_bytes(b"")
    assert main(["init", "--path", "file/docket.toml", *extra]) == 75
    assert "file/docket.toml cannot be written" in capsys.readouterr().err


def test_by_force_a_folder_in_its_place_is_told_and_nothing_is_left(folder, capsys):
    (folder / "docket.toml").mkdir()
    assert main(["init", "--force"]) == 75
    assert "cannot be written" in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["docket.toml"]
    assert os.listdir(folder / "docket.toml") == []


def test_by_force_what_is_no_file_is_left_as_it_is(folder, capsys):
    os.mkfifo(folder / "pipe")
    assert main(["init", "--force", "--path", "pipe"]) == 2
    assert "is not a regular file" in capsys.readouterr().err
    assert (folder / "pipe").is_fifo()
    assert [path.name for path in folder.iterdir()] == ["pipe"]
