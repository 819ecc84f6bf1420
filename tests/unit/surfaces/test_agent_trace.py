"""Agent Trace records: held against the specification's shape, typed here, and against the evidence, by hand."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from blame_lab import EPOCH as SINCE
from blame_lab import MemoryRecord, Tool, name_of
from docket import __version__
from docket.engines.windows.blame import FileBlame, ModelCall
from docket.formats.relpath import RelPath
from docket.formats.windows.key import WindowKey
from docket.rules.line_difference import split_lines
from docket.rules.windows.tool_event import Phase, ToolEvent
from docket.surfaces.cli.root import run
from docket.surfaces.export.agent_trace import MAX_MODEL_ID, Told, trace_record
from docket.surfaces.hooks.windows import tell

AT = "2026-01-01T00:00:01.000Z"
TEXT: dict[str, Any] = {"type": "string"}
URL = {"type": "string", "pattern": r"^[a-z][a-z0-9+.-]*:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+$"}
LINE = {"type": "integer", "minimum": 1}


def closed(required: list[str], **properties: object) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


def several(items: object) -> dict[str, Any]:
    return {"type": "array", "items": items}


CONTRIBUTOR = closed(
    ["type"],
    type={"enum": ["human", "ai", "mixed", "unknown"]},
    model_id={"type": "string", "maxLength": 250, "pattern": "^[^/]+/.+$"},
)
# Of agent-trace.dev, version 0.1.0: closed at every level but for the metadata.
SCHEMA = closed(
    ["version", "id", "timestamp", "files"],
    version={"type": "string", "pattern": r"^[0-9]+\.[0-9]+\.[0-9]+$"},
    id={"type": "string", "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"},
    timestamp={"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"},
    vcs=closed(["type", "revision"], type={"enum": ["git", "jj", "hg", "svn"]}, revision=TEXT),
    tool=closed(["name", "version"], name=TEXT, version=TEXT),
    files=several(
        closed(
            ["path", "conversations"],
            path=TEXT,
            conversations=several(
                closed(
                    ["ranges"],
                    url=URL,
                    contributor=CONTRIBUTOR,
                    ranges=several(
                        closed(
                            ["start_line", "end_line"],
                            start_line=LINE, end_line=LINE, content_hash=TEXT, contributor=CONTRIBUTOR,
                        )
                    ),
                    related=several(closed(["type", "url"], type=TEXT, url=URL)),
                )
            ),
        )
    ),
    metadata={"type": "object"},
)  # fmt: skip


def checked(record: object) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(record))
    jsonschema.Draft202012Validator(SCHEMA).validate(document)
    return document


def test_the_schema_here_takes_the_least_record_and_refuses_others():
    least = {"version": "0.1.0", "id": "550e8400-e29b-41d4-a716-446655440000", "timestamp": AT, "files": []}
    checked(least)
    for wrong in ({"version": "0.1"}, {"id": "x"}, {"mood": "good"}, {"files": [{"path": "a"}]}):
        with pytest.raises(jsonschema.ValidationError):
            checked({**least, **wrong})


class Tree:
    """A tree of one file whose windows are told by hand."""

    def __init__(self, content: bytes) -> None:
        self.record, self.at = MemoryRecord(tree={"a": content}), SINCE

    def tool(self, content: bytes, *tools: Tool) -> None:
        before = self.record.look()
        self.record.tree["a"] = content
        self.record.close(list(tools), (self.at, self.at), (before, self.record.look()))

    def told(self, **other: Any) -> Told:
        content = self.record.tree["a"]
        blame = FileBlame(path=RelPath(b"a"), name=name_of(content), content=content,
                          lines=split_lines(content).lines, origins=self.record.blame("a"))  # fmt: skip
        return Told(**{"blames": [blame], "recorded_at": AT, "calls": lambda _: None, **other})


def sha(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def test_lines_of_tools_are_attributed_and_no_others():
    tree = Tree(b"1\n")
    tree.tool(b"x\ny\n1\n", Tool("u1", "claude", "t"))
    tree.record.tree["a"] = b"x\ny\n1\nmine\n"
    tree.tool(b"x\ny\n1\nmine\nz", Tool("u 2/\u00e9", "claude", "t"))
    record = checked(trace_record(tree.told()))
    assert record["version"] == "0.1.0"
    assert record["timestamp"] == AT
    assert record["tool"] == {"name": "docket", "version": __version__}
    assert "vcs" not in record
    (file,) = record["files"]
    assert file["path"] == "a"
    (conversation,) = file["conversations"]
    assert conversation["contributor"] == {"type": "ai"}
    assert conversation["ranges"] == [
        {"start_line": 1, "end_line": 2, "content_hash": sha(b"x\ny\n")},
        {"start_line": 5, "end_line": 5, "content_hash": sha(b"z")},
    ]
    assert conversation["related"] == [
        {"type": "session", "url": "urn:x-docket:session:claude:claude-s"},
        {"type": "tool_use", "url": "urn:x-docket:tool-use:claude:claude-s:u1"},
        {"type": "tool_use", "url": "urn:x-docket:tool-use:claude:claude-s:u%202%2F%C3%A9"},
    ]
    evidence = record["metadata"]["docket"]
    assert evidence["schema"] == "docket/agent-trace-evidence/v1"
    assert evidence["files"][0]["lines"] == {"tool": 3, "group": 0, "outside": 1, "unknown": 1}
    first = evidence["files"][0]["ranges"][0]
    assert first["delta_sha256"] == tree.record.closed[0].delta_sha256
    assert first["windows"] == [
        {"window_id": Tool("u1", "claude", "t").key().window_id, "tool": "Bash", "recorded": True}
    ]


def test_tools_at_once_in_two_sessions_are_a_conversation_of_both():
    tree = Tree(b"1\n")
    tree.tool(b"1\nx\n", Tool("u1", "claude", "t"), Tool("u2", "codex", "t"))
    tree.tool(b"1\nx\ny\n", Tool("u3", "claude", "t"))
    (file,) = checked(trace_record(tree.told()))["files"]
    both, one = file["conversations"]
    assert (both["ranges"][0]["start_line"], one["ranges"][0]["start_line"]) == (2, 3)
    assert [each["url"].split(":")[2:4] for each in both["related"]] == [
        ["session", "claude"], ["session", "codex"], ["tool-use", "claude"], ["tool-use", "codex"],
    ]  # fmt: skip
    assert [each["type"] for each in one["related"]] == ["session", "tool_use"]


def test_a_model_is_named_where_all_calls_are_joined_with_it():
    calls = {"u1": ModelCall(provider="anthropic", model="claude-sonnet-4-6"), "u2": ModelCall(model="m"),
             "u3": ModelCall(provider="anthropic", model="x" * MAX_MODEL_ID)}  # fmt: skip

    def call(key: WindowKey) -> ModelCall | None:
        return calls.get(key.tool_use_id)

    for uses, wanted in ((["u1"], "anthropic/claude-sonnet-4-6"), (["u2"], None), (["u3"], None), (["u4"], None),
                         (["u1", "u2"], None)):  # fmt: skip
        tree = Tree(b"1\n")
        tree.tool(b"1\nx\n", *(Tool(use, "claude", "t") for use in uses))
        (file,) = checked(trace_record(tree.told(calls=call)))["files"]
        assert file["conversations"][0]["contributor"].get("model_id") == wanted


def test_without_a_claim_there_is_no_file_and_without_a_session_none_is_related():
    tree = Tree(b"1\n")
    tree.tool(b"1\n", Tool("u1", "claude", "t"))
    assert checked(trace_record(tree.told()))["files"] == []


def test_equal_evidence_has_equal_bytes_and_other_evidence_another_id():
    tree = Tree(b"1\n")
    tree.tool(b"1\nx\n", Tool("u1", "claude", "t"))
    one, two = trace_record(tree.told()), trace_record(tree.told())
    assert json.dumps(one) == json.dumps(two)
    revised = checked(trace_record(tree.told(revision="0" * 40)))
    assert revised["vcs"] == {"type": "git", "revision": "0" * 40}
    assert revised["id"] != one["id"]


# The command


def hook(tree: Path, phase: Phase) -> None:
    tell(ToolEvent(phase=phase, provider="claude", session_id="", turn_id="", tool_use_id="u", tool_name="Edit"), tree)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if shutil.which("git") is None:
        pytest.skip("needs git")
    tree = tmp_path / "tree"
    tree.mkdir()
    monkeypatch.setenv("DOCKET_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tree)
    (tree / "a").write_bytes(b"1\n")
    git(tree, "init", "-q")
    return tree


def git(tree: Path, *arguments: str) -> str:
    person = ("-c", "user.name=p", "-c", "user.email=p@example.org")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tree.parent), "LC_ALL": "C"}
    return subprocess.run(["git", *person, *arguments], cwd=tree, env=environment, check=True, capture_output=True,
                          text=True).stdout  # fmt: skip


def exported(capsys: pytest.CaptureFixture[str], *files: str) -> tuple[dict[str, Any], str]:
    assert run(["export", "agent-trace", *files]) == 0
    captured = capsys.readouterr()
    return checked(json.loads(captured.out)), captured.err


def test_a_revision_is_named_where_the_files_stand_in_it_as_they_are(tree, capsys):
    hook(tree, Phase.BEFORE)
    (tree / "a").write_bytes(b"1\nx\n")
    hook(tree, Phase.AFTER)
    record, told = exported(capsys, "a")
    assert "vcs" not in record
    assert "no revision is named" in told
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "x")
    record, told = exported(capsys, "a", "../tree/a")
    assert record["vcs"] == {"type": "git", "revision": git(tree, "rev-parse", "HEAD").strip()}
    assert told == ""
    assert [file["path"] for file in record["files"]] == ["a"]
    assert [each["type"] for each in record["files"][0]["conversations"][0]["related"]] == ["tool_use"]
    (tree / "a").write_bytes(b"1\nx\nmore\n")
    assert "vcs" not in exported(capsys, "a")[0]


def test_what_cannot_be_exported(tree, capsys, tmp_path):
    assert run(["export", "agent-trace", "a"]) == 75
    assert "no tool call of this tree is recorded" in capsys.readouterr().err
    hook(tree, Phase.BEFORE)
    hook(tree, Phase.AFTER)
    other = tmp_path / "other"
    other.mkdir()
    (other / "b").write_bytes(b"")
    assert run(["export", "agent-trace", "a", str(other / "b")]) == 2
    assert run(["export", "agent-trace"]) == 2
    assert run(["export", "agent-trace", "gone"]) == 2
    name = os.fsdecode(b"\xff")
    (tree / name).write_bytes(b"1\n")
    record, told = exported(capsys, name)
    assert record["files"] == []
    assert "is no UTF-8" in told
    shutil.rmtree(tree / ".git")
    hook(tree, Phase.BEFORE)
    hook(tree, Phase.AFTER)
    assert "vcs" not in exported(capsys, "a")[0]
