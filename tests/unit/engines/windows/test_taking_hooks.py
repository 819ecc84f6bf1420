"""From a hook's event to its window: ids made where there are none, turns that end, sub-agents; by hand."""

from __future__ import annotations

import shutil
from dataclasses import fields

import pytest

import windows_lab
from docket.engines.windows.take import take
from docket.engines.windows.world import Said, WindowsWorld
from docket.errors import InvalidDocumentError
from docket.formats.windows.names import UNENDED, PartialReason, Scope, Status
from docket.host.git_program import Deadline
from docket.rules.agents.hook_shapes import CLAUDE, GEMINI, KIRO
from docket.rules.windows.tool_event import Moments, OtherEvent
from windows_lab import WindowsLab, told

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def lab(tmp_path) -> WindowsLab:
    return windows_lab.git_lab(tmp_path)


def gemini(lab, event, at, command="make", *, shape=GEMINI, session="s", **more):
    payload = {"session_id": session, "tool_name": "sh", "tool_input": {"command": command}, "timestamp": at, **more}
    return take(shape.read(event, {name: value for name, value in payload.items() if value is not None}), lab.world)


def claude(lab, event, use="u", **more):
    payload = {"session_id": "s", "prompt_id": "p", "tool_name": "Bash", "tool_use_id": use,
               "tool_input": {"command": "make"}, **more}  # fmt: skip
    return take(CLAUDE.read(event, payload), lab.world)


def append(lab, text):
    with (lab.tree / "a").open("a") as file:
        file.write(text)


def test_a_tool_without_an_id_has_one_made_of_what_it_was_asked_for_and_when(lab):
    (opened,) = gemini(lab, "BeforeTool", "1")
    assert opened.window.key.tool_use_id.startswith("derived:")
    assert opened.window.key.tool_use_id.endswith(":1")
    assert (opened.window.use.joins, len(opened.window.use.input_sha256)) == ("derived", 64)
    append(lab, "4\n")
    (closed,) = gemini(lab, "AfterTool", "2")
    assert told(lab.delta(closed)) == {"a": ("edit", [], ["4"])}
    assert (closed.closed.key, closed.closed.use.joins) == (opened.window.key, "derived")


def test_either_hook_twice_changes_nothing(lab):
    gemini(lab, "BeforeTool", "1")
    append(lab, "4\n")
    (again,) = gemini(lab, "BeforeTool", "1")
    assert again.said is Said.KNOWN
    (closed,) = gemini(lab, "AfterTool", "2")
    append(lab, "5\n")
    (twice,) = gemini(lab, "AfterTool", "2")
    assert (twice.said, twice.closed) == (Said.KNOWN, closed.closed)
    assert told(lab.delta(closed)) == {"a": ("edit", [], ["4"])}
    assert len(list(lab.world.evidence.every_closed())) == 1


def test_the_same_tool_again_is_another_and_the_first_end_is_the_first_beginning_s(lab):
    gemini(lab, "BeforeTool", "1")
    gemini(lab, "BeforeTool", "2")
    (first,) = gemini(lab, "AfterTool", "3")
    assert first.said is Said.WAITING
    (same,) = gemini(lab, "AfterTool", "3")
    assert (same.said, same.window.key) == (Said.KNOWN, first.window.key)
    (second,) = gemini(lab, "AfterTool", "4")
    assert second.said is Said.CLOSED
    ids = [use.tool_use_id.rpartition(":")[2] for use in lab.delta(second).tool_uses]
    assert (ids, lab.delta(second).scope) == (["1", "2"], Scope.CONCURRENT_GROUP)


def test_an_end_with_another_input_belongs_to_the_only_tool_of_that_name(lab):
    gemini(lab, "BeforeTool", "1", "make")
    (closed,) = gemini(lab, "AfterTool", "2", "make -k")
    assert closed.said is Said.CLOSED
    gemini(lab, "BeforeTool", "3", "one")
    gemini(lab, "BeforeTool", "4", "two")
    (unclear,) = gemini(lab, "AfterTool", "5", "three")
    assert (unclear.said, unclear.reason) == (Said.PARTIAL, PartialReason.PRE_SNAPSHOT_MISSING)
    (other,) = gemini(lab, "AfterTool", "6", "one", session="another")
    assert (other.said, other.reason) == (Said.PARTIAL, PartialReason.PRE_SNAPSHOT_MISSING)


def test_an_agent_that_names_no_instant_is_told_apart_by_docket_s_own(lab):
    for _ in range(2):
        (opened,) = gemini(lab, "preToolUse", None, shape=KIRO)
        assert opened.said is Said.OPENED
        append(lab, "x\n")
        (closed,) = gemini(lab, "postToolUse", None, shape=KIRO)
        assert told(lab.delta(closed)) == {"a": ("edit", [], ["x"])}


def test_an_end_that_died_after_its_claim_takes_the_same_window(lab):
    (opened,) = gemini(lab, "BeforeTool", "1")
    real = lab.world.evidence.claim
    claims = []

    def dies_after_the_first(name, claimant):
        claims.append(name)
        if len(claims) > 1:
            raise KeyboardInterrupt
        return real(name, claimant)

    lab.world.evidence.claim = dies_after_the_first
    with pytest.raises(KeyboardInterrupt):
        gemini(lab, "AfterTool", "2")
    del lab.world.evidence.claim
    (closed,) = gemini(lab, "AfterTool", "2")
    assert (closed.said, closed.closed.key) == (Said.CLOSED, opened.window.key)


def test_a_claim_that_is_none_is_an_error_and_no_free_name(lab):
    lab.world.evidence.claim("x", "me")
    assert lab.world.evidence.claim("x", "you") == "me"
    (lab.windows / "claims/x.json").write_bytes(b'{"claimant":1}')
    with pytest.raises(InvalidDocumentError):
        lab.world.evidence.claimant("x")


def test_an_end_that_names_another_turn_closes_the_window_that_was_begun(lab):
    claude(lab, "PreToolUse", prompt_id="p1")
    append(lab, "4\n")
    (closed,) = claude(lab, "PostToolUse", prompt_id="p2")
    assert (closed.said, closed.closed.key.turn_id) == (Said.CLOSED, "p1")


def test_a_denied_tool_is_closed_at_once_and_one_that_nothing_was_heard_of_with_its_turn(lab):
    claude(lab, "PreToolUse", "u1")
    (denied,) = claude(lab, "PermissionDenied", "u1")
    assert (denied.closed.outcome, told(lab.delta(denied))) == ("denied", {})
    claude(lab, "PreToolUse", "u2")
    (ended,) = claude(lab, "Stop", "")
    assert (ended.closed.key.tool_use_id, ended.closed.outcome) == ("u2", UNENDED)
    claude(lab, "PreToolUse", "u3")
    append(lab, "4\n")
    (closed,) = claude(lab, "PostToolUse", "u3")
    assert told(lab.delta(closed)) == {"a": ("edit", [], ["4"])}
    assert lab.world.registry.read().windows == ()


def test_a_tool_that_was_denied_is_closed_with_its_batch_and_overlaps_with_no_later_one(lab):
    claude(lab, "PreToolUse", "u1")
    claude(lab, "PreToolUse", "of another batch", agent_id="a7")
    calls = [{"tool_use_id": "u1", "tool_name": "Bash"}, {"tool_use_id": "u0"}, "odd", {}]
    (ended,) = claude(lab, "PostToolBatch", "", tool_calls=calls)
    assert ended.window.key.tool_use_id == "u1"
    assert {window.key.tool_use_id: window.completion.outcome for window in lab.world.registry.read().windows
            if window.completion is not None} == {"u1": UNENDED}  # fmt: skip
    assert claude(lab, "PostToolBatch", "", tool_calls=calls) == ()
    assert claude(lab, "PostToolBatch", "", tool_calls=None) == ()


def test_the_end_of_a_turn_leaves_a_sub_agent_s_tools_and_other_sessions_open(lab):
    claude(lab, "PreToolUse", "main")
    (below,) = claude(lab, "PreToolUse", "below", agent_id="a7")
    assert below.window.use.agent_id == "a7"
    claude(lab, "PreToolUse", "other", session_id="another")
    assert len(claude(lab, "Stop", "")) == 1
    assert len(claude(lab, "SubagentStop", "", agent_id="a7")) == 1
    assert [window.key.tool_use_id for window in lab.world.registry.read().windows if window.completion is None] == [
        "other"]  # fmt: skip
    claude(lab, "PreToolUse", "more", agent_id="a8")
    assert len(claude(lab, "SessionEnd", "")) == 1


def test_a_window_that_is_open_when_the_person_speaks_again_tells_nothing_whole(lab):
    claude(lab, "PreToolUse", "u")
    append(lab, "by the person\n")
    (lost,) = claude(lab, "UserPromptSubmit", "", prompt_id="p2")
    assert (lost.closed.status, lost.reason) == (Status.PARTIAL, PartialReason.STALE_ACTIVE_WINDOW)
    claude(lab, "PreToolUse", "v", prompt_id="p2")
    append(lab, "by v\n")
    (closed,) = claude(lab, "PostToolUse", "v", prompt_id="p2")
    assert told(lab.delta(closed)) == {"a": ("edit", [], ["by v"])}


def test_all_windows_that_a_turn_ends_share_one_deadline(lab):
    class Counted(WindowsWorld):
        def deadline(self):
            given.append(Deadline.within(0))
            return given[-1]

    given = []
    for use in ("u1", "u2", "u3"):
        claude(lab, "PreToolUse", use)
    members = {field.name: getattr(lab.world, field.name) for field in fields(WindowsWorld)}
    lab.world = Counted(**members)
    ended = claude(lab, "Stop", "")
    assert [outcome.reason for outcome in ended] == [PartialReason.TIMEOUT] * 3
    assert len(given) == 1


def test_other_events_touch_no_window(lab):
    claude(lab, "PreToolUse", "u")
    assert claude(lab, "SessionStart", "") == ()
    assert take(OtherEvent(name="x", provider="claude", moment=Moments.OTHER), lab.world) == ()
    assert len(lab.world.registry.read().windows) == 1
