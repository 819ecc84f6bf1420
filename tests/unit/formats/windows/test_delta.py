"""The canonical delta: bytes written by hand, and each contradiction that is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.canonical import encode
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.windows.delta import (
    Actor,
    Delta,
    FileDelta,
    Hunk,
    Limits,
    Span,
    ToolUse,
    decode_delta,
    encode_delta,
)
from docket.formats.windows.names import Hashes, Operation, Scope, Status

ONE, TWO, NONE = "1" * 40, "2" * 40, "0" * 40
SPAN = {"completed_at": "2026-01-01T00:00:01Z", "duration_ms": 1000, "started_at": "2026-01-01T00:00:00Z"}


def document(**members: Any) -> dict[str, Any]:
    """A delta as JSON, with other members in the place of these."""
    return {
        "version": 1,
        "kind": "agent_tool_delta",
        "scope": "tool",
        "status": "complete",
        "window": SPAN,
        "actors": [{"provider": "claude", "session_id": "s", "turn_id": "t"}],
        "tool_uses": [{"actor": 0, "event_id": "e", "tool_name": "Bash", "tool_use_id": "u"}],
        "files": [edit()],
        "limits": {"bytes_read": 3, "files_observed": 9, "truncated": False},
        "hashes": "sha1",
        **members,
    }


def hunk(old_start: int, old: list[str], new_start: int, new: list[str]) -> dict[str, Any]:
    return {"new_count": len(new), "new_lines": new, "new_start": new_start,
            "old_count": len(old), "old_lines": old, "old_start": old_start}  # fmt: skip


def edit(**members: Any) -> dict[str, Any]:
    """An edit of one line."""
    return {
        "path": "a",
        "operation": "edit",
        "before_hash": ONE,
        "after_hash": TWO,
        "before_mode": "100644",
        "after_mode": "100644",
        "hunks": [hunk(2, ["old"], 2, ["new"])],
        **members,
    }


def without(value: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: member for key, member in value.items() if key != name}


def test_a_delta_is_these_bytes():
    delta = Delta(
        scope=Scope.TOOL,
        status=Status.COMPLETE,
        window=Span(started_at=SPAN["started_at"], completed_at=SPAN["completed_at"], duration_ms=1000),
        actors=(Actor(provider="claude", session_id="s", turn_id="t"),),
        tool_uses=(ToolUse(tool_use_id="u", tool_name="Bash", event_id="e", actor=0),),
        files=(
            FileDelta(
                path=RelPath(b"a"), operation=Operation.EDIT, before_hash=ONE, after_hash=TWO,
                before_mode="100644", after_mode="100644",
                hunks=(Hunk(old_start=2, new_start=2, old_lines=(b"old",), new_lines=(b"new",)),),
            ),
        ),
        limits=Limits(files_observed=9, bytes_read=3),
        hashes=Hashes.SHA1,
    )  # fmt: skip
    wanted = json.dumps(document(), sort_keys=True, separators=(",", ":")).encode()
    assert encode_delta(delta) == wanted
    assert decode_delta(wanted) == delta


def test_names_and_lines_that_are_no_text_are_carried_byte_for_byte():
    file = edit(hunks=[{"new_count": 1, "new_lines": ["\u00e9"], "new_start": 1,
                        "old_count": 1, "old_lines_b64": ["/w=="], "old_start": 1}], path_b64="Yf8=")  # fmt: skip
    delta = decode_delta(encode(document(files=[without(file, "path")])))
    assert delta.files[0].path.raw == b"a\xff"
    assert delta.files[0].hunks[0].old_lines == (b"\xff",)
    assert delta.files[0].hunks[0].new_lines == ("\u00e9".encode(),)
    for other in ({"old_lines_b64": ["b2xk"]}, {"old_lines_b64": ["?"]}, {"old_lines_b64": ["/x=="]}):
        wrong = edit(hunks=[{**without(hunk(1, ["x"], 1, ["y"]), "old_lines"), **other}])
        with pytest.raises(InvalidDocumentError):
            decode_delta(encode(document(files=[wrong])))


def test_the_order_of_what_was_given_does_not_matter():
    actors = [{"provider": "claude", "session_id": "s", "turn_id": "t"},
              {"provider": "codex", "session_id": "s", "turn_id": "t"}]  # fmt: skip
    uses = [{"actor": 0, "event_id": "1", "tool_name": "Bash", "tool_use_id": "z"},
            {"actor": 1, "event_id": "2", "tool_name": "Bash", "tool_use_id": "a"}]  # fmt: skip
    raw = encode(document(scope="concurrent_group", actors=actors, tool_uses=uses, files=[edit(), edit(path="b")]))
    delta = decode_delta(raw)
    turned = Delta(
        scope=delta.scope, status=delta.status, window=delta.window, hashes=delta.hashes, limits=delta.limits,
        actors=(delta.actors[1], delta.actors[0], delta.actors[1]),
        tool_uses=(
            ToolUse(tool_use_id="a", tool_name="Bash", event_id="2", actor=2),
            ToolUse(tool_use_id="z", tool_name="Bash", event_id="1", actor=1),
        ),
        files=delta.files[::-1],
    )  # fmt: skip
    assert encode_delta(turned) == raw


def test_a_reason_that_nobody_knows_is_kept():
    raw = encode(without(document(status="partial", reason="struck_by_lightning", files=[]), "hashes"))
    assert decode_delta(raw).reason == "struck_by_lightning"
    assert encode_delta(decode_delta(raw)) == raw


def test_moves_of_head_are_told():
    raw = encode(document(head_before=ONE, head_after=TWO, head_moves=2))
    assert encode_delta(decode_delta(raw)) == raw
    assert decode_delta(raw).head_moves == 2


FINE = {
    "create": edit(operation="create", before_hash=NONE, before_mode="000000", hunks=[hunk(1, [], 1, ["x"])]),
    "create-empty": without(edit(operation="create", before_hash=NONE, before_mode="000000"), "hunks"),
    "delete": edit(operation="delete", after_hash=NONE, after_mode="000000", hunks=[hunk(1, ["x"], 1, [])],
                   old_no_eof_newline=True),
    "typechange": without(edit(operation="typechange", after_mode="120000"), "hunks"),
    "mode-alone": without(edit(after_hash=ONE, after_mode="100755"), "hunks"),
    "last-line-end": without(edit(new_no_eof_newline=True), "hunks"),
    "binary": without(edit(binary=True), "hunks"),
    "gitlink": without(edit(before_mode="160000", after_mode="160000"), "hunks"),
    "two-hunks": edit(hunks=[hunk(1, ["a"], 1, []), hunk(3, [], 2, ["b"])]),
    "insertion-at-the-end": edit(hunks=[hunk(4, [], 4, ["b"])]),
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
def test_a_file_may_be_told_so(name):
    raw = encode(document(files=[FINE[name]]))
    assert encode_delta(decode_delta(raw)) == raw


def test_a_truncated_file_says_so_twice():
    file = without(edit(truncated=True, after_hash=NONE), "hunks")
    raw = encode(document(files=[file], limits={"bytes_read": 0, "files_observed": 1, "truncated": True}))
    assert decode_delta(raw).files[0].truncated


REFUSED: dict[str, Callable[[], dict[str, Any]]] = {
    "partial-with-files": lambda: document(status="partial", reason="timeout"),
    "partial-without-reason": lambda: document(status="partial", files=[]),
    "partial-with-prose": lambda: document(status="partial", reason="It failed.", files=[]),
    "complete-with-reason": lambda: document(reason="timeout"),
    "complete-without-hashes": lambda: without(document(files=[]), "hashes"),
    "files-without-hashes": lambda: without(document(), "hashes"),
    "no-tool": lambda: document(tool_uses=[], actors=[]),
    "tool-twice": lambda: document(scope="concurrent_group", tool_uses=document()["tool_uses"] * 2),
    "two-tools-in-a-tool": lambda: document(tool_uses=[*document()["tool_uses"], {
        "actor": 0, "event_id": "e", "tool_name": "Bash", "tool_use_id": "v"}]),
    "one-tool-in-a-group": lambda: document(scope="concurrent_group"),
    "actor-nobody-is": lambda: document(tool_uses=[{**document()["tool_uses"][0], "actor": 1}]),
    "actor-without-tool": lambda: document(actors=[*document()["actors"], {
        "provider": "codex", "session_id": "s", "turn_id": "t"}]),
    "unsorted-files": lambda: document(files=[edit(path="b"), edit()]),
    "file-twice": lambda: document(files=[edit(), edit()]),
    "fewer-observed": lambda: document(limits={"bytes_read": 0, "files_observed": 0, "truncated": False}),
    "negative": lambda: document(head_moves=-1),
    "zero-moves-written": lambda: document(head_moves=0),
    "head-of-another-length": lambda: document(head_before="1" * 64),
    "head-without-git": lambda: document(hashes="content-sha256", files=[], head_after="1" * 64),
    "other-version": lambda: document(version=2),
    "other-kind": lambda: document(kind="delta"),
    "unknown-member": lambda: document(mood="good"),
    "false-written": lambda: document(files=[edit(binary=False)]),
    "empty-hunks-written": lambda: document(files=[edit(hunks=[])]),
    "hash-of-another-length": lambda: document(files=[edit(after_hash="2" * 64)]),
    "hash-that-is-none": lambda: document(files=[edit(after_hash="g" * 40)]),
    "mode-that-is-none": lambda: document(files=[edit(after_mode="100666")]),
    "absent-with-a-hash": lambda: document(files=[edit(operation="delete", after_mode="000000")]),
    "present-without-a-hash": lambda: document(files=[edit(after_hash=NONE)]),
    "absent-twice": lambda: document(files=[without(edit(
        before_mode="000000", after_mode="000000", before_hash=NONE, after_hash=NONE), "hunks")]),
    "edit-that-is-a-create": lambda: document(files=[edit(before_mode="000000", before_hash=NONE)]),
    "edit-that-is-a-typechange": lambda: document(files=[edit(after_mode="120000")]),
    "typechange-with-hunks": lambda: document(files=[edit(operation="typechange", after_mode="120000")]),
    "gitlink-with-hunks": lambda: document(files=[edit(before_mode="160000", after_mode="160000")]),
    "binary-with-hunks": lambda: document(files=[edit(binary=True)]),
    "truncated-with-hunks": lambda: document(
        files=[edit(truncated=True)], limits={"bytes_read": 0, "files_observed": 1, "truncated": True}),
    "truncated-and-not-said": lambda: document(files=[without(edit(truncated=True), "hunks")]),
    "binary-with-a-last-line": lambda: document(files=[without(edit(binary=True, new_no_eof_newline=True), "hunks")]),
    "the-same-twice": lambda: document(files=[without(edit(after_hash=ONE), "hunks")]),
    "the-same-with-hunks": lambda: document(files=[edit(after_hash=ONE, after_mode="100755")]),
    "the-same-with-another-end": lambda: document(files=[without(
        edit(after_hash=ONE, after_mode="100755", new_no_eof_newline=True), "hunks")]),
    "changed-and-not-how": lambda: document(files=[without(edit(), "hunks")]),
    "create-with-old-lines": lambda: document(files=[{**FINE["create"], "hunks": [hunk(1, ["x"], 1, ["y"])]}]),
    "create-in-two": lambda: document(files=[{
        **FINE["create"], "hunks": [hunk(1, [], 1, ["x"]), hunk(2, [], 3, ["y"])]}]),
    "create-with-an-old-end": lambda: document(files=[{**FINE["create"], "old_no_eof_newline": True}]),
    "empty-with-an-end": lambda: document(files=[{**FINE["create-empty"], "new_no_eof_newline": True}]),
    "counts-not-of-lines": lambda: document(files=[edit(hunks=[{**hunk(1, ["x"], 1, ["y"]), "old_count": 2}])]),
    "hunk-of-nothing": lambda: document(files=[edit(hunks=[hunk(1, [], 1, [])])]),
    "starts-at-zero": lambda: document(files=[edit(hunks=[hunk(0, [], 0, ["x"])])]),
    "line-with-a-line-feed": lambda: document(files=[edit(hunks=[hunk(1, ["x\n"], 1, ["y"])])]),
    "overlapping": lambda: document(files=[edit(hunks=[hunk(1, ["x", "y"], 1, ["z", "z"]), hunk(2, ["x"], 2, ["y"])])]),
    "touching": lambda: document(files=[edit(hunks=[hunk(1, ["x"], 1, ["z"]), hunk(2, ["x"], 2, ["y"])])]),
    "not-together": lambda: document(files=[edit(hunks=[hunk(1, ["x"], 2, ["z"])])]),
    "unsorted-hunks": lambda: document(files=[edit(hunks=[hunk(5, ["x"], 5, ["z"]), hunk(1, ["x"], 1, ["y"])])]),
    "instant-that-is-none": lambda: document(window={**SPAN, "started_at": "yesterday"}),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_contradicts_itself_is_refused(name):
    with pytest.raises(InvalidDocumentError):
        decode_delta(encode(REFUSED[name]()))


def test_only_the_bytes_of_encoding_are_read():
    raw = encode(document())
    for other in (raw + b"\n", json.dumps(document()).encode(), raw.replace(b'"old"', b'"\\u006fld"')):
        with pytest.raises(InvalidDocumentError) as refused:
            decode_delta(other)
        assert refused.value.reason == Reason.NOT_CANONICAL


def test_an_actor_that_there_is_not_is_refused_when_written_too():
    delta = decode_delta(encode(document()))
    wrong = ToolUse(tool_use_id="u", tool_name="Bash", event_id="e", actor=7)
    with pytest.raises(InvalidDocumentError):
        encode_delta(Delta(scope=delta.scope, status=delta.status, window=delta.window, actors=delta.actors,
                           tool_uses=(wrong,)))  # fmt: skip


def test_a_count_below_zero_is_refused_when_written_too():
    delta = decode_delta(encode(document()))
    for wrong in (replace(delta, head_moves=-1), replace(delta, limits=Limits(files_observed=1, bytes_read=-1))):
        with pytest.raises(InvalidDocumentError):
            encode_delta(wrong)


def test_a_delta_too_large_to_read_is_refused(monkeypatch):
    monkeypatch.setattr("docket.formats.windows.delta.MAX_DELTA_BYTES", 10)
    with pytest.raises(InvalidDocumentError) as refused:
        decode_delta(encode(document()))
    assert refused.value.reason == Reason.TOO_LARGE
