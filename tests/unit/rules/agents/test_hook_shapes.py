"""What each agent's hooks say, by payloads of their shape; Cursor's and Kiro's are from documentation alone."""

from __future__ import annotations

import hashlib

import pytest

from docket.rules.agents.hook_shapes import SHAPES
from docket.rules.agents.hooks import HOOK_READERS
from docket.rules.windows.tool_event import (
    Joins,
    Moments,
    OtherEvent,
    Phase,
    ToolEvent,
    UnknownPayload,
    input_digest,
    summary_of,
    text_at,
)

# Agent, event, payload, and what it says: (phase, session, turn, use, tool, folder, summary, outcome, agent, joins)
CLAUDE = {"session_id": "s", "prompt_id": "p", "cwd": "/t", "tool_name": "Bash", "tool_use_id": "toolu_1",
          "tool_input": {"command": "make\nall"}}  # fmt: skip
CODEX = {"session_id": "s", "turn_id": "t", "cwd": "/t", "tool_name": "Bash", "tool_use_id": "call_1",
         "tool_input": {"command": ["git", "add", "-A"]}, "hook_event_name": "PreToolUse"}  # fmt: skip
GEMINI = {"session_id": "s", "cwd": "/t", "timestamp": "2026-01-01T00:00:00.001Z", "tool_name": "write_file",
          "tool_input": {"file_path": "/t/a", "content": "x"}, "hook_event_name": "BeforeTool"}  # fmt: skip
COPILOT = {"sessionId": "s", "timestamp": 1700000000001, "cwd": "/t", "toolName": "bash",
           "toolArgs": '{"command": "ls"}'}  # fmt: skip
OWN = {"session_id": "s", "cwd": "/t", "tool_name": "bash", "tool_use_id": "call_1|fc_1",
       "tool_input": {"command": "ls"}}  # fmt: skip
CURSOR = {"conversation_id": "s", "generation_id": "t", "cwd": "/t", "tool_name": "Shell", "tool_use_id": "u",
          "tool_input": {"command": "ls"}}  # fmt: skip
KIRO = {"session_id": "s", "cwd": "/t", "tool_name": "execute_bash", "tool_input": {"command": "ls"}}
B, A = Phase.BEFORE, Phase.AFTER
CASES = [
    ("claude", "PreToolUse", CLAUDE, (B, "s", "p", "toolu_1", "Bash", "/t", "make", None, None, Joins.WIRE)),
    ("claude", "PostToolUse", {**CLAUDE, "tool_response": {"stdout": ""}, "agent_id": "a7"},
     (A, "s", "p", "toolu_1", "Bash", "/t", "make", None, "a7", Joins.WIRE)),
    ("claude", "PostToolUseFailure", {**CLAUDE, "error": "exit 1", "is_interrupt": False},
     (A, "s", "p", "toolu_1", "Bash", "/t", "make", "failed", None, Joins.WIRE)),
    ("claude", "PostToolUseFailure", {**CLAUDE, "is_interrupt": True},
     (A, "s", "p", "toolu_1", "Bash", "/t", "make", "interrupted", None, Joins.WIRE)),
    ("claude", "PermissionDenied", CLAUDE, (A, "s", "p", "toolu_1", "Bash", "/t", "make", "denied", None, Joins.WIRE)),
    ("codex", "x", CODEX, (B, "s", "t", "call_1", "Bash", "/t", "git add -A", None, None, Joins.WIRE)),
    ("codex", "x", {**CODEX, "tool_use_id": "exec-1", "hook_event_name": "PostToolUse", "tool_response": "done"},
     (A, "s", "t", "exec-1", "Bash", "/t", "git add -A", None, None, Joins.OWN)),
    ("gemini", "x", GEMINI, (B, "s", "", "", "write_file", "/t", "/t/a", None, None, Joins.DERIVED)),
    ("gemini", "x", {**GEMINI, "hook_event_name": "AfterTool", "tool_response": {"llmContent": "", "error": {}}},
     (A, "s", "", "", "write_file", "/t", "/t/a", None, None, Joins.DERIVED)),
    ("gemini", "x", {**GEMINI, "hook_event_name": "AfterTool", "tool_response": {"error": {"message": "no"}}},
     (A, "s", "", "", "write_file", "/t", "/t/a", "failed", None, Joins.DERIVED)),
    ("qwen", "PreToolUse", CLAUDE, (B, "s", "p", "toolu_1", "Bash", "/t", "make", None, None, Joins.OWN)),
    ("copilot", "preToolUse", COPILOT, (B, "s", "", "", "bash", "/t", "ls", None, None, Joins.DERIVED)),
    ("copilot", "postToolUse", {**COPILOT, "toolArgs": {"command": "ls"}, "toolResult": {"resultType": "success"}},
     (A, "s", "", "", "bash", "/t", "ls", None, None, Joins.DERIVED)),
    ("copilot", "postToolUse", {**COPILOT, "toolResult": {"resultType": "failure"}},
     (A, "s", "", "", "bash", "/t", "ls", "failed", None, Joins.DERIVED)),
    ("copilot", "postToolUse", {**COPILOT, "toolResult": {"resultType": "denied"}},
     (A, "s", "", "", "bash", "/t", "ls", "denied", None, Joins.DERIVED)),
    ("copilot", "postToolUseFailure", {**COPILOT, "toolResult": "x", "toolCallId": "c"},
     (A, "s", "", "c", "bash", "/t", "ls", "failed", None, Joins.WIRE)),
    ("opencode", "tool.execute.before", OWN,
     (B, "s", "", "call_1|fc_1", "bash", "/t", "ls", None, None, Joins.WIRE)),
    ("opencode", "tool.execute.failed", OWN,
     (A, "s", "", "call_1|fc_1", "bash", "/t", "ls", "failed", None, Joins.WIRE)),
    ("pi", "tool_call", OWN, (B, "s", "", "call_1", "bash", "/t", "ls", None, None, Joins.WIRE)),
    ("pi", "tool_result", {**OWN, "is_error": True},
     (A, "s", "", "call_1", "bash", "/t", "ls", "failed", None, Joins.WIRE)),
    ("pi", "tool_result", {**OWN, "tool_use_id": "|x"}, (A, "s", "", "|x", "bash", "/t", "ls", None, None, Joins.WIRE)),
    ("cursor", "preToolUse", CURSOR, (B, "s", "t", "u", "Shell", "/t", "ls", None, None, Joins.OWN)),
    ("cursor", "postToolUseFailure", {**CURSOR, "failure_type": "permission_denied"},
     (A, "s", "t", "u", "Shell", "/t", "ls", "denied", None, Joins.OWN)),
    ("cursor", "postToolUseFailure", {**CURSOR, "failure_type": "error", "is_interrupt": True},
     (A, "s", "t", "u", "Shell", "/t", "ls", "interrupted", None, Joins.OWN)),
    ("kiro", "preToolUse", KIRO, (B, "s", "", "", "execute_bash", "/t", "ls", None, None, Joins.DERIVED)),
    ("kiro", "postToolUse", {**KIRO, "tool_response": {"success": True}},
     (A, "s", "", "", "execute_bash", "/t", "ls", None, None, Joins.DERIVED)),
]  # fmt: skip


@pytest.mark.parametrize(("agent", "event", "payload", "said"), CASES)
def test_a_payload_of_an_agent_says_what_it_says(agent, event, payload, said):
    read = HOOK_READERS[agent](event, payload)
    assert isinstance(read, ToolEvent), read
    assert read.provider == agent
    assert said == (
        read.phase, read.session_id, read.turn_id, read.tool_use_id, read.tool_name, read.folder,
        read.command_summary, read.outcome, read.agent_id, read.joins,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("agent", "event", "moment"),
    [("claude", "Stop", Moments.TURN_END), ("claude", "UserPromptSubmit", Moments.TURN_BEGIN),
     ("claude", "SessionEnd", Moments.SESSION_END), ("claude", "Notification", Moments.OTHER),
     ("codex", "SessionStart", Moments.SESSION_BEGIN), ("gemini", "AfterAgent", Moments.TURN_END),
     ("copilot", "sessionEnd", Moments.SESSION_END), ("opencode", "session.idle", Moments.TURN_END),
     ("pi", "agent_end", Moments.TURN_END), ("cursor", "stop", Moments.TURN_END), ("kiro", "stop", Moments.TURN_END)],
)  # fmt: skip
def test_an_event_about_no_tool_says_where_in_its_session_it_is(agent, event, moment):
    read = HOOK_READERS[agent](event, {"session_id": "s", "sessionId": "s", "conversation_id": "s", "cwd": "/t"})
    assert isinstance(read, OtherEvent)
    assert (read.name, read.moment, read.session_id, read.folder) == (event, moment, "s", "/t")


@pytest.mark.parametrize(
    ("agent", "event", "payload", "why"),
    [("claude", "PreToolUse", {**CLAUDE, "tool_use_id": 1.5e3}, ""),
     ("claude", "PreToolUse", {**CLAUDE, "tool_use_id": None}, "without tool_use_id"),
     ("claude", "PreToolUse", {**CLAUDE, "session_id": ["s"]}, "without session_id"),
     ("claude", "PreToolUse", {**CLAUDE, "session_id": True}, "without session_id"),
     ("claude", "Whatever", CLAUDE, "no event of claude is called Whatever"),
     ("claude", "PreToolUse", {}, "without session_id"),
     ("gemini", "BeforeTool", {"tool_name": "x"}, "without session_id"),
     ("copilot", "postToolUse", {}, "without sessionId")],
)  # fmt: skip
def test_what_is_not_as_it_is_known_to_be_is_told_and_never_dropped(agent, event, payload, why):
    read = HOOK_READERS[agent](event, payload)
    if why:
        assert isinstance(read, UnknownPayload)
        assert why in read.detail
    else:
        assert isinstance(read, ToolEvent)
        assert read.tool_use_id == "1500.0"


@pytest.mark.parametrize("strange", [None, 1, [], {}, "x", True, {"command": 1}, {"command": []}, {"command": [1]}])
def test_members_of_other_types_than_expected_are_missing_and_nothing_more(strange):
    for shape in SHAPES:
        for event in (*shape.before, *shape.after):
            names = shape.names
            payload = {names.session[0]: "s", names.tool_use[0]: "u", names.tool[0]: strange, names.asked[0]: strange,
                       names.folder[0]: strange, "tool_response": strange, "toolResult": strange,
                       "is_interrupt": strange, "is_error": "true"}  # fmt: skip
            read = shape.read(event, payload)
            assert isinstance(read, ToolEvent)
            assert read.command_summary is None or isinstance(strange, str)


def test_a_text_that_is_not_the_object_it_looks_like_is_kept_as_a_text():
    read = HOOK_READERS["copilot"]("preToolUse", {**COPILOT, "toolArgs": "{no"})
    assert isinstance(read, ToolEvent)
    assert read.input_sha256 == hashlib.sha256(b'"{no"').hexdigest()
    deep = HOOK_READERS["copilot"]("preToolUse", {**COPILOT, "toolArgs": "[" * 100_000})
    assert isinstance(deep, ToolEvent)


def test_the_digest_of_what_was_asked_for_knows_no_order_and_every_character():
    assert input_digest({"b": 1, "a": [True, None, 0.5]}) == hashlib.sha256(b'{"a":[true,null,0.5],"b":1}').hexdigest()
    assert input_digest({"a": [True, None, 0.5], "b": 1}) == input_digest({"b": 1, "a": [True, None, 0.5]})
    assert input_digest("\ud800\x00") == hashlib.sha256(rb'"\ud800\u0000"').hexdigest()


def test_derived_ids_of_one_tool_and_input_begin_alike_and_others_do_not():
    one = HOOK_READERS["gemini"]("x", GEMINI)
    same = HOOK_READERS["gemini"]("x", {**GEMINI, "timestamp": "later", "session_id": "other"})
    other = HOOK_READERS["gemini"]("x", {**GEMINI, "tool_input": {"file_path": "/t/b"}})
    renamed = HOOK_READERS["gemini"]("x", {**GEMINI, "tool_name": "edit"})
    assert one.likeness == same.likeness
    assert len({one.likeness, other.likeness, renamed.likeness}) == 3
    assert one.likeness.startswith("derived:")
    assert one.stamp == "2026-01-01T00:00:00.001Z"


def test_texts_are_bounded_and_can_be_recorded():
    assert text_at({"a": "x" * 2000}, "a") == "x" * 1024
    assert text_at({"a": "\udcff"}, "a") == "\\udcff"
    assert text_at({"a": "", "b": 7}, "a", "b") == "7"
    assert summary_of({"command": "é" * 300}, "command") == "é" * 200
    assert summary_of({"command": "  \n"}, "command") is None


def test_an_event_has_the_key_of_its_window():
    read = HOOK_READERS["claude"]("PreToolUse", CLAUDE)
    assert isinstance(read, ToolEvent)
    key = read.key("repo")
    assert (key.provider, key.session_id, key.turn_id, key.tool_use_id, key.mode) == (
        "claude", "s", "p", "toolu_1", "tree")  # fmt: skip


def test_every_event_that_docket_sets_up_is_one_that_it_reads():
    for shape in SHAPES:
        assert set(shape.hooked) <= {*shape.before, *shape.after, *shape.moments}
        assert set(shape.before) <= set(shape.hooked)
