"""A metered socket, whatever the cuts: every byte passes, each call is settled once with its own usage."""

from __future__ import annotations

import json

import websockets.frames
from hypothesis import given, settings
from hypothesis import strategies as st

from boundary_rig.playbook import Stage
from docket.formats.ledger.model_events import ModelRequest, ModelResponse
from docket.formats.reason import Reason
from docket.rules.boundary.http1 import UNTIL_CLOSE, ResponseHead
from docket.rules.boundary.protocol import (
    BodyChunk,
    BodyEnded,
    ClientGone,
    Reset,
    SendClient,
    SendUpstream,
    Stopping,
    UpstreamChunk,
    UpstreamEnded,
    UpstreamFailed,
    UpstreamHead,
)

SWITCH = ResponseHead(status=101, headers=((b"Upgrade", b"websocket"), (b"Connection", b"Upgrade")))
TEXT = websockets.frames.Opcode.TEXT


def frames(messages: list[dict[str, object]], *, mask: bool) -> bytes:
    return b"".join(websockets.frames.Frame(TEXT, json.dumps(one).encode()).serialize(mask=mask) for one in messages)


def answers(lanes: list[int], draw: st.DrawFn) -> list[dict[str, object]]:
    """The events of every lane's responses, one after another within a lane, lanes mixed."""
    queues: dict[int, list[dict[str, object]]] = {}
    for number, lane in enumerate(lanes):
        body: dict[str, object] = {"id": f"r{number}", "model": "gpt-5.2-codex"}
        usage = {"input_tokens": 1000 + number, "output_tokens": number}
        queues.setdefault(lane, []).extend(
            [
                {"type": "response.created", "response": {**body, "usage": None}, "stream_id": f"s{lane}"},
                {"type": "response.output_text.delta", "delta": "x" * number, "stream_id": f"s{lane}"},
                {"type": "response.completed", "response": {**body, "usage": usage}, "stream_id": f"s{lane}"},
            ]
        )
    found = []
    while queues:
        lane = draw(st.sampled_from(sorted(queues)))
        found.append(queues[lane].pop(0))
        if not queues[lane]:
            del queues[lane]
    return found


def opened():
    play = Stage(provider="openai").play()
    play.head("/openai/v1/responses", "GET", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: k")
    play.feed(UpstreamHead(SWITCH, UNTIL_CLOSE))
    return play


def cut(data: bytes, step: int) -> list[bytes]:
    return [data[start : start + step] for start in range(0, len(data), step)]


@settings(max_examples=60, deadline=None)
@given(st.data(), st.lists(st.integers(0, 2), min_size=1, max_size=6), st.integers(1, 400), st.integers(1, 400))
def test_every_byte_passes_and_each_call_is_booked_once_with_its_own_usage(data, lanes, up, down):
    asked = frames(
        [{"type": "response.create", "model": "gpt-5.2-codex", "stream_id": f"s{lane}"} for lane in lanes], mask=True
    )
    answered = frames(answers(lanes, data.draw), mask=False)
    play = opened()
    for piece in cut(asked, up):
        play.feed(BodyChunk(piece))
    for piece in cut(answered, down):
        play.feed(UpstreamChunk(piece))
    assert b"".join(item.data for item in play.all if isinstance(item, SendUpstream)) == asked
    assert b"".join(item.data for item in play.all if isinstance(item, SendClient)) == answered
    booked = {item.call: item.usage.input_tokens for item in play.payloads(ModelResponse)}
    # Within a lane calls are answered in their order, and each answer tells by its input which call it is of.
    assert booked == {number + 1: 1000 + number for number in range(len(lanes))}
    assert not play.stage.desk.account.holds


@settings(max_examples=80, deadline=None)
@given(
    st.data(),
    st.lists(st.integers(0, 1), min_size=1, max_size=3),
    st.integers(0, 1500),
    st.sampled_from(
        [ClientGone(), Stopping(), UpstreamEnded(), UpstreamFailed(Reason.UPSTREAM_BROKEN, "x", sent=True), BodyEnded()]
    ),
)
def test_wherever_it_breaks_nothing_stays_open(data, lanes, seen, event):
    play = opened()
    play.feed(
        BodyChunk(
            frames(
                [{"type": "response.create", "model": "gpt-5.2-codex", "stream_id": f"s{x}"} for x in lanes], mask=True
            )
        )
    )
    answered = frames(answers(lanes, data.draw), mask=False)[:seen]
    if answered:
        play.feed(UpstreamChunk(answered))
    commands = play.feed(event)
    assert play.exchange.done
    assert not play.stage.desk.account.holds
    assert len(play.payloads(ModelRequest)) == len(lanes)
    whole = len(play.payloads(ModelResponse)) == len(lanes) and all(
        str(item.outcome) == "complete" for item in play.payloads(ModelResponse)
    )
    assert whole or any(isinstance(item, Reset) for item in commands)
