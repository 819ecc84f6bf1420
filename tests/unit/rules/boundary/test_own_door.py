"""The boundary's own door: who may ask what, and what an agent may say of itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from boundary_rig.playbook import AT, Play, Stage, names
from boundary_rig.rig import TOKEN
from docket.formats.amount import Usd
from docket.formats.ledger.asserted_events import AssertedCall, Reporter, ToolCall, ToolResult
from docket.formats.ledger.network_events import NetDenied
from docket.formats.ledger.session_events import Note
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import CapsPolicy, ResiliencePolicy
from docket.rules.boundary.assertions import (
    BURST,
    EVENTS_PER_SECOND,
    MAX_EVENT_BYTES,
    MAX_NAMES,
    AssertionDesk,
    Declined,
    read_assertion,
)
from docket.rules.boundary.http1 import parse_request
from docket.rules.boundary.own import bytes_reply, readiness
from docket.rules.boundary.protocol import (
    BodyChunk,
    BodyEnded,
    ClientGone,
    Command,
    EvidenceFailed,
    HeadArrived,
    Refuse,
    Report,
    Reported,
    Stopping,
    Tick,
)
from docket.rules.boundary.state import LedgerFacts
from docket.rules.spending.caps import Tally
from docket.rules.spending.reservation import Claim

SESSION = "sess10n-t0ken_of_the_rig"
CALL = {"type": "tool.call", "data": {"name": "bash", "id": "t1", "input_bytes": 3, "input_sha256": "ab" * 32}}


def stage(**terms: Any) -> Stage:
    return Stage(**{"session_token": SESSION, **terms})


def ask(play: Play, path: str, method: str = "GET", token: str = TOKEN) -> list[Command]:
    lines = [f"{method} /{token}/docket{path} HTTP/1.1", "Host: 127.0.0.1:1", "", ""]
    return play.feed(HeadArrived(parse_request("\r\n".join(lines).encode("latin-1")), AT))


def say(play: Play, body: bytes, token: str = SESSION) -> list[Command]:
    lines = [f"POST /{token}/docket/events HTTP/1.1", "Host: 127.0.0.1:1", f"Content-Length: {len(body)}", "", ""]
    commands = play.feed(HeadArrived(parse_request("\r\n".join(lines).encode("latin-1")), AT))
    if play.exchange.done:
        return commands
    return [*commands, *play.feed(BodyChunk(body)), *play.feed(BodyEnded())]


def answer(commands: list[Command]) -> tuple[int, Any]:
    (reply,) = [item for item in commands if isinstance(item, Refuse)]
    return reply.head.status, json.loads(reply.body)


def test_whoever_has_a_token_may_ask_whether_it_lives() -> None:
    for token in (TOKEN, SESSION):
        commands = ask(stage().play(), "/healthz", token=token)
        assert names(commands) == ["Refuse", "Finish"]
        assert isinstance(commands[0], Refuse)
        assert (commands[0].head.status, commands[0].body) == (200, b"alive\n")


@pytest.mark.parametrize(("path", "what"), [("/readyz", Reported.READINESS), ("/metrics", Reported.METRICS)])
def test_what_the_driver_knows_is_asked_of_it(path: str, what: Reported) -> None:
    for asked in (path, f"{path}?format=text"):
        assert ask(stage().play(), asked)[0] == Report(what)
    assert ask(stage().play(), path, "HEAD")[0] == Report(what)


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_what_is_asked_is_asked_with_get(path: str) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        commands = ask(stage().play(), path, method)
        assert answer(commands)[0] == 405
        assert isinstance(commands[0], Refuse)
        assert (b"allow", b"GET, HEAD") in commands[0].head.headers


def test_without_a_token_there_is_nothing_here_and_it_is_counted() -> None:
    for token in ("wrong", SESSION[:-1], ""):
        play = stage().play()
        commands = ask(play, "/healthz", token=token)
        assert names(commands) == ["Record(net.denied)", "Refuse", "Finish"]
        assert play.payloads(NetDenied)[0].kind == "no-token"


def test_the_sessions_token_opens_no_provider() -> None:
    play = stage().play()
    lines = [f"POST /{SESSION}/anthropic/v1/messages HTTP/1.1", "Host: 127.0.0.1:1", "Content-Length: 0", "", ""]
    commands = play.feed(HeadArrived(parse_request("\r\n".join(lines).encode()), AT))

    assert names(commands) == ["Record(net.denied)", "Refuse", "Finish"]


@pytest.mark.parametrize("path", ["/events", "/session"])
def test_the_runs_token_does_not_speak_for_the_session(path: str) -> None:
    play = stage().play()
    status, said = answer(ask(play, path, "POST"))

    assert (status, said["reason"]) == (403, "bad_token")
    assert not any(play.payloads(kind) for kind in (ToolCall, Note))


def test_a_boundary_without_a_session_has_no_door_for_one() -> None:
    assert names(say(Stage().play(), json.dumps(CALL).encode())) == ["Record(net.denied)", "Refuse", "Finish"]


@pytest.mark.parametrize("path", ["", "/", "/healthz/", "/../anthropic", "/metrics/x", "//healthz/x", "/Healthz"])
def test_other_paths_are_nothing(path: str) -> None:
    assert answer(ask(stage().play(), path))[0] == 404


def test_events_are_posted() -> None:
    assert answer(ask(stage().play(), "/events", "GET", SESSION))[0] == 405


def test_the_session_is_told_what_is_spent_and_what_is_left() -> None:
    made = stage(policy=Policy(caps=CapsPolicy(max_usd=Usd.parse("1.00"))))
    desk = made.desk
    claim = Claim(likely=Tally(1000, 10, 1), worst=Tally(2000, 20, 1), hidden=False)
    desk.ask(claim)
    desk.settle(1, Tally(250_000, 30, 1), whole=True)
    desk.ask(claim)

    status, said = answer(ask(made.play(), "/session", token=SESSION))
    assert status == 200
    assert said == {
        "docket_number": "DKT-20260101-ABCDEF", "token": TOKEN, "providers": {"anthropic": "/anthropic"},
        "spent_usd": "0.25", "cap_usd": "1.00", "remaining_usd": "0.75", "tokens": 30, "calls": 1, "in_flight": 1,
        "closed": None,
    }  # fmt: skip


def test_a_session_without_a_cap_has_no_rest_and_a_closed_one_says_why() -> None:
    made = stage(provider="openai")
    made.desk.close(Reason.RUN_ENDING, "the run is ending")
    said = answer(ask(made.play(), "/session", token=SESSION))[1]

    assert (said["cap_usd"], said["remaining_usd"], said["closed"]) == (None, None, "run_ending")
    assert said["providers"] == {"openai": "/openai/v1"}


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        (CALL, ToolCall(name="bash", id="t1", input_bytes=3, input_sha256="ab" * 32, reported_by=Reporter.AGENT)),
        ({"type": "tool.call", "data": {"name": "x"}}, ToolCall(name="x", reported_by=Reporter.AGENT)),
        ({"type": "tool.result", "data": {"name": "x", "ok": False, "error": "no\nfile", "duration_ms": 3}},
         ToolResult(name="x", ok=False, error="no\nfile", duration_ms=3, reported_by=Reporter.AGENT)),
        ({"type": "note", "data": {"code": "plan", "message": "go", "detail": {"a": [1, None]}}},
         Note(code="plan", message="go", detail={"a": [1, None]}, reported_by=Reporter.AGENT)),
        ({"type": "x-docket.asserted-call", "data": {"provider": "local", "model": "m", "input_tokens": 5,
                                                     "cached_input_tokens": 5, "output_tokens": 0}},
         AssertedCall(provider="local", model="m", input_tokens=5, cached_input_tokens=5, output_tokens=0,
                      reported_by=Reporter.AGENT)),
    ],
)  # fmt: skip
def test_an_assertion_is_recorded_as_the_agents_and_answered_once_it_is_written(event: Any, payload: Any) -> None:
    play = stage().play()
    commands = say(play, json.dumps(event).encode())

    assert names(commands) == [f"Record({payload.TYPE})", "Await(WRITTEN)", "Refuse", "Finish"]
    assert play.payloads(type(payload)) == [payload]
    assert answer(commands) == (200, {"ok": True})


FORGED = [
    {"type": "session.end", "data": {"exit_code": 0, "exit_source": "agent", "duration_seconds": "1.000",
                                     "interrupted": False, "cost_usd": "0.00"}},
    {"type": "session.start", "data": {}},
    {"type": "model.response", "data": {"cost_usd": "0.00"}},
    {"type": "cap.exceeded", "data": {}},
    {"type": "x-docket.budget", "data": {}},
    {"type": "x-docket.price", "data": {}},
    {"type": "fs.change", "data": {"path": "a", "change": "added"}},
    {"type": "proc.exit", "data": {"exit_code": 0, "leftover_processes": 0}},
    {"type": "x-docket.evidence-gap", "data": {}},
    {"type": "tool.Call", "data": {"name": "x"}},
    {"type": ["tool.call"], "data": {"name": "x"}},
    {"type": None, "data": {}},
    {"type": "tool.call", "data": []},
    {"type": "tool.call"},
    {"type": "tool.call", "data": {"name": "x"}, "seq": 4},
    {"type": "tool.call", "data": {"name": "x"}, "prev": "00"},
    {"type": "tool.call", "data": {"name": "x", "reported_by": "docket"}},
    {"type": "tool.call", "data": {"name": "x", "reported_by": None}},
    {"type": "tool.call", "data": {"name": "x", "cost_usd": "1.00"}},
    {"type": "tool.call", "data": {"name": 7}},
    {"type": "tool.call", "data": {"name": ""}},
    {"type": "tool.call", "data": {"name": "a\nb"}},
    {"type": "tool.call", "data": {"name": "x" * 129}},
    {"type": "tool.call", "data": {"name": "x", "input_bytes": -1}},
    {"type": "tool.call", "data": {"name": "x", "input_bytes": 1.5}},
    {"type": "tool.call", "data": {"name": "x", "input_bytes": 2**60}},
    {"type": "tool.call", "data": {"name": "x", "input_sha256": "AB" * 32}},
    {"type": "tool.result", "data": {"name": "x"}},
    {"type": "tool.result", "data": {"name": "x", "ok": 1}},
    {"type": "tool.result", "data": {"name": "x", "ok": True, "error": "e" * 4097}},
    {"type": "note", "data": {"code": "Ledger Diverged", "message": "x"}},
    {"type": "note", "data": {"code": "x" * 65, "message": "x"}},
    {"type": "note", "data": {"code": "x", "message": "m" * 4097}},
    {"type": "note", "data": {"code": "x", "message": "m", "detail": {"a": "d" * 17_000}}},
    {"type": "note", "data": {"code": "x", "message": "m", "detail": {"a": 0.5}}},
    {"type": "note", "data": {"code": "x", "message": "m", "detail": []}},
    {"type": "note", "data": {"code": "x", "message": "m", "event": "cache.hits_ceiling_reached"}},
    {"type": "x-docket.asserted-call", "data": {"provider": "p", "model": "m", "input_tokens": 1,
                                                "cached_input_tokens": 2, "output_tokens": 0}},
    {"type": "x-docket.asserted-call", "data": {"provider": "p", "model": "m", "input_tokens": -1,
                                                "cached_input_tokens": 0, "output_tokens": 0}},
    {"type": "x-docket.asserted-call", "data": {"provider": "p", "model": "m"}},
    [], 1, "x", None, {},
]  # fmt: skip


@pytest.mark.parametrize("event", FORGED)
def test_what_docket_alone_may_say_and_what_has_another_form_is_refused(event: Any) -> None:
    play = stage().play()
    commands = say(play, json.dumps(event).encode())
    status, said = answer(commands)

    assert (status, said["ok"]) == (400, False)
    assert said["detail"]
    assert [payload.kind for payload in play.payloads(NetDenied)] == ["assertion"]
    assert names(commands) == ["Record(net.denied)", "Refuse", "Finish"]
    assert play.stage.desk.closed is None


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b'{"type": "note", "type": "note", "data": {}}', b"\xef\xbb\xbf{}", b"[" * 5000,
     b'{"type": "note", "data": {"code": "x", "message": "\\ud800"}}', b"NaN", b"{} {}"],
)  # fmt: skip
def test_bytes_that_are_no_document_are_refused(body: bytes) -> None:
    assert answer(say(stage().play(), body))[0] == 400


def test_a_detail_too_deep_for_a_ledger_is_refused_and_closes_nothing() -> None:
    nested: Any = 1
    for _ in range(61):
        nested = {"a": nested}
    for depth in range(4):
        made = stage()
        body = json.dumps({"type": "note", "data": {"code": "x", "message": "m", "detail": nested}}).encode()
        commands = say(made.play(), body)
        assert made.desk.closed is None
        for payload in [command.payload for command in commands if hasattr(command, "payload")]:
            payload.draft()
        nested = {"a": nested} if depth else nested


def test_an_event_over_the_limit_is_refused_before_it_is_whole() -> None:
    play = stage().play()
    lines = [f"POST /{SESSION}/docket/events HTTP/1.1", "Host: 127.0.0.1:1", "Transfer-Encoding: chunked", "", ""]
    play.feed(HeadArrived(parse_request("\r\n".join(lines).encode()), AT))
    assert play.feed(BodyChunk(b" " * MAX_EVENT_BYTES)) == []
    status, said = answer(play.feed(BodyChunk(b" ")))

    assert (status, said["reason"]) == (413, "too-large")
    assert play.exchange.done


@pytest.mark.parametrize("event", [ClientGone(), Stopping()])
def test_one_who_goes_away_asserts_nothing(event: Any) -> None:
    play = stage().play()
    lines = [f"POST /{SESSION}/docket/events HTTP/1.1", "Host: 127.0.0.1:1", "Content-Length: 99", "", ""]
    play.feed(HeadArrived(parse_request("\r\n".join(lines).encode()), AT))
    assert play.feed(Tick()) == []
    assert names(play.feed(event)) == ["Reset"]


def test_a_record_that_cannot_be_written_is_said_and_ends_admission() -> None:
    made = stage()
    play = made.play()
    say(play, json.dumps(CALL).encode())
    commands = play.feed(EvidenceFailed("no space"))

    assert names(commands) == ["Released", "Refuse", "Finish"]
    assert answer(commands) == (
        503, {"ok": False, "reason": "evidence_failed", "detail": "the record of this run cannot be written: no space"},
    )  # fmt: skip
    assert made.desk.closed is not None
    assert made.desk.closed.reason is Reason.EVIDENCE_FAILED


# ---- how much


def payload(name: str = "x") -> ToolCall:
    return ToolCall(name=name, reported_by=Reporter.AGENT)


def test_the_number_and_the_bytes_of_events_are_bounded() -> None:
    desk = AssertionDesk(max_events=3, max_bytes=100)
    assert [desk.admit(payload(), 10, 0) for _ in range(3)] == [None] * 3
    declined = desk.admit(payload(), 10, 0)
    assert isinstance(declined, Declined)
    assert (declined.status, declined.reason) == (403, Reason.ASSERTION_LIMIT)
    heavy = AssertionDesk(max_events=9, max_bytes=100)
    assert heavy.admit(payload(), 60, 0) is None
    assert isinstance(heavy.admit(payload(), 41, 0), Declined)
    assert heavy.admit(payload(), 40, 0) is None


def test_names_that_a_receipt_restates_are_bounded() -> None:
    desk = AssertionDesk()
    for number in range(MAX_NAMES):
        assert desk.admit(payload(f"tool{number}"), 1, number * 10**9) is None
    declined = desk.admit(payload("another"), 1, 10**12)
    assert isinstance(declined, Declined)
    assert "256 names" in declined.detail
    assert desk.admit(payload("tool0"), 1, 10**12) is None


def test_a_burst_is_taken_and_then_so_many_a_second() -> None:
    desk = AssertionDesk()
    taken = sum(desk.admit(payload(), 1, 0) is None for _ in range(BURST + 50))
    assert taken == BURST
    declined = desk.admit(payload(), 1, 0)
    assert isinstance(declined, Declined)
    assert declined.status == 429
    second = sum(desk.admit(payload(), 1, 10**9) is None for _ in range(BURST))
    assert second == EVENTS_PER_SECOND
    later = sum(desk.admit(payload(), 1, 10**12) is None for _ in range(2 * BURST))
    assert later == BURST


def test_what_is_paced_is_told_when_to_come_again() -> None:
    made = stage()
    for _ in range(BURST):
        say(made.play(), json.dumps(CALL).encode())
    commands = say(made.play(), json.dumps(CALL).encode())
    (reply,) = [item for item in commands if isinstance(item, Refuse)]

    assert (reply.head.status, (b"retry-after", b"1") in reply.head.headers) == (429, True)


def test_a_runs_ceilings_leave_room_for_what_docket_has_to_write() -> None:
    desk = AssertionDesk.under(Policy(resilience=ResiliencePolicy(max_events=100, max_ledger_bytes=8192)))
    assert (desk.max_events, desk.max_bytes) == (50, 2048)
    free = AssertionDesk.under(Policy(resilience=ResiliencePolicy(max_events=None, max_ledger_bytes=None)))
    assert (free.max_events, free.max_bytes) == (20_000, 8 * 1024 * 1024)


# ---- readiness


FACTS = LedgerFacts(events=3, size_bytes=100, is_full=False)


def ready(facts: LedgerFacts | None, made: Stage) -> tuple[int, Any]:
    return answer([readiness(facts, made.shared)])


def test_ready_is_a_record_that_takes_events_and_a_desk_that_admits() -> None:
    assert ready(FACTS, stage()) == (200, {"ready": True})
    assert ready(None, stage()) == (200, {"ready": True})
    full = LedgerFacts(events=3, size_bytes=100, is_full=True)
    assert ready(full, stage())[0] == 503
    assert ready(full, stage())[1]["reason"] == "ledger-full"
    failed = LedgerFacts(events=3, size_bytes=100, is_full=False, failure="no space left on device")
    assert ready(failed, stage()) == (
        503, {"ready": False, "reason": "evidence_failed", "detail": "no space left on device"},
    )  # fmt: skip
    closed = stage()
    closed.desk.close(Reason.MAX_USD, "the cap is reached")
    assert ready(FACTS, closed) == (503, {"ready": False, "reason": "max_usd", "detail": "the cap is reached"})


def test_an_assertion_is_read_from_a_document_with_blanks() -> None:
    assert read_assertion(b' {"data" : {"name":"x"} , "type":"tool.call"}\n') == payload()


def test_a_reply_in_another_format_is_not_stored_by_anybody() -> None:
    reply = bytes_reply(b"x 1\n", "text/plain; version=1")
    assert (b"content-type", b"text/plain; version=1") in reply.head.headers
    assert (b"cache-control", b"no-store") in reply.head.headers
    assert (reply.head.status, reply.body) == (200, b"x 1\n")


@pytest.mark.parametrize(
    "event",
    [{**CALL, "data": {**CALL["data"], "window_id": "ab" * 32}},
     {"type": "tool.result", "data": {"name": "bash", "ok": True, "window_id": "ab" * 32}}],
)  # fmt: skip
def test_what_docket_saw_of_a_tool_is_not_an_agents_to_say(event):
    said = read_assertion(json.dumps(event).encode())
    assert isinstance(said, Declined)
    assert (said.status, said.reason) == (400, Reason.UNKNOWN_MEMBER)
