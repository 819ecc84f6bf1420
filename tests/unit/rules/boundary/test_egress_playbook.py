"""The machine of what goes through the proxy, event by event."""

from __future__ import annotations

import base64

import pytest

from boundary_rig.playbook import Stage, names
from boundary_rig.rig import TOKEN
from docket.formats.ledger.network_events import NetAllowed, NetClosed, NetDenied
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_reach import EgressPolicy
from docket.rules.boundary.http1 import ResponseHead, parse_request, response_framing
from docket.rules.boundary.protocol import (
    BodyChunk,
    BodyEnded,
    ClientGone,
    Connect,
    Dial,
    Dialed,
    EvidenceFailed,
    HeadArrived,
    Needs,
    Resolve,
    Resolved,
    Retry,
    UpstreamChunk,
    UpstreamEnded,
    UpstreamFailed,
    UpstreamHead,
)

AUTH = "Proxy-Authorization: Basic " + base64.b64encode(f"docket:{TOKEN}".encode()).decode()
PUBLIC, OTHER = "93.184.216.34", "93.184.216.35"
NO_CONNECTION = UpstreamFailed(Reason.UPSTREAM_UNREACHABLE, "no route", sent=False)


def asked(line: str, *fields: str, allow=("a.example",), auth: str = AUTH):
    play = Stage(Policy(egress=EgressPolicy(allow=allow)), http_proxy=True).play()
    head = "\r\n".join([f"{line} HTTP/1.1", "Host: x", auth, *fields, "", ""]).encode()
    play.first = play.feed(HeadArrived(parse_request(head), "2026-01-01T00:00:00.000Z"))
    return play


def tunnel(**options):
    return asked("CONNECT a.example:443", **options)


def test_a_tunnel_is_resolved_recorded_dialed_and_answered_in_that_order():
    play = tunnel()
    assert play.first == [Resolve("https", "a.example", 443)]
    commands = play.feed(Resolved((PUBLIC, OTHER)))
    assert names(commands) == ["Record(net.allowed)", "Await(WRITTEN)", "Dial"]
    assert commands[-1] == Dial(PUBLIC, 443)
    assert names(play.feed(Dialed())) == ["Await(DURABLE)", "SwitchClient"]
    assert play.exchange.needs == Needs(body=True, upstream=True)
    assert names(play.feed(BodyChunk(b"abc"))) == ["SendUpstream"]
    assert names(play.feed(UpstreamChunk(b"hello"))) == ["SendClient(5)"]
    assert names(play.feed(UpstreamEnded())) == ["EndClient"]
    play.clock = 7
    assert names(play.feed(BodyEnded())) == ["EndUpstream", "Record(x-docket.net-closed)", "Finish"]
    assert play.payloads(NetAllowed) == [
        NetAllowed(tunnel=1, kind="tunnel", host="a.example", port=443, address=PUBLIC)
    ]
    (closed,) = play.payloads(NetClosed)
    assert (closed.outcome, closed.sent_bytes, closed.received_bytes, closed.duration_ms) == ("closed", 3, 5, 7)


@pytest.mark.parametrize("found", [(PUBLIC, "169.254.169.254"), ("10.0.0.1",), ("::ffff:10.0.0.1", PUBLIC)])
def test_one_address_that_may_not_be_reached_refuses_them_all(found):
    play = tunnel(allow=(".example",))
    assert names(play.feed(Resolved(found))) == ["Record(net.denied)", "Refuse", "Finish"]
    (denied,) = play.payloads(NetDenied)
    assert denied.reason == "egress_address"
    assert play.payloads(NetAllowed) == []


def test_addresses_are_tried_one_after_another_and_only_those_that_were_looked_at():
    play = tunnel()
    play.feed(Resolved((PUBLIC, OTHER)))
    assert play.feed(NO_CONNECTION) == [Dial(OTHER, 443)]
    commands = play.feed(NO_CONNECTION)
    assert names(commands) == ["Record(x-docket.net-closed)", "CloseUpstream", "Refuse", "Finish"]
    assert [str(item.outcome) for item in play.payloads(NetClosed)] == ["unreachable"]


def test_a_name_without_an_address_is_unreachable():
    play = tunnel()
    commands = play.feed(Resolved(()))
    assert names(commands)[:3] == ["Record(net.allowed)", "Await(WRITTEN)", "Record(x-docket.net-closed)"]


def test_the_environments_proxy_gets_the_name_even_of_what_resolves_to_nothing_here():
    play = tunnel()
    assert play.feed(Resolved((), through_proxy=True))[-1] == Dial("a.example", 443, through_proxy=True)
    play = tunnel()
    assert play.feed(Resolved((PUBLIC,), through_proxy=True))[-1] == Dial("a.example", 443, through_proxy=True)
    assert play.payloads(NetAllowed)[0].address is None
    play = tunnel(allow=(".example",))
    assert names(play.feed(Resolved(("10.0.0.1",), through_proxy=True)))[0] == "Record(net.denied)"


def test_a_look_up_that_fails_is_a_502_without_an_event():
    play = tunnel()
    assert names(play.feed(NO_CONNECTION)) == ["CloseUpstream", "Refuse", "Finish"]


def test_an_address_is_looked_at_before_it_is_looked_up():
    play = asked("CONNECT 169.254.169.254:80", allow=(".example", "169.254.169.254:81"))
    assert names(play.first) == ["Record(net.denied)", "Refuse", "Finish"]


@pytest.mark.parametrize(
    ("event", "outcome"),
    [(ClientGone(), "agent_reset"), (UpstreamFailed(Reason.UPSTREAM_BROKEN, "x", sent=True), "host_reset")],
)
def test_a_break_of_one_side_is_one_of_the_other(event, outcome):
    play = tunnel()
    play.feed(Resolved((PUBLIC,)))
    play.feed(Dialed())
    assert names(play.feed(event)) == ["CloseUpstream", "Record(x-docket.net-closed)", "Reset"]
    assert [str(item.outcome) for item in play.payloads(NetClosed)] == [outcome]


def test_an_agent_that_leaves_before_anything_was_let_through_leaves_no_event():
    play = tunnel()
    assert names(play.feed(ClientGone())) == ["CloseUpstream", "Reset"]


def test_what_cannot_be_recorded_goes_nowhere():
    play = tunnel()
    play.feed(Resolved((PUBLIC,)))
    assert names(play.feed(EvidenceFailed("full")))[-2:] == ["Refuse", "Finish"]
    play = tunnel()
    play.feed(Resolved((PUBLIC,)))
    play.feed(Dialed())
    assert names(play.feed(EvidenceFailed("full"))) == ["CloseUpstream", "Released", "Reset"]


def test_news_of_admission_is_none_here():
    play = tunnel()
    assert play.feed(Retry()) == []


def test_a_plain_request_goes_to_the_address_under_its_own_name():
    play = asked("POST http://a.example:8080/x?y", "Content-Length: 3", "Connection: close, X-Hop", "X-Hop: 1")
    commands = play.feed(Resolved((PUBLIC, OTHER)))
    connect = commands[-1]
    assert isinstance(connect, Connect)
    assert connect.origin == ("direct", PUBLIC, 8080)
    assert connect.head.target == "/x?y"
    assert dict(connect.head.headers) == {b"Host": b"a.example:8080", b"Content-Length": b"3"}
    again = play.feed(NO_CONNECTION)
    assert [command.origin for command in again] == [("direct", OTHER, 8080)]
    assert names(play.feed(BodyChunk(b"abc"))) == ["SendUpstream"]
    assert names(play.feed(BodyEnded())) == ["EndUpstream"]
    head = ResponseHead(status=204)
    assert names(play.feed(UpstreamHead(head, response_framing(head, "POST")))) == ["Await(DURABLE)", "StartClient"]
    assert names(play.feed(UpstreamEnded())) == ["Record(x-docket.net-closed)", "Finish"]
    assert (play.payloads(NetAllowed)[0].method, play.payloads(NetClosed)[0].status) == ("POST", 204)


def test_a_plain_request_whose_body_has_begun_is_not_sent_twice():
    play = asked("POST http://a.example/", "Content-Length: 3")
    play.feed(Resolved((PUBLIC, OTHER)))
    play.feed(BodyChunk(b"a"))
    assert names(play.feed(NO_CONNECTION))[-2:] == ["Refuse", "Finish"]


def test_through_the_environments_proxy_a_plain_request_keeps_its_name():
    play = asked("GET http://a.example/")
    assert play.feed(Resolved((PUBLIC,), through_proxy=True))[-1].origin == ("http", "a.example", 80)


@pytest.mark.parametrize("auth", ["X: y", "Proxy-Authorization: Bearer x", "Proxy-Authorization: Basic ?"])
def test_without_the_token_there_is_a_challenge_and_nothing_else(auth):
    play = tunnel(auth=auth)
    assert names(play.first) == ["Record(net.denied)", "Refuse", "Finish"]
    refuse = play.first[1]
    assert refuse.head.status == 407
    assert (b"proxy-authenticate", b'Basic realm="docket"') in refuse.head.headers


@pytest.mark.parametrize(("line", "status"), [("CONNECT a.example", 400), ("CONNECT b.example:1", 403)])
def test_what_may_not_be_asked_for_is_refused_at_once(line, status):
    play = asked(line)
    assert [command.head.status for command in play.first if hasattr(command, "head")] == [status]
