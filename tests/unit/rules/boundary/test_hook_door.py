"""Hooks at the boundary's own door: whose they are, how much is read, and what is answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from boundary_rig.playbook import AT, Play, Stage, names
from boundary_rig.rig import TOKEN
from docket.formats.ledger.network_events import NetDenied
from docket.rules.boundary import hooking
from docket.rules.boundary.http1 import parse_request
from docket.rules.boundary.protocol import (
    BodyChunk,
    BodyEnded,
    ClientGone,
    Command,
    EvidenceFailed,
    HeadArrived,
    Refuse,
    Stopping,
    TellHook,
    Tick,
)
from docket.rules.windows.hook_address import hook_url
from docket.rules.windows.hook_door import Hook, HookLoss

SESSION = "sess10n-t0ken_of_the_rig"


def stage(**terms: Any) -> Stage:
    return Stage(**{"session_token": SESSION, **terms})


def knock(
    play: Play, path: str = "/hooks/claude/PreToolUse", token: str = SESSION, method: str = "POST"
) -> list[Command]:
    lines = [f"{method} /{token}/docket{path} HTTP/1.1", "Host: 127.0.0.1:1", "Content-Length: 9", "", ""]
    return play.feed(HeadArrived(parse_request("\r\n".join(lines).encode("latin-1")), AT))


def told(commands: list[Command]) -> Hook:
    assert names(commands) == ["TellHook", "Refuse", "Finish"]
    tell, reply = commands[:2]
    assert isinstance(tell, TellHook)
    assert isinstance(reply, Refuse)
    assert (reply.head.status, json.loads(reply.body)) == (200, {})
    return tell.hook


def test_a_hook_is_read_whole_and_handed_on() -> None:
    play = stage().play()
    assert knock(play) == []
    assert play.exchange.needs.body
    assert play.feed(BodyChunk(b'{"a"')) == []
    assert play.feed(Tick()) == []
    assert play.feed(BodyChunk(b":1}")) == []
    assert told(play.feed(BodyEnded())) == Hook(agent="claude", event="PreToolUse", body=b'{"a":1}')
    assert play.exchange.done
    assert play.stage.shared.hooks.size_bytes == 0


def test_the_address_is_the_one_that_agents_are_given() -> None:
    url = hook_url(f"http://127.0.0.1:1/{SESSION}/docket", "claude", "PreToolUse")
    assert url == f"http://127.0.0.1:1/{SESSION}/docket/hooks/claude/PreToolUse"


@pytest.mark.parametrize(
    "path", ["/hooks/", "/hooks/claude", "/hooks/claude/", "/hooks/a/b/c", "/hooks/a b/c", "/hooks/claude/%20"]
)
def test_what_names_no_agent_and_event_is_answered_all_the_same(path: str) -> None:
    play = stage().play()
    lines = [f"POST /{SESSION}/docket{path.replace(' ', '%20')} HTTP/1.1", "Host: 127.0.0.1:1", "", ""]
    commands = play.feed(HeadArrived(parse_request("\r\n".join(lines).encode("latin-1")), AT))
    assert told(commands).lost is HookLoss.MALFORMED


def test_a_hook_is_posted() -> None:
    assert told(knock(stage().play(), method="GET")).lost is HookLoss.MALFORMED


def test_the_token_for_calls_opens_no_hook() -> None:
    play = stage().play()
    commands = knock(play, token=TOKEN)
    assert names(commands) == ["Record(net.denied)", "Refuse", "Finish"]
    (denied,) = play.payloads(NetDenied)
    assert denied.kind == "no-token"
    again = knock(play.stage.play(), token=TOKEN)
    assert names(again) == ["Refuse", "Finish"]


def test_a_wrong_token_finds_nothing() -> None:
    assert names(knock(stage().play(), token="x" * 24)) == ["Record(net.denied)", "Refuse", "Finish"]


def test_what_is_too_long_is_dropped_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooking, "MAX_HOOK_BYTES", 10)
    play = stage().play()
    knock(play)
    for piece in (b"x" * 6, b"y" * 6, b"z"):
        assert play.feed(BodyChunk(piece)) == []
        assert play.stage.shared.hooks.size_bytes <= 10
    hook = told(play.feed(BodyEnded()))
    assert (hook.lost, hook.body) == (HookLoss.OVERSIZED, b"")
    assert play.stage.shared.hooks.size_bytes == 0


def test_what_all_hold_together_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooking, "MAX_READING_BYTES", 10)
    shared = stage()
    first, second = shared.play(), shared.play()
    knock(first)
    knock(second)
    first.feed(BodyChunk(b"x" * 8))
    second.feed(BodyChunk(b"y" * 8))
    assert told(second.feed(BodyEnded())).lost is HookLoss.OVERSIZED
    assert told(first.feed(BodyEnded())).lost is None


@pytest.mark.parametrize("news", [ClientGone(), Stopping()])
def test_whoever_goes_away_holds_nothing(news: Any) -> None:
    play = stage().play()
    knock(play)
    play.feed(BodyChunk(b"x" * 8))
    assert names(play.feed(news)) == ["Reset"]
    assert play.stage.shared.hooks.size_bytes == 0


def test_a_record_that_cannot_be_written_is_told_where_the_token_was_wrong() -> None:
    play = stage().play()
    knock(play, token=TOKEN)
    assert names(play.feed(EvidenceFailed("full")))[-2:] == ["Refuse", "Finish"]
