"""The hooks of a run, worked off beside the boundary: twice, late, reversed, at once, too long, after the end."""

from __future__ import annotations

import json
import shutil
import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

import windows_lab
from docket.engines.supervise import hooks as running
from docket.engines.supervise import tool_windows
from docket.engines.supervise.hooks import RunHooks
from docket.engines.windows.asked_calls import AskedCalls
from docket.errors import UnavailableError
from docket.formats.ledger.asserted_events import Reporter, ToolCall, ToolResult
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.window_events import HookLost, ToolDelta
from docket.formats.reason import Reason
from docket.formats.windows.delta import decode_delta
from docket.formats.windows.names import Scope, Status
from docket.host.locks import FileLock
from docket.rules.windows.hook_door import Hook, HookLoss
from windows_lab import WindowsLab, write

SECONDS = 60


@dataclass
class Run:
    """A run's hooks over a real tree, and what they had recorded and published."""

    lab: WindowsLab
    events: list[Payload] = field(default_factory=list)
    published: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hooks = self.made("0123456789ab")

    def made(self, session_id: str) -> RunHooks:
        ledger = self.lab.root / "state/runs" / f"{session_id}.jsonl"
        return RunHooks(self, lambda _stage: self.lab.world, ledger, self.published.append)

    def append(self, payload: Payload, *, control: bool = False) -> None:
        del control
        payload.draft()
        self.events.append(payload)

    def tell(self, hook: Hook) -> None:
        dealt_with = threading.Event()
        self.hooks.tell(hook, dealt_with.set)
        assert dealt_with.wait(SECONDS)

    def say(self, event: str, use: str, **more: Any) -> None:
        self.tell(Hook(agent="claude", event=event, body=payload(event, use, **more)))

    def of(self, kind: type[Payload]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def lost(self) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for event in self.of(HookLost):
            counts[event.kind] += event.count
        return dict(counts)


def payload(event: str, use: str, **more: Any) -> bytes:
    said = {
        "hook_event_name": event, "session_id": "s", "prompt_id": "p", "tool_use_id": use, "tool_name": "Bash",
        "tool_input": {"command": "make it"}, **more,
    }  # fmt: skip
    return json.dumps(said).encode()


@pytest.fixture
def run(tmp_path) -> Run:
    if shutil.which("git") is None:
        pytest.skip("needs git")
    return Run(windows_lab.git_lab(tmp_path))


def test_a_tool_is_told_with_what_stood_before_and_what_it_changed(run):
    run.say("PreToolUse", "u1")
    write(run.lab.tree / "a", "1\n2\n3\n4\n")
    run.say("PostToolUse", "u1")
    call, result, delta = run.events
    assert (call.name, call.id, call.reported_by, call.window.turn_id) == ("Bash", "u1", Reporter.AGENT, "p")
    assert call.window.tree == delta.tree_before != delta.tree_after
    assert (result.ok, result.window_id, result.reported_by) == (True, call.window.window_id, Reporter.AGENT)
    assert (delta.window_id, delta.scope, delta.status) == (call.window.window_id, Scope.TOOL, Status.COMPLETE)
    assert (delta.files, delta.members) == (1, 1)
    closed = run.lab.world.evidence.closed(delta.window_id)
    assert closed.event_id == f"0123456789ab.{delta.window_id}"
    run.hooks.end()
    (document,) = run.published
    assert [str(file.path) for file in decode_delta(document).files] == ["a"]
    assert run.lost == {}


def test_whoever_comes_twice_is_told_once(run):
    for event in ("PreToolUse", "PreToolUse", "PostToolUse", "PostToolUse", "PostToolUseFailure", "PreToolUse"):
        run.say(event, "u1")
    assert [type(event) for event in run.events] == [ToolCall, ToolResult, ToolDelta]


def test_an_end_without_a_beginning_and_a_beginning_after_it(run):
    run.say("PostToolUse", "u1")
    run.say("PreToolUse", "u1")
    result, delta, call = run.events
    assert (result.id, delta.status, delta.reason) == ("u1", Status.PARTIAL, "pre_snapshot_missing")
    assert (call.window.tree, call.window.reason) == (None, "pre_snapshot_missing")


def test_a_failed_tool_says_so(run):
    run.say("PreToolUse", "u1")
    run.say("PostToolUseFailure", "u1", error="exit 3")
    (result,) = run.of(ToolResult)
    assert (result.ok, result.error) == (False, "failed")


def test_what_never_ended_is_closed_at_the_end_and_what_waited_for_it_too(run):
    run.say("PreToolUse", "u1")
    run.say("PreToolUse", "u2")
    write(run.lab.tree / "a", "1\n")
    run.say("PostToolUse", "u2")
    assert run.of(ToolDelta) == []
    run.hooks.end()
    told = {delta.id: (delta.status, delta.reason, delta.members) for delta in run.of(ToolDelta)}
    assert told == {"u1": (Status.PARTIAL, "process_gone", 1), "u2": (Status.PARTIAL, "process_gone", 1)}
    registry = run.lab.world.registry.read()
    assert (registry.windows, registry.groups) == ((), ())
    run.hooks.end()
    assert len(run.of(ToolDelta)) == 2


@pytest.mark.parametrize(
    ("hook", "kind"),
    [
        (Hook(agent="claude", event="PreToolUse", body=b"{"), HookLoss.MALFORMED),
        (Hook(agent="claude", event="PreToolUse", body=b""), HookLoss.MALFORMED),
        (Hook(agent="claude", event="PreToolUse", body=b"[1]"), HookLoss.MALFORMED),
        (Hook(agent="claude", event="PreToolUse", body=b"[" * 5000), HookLoss.MALFORMED),
        (Hook(agent="claude", event="PreToolUse", body=b"{}" + b" " * 2_000_000 + b"{"), HookLoss.UNKNOWN_PAYLOAD),
        (Hook(agent="claude", event="PreToolUse", body=b'{"a":"' + b"x" * 2_000_000), HookLoss.MALFORMED),
        (Hook(agent="claude", event="PreToolUse", body=b'{"session_id":1}'), HookLoss.UNKNOWN_PAYLOAD),
        (Hook(agent="nobody", event="PreToolUse", body=b"{}"), HookLoss.UNKNOWN_AGENT),
        (Hook(agent="claude", event="PreToolUse", lost=HookLoss.OVERSIZED), HookLoss.OVERSIZED),
    ],
)
def test_what_tells_nothing_is_counted(run, hook, kind):
    for _ in range(3):
        run.tell(hook)
    assert [event.count for event in run.of(HookLost)] == [1]
    run.hooks.end()
    assert run.lost == {str(kind): 3}
    assert run.of(ToolCall) == []


def test_a_payload_of_fifty_megabytes_closes_its_window(run):
    run.say("PreToolUse", "u1", tool_input={"command": "x" * 2_000_000})
    write(run.lab.tree / "a", "1\n")
    run.say("PostToolUse", "u1", tool_response={"stdout": "y" * 50_000_000})
    (delta,) = run.of(ToolDelta)
    assert (delta.status, delta.files) == (Status.COMPLETE, 1)


def test_sixteen_at_once_are_one_group_and_no_line_is_lost(run):
    together = threading.Barrier(16)

    def tool(number: int) -> None:
        run.say("PreToolUse", f"u{number}")
        together.wait(SECONDS)
        write(run.lab.tree / f"new{number}", f"{number}\n")
        together.wait(SECONDS)
        run.say("PostToolUse", f"u{number}")

    threads = [threading.Thread(target=tool, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    deltas = run.of(ToolDelta)
    assert {(delta.status, delta.members, delta.files) for delta in deltas} == {(Status.COMPLETE, 16, 16)}
    assert len(deltas) == len(run.of(ToolCall)) == len(run.of(ToolResult)) == 16
    assert len({delta.delta_sha256 for delta in deltas}) == 1


def test_after_the_end_nothing_is_begun(run):
    run.hooks.end()
    run.say("PreToolUse", "u1")
    run.say("PreToolUse", "u2")
    assert run.lost == {"run-ending": 1}
    assert run.lab.world.registry.read().windows == ()


def test_a_queue_that_is_full_takes_no_more(run, monkeypatch):
    monkeypatch.setattr(running, "MAX_WAITING", 1)
    monkeypatch.setattr(running, "WORKERS", 1)
    begun, go_on = threading.Event(), threading.Event()

    def slow(_stage: object) -> Any:
        begun.set()
        assert go_on.wait(SECONDS)
        return run.lab.world

    run.hooks = RunHooks(run, slow, run.lab.root / "0123456789ab.jsonl")
    dealt_with: list[int] = []
    for number in range(4):
        hook = Hook(agent="claude", event="PreToolUse", body=payload("PreToolUse", f"u{number}"))
        run.hooks.tell(hook, lambda number=number: dealt_with.append(number))
        assert begun.wait(SECONDS)
    assert dealt_with == [2, 3]
    go_on.set()
    run.hooks.end()
    assert sorted(dealt_with) == [0, 1, 2, 3]
    assert run.lost == {"queue-full": 2}
    assert len(run.of(ToolCall)) == 2


def test_a_run_tells_of_so_many_windows_and_of_no_more(run, monkeypatch):
    monkeypatch.setattr(tool_windows, "MAX_WINDOWS", 2)
    for event in ("PreToolUse", "PostToolUse"):
        for use in ("u1", "u2", "u3"):
            run.say(event, use)
    run.hooks.end()
    assert [call.id for call in run.of(ToolCall)] == [result.id for result in run.of(ToolResult)] == ["u1", "u2"]
    assert run.lost == {"too-many": 2}


def test_a_fault_is_counted_and_nobody_waits_for_it(run):
    def broken(_stage: object) -> Any:
        raise UnavailableError(Reason.NO_SPACE, "the disk is full")

    run.hooks = RunHooks(run, broken, run.lab.root / "0123456789ab.jsonl")
    run.say("PreToolUse", "u1")
    run.hooks.end()
    assert run.lost == {"fault": 1}


def test_what_an_earlier_run_told_is_not_told_again(run):
    run.say("PreToolUse", "u1")
    run.say("PostToolUse", "u1")
    run.hooks.end()
    run.events.clear()
    run.hooks = run.made("ba9876543210")
    run.say("PreToolUse", "u1")
    run.say("PostToolUse", "u1")
    run.hooks.end()
    assert run.of(ToolDelta) == []
    assert [call.window.reason for call in run.of(ToolCall)] == ["settled"]


def test_a_window_that_somebody_else_closed_is_told_at_the_end(run):
    run.say("PreToolUse", "u1")
    write(run.lab.tree / "a", "1\n")
    run.lab.world = replace(run.lab.world)
    key = run.of(ToolCall)[0].window
    assert run.lab.world.evidence.closed(key.window_id) is None
    run.lab.world = replace(run.lab.world, budget_seconds=SECONDS)
    outcome = windows_lab.complete(
        windows_lab.CompleteRequest(key=run.lab.key("u1", turn_id="p"), tool_name="Bash"), run.lab.world
    )
    assert outcome.closed is not None
    run.hooks.end()
    assert [(delta.id, delta.files) for delta in run.of(ToolDelta)] == [("u1", 1)]


def test_a_delta_that_cannot_be_read_keeps_no_other_from_being_told(run, monkeypatch):
    run.say("PreToolUse", "one")
    run.say("PreToolUse", "two")
    evidence = run.lab.world.evidence
    delta, broken = evidence.delta, []

    def read(digest):
        broken.append(digest)
        if digest == broken[0]:
            raise UnavailableError(Reason.UNREADABLE, "the disk says so")
        return delta(digest)

    monkeypatch.setattr(evidence, "delta", read)
    run.hooks.end()

    keys = [run.lab.key(use, turn_id="p") for use in ("one", "two")]
    assert {evidence.closed(key.window_id).delta_sha256 for key in keys} == set(broken)
    (told,) = run.of(ToolDelta)
    assert told.delta_sha256 == broken[1]
    assert len(run.published) == 2
    assert run.lost == {HookLoss.FAULT: 1}


def test_without_a_ledger_no_call_is_known(run):
    run.say("PreToolUse", "u1")
    run.say("PostToolUse", "u1")
    (delta,) = run.of(ToolDelta)
    calls = AskedCalls(run.lab.world.evidence, lambda _: (run.lab.root / "nothing.jsonl",))
    assert calls(run.lab.world.evidence.closed(delta.window_id).key) is None
    noted = run.lab.world.evidence.ledger_of("0123456789ab")
    assert noted == run.lab.root / "state/runs/0123456789ab.jsonl"


def test_the_windows_of_a_run_that_was_killed_hold_nobody_up(run):
    ledger = run.lab.root / "state/runs/0123456789ab.jsonl"
    ledger.parent.mkdir(parents=True)
    lock = FileLock.acquire(ledger.with_name(ledger.name + ".lock"))
    run.say("PreToolUse", "u1")
    killed = run.hooks
    run.hooks = run.made("ba9876543210")
    run.say("PreToolUse", "u2")
    assert run.of(ToolCall)[0].window.group_id == run.of(ToolCall)[1].window.group_id  # it may still be running
    lock.release()
    run.say("PreToolUse", "u3")
    write(run.lab.tree / "a", "1\n")
    run.say("PostToolUse", "u2")
    run.say("PostToolUse", "u3")
    run.hooks.end()
    told = {delta.id: (delta.status, delta.reason) for delta in run.of(ToolDelta)}
    # The one that overlapped it can tell nothing whole any more; the one that came after it in the same group neither.
    assert told == {"u2": (Status.PARTIAL, "process_gone"), "u3": (Status.PARTIAL, "process_gone")}
    run.hooks = run.made("0a0a0a0a0a0a")
    run.say("PreToolUse", "u4")
    write(run.lab.tree / "a", "2\n")
    run.say("PostToolUse", "u4")
    assert (run.of(ToolDelta)[-1].status, run.of(ToolDelta)[-1].members) == (Status.COMPLETE, 1)
    closed = run.lab.world.evidence.closed(run.of(ToolCall)[0].window.window_id)
    assert (closed.reason, closed.event_id.partition(".")[0]) == ("process_gone", "0123456789ab")
    killed.end()


def test_what_there_is_no_time_to_close_at_the_end_is_the_next_opener_s(run, monkeypatch):
    uses = ("u1", "u2", "u3")
    for use in uses:
        run.say("PreToolUse", use)
    monkeypatch.setattr(running, "END_SECONDS", 0.0)
    run.hooks.end()
    assert len(run.of(ToolDelta)) == 1
    evidence, keys = run.lab.world.evidence, [run.lab.key(use, turn_id="p") for use in uses]
    assert sum(evidence.closed(key.window_id) is not None for key in keys) == 1
    run.hooks = run.made("ba9876543210")
    run.say("PreToolUse", "u4")
    assert {evidence.closed(key.window_id).reason for key in keys} == {"process_gone"}
    assert [window.key.tool_use_id for window in run.lab.world.registry.read().windows] == ["u4"]
    assert len(run.of(ToolDelta)) == 1


def test_windows_that_are_made_after_the_end_are_nobody_s(run, monkeypatch):
    monkeypatch.setattr(running, "END_SECONDS", 0.0)
    begun, go_on, dealt_with = threading.Event(), threading.Event(), threading.Event()

    def slow(_stage: object) -> Any:
        begun.set()
        assert go_on.wait(SECONDS)
        return run.lab.world

    run.hooks = RunHooks(run, slow, run.lab.root / "0123456789ab.jsonl")
    hook = Hook(agent="claude", event="PreToolUse", body=payload("PreToolUse", "u1"))
    run.hooks.tell(hook, dealt_with.set)
    assert begun.wait(SECONDS)
    run.hooks.end()
    assert run.lost == {"run-ending": 1}
    go_on.set()
    assert dealt_with.wait(SECONDS)
    assert len(run.events) == 1
    assert run.lab.world.registry.read().windows == ()


def test_two_runs_at_once_in_one_tree_tell_each_of_its_own(run):
    one, two = run, Run(run.lab)
    two.hooks = two.made("ba9876543210")
    runs = run.lab.root / "state/runs"
    runs.mkdir(parents=True)
    held = [FileLock.acquire(runs / f"{session_id}.jsonl.lock") for session_id in ("0123456789ab", "ba9876543210")]
    one.say("PreToolUse", "u1")
    two.say("PreToolUse", "v1")
    write(run.lab.tree / "a", "1\n")
    one.say("PostToolUse", "u1")
    two.say("PostToolUse", "v1")
    assert [delta.id for delta in two.of(ToolDelta)] == ["v1"]
    two.hooks.end()
    one.hooks.end()
    assert [delta.id for delta in one.of(ToolDelta)] == ["u1"]
    assert [delta.id for delta in two.of(ToolDelta)] == ["v1"]
    (mine,), (other,) = one.of(ToolDelta), two.of(ToolDelta)
    assert (mine.delta_sha256, mine.members, mine.status) == (other.delta_sha256, 2, Status.COMPLETE)
    assert one.published == two.published
    for lock in held:
        lock.release()
