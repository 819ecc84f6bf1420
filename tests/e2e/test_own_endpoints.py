"""The boundary about itself, over real sockets: alive, ready, counted, and deaf to whoever has no token.

The counters are read back by the parser of the library that Prometheus's own clients use.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import stat
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

import run_lab
from boundary_rig.rig import TOKEN, Rig, boundary
from docket.demo.provider import Limits, ScriptedProvider
from docket.demo.script import Script, Tokens, Turn
from docket.formats.amount import Usd
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import CapsPolicy

SESSION = "sess10n-t0ken_of_the_rig"
CALL = json.dumps(
    {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
).encode()


@pytest.fixture
def provider():
    turn = Turn(text="ok", tokens=Tokens(fresh=30, output=60))
    with ScriptedProvider(Script(turns=(turn,)), limits=Limits(max_requests=400, max_seconds=60)) as running:
        yield running


def ask(rig: Rig, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    connection = rig.connect()
    try:
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


def samples_of(text: bytes) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_a_boundary_that_served_nobody_answers_at_once(tmp_path: Path, provider: ScriptedProvider) -> None:
    with boundary(tmp_path, provider.url) as rig:
        assert ask(rig, f"/{TOKEN}/docket/healthz") == (200, b"alive\n")
        assert ask(rig, f"/{TOKEN}/docket/readyz") == (200, b'{"ready": true}\n')
        assert ask(rig, f"/{TOKEN}/docket/healthz", "HEAD") == (200, b"")
    assert [event.type for event in rig.events()] == ["x-docket.budget"]


def test_the_counters_are_what_happened(tmp_path: Path, provider: ScriptedProvider) -> None:
    policy = Policy(caps=CapsPolicy(max_usd=Usd.parse("1.00"), max_model_calls=3))
    with boundary(tmp_path, provider.url, policy=policy) as rig:
        for _ in range(5):
            rig.post(CALL)
        ask(rig, "/wrong/docket/metrics")
        status, text = ask(rig, f"/{TOKEN}/docket/metrics")
    found = samples_of(text)
    model = (("model", "claude-sonnet-4-5"), ("provider", "anthropic"))

    assert status == 200
    # 30 x 3 + 60 x 15 = 990 micro-dollars a call
    assert found["docket_spend_microdollars_total", model] == 2970
    assert found["docket_calls_total", (model[0], ("outcome", "complete"), model[1])] == 3
    assert found["docket_tokens_total", (("kind", "input_tokens"), *model)] == 90
    assert found["docket_tokens_total", (("kind", "output_tokens"), *model)] == 180
    assert found["docket_denied_total", (("reason", "max_model_calls"),)] == 2
    assert found["docket_turned_away_total", (("kind", "no-token"),)] == 1
    assert found["docket_call_latency_seconds_count", ()] == 3
    assert found["docket_call_latency_seconds_bucket", (("le", "+Inf"),)] == 3
    assert found["docket_cap_microdollars", ()] == 1_000_000
    assert found["docket_breached", ()] == 1
    assert found["docket_calls_in_flight", ()] == 0
    assert found["docket_run", (("docket_number", "DKT-20260101-ABCDEF"),)] == 1
    # each call: request, price row once, response; two refusals, the cap twice at most, one door event
    assert found["docket_ledger_appends_total", ()] == len(rig.events()) - 1  # all but the budget, written at the end


def test_ready_turns_with_admission_and_with_the_record(tmp_path: Path, provider: ScriptedProvider) -> None:
    with boundary(tmp_path, provider.url) as rig:
        rig.boundary.refuse_further(Reason.RUN_ENDING, "the run is ending")
        status, text = ask(rig, f"/{TOKEN}/docket/readyz")
        assert (status, json.loads(text)["reason"]) == (503, "run_ending")
        assert ask(rig, f"/{TOKEN}/docket/healthz")[0] == 200


def test_calls_go_on_while_the_counters_are_asked_for(tmp_path: Path, provider: ScriptedProvider) -> None:
    with boundary(tmp_path, provider.url) as rig:
        one, other = rig.raw(), rig.raw()
        with one, other:
            one.sendall(f"GET /{TOKEN}/docket/metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            assert rig.post(CALL)[0] == 200
            assert one.recv(15) == b"HTTP/1.1 200 OK"
            other.sendall(f"GET /{TOKEN}/docket/metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        assert rig.post(CALL)[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.1"])
def test_a_page_of_another_host_is_not_answered(tmp_path: Path, provider: ScriptedProvider, host: str) -> None:
    with boundary(tmp_path, provider.url) as rig:
        assert ask(rig, f"/{TOKEN}/docket/metrics", Host=host)[0] == 404
        assert ask(rig, f"/{TOKEN}/docket/metrics", Origin=f"http://{host}")[0] == 404


def test_no_provider_can_take_the_reserved_name(tmp_path: Path, provider: ScriptedProvider) -> None:
    with boundary(tmp_path, provider.url, name="docket") as rig:
        assert ask(rig, f"/{TOKEN}/docket/v1/messages", "POST", CALL)[0] == 404
    assert len(provider.calls) == 0


# ---- what an agent says, over the wire


def say(rig: Rig, body: bytes) -> tuple[int, Any]:
    status, text = ask(rig, f"/{SESSION}/docket/events", "POST", body)
    return status, json.loads(text)


def test_an_event_is_in_the_ledger_when_it_is_answered(tmp_path: Path, provider: ScriptedProvider) -> None:
    with boundary(tmp_path, provider.url, session_token=SESSION) as rig:
        said = json.dumps({"type": "tool.call", "data": {"name": "bash"}}).encode()
        assert say(rig, said) == (200, {"ok": True})
        assert b'"reported_by":"agent"' in rig.ledger.path.read_bytes()
    assert rig.data("tool.call") == [{"name": "bash", "reported_by": "agent"}]


def test_a_flood_neither_fills_the_ledger_nor_stops_calls(tmp_path: Path, provider: ScriptedProvider) -> None:
    with boundary(tmp_path, provider.url, session_token=SESSION) as rig:
        body = json.dumps({"type": "note", "data": {"code": "x", "message": "m" * 4000}}).encode()
        connection, seen = rig.connect(), []
        for _ in range(400):
            connection.request("POST", f"/{SESSION}/docket/events", body)
            reply = connection.getresponse()
            reply.read()
            seen.append(reply.status)
        connection.close()
        assert set(seen) == {200, 429}
        assert rig.post(CALL)[0] == 200
    assert len(rig.events("note")) == seen.count(200)
    assert sum(item["count"] for item in rig.data("net.denied")) == seen.count(429)


def test_half_an_event_and_a_gone_sender_are_nothing(tmp_path: Path, provider: ScriptedProvider) -> None:
    with boundary(tmp_path, provider.url, session_token=SESSION) as rig:
        head = f"POST /{SESSION}/docket/events HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 50\r\n\r\n"
        with rig.raw() as connection:
            connection.sendall(head.encode() + b'{"type": "tool.call"')
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(10)
            with contextlib.suppress(ConnectionResetError):
                assert connection.recv(100) == b""
        huge = f"POST /{SESSION}/docket/events HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999\r\n\r\n"
        with rig.raw() as connection:
            connection.sendall(huge.encode() + b" " * 70_000)
            connection.settimeout(10)
            assert connection.recv(12) == b"HTTP/1.1 413"
        assert rig.post(CALL)[0] == 200
    assert rig.data("tool.call") == []


def test_what_cannot_be_recorded_is_said_and_ends_the_run_for_everybody(
    tmp_path: Path, provider: ScriptedProvider
) -> None:
    class Failing:
        """A record that takes everything but what agents say."""

        def __init__(self, ledger: Any) -> None:
            self._ledger = ledger
            self.listen = ledger.listen

        def append(self, payload: Any, **options: Any) -> Any:
            if payload.TYPE == "tool.call":
                self._ledger.close()
            return self._ledger.append(payload, **options)

    with boundary(tmp_path, provider.url, session_token=SESSION, recorder=Failing) as rig:
        status, said = say(rig, json.dumps({"type": "tool.call", "data": {"name": "x"}}).encode())
        assert (status, said["reason"]) == (503, "evidence_failed")
        assert "cannot be written" in said["detail"]
        assert ask(rig, f"/{TOKEN}/docket/readyz")[0] == 503
        assert rig.post(CALL)[0] == 400


# ---- a whole run


def test_a_living_runs_address_is_found_and_goes_with_it(tmp_path: Path) -> None:
    lab = run_lab.build(tmp_path)
    go = tmp_path / "go"
    agent = [sys.executable, "-c", f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.02)"]
    process = lab.start("run", "--max-usd", "1", "--", *agent)
    try:
        ends_at = time.monotonic() + 60
        while not list(lab.state.glob("*/live/*/boundary.json")):
            assert time.monotonic() < ends_at
            time.sleep(0.02)
        (path,) = lab.state.glob("*/live/*/boundary.json")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        told = lab.docket("watch", "--url")
        assert told.exit_code == 0, told.said
        url = told.stdout.strip()
        assert url.startswith("http://127.0.0.1:")
        port, rest = url.removeprefix("http://127.0.0.1:").split("/", 1)
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)
        connection.request("GET", f"/{rest}/metrics")
        found = samples_of(connection.getresponse().read())
        connection.close()
        assert found["docket_cap_microdollars", ()] == 1_000_000
        assert found["docket_ledger_events", ()] >= 3
    finally:
        go.touch()
        process.communicate(timeout=60)
    assert list(lab.state.glob("*/live/*")) == []
    gone = lab.docket("watch", "--url")
    assert (gone.exit_code, "no boundary that answers" in gone.stderr) == (75, True)
    assert url.rsplit("/", 2)[1] not in os.fsdecode(next(lab.state.glob("*/runs/*.jsonl")).read_bytes())
