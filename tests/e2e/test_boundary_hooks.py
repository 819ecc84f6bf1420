"""Hooks over real sockets: none of them holds up a model call, and each is answered whatever becomes of it."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable
from typing import Any

import pytest

from boundary_rig.rig import TOKEN, Rig, boundary
from docket.demo.provider import Limits, ScriptedProvider
from docket.demo.script import Script, Tokens, Turn
from docket.engines.boundary import hook_wait
from docket.rules.windows.hook_door import Hook

SESSION = "sess10n-t0ken_of_the_rig"
CALL = json.dumps(
    {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
).encode()
SECONDS = 60


@pytest.fixture
def provider():
    turn = Turn(text="ok", tokens=Tokens(fresh=30, output=60))
    with ScriptedProvider(Script(turns=(turn,)), limits=Limits(max_requests=400, max_seconds=60)) as running:
        yield running


class Kept:
    """A port that keeps each hook waiting until the test lets it go."""

    def __init__(self) -> None:
        self.waiting: queue.Queue[tuple[Hook, Callable[[], None]]] = queue.Queue()

    def tell(self, hook: Hook, done: Callable[[], None]) -> None:
        self.waiting.put((hook, done))


def post(rig: Rig, body: bytes = b"{}", token: str = SESSION) -> tuple[int, Any]:
    connection = rig.connect()
    try:
        connection.request("POST", f"/{token}/docket/hooks/claude/PreToolUse", body)
        reply = connection.getresponse()
        data = reply.read()
        return reply.status, json.loads(data) if data.startswith(b"{") else None
    finally:
        connection.close()


def in_thread(action: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    found: list[object] = []

    def act() -> None:
        try:
            found.append(action())
        except OSError as error:
            found.append(error)

    thread = threading.Thread(target=act)
    thread.start()
    return thread, found


def test_a_call_is_answered_while_hooks_wait(tmp_path, provider):
    kept = Kept()
    with boundary(tmp_path, provider.url, hooks=kept, session_token=SESSION) as rig:
        asked = [in_thread(lambda: post(rig, b'{"a":1}')) for _ in range(3)]
        waiting = [kept.waiting.get(timeout=SECONDS) for _ in asked]
        assert rig.post(CALL)[0] == 200
        assert all(thread.is_alive() for thread, _ in asked)
        for hook, done in waiting:
            assert hook == Hook(agent="claude", event="PreToolUse", body=b'{"a":1}')
            done()
        for thread, found in asked:
            thread.join(SECONDS)
            assert found == [(200, {})]


def test_what_takes_too_long_is_answered_all_the_same(tmp_path, provider, monkeypatch):
    monkeypatch.setattr(hook_wait, "HOOK_SECONDS", 0.05)
    kept = Kept()
    with boundary(tmp_path, provider.url, hooks=kept, session_token=SESSION) as rig:
        assert post(rig) == (200, {})
        _, done = kept.waiting.get(timeout=SECONDS)
        done()  # nobody waits any more
        assert rig.post(CALL)[0] == 200


def test_the_end_waits_for_no_hook(tmp_path, provider):
    kept = Kept()
    with boundary(tmp_path, provider.url, hooks=kept, session_token=SESSION) as rig:
        thread, found = in_thread(lambda: post(rig))
        _, done = kept.waiting.get(timeout=SECONDS)
        rig.stop()
        thread.join(SECONDS)
        assert len(found) == 1
        done()  # the loop is gone


def test_without_windows_a_hook_is_answered(tmp_path, provider):
    with boundary(tmp_path, provider.url, session_token=SESSION) as rig:
        assert post(rig) == (200, {})


def test_other_tokens_open_nothing(tmp_path, provider):
    kept = Kept()
    with boundary(tmp_path, provider.url, hooks=kept, session_token=SESSION) as rig:
        assert post(rig, token=TOKEN)[0] == 403
        assert post(rig, token="x" * 24)[0] == 404
        assert kept.waiting.empty()
        assert [event["kind"] for event in rig.data("net.denied")] == ["no-token", "no-token"]
