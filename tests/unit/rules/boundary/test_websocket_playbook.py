"""The machine of a WebSocket, event by event: what is held, in which order it goes on, what stands before what."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from itertools import pairwise

import pytest

from boundary_rig.playbook import Stage, names
from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelDenied, ModelError, ModelRequest, ModelResponse
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_reach import ModelsPolicy
from docket.formats.run.policy_spending import Admission, BudgetPolicy, CapsPolicy, OnBreach, UnknownEndpoints
from docket.formats.run.usage import Usage
from docket.rules.boundary import saying
from docket.rules.boundary.chains import Chains
from docket.rules.boundary.frames import FrameReader, Opcode, encode_frame, masked_with
from docket.rules.boundary.gates import Answer, Go, Pause
from docket.rules.boundary.http1 import UNTIL_CLOSE, ResponseHead
from docket.rules.boundary.protocol import (
    BodyChunk,
    BodyEnded,
    Breach,
    ClientGone,
    Connect,
    EvidenceFailed,
    Finish,
    Needs,
    Record,
    Retry,
    SendClient,
    SendUpstream,
    Stopping,
    SwitchClient,
    Tick,
    UpstreamChunk,
    UpstreamEnded,
    UpstreamFailed,
    UpstreamHead,
)
from docket.rules.boundary.saying import Said, what_is

MODEL = "gpt-5.2-codex"
SWITCH = ResponseHead(
    status=101,
    reason=b"Switching Protocols",
    headers=(
        (b"Upgrade", b"websocket"),
        (b"Connection", b"Upgrade"),
        (b"Sec-WebSocket-Accept", b"a"),
        (b"X-Request-Id", b"r1"),
    ),
)
FIELDS = (
    "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: k", "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Extensions: permessage-deflate", "Sec-WebSocket-Protocol: p", "Authorization: Bearer key",
)  # fmt: skip
MASK = b"\x11\x22\x33\x44"


def masked(payload: bytes, opcode: Opcode = Opcode.TEXT, *, first: int | None = None) -> bytes:
    """A frame as a client sends it; at most 65535 bytes."""
    size = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + len(payload).to_bytes(2)
    mask = (MASK * (len(payload) // 4 + 1))[: len(payload)]
    body = masked_with(mask, payload) if payload else b""
    return bytes([0x80 | opcode if first is None else first]) + size + MASK + body


def create(**members) -> bytes:
    return json.dumps({"type": "response.create", "model": MODEL, "input": "x", **members}).encode()


def message(kind: str, response_id: str | None = None, **members) -> bytes:
    event = {"type": kind, **members}
    if response_id is not None:
        usage = {"input_tokens": 1000, "output_tokens": 50} if kind == "response.completed" else None
        event["response"] = {"id": response_id, "model": MODEL, "status": "completed", "usage": usage}
    return encode_frame(Opcode.TEXT, json.dumps(event).encode())


def opened(policy: Policy | None = None, **options):
    play = Stage(policy, provider="openai", **options).play()
    (connect,) = play.head("/openai/v1/responses", "GET", *FIELDS)
    assert isinstance(connect, Connect)
    play.connect = connect
    commands = play.feed(UpstreamHead(SWITCH, UNTIL_CLOSE))
    assert [type(command) for command in commands] == [SwitchClient]
    play.switch = commands[0]
    return play


def sent(commands) -> bytes:
    return b"".join(command.data for command in commands if isinstance(command, SendUpstream))


def got(commands) -> bytes:
    return b"".join(command.data for command in commands if isinstance(command, SendClient))


def test_the_handshake_goes_on_without_the_offer_of_extensions_and_its_answer_comes_back():
    play = opened()
    fields = {name.lower(): value for name, value in play.connect.head.headers}
    assert play.connect.upgrade
    assert play.connect.head.target == "/base/responses"
    assert (fields[b"sec-websocket-key"], fields[b"sec-websocket-protocol"]) == (b"k", b"p")
    assert (fields[b"upgrade"], fields[b"connection"]) == (b"websocket", b"Upgrade")
    assert b"sec-websocket-extensions" not in fields
    head = {name.lower(): value for name, value in play.switch.head.headers}
    assert head == {
        b"upgrade": b"websocket",
        b"connection": b"Upgrade",
        b"sec-websocket-accept": b"a",
        b"x-request-id": b"r1",
    }
    assert play.exchange.needs == Needs(body=True, upstream=True)


@pytest.mark.parametrize("left_out", ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: k"])
def test_a_request_that_is_no_whole_handshake_opens_none(left_out):
    play = Stage(provider="openai").play()
    commands = play.head("/openai/v1/responses", "GET", *[field for field in FIELDS if field != left_out])
    assert not any(isinstance(command, Connect) and command.upgrade for command in commands)


def test_in_a_drill_sockets_are_refused_so_that_clients_fall_back():
    play = Stage(provider="openai", faults=object()).play()
    assert names(play.head("/openai/v1/responses", "GET", *FIELDS)) == ["Record(x-docket.other)", "Refuse", "Finish"]


def test_a_call_is_recorded_before_it_is_sent_and_durable_before_its_reply_passes():
    play = opened()
    frame = masked(create())
    commands = play.feed(BodyChunk(frame))
    assert names(commands) == ["Record(model.request)", "Await(WRITTEN)", "SendUpstream"]
    assert sent(commands) == frame
    begun = message("response.created", "r1")
    assert names(play.feed(UpstreamChunk(begun))) == ["Await(DURABLE)", f"SendClient({len(begun)})"]
    more = message("response.output_text.delta", delta="x")
    assert names(play.feed(UpstreamChunk(more))) == [f"SendClient({len(more)})"]
    end = message("response.completed", "r1")
    assert names(play.feed(UpstreamChunk(more + end[:5]))) == [f"SendClient({len(more) + 5})"]
    assert names(play.feed(UpstreamChunk(end[5:] + more))) == [
        "Released", "Record(x-docket.price)", "Record(model.response)", "Await(DURABLE)",
        f"SendClient({len(end) - 5 + len(more)})",
    ]  # fmt: skip
    (response,) = play.payloads(ModelResponse)
    assert (str(response.cost_usd), response.provider_request_id) == ("0.002450", "r1")


def test_pieces_of_a_message_are_held_and_controls_between_them_pass_whole():
    play = opened()
    text, ping = create(), masked(b"hi", Opcode.PING)
    first, last = masked(text[:9], first=0x01), masked(text[9:], first=0x80)
    for piece in (first + ping[:3], ping[3:-1]):
        assert play.feed(BodyChunk(piece)) == []
    assert play.feed(BodyChunk(ping[-1:])) == [SendUpstream(ping)]
    commands = play.feed(BodyChunk(last))
    assert sent(commands) == first + last
    assert len(play.payloads(ModelRequest)) == 1


def test_messages_behind_one_that_waits_wait_too_and_go_on_in_their_order():
    play = opened(gates=(Waiting(Pause(5_000_000)),))
    one, two, ping = masked(create(input="1")), masked(create(input="2")), masked(b"", Opcode.PING)
    assert sent(play.feed(BodyChunk(one + two + ping))) == ping
    assert (play.exchange.needs, play.exchange.deadline_ns) == (
        Needs(body=True, release=True, upstream=True),
        5_000_000,
    )
    assert play.feed(Retry()) == []
    play.clock = 5
    commands = play.feed(Tick())
    assert sent(commands) == one + two
    assert [item.call for item in play.payloads(ModelRequest)] == [1, 2]
    assert play.exchange.deadline_ns is None
    assert play.feed(Tick()) == []


class Waiting:
    """A gate that answers from a list."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.told = []

    def ask(self, weighed, now_ns):
        assert weighed.on_socket
        return self.answers.pop(0) if self.answers else Go()

    def begun(self, weighed, status, now_ns):
        return ()

    def withdrawn(self, weighed, now_ns):
        self.told.append("withdrawn")
        return ()

    def ended(self, weighed, ended, now_ns):
        self.told.append(str(ended.outcome))
        return ()


def test_much_that_waits_stops_the_reading():
    play = opened(gates=(Waiting(Pause(10**12)),))
    play.feed(BodyChunk(masked(create())))
    for _ in range(20):
        play.feed(BodyChunk(masked(b"x" * 65_000)))
    assert play.exchange.needs == Needs(release=True, upstream=True)


@pytest.mark.parametrize("event", [ClientGone(), Stopping(), BodyChunk(masked(b"\x03\xe8", Opcode.CLOSE))])
def test_a_call_that_waits_is_taken_back_when_the_agent_leaves(event):
    gate = Waiting(Pause(10**12))
    play = opened(gates=(gate,))
    play.feed(BodyChunk(masked(create())))
    commands = play.feed(event)
    assert gate.told == ["withdrawn"]
    assert play.payloads(ModelRequest) == []
    assert sent(commands) == (event.data if isinstance(event, BodyChunk) else b"")


def test_an_answer_of_http_is_none_here():
    gate = Waiting(Answer((Finish(),)))
    play = opened(gates=(gate,))
    commands = play.feed(BodyChunk(masked(create())))
    assert b"cannot be given on a WebSocket" in got(commands)
    assert play.payloads(ModelRequest) == []


def test_a_refusal_waits_for_the_end_of_a_message_of_the_upstream():
    play = opened(Policy(models=ModelsPolicy(deny=("*-pro",))))
    play.feed(BodyChunk(masked(create())))
    half = message("response.created", "r1")
    play.feed(UpstreamChunk(half[:9]))
    refused = play.feed(BodyChunk(masked(create(model="gpt-5-pro", stream_id="s"))))
    assert names(refused) == ["Record(model.denied)", "Await(DURABLE)"]
    rest = got(play.feed(UpstreamChunk(half[9:])))
    assert rest.startswith(half[9:])
    reader = FrameReader(masked=False)
    (piece,) = reader.feed(rest[len(half) - 9 :])
    told = json.loads(piece.payload)
    assert (told["type"], told["status"], told["error"]["code"], told["stream_id"]) == (
        "error", 400, "model_policy", "s",
    )  # fmt: skip


def test_a_call_that_only_waits_for_others_is_told_to_come_again():
    # The first call may reason unseen, so it holds all that is left.
    policy = Policy(caps=CapsPolicy(max_usd=Usd(10_000), on_breach=OnBreach.DENY, admission_wait_ms=0))
    play = opened(policy)
    play.feed(BodyChunk(masked(create())))
    commands = play.feed(BodyChunk(masked(create())))
    (piece,) = FrameReader(masked=False).feed(got(commands))
    told = json.loads(piece.payload)
    assert (told["status"], told["error"]["code"], told["headers"]) == (429, "max_usd", {"retry-after": "1"})


def test_messages_of_nobody_pass_unread():
    play = opened()
    odd = encode_frame(Opcode.TEXT, b"[1]") + message("response.completed", "r0") + encode_frame(Opcode.BINARY, b"\xff")
    assert got(play.feed(UpstreamChunk(odd))) == odd
    long = encode_frame(Opcode.TEXT, b'{"type":"x","pad":"' + b"p" * (3 << 20) + b'"}')
    passed = b"".join(got(play.feed(UpstreamChunk(long[at : at + 65536]))) for at in range(0, len(long), 65536))
    assert passed == long
    assert play.payloads(ModelResponse) == []


def test_a_long_message_is_metered_as_it_passes_and_one_whose_last_piece_makes_it_long_too():
    for size in (3 << 20, (1 << 20) - 500):
        play = opened()
        play.feed(BodyChunk(masked(create())))
        usage = {"input_tokens": 7, "output_tokens": 1}
        response = {"id": "r1", "model": MODEL, "usage": usage, "output": [{"text": "p" * size}]}
        frame = encode_frame(Opcode.TEXT, json.dumps({"type": "response.completed", "response": response}).encode())
        head = (1 << 20) - 1000
        cuts = [0, head, *range(head + 300_000, len(frame), 300_000), len(frame)]
        for start, end in pairwise(cuts):
            play.feed(UpstreamChunk(frame[start:end]))
        (reply,) = play.payloads(ModelResponse)
        assert (reply.usage.input_tokens, reply.usage.output_tokens) == (7, 1)


def test_a_lane_may_be_told_by_the_response_alone():
    play = opened()
    play.feed(BodyChunk(masked(create(stream_id="a")) + masked(create(stream_id="b"))))
    play.feed(UpstreamChunk(message("response.created", "ra", stream_id="a")))
    play.feed(UpstreamChunk(message("response.created", "rb", stream_id="b")))
    play.feed(UpstreamChunk(message("response.completed", "rb")))
    play.feed(UpstreamChunk(message("response.output_text.delta", delta="x", response_id="ra")))
    play.feed(UpstreamChunk(message("response.output_text.delta", delta="y")))  # one call alone is in flight
    play.feed(UpstreamChunk(message("response.completed", "ra")))
    assert [item.call for item in play.payloads(ModelResponse)] == [2, 1]


def test_an_error_without_a_status_counts_as_an_error_event():
    play = opened()
    play.feed(BodyChunk(masked(create())))
    play.feed(UpstreamChunk(message("error", error={"message": "odd"}, status="x")))
    (failed,) = play.payloads(ModelError)
    assert (failed.status, failed.reason, failed.error) == (200, "upstream_error_event", "odd")


def test_a_call_that_got_no_message_before_the_break_is_not_known_to_be_billed():
    play = opened(Policy(caps=CapsPolicy(max_usd=Usd(10**7))))
    play.feed(BodyChunk(masked(create())))
    commands = play.feed(UpstreamFailed(Reason.UPSTREAM_BROKEN, "gone", sent=True))
    assert names(commands) == ["CloseUpstream", "Released", "Record(model.error)", "Record(x-docket.other)", "Reset"]
    (failed,) = play.payloads(ModelError)
    assert (failed.status, failed.error) == (502, "gone")
    assert play.stage.desk.account.unknown.micros > 0


def test_both_ends_close_in_their_order():
    play = opened()
    close = masked(b"\x03\xe8", Opcode.CLOSE)
    assert play.feed(BodyChunk(close)) == [SendUpstream(close)]
    answer = encode_frame(Opcode.CLOSE, b"\x03\xe8")
    assert got(play.feed(UpstreamChunk(answer))) == answer
    assert names(play.feed(BodyEnded())) == ["EndUpstream"]
    assert names(play.feed(UpstreamEnded())) == ["Record(x-docket.other)", "Finish"]
    assert play.exchange.done


def test_an_agent_that_ends_without_a_close_has_gone():
    play = opened()
    play.feed(BodyChunk(masked(create())))
    play.feed(UpstreamChunk(message("response.created", "r1")))
    commands = play.feed(BodyEnded())
    assert names(commands)[-2:] == ["Record(x-docket.other)", "Reset"]
    assert [str(item.outcome) for item in play.payloads(ModelResponse)] == ["client_gone"]


def test_a_close_of_the_agent_with_a_call_in_flight_is_its_going_away():
    play = opened()
    play.feed(BodyChunk(masked(create()) + masked(b"", Opcode.CLOSE)))
    play.feed(UpstreamChunk(message("response.created", "r1")))
    close = encode_frame(Opcode.CLOSE, b"")
    commands = play.feed(UpstreamChunk(close))
    assert names(commands)[-2:] == ["Await(DURABLE)", f"SendClient({len(close)})"]
    assert [str(item.outcome) for item in play.payloads(ModelResponse)] == ["client_gone"]


def test_docket_says_nothing_behind_a_close_of_the_upstream():
    play = opened(Policy(caps=CapsPolicy(max_model_calls=0, on_breach=OnBreach.DENY)))
    play.feed(UpstreamChunk(encode_frame(Opcode.CLOSE, b"")))
    assert got(play.feed(BodyChunk(masked(create())))) == b""


def test_a_fault_of_the_agent_inside_a_message_of_the_upstream_is_a_reset():
    play = opened()
    play.feed(UpstreamChunk(message("response.created", "r1")[:9]))
    assert names(play.feed(BodyChunk(b"\x81\x00")))[-1] == "Reset"


def test_a_record_that_fails_breaks_the_socket_and_frees_its_calls():
    play = opened(gates=(Waiting(Go(), Go(), Pause(10**12)),))
    play.feed(BodyChunk(masked(create()) + masked(create()) + masked(create())))
    play.feed(UpstreamChunk(message("response.created", "r1")))
    commands = play.feed(EvidenceFailed("full"))
    assert names(commands) == ["CloseUpstream", "Released", "Reset"]
    assert not play.stage.desk.account.holds


@pytest.mark.parametrize(
    ("payload", "asks", "reason"),
    [
        (create(), True, None),
        (create(generate=False), True, None),
        (create(background=False), True, None),
        (create(background=True), False, Reason.BODY_UNREADABLE),
        (b'{"type":"response.steer"}', False, None),
        (b'{"type":"response.cancel"}', False, None),
        (b'{"type":"response.processed"}', False, None),
        (b'{"type":"session.update"}', False, Reason.UNKNOWN_ENDPOINT),
        (b"{}", False, Reason.UNKNOWN_ENDPOINT),
        (b'{"type":1}', False, Reason.UNKNOWN_ENDPOINT),
        (b"nonsense", False, Reason.BODY_UNREADABLE),
        (b'[{"type":"response.create"}]', False, Reason.BODY_UNREADABLE),
        (b'{"type":"response.cancel","TYPE":"response.create"}', False, Reason.BODY_UNREADABLE),
        (b'{"type":"response.create","type":"response.cancel"}', False, Reason.BODY_UNREADABLE),
    ],
)
def test_what_a_message_is_under_a_cap(payload, asks, reason):
    capped = Policy(caps=CapsPolicy(max_usd=Usd(1)))
    found = what_is(Said(b"", payload), capped)
    assert found.asks is asks
    assert (None if found.refused is None else found.refused.reason) == reason
    passing = replace(capped, budget=replace(capped.budget, unknown_endpoints=UnknownEndpoints.PASS))
    free = what_is(Said(b"", payload), passing)
    assert (free.refused is not None) is (b'"background": true' in payload)


def test_a_message_that_is_too_long_is_refused_and_dropped_whatever_the_policy(monkeypatch):
    monkeypatch.setattr(saying, "MAX_MESSAGE_BYTES", 100)
    play = opened()
    parts = masked(b"x" * 90, first=0x01), masked(b"x" * 20, first=0x00), masked(b"x" * 90, first=0x80)
    assert [play.feed(BodyChunk(part)) for part in parts[:2]] == [[], []]
    commands = play.feed(BodyChunk(parts[2]))
    assert sent(commands) == b""
    assert b"over 100 bytes" in got(commands)
    assert [item.reason for item in play.payloads(ModelDenied)] == ["too-large"]
    fine = masked(b'{"type":"response.cancel"}')
    assert sent(play.feed(BodyChunk(fine))) == fine


def test_warming_asks_for_no_output():
    play = opened(Policy(caps=CapsPolicy(max_usd=Usd(10**9))))
    play.feed(BodyChunk(masked(create(reasoning={"effort": "none"}, max_output_tokens=100_000))))
    play.feed(BodyChunk(masked(create(reasoning={"effort": "none"}, generate=False))))
    one, two = (play.stage.desk.account.holds[call].worst for call in (1, 2))
    assert (two.tokens < 200, one.tokens > 100_000) == (True, True)


def test_what_responses_hold_is_remembered_for_the_latest():
    chains = Chains()
    chains.remember(None, Usage(input_tokens=5))
    chains.remember("r", Usage(input_tokens=5, output_tokens=2))
    assert (chains.tokens("r"), chains.tokens("s"), chains.tokens(None)) == (7, 0, 0)
    for number in range(4096):
        chains.remember(f"r{number}", Usage(input_tokens=1))
    assert chains.tokens("r") == 0


def test_a_reply_is_kept_as_its_messages_where_the_policy_keeps_replies():
    play = opened()
    play.stage.shared.retain_bytes = 10_000
    play.feed(BodyChunk(masked(create())))
    begun, end = message("response.created", "r1"), message("response.completed", "r1")
    play.feed(UpstreamChunk(begun + end))
    (record,) = (item for item in play.all if isinstance(item, Record) and isinstance(item.payload, ModelResponse))
    assert record.body is not None
    assert hashlib.sha256(record.body).hexdigest() == record.payload.response_sha256
    assert json.loads(record.body[: record.body.index(b"}}") + 2])["type"] == "response.created"


def test_nothing_is_added_to_a_response_whose_worst_case_is_reserved():
    strict = Policy(caps=CapsPolicy(max_usd=Usd(1)), budget=BudgetPolicy(admission=Admission.STRICT))
    steer = Said(b"", b'{"type":"response.steer"}')
    found = what_is(steer, strict)
    assert found.refused is not None
    assert found.refused.reason == Reason.UNKNOWN_ENDPOINT
    assert what_is(steer, Policy(budget=BudgetPolicy(admission=Admission.STRICT))).refused is None


def test_what_came_before_a_crossing_passes():
    play = opened(Policy(caps=CapsPolicy(max_tokens=1500)))
    shown = {"reasoning": {"effort": "none"}}
    play.feed(BodyChunk(masked(create(stream_id="a", **shown)) + masked(create(stream_id="b", **shown))))
    play.feed(UpstreamChunk(message("response.created", "ra", stream_id="a")))
    play.feed(UpstreamChunk(message("response.created", "rb", stream_id="b")))
    # The first call ends with 1050 tokens; the second one's next words are 1000 more.
    last = message("response.completed", "ra", stream_id="a")
    beyond = message("response.output_text.delta", delta="y" * 4000, response_id="rb", stream_id="b")
    commands = play.feed(UpstreamChunk(last + beyond))
    assert got(commands) == last
    assert [str(item.outcome) for item in play.payloads(ModelResponse)] == ["complete", "cut"]
    assert names(commands)[-2:] == ["Reset", "Breach"]
    assert [command.cap for command in commands if isinstance(command, Breach)] == [Reason.MAX_TOKENS]


def test_a_record_that_fails_keeps_what_a_call_without_a_reply_may_be_billed():
    play = opened(Policy(caps=CapsPolicy(max_usd=Usd(10**7))))
    play.feed(BodyChunk(masked(create()) + masked(create())))
    held = play.stage.desk.account.firm.micros
    play.feed(EvidenceFailed("full"))
    assert play.stage.desk.account.unknown.micros == held > 0
    assert not play.stage.desk.account.holds


def test_what_one_read_begins_or_ends_is_recorded_before_any_of_it_waits():
    # Another exchange may be carried out during a wait, and its call has a later number and a larger running sum.
    play = opened()
    began = play.feed(BodyChunk(masked(create(stream_id="a")) + masked(create(stream_id="b"))))
    assert [name.partition("(")[0] for name in names(began)] == [
        "Record", "Record", "Await", "SendUpstream", "Await", "SendUpstream",
    ]  # fmt: skip
    ended = play.feed(
        UpstreamChunk(
            message("response.completed", "ra", stream_id="a") + message("response.completed", "rb", stream_id="b")
        )
    )
    found = names(ended)
    assert found.count("Record(model.response)") == 2
    assert found.index("Await(DURABLE)") > max(at for at, name in enumerate(found) if name.startswith("Record"))
