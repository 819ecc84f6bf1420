"""Corners of the boundary's machines: what cannot be altered, what is passed on, who left, who broke the protocol."""

from __future__ import annotations

import base64
import json

import pytest

from boundary_rig.playbook import Stage, names
from boundary_rig.replies import messages_request
from boundary_rig.rig import TOKEN
from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelDenied, ModelRequest, ModelResponse
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_reach import EgressMode, EgressPolicy
from docket.formats.run.policy_spending import Admission, BudgetPolicy, CapsPolicy
from docket.rules.boundary.access import Entered
from docket.rules.boundary.http1 import RequestHead, ResponseHead, parse_request
from docket.rules.boundary.protocol import (
    BodyEnded,
    ClientGone,
    HeadArrived,
    UpstreamChunk,
    UpstreamEnded,
    UpstreamFailed,
    UpstreamHead,
)
from docket.rules.boundary.weighed import Weighed
from docket.rules.providers.anthropic import AnthropicMessages
from docket.rules.providers.registry import with_upstream

STRICT = BudgetPolicy(admission=Admission.STRICT, lower_max_tokens=True)
SOCKET = (
    "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: k", "Sec-WebSocket-Version: 13",
    "OpenAI-Beta: responses_websockets=2026-02-06",
)  # fmt: skip


@pytest.mark.parametrize("members", [{"max_tokens": None}, {"max_tokens": 256}])
def test_a_limit_that_is_not_stated_or_the_least_is_not_lowered(members):
    play = Stage(Policy(budget=STRICT, caps=CapsPolicy(max_usd=Usd(2000)))).play()
    play.post(messages_request(**members))
    assert play.payloads(ModelRequest) == []
    assert play.payloads(ModelDenied)[0].reason == Reason.MAX_USD


@pytest.mark.parametrize(
    "body", [b"{}", messages_request(max_tokens=10), b'{"model":"m","max_completion_tokens":5000}']
)
def test_a_body_without_a_limit_above_it_cannot_be_lowered(body):
    weighed = Weighed(
        provider=with_upstream("anthropic", "https://one.example"),
        wire=AnthropicMessages(),
        head=RequestHead(method="POST", target="/v1/messages", headers=()),
        entered=Entered("anthropic", "/v1/messages"),
    )
    weighed.read(body)
    assert not weighed.lower_output(1000)
    assert weighed.lowered is None


def test_what_is_booked_late_is_kept_beside_the_ledger_where_replies_are():
    one = Stage(provider="openai")
    one.shared.retain_bytes = 10_000
    play = one.play()
    play.head("/openai/v1/responses/resp_1", "GET")
    play.feed(BodyEnded())
    usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
    body = json.dumps({"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5.2", "usage": usage})
    play.reply(200, (b"content-type", b"application/json"))
    play.feed(UpstreamChunk(body.encode()))
    play.feed(UpstreamEnded())
    assert [event.usage.output_tokens for event in play.payloads(ModelResponse)] == [10]


def test_there_is_no_copy_to_drop_before_a_reply():
    play = Stage().play()
    play.exchange.keep_nothing()
    play.post(messages_request())
    play.feed(ClientGone())
    play.exchange.keep_nothing()
    assert play.stage.desk.account.holds == {}


@pytest.mark.parametrize("path", ["/openai/v1/models", "/openai/v1/embeddings"])
def test_a_socket_is_of_the_responses_api_alone(path):
    play = Stage(provider="openai").play()
    commands = play.head(path, "GET", *SOCKET)
    assert names(commands)[-2:] == ["Refuse", "Finish"]


def test_an_answer_other_than_a_switch_passes_to_the_agent():
    play = Stage(provider="openai").play()
    play.head("/openai/v1/responses", "GET", *SOCKET)
    head = ResponseHead(status=403, reason=b"Forbidden", headers=((b"content-length", b"2"),))
    commands = play.reply(403, (b"content-length", b"2"))
    assert names(commands) == ["StartClient"]
    assert head.status == commands[0].head.status
    assert names(play.feed(UpstreamChunk(b"no"))) == ["SendClient(2)"]
    assert names(play.feed(UpstreamEnded()))[-1] == "Finish"


def test_a_switch_to_something_else_is_a_broken_upstream():
    play = Stage(provider="openai").play()
    play.head("/openai/v1/responses", "GET", *SOCKET)
    head = ResponseHead(status=101, reason=b"Switching", headers=((b"Upgrade", b"h2c"), (b"Connection", b"Upgrade")))
    commands = play.feed(UpstreamHead(head, None))
    assert names(commands)[0] == "CloseUpstream"
    assert names(commands)[-2:] == ["Refuse", "Finish"]
    assert commands[-2].head.status == 502


def test_a_handshake_that_fails_is_told():
    play = Stage(provider="openai").play()
    play.head("/openai/v1/responses", "GET", *SOCKET)
    commands = play.feed(UpstreamFailed(Reason.UPSTREAM_UNREACHABLE, "nobody is there", sent=False))
    assert names(commands)[-2:] == ["Refuse", "Finish"]


def switched():
    play = Stage(provider="openai").play()
    play.head("/openai/v1/responses", "GET", *SOCKET)
    fields = ((b"Upgrade", b"websocket"), (b"Connection", b"Upgrade"), (b"Sec-WebSocket-Accept", b"a"))
    head = ResponseHead(status=101, reason=b"Switching Protocols", headers=fields)
    assert names(play.feed(UpstreamHead(head, None))) == ["SwitchClient"]
    return play


def test_an_upstream_that_breaks_the_frames_is_broken():
    # RFC 6455, 5.1: a server never masks its frames.
    commands = switched().feed(UpstreamChunk(b"\x81\x81abcdx"))
    assert names(commands)[0] == "CloseUpstream"
    assert names(commands)[-1] == "Reset"


def test_an_upstream_that_ends_inside_a_message_is_broken():
    play = switched()
    # The first of a message's frames: FIN is not set.
    play.feed(UpstreamChunk(b"\x01\x02ab"))
    assert names(play.feed(UpstreamEnded()))[-1] == "Reset"


def test_an_address_that_may_not_be_reached_is_not_looked_up():
    policy = Policy(egress=EgressPolicy(mode=EgressMode.TUNNEL))
    play = Stage(policy, http_proxy=True).play()
    credentials = base64.b64encode(f"docket:{TOKEN}".encode()).decode()
    head = f"CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic {credentials}\r\n\r\n"
    commands = play.feed(HeadArrived(parse_request(head.encode()), "2026-01-01T00:00:00.000Z"))
    assert names(commands) == ["Record(net.denied)", "Refuse", "Finish"]
    assert commands[0].payload.reason == Reason.EGRESS_ADDRESS
