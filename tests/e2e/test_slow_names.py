"""Names whose look-up does not end hold up themselves alone: no model call, no other name, and no end of a run."""

from __future__ import annotations

import base64
import contextlib
import socket
import threading
import time

import pytest

from boundary_rig.raw_upstream import RawUpstream, whole
from boundary_rig.replies import messages_json, messages_request
from boundary_rig.rig import TOKEN, boundary
from docket.engines.boundary import pool
from docket.engines.boundary.unawaited import Unawaited
from docket.formats.run.policy import Policy
from docket.formats.run.policy_reach import EgressMode, EgressPolicy

BASIC = base64.b64encode(f"docket:{TOKEN}".encode()).decode()


class Names:
    """A name server of the test's own: what begins with `slow` is not answered before `go_on` is set."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.asked: list[str] = []
        self._real = socket.getaddrinfo

    def __call__(self, host, *arguments, **options):
        if str(host).startswith("slow"):
            self.asked.append(str(host))
            self.go_on.wait(60)
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        return self._real(host, *arguments, **options)

    def wait_for(self, count: int) -> None:
        deadline = time.monotonic() + 20
        while len(self.asked) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(self.asked) == count


@pytest.fixture
def names(monkeypatch):
    slow = Names()
    monkeypatch.setattr(socket, "getaddrinfo", slow)
    yield slow
    slow.go_on.set()


def ok(request, sock):
    sock.sendall(whole(messages_json()))
    return False


def ask(rig, host: str) -> socket.socket:
    raw = rig.raw()
    raw.sendall(
        f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\nProxy-Authorization: Basic {BASIC}\r\n\r\n".encode()
    )
    return raw


def test_model_calls_and_the_end_of_the_run_do_not_wait_for_them(tmp_path, names):
    policy = Policy(egress=EgressPolicy(mode=EgressMode.TUNNEL))
    with (
        RawUpstream(ok) as upstream,
        contextlib.ExitStack() as stack,
        boundary(tmp_path, f"http://localhost:{upstream.port}", policy=policy, http_proxy=True) as rig,
    ):
        for number in range(40):
            stack.enter_context(ask(rig, f"slow{number}.example"))
        names.wait_for(40)
        # A new connection each, to an upstream whose name is looked up.
        assert [rig.post(messages_request())[0] for _ in range(3)] == [200, 200, 200]
        rig.stop()
        assert not names.go_on.is_set()
        assert rig.data("net.allowed") == []


def test_so_many_are_looked_up_at_once_and_no_more(tmp_path, names, monkeypatch):
    monkeypatch.setattr(pool, "_MAX_LOOKUPS", 3)
    policy = Policy(egress=EgressPolicy(mode=EgressMode.TUNNEL))
    with (
        contextlib.ExitStack() as stack,
        boundary(tmp_path, "http://127.0.0.1:9", policy=policy, http_proxy=True) as rig,
    ):
        raws = [stack.enter_context(ask(rig, f"slow{number}.example")) for number in range(3)]
        names.wait_for(3)
        # Whose agent is gone is still under way.
        raws.pop().close()
        raws += [stack.enter_context(ask(rig, f"slow{number}.example")) for number in range(3, 8)]
        time.sleep(0.2)
        names.wait_for(3)
        names.go_on.set()
        for raw in raws:
            assert raw.recv(12) == b"HTTP/1.1 502"
        names.wait_for(8)


def test_what_a_piece_of_work_comes_to_is_told():
    threads = Unawaited()
    assert threads.submit(divmod, 7, 2).result(20) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        threads.submit(divmod, 7, 0).result(20)
    threads.shutdown()
    assert threads.submit(int, "3").result(20) == 3
