"""`docket windows doctor` and `docket windows tidy`: what they print, and what their exit codes say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from docket.engines.windows.begin import begin
from docket.engines.windows.complete import complete
from docket.engines.windows.world import BeginRequest, CompleteRequest
from docket.formats.windows.key import WindowKey
from docket.surfaces.cli.root import run
from docket.surfaces.hooks.place import windows_place
from docket.surfaces.hooks.wiring import windows_world
from project_lab import Project, entered

DAY_NS = 86_400 * 10**9


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    with entered(tmp_path, monkeypatch) as made:
        yield made


def one_window() -> Path:
    """A window of the current folder that is over; return where windows are kept."""
    place = windows_place(Path.cwd())
    world = windows_world(place)
    key = WindowKey(repository=world.tree.repository, provider="claude", session_id="s", turn_id="t", tool_use_id="u")
    begin(BeginRequest(key=key, tool_name="Bash"), world)
    Path("new").write_text("x" * 1000)
    complete(CompleteRequest(key=key, tool_name="Bash"), world)
    return place.windows


def test_where_there_are_no_windows_nothing_is_made(project, capsys):
    before = sorted(Path.cwd().rglob("*"))
    for command in (["doctor"], ["tidy", "--apply"]):
        assert run(["windows", *command]) == 0
        assert capsys.readouterr().out == "no tool windows\n"
        assert run(["windows", *command, "--json"]) == 0
        json.loads(capsys.readouterr().out)
    assert sorted(Path.cwd().rglob("*")) == before


def test_the_doctor_is_content_and_then_not(project, capsys):
    windows = one_window()
    assert run(["windows", "doctor"]) == 0
    assert capsys.readouterr().out.startswith("0 open, 1 over, a store of ")
    (windows / "registry.json").write_text("{")
    assert run(["windows", "doctor"]) == 1
    assert capsys.readouterr().out.startswith("! registry_corrupt registry: ")
    assert run(["windows", "doctor", "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["found"]
    assert (found["finding"], found["is_fault"]) == ("registry_corrupt", True)


def test_tidying_tells_what_would_go_and_then_lets_it_go(project, capsys, monkeypatch):
    one_window()
    import docket.surfaces.cli.commands.windows_upkeep as command

    now_ns = command.time.time_ns() + 2 * DAY_NS
    monkeypatch.setattr(command.time, "time_ns", lambda: now_ns)
    assert run(["windows", "tidy", "--max-bytes", "0"]) == 0
    assert capsys.readouterr().out.endswith(" would be freed\n")
    assert run(["windows", "tidy", "--max-bytes", "0", "--apply", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["applied"], done["objects"] > 0, done["left"], done["deferred"]) == (True, True, 0, None)
    assert run(["windows", "tidy", "--max-bytes", "0", "--apply"]) == 0
    assert capsys.readouterr().out.startswith("0 objects, 0 bytes of ")
