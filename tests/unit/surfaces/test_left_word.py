"""Word that a hook without time leaves: where, what of the payload, and what is made of anything else there."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from docket.formats.windows.names import PartialReason
from docket.stores.layout import state_home
from docket.stores.windows.evidence import Evidence
from docket.stores.windows.registry_file import REGISTRY
from docket.surfaces.hooks import left_word
from docket.surfaces.hooks.left_word import MAX_BYTES, forget, is_old, leave, left, left_folder, read_left
from docket.surfaces.hooks.place import windows_place
from docket.surfaces.hooks.windows import make_of_left


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKET_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


PAYLOAD = {
    "session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "u", "cwd": "/x",
    "tool_input": {"command": "secret"}, "tool_response": {"stdout": "secret"}, "prompt": "secret", "turn_id": "t",
    "workspace_roots": ["/x"], "error": "secret", "long_id": "x" * 2000,
}  # fmt: skip


def test_it_holds_names_and_ids_and_nothing_that_a_tool_was_given_or_gave(tmp_path):
    path = leave("claude", "PostToolUse", json.dumps(PAYLOAD).encode(), "/project")
    assert left() == [path]
    assert "secret" not in Path(path).read_text()
    word = read_left(path)
    assert (word.agent, word.event, word.project, word.folder) == ("claude", "PostToolUse", "/project", str(tmp_path))
    assert word.payload == {
        "session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "u", "cwd": "/x",
        "turn_id": "t", "workspace_roots": ["/x"],
    }  # fmt: skip
    assert Path(path).stat().st_mode & 0o777 == 0o600
    forget(path)
    assert left() == []


def test_of_a_list_of_ids_all_is_kept_or_nothing():
    ids = [f"u{number}" for number in range(20)]
    more = {"tool_use_ids": ids, "agent_ids": [*ids, {"command": "secret"}]}
    path = leave("claude", "PostToolBatch", json.dumps(PAYLOAD | more).encode(), "")
    assert "secret" not in Path(path).read_text()
    assert read_left(path).payload["tool_use_ids"] == ids


@pytest.mark.parametrize("body", [None, b"", b"{", b"[]", b"1", b"\xff", b"[" * 100_000,
                                  json.dumps({f"a{n}_id": "x" * 1000 for n in range(100)}).encode()])  # fmt: skip
def test_of_what_is_no_payload_nothing_is_left(body):
    assert leave("claude", "PostToolUse", body, "") is None
    assert left() == []


ANYTHING = [
    b"", b"{}", b"[]", b"null", b'{"agent":1,"event":"e","payload":{}}', b"x" * MAX_BYTES * 2,
    b'{"agent":"a","event":"e","payload":[],"project":"","folder":""}',
    b'{"agent":"nobody","event":"e","payload":{},"project":"","folder":""}',
    b'{"agent":"claude","event":"e","payload":{},"project":"\\u0000","folder":""}',
    json.dumps({"agent": "claude", "event": "PreToolUse", "project": "/nowhere", "folder": "",
                "payload": {"session_id": "s", "tool_name": "B", "tool_use_id": "u"}}).encode(),
]  # fmt: skip


@pytest.mark.parametrize("given", ANYTHING)
def test_anything_else_that_stands_there_is_removed_and_harms_nobody(tmp_path, given):
    folder = tmp_path / "state" / left_word.FOLDER
    folder.mkdir(parents=True)
    (folder / "1-2.json").write_bytes(given)
    assert make_of_left() == 1
    assert left() == []


def test_word_of_which_nothing_can_be_made_now_stays_until_it_is_old(tmp_path, monkeypatch):
    project = tmp_path / "project"
    project.mkdir()
    path = leave("claude", "PostToolUse", json.dumps(PAYLOAD).encode(), str(project))
    registry = windows_place(project).windows / REGISTRY
    registry.parent.mkdir(parents=True)
    registry.write_bytes(b"damaged")
    assert make_of_left() == 1
    assert left() == [path]
    registry.unlink()
    assert make_of_left() == 1
    assert left() == []
    (closed,) = Evidence(registry.parent).every_closed()
    assert (closed.key.tool_use_id, closed.reason) == ("u", PartialReason.PRE_SNAPSHOT_MISSING)

    registry.write_bytes(b"damaged")
    path = leave("claude", "PreToolUse", json.dumps(PAYLOAD | {"tool_use_id": "v"}).encode(), str(project))
    make_of_left()
    assert (left(), is_old(path)) == ([path], False)
    monkeypatch.setattr(left_word, "KEPT_SECONDS", -1)
    make_of_left()
    assert left() == []


@pytest.mark.parametrize("name", ["1-2.json", "1-x.json", f"1-{'9' * 5000}.json", "x.json"])
def test_a_name_that_says_no_recent_time_is_old(name):
    assert is_old(f"/state/hooks-left/{name}")


def test_it_stands_in_the_state_folder_of_all_projects(tmp_path, monkeypatch):
    assert left_folder() == str(state_home(os.environ) / left_word.FOLDER)
    monkeypatch.delenv("DOCKET_STATE_DIR")
    for name, value in (("HOME", tmp_path / "home"), ("XDG_STATE_HOME", tmp_path / "xdg")):
        monkeypatch.setenv(name, str(value))
        assert left_folder() == str(state_home(os.environ) / left_word.FOLDER)
    monkeypatch.setenv("DOCKET_STATE_DIR", "not/absolute")
    assert left_folder() is None
    assert leave("claude", "PostToolUse", json.dumps(PAYLOAD).encode(), "") is None


def test_where_nothing_can_be_written_nothing_is_left(tmp_path):
    (tmp_path / "state").write_text("a file")
    assert leave("claude", "PostToolUse", json.dumps(PAYLOAD).encode(), "") is None
    assert make_of_left() == 0


def test_there_is_room_for_so_many_words_and_what_was_half_written_goes_after_a_day(monkeypatch):
    monkeypatch.setattr(left_word, "MAX_LEFT", 2)
    body = json.dumps(PAYLOAD).encode()
    assert None not in (leave("claude", "PostToolUse", body, ""), leave("claude", "PostToolUse", body, ""))
    assert leave("claude", "PostToolUse", body, "") is None
    folder = Path(left_folder())
    (folder / "1-1.json.new").write_text("{")
    young = folder / f"1-{time.time_ns()}.json.new"
    young.write_text("{")
    assert len(left()) == 2
    assert [path.name for path in folder.glob("*.new")] == [young.name]
