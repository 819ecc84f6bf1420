"""The proxy for other hosts, over real sockets, with curl and Python's own client as the programs."""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import urllib.error
import urllib.request

import pytest

from boundary_rig.certificates import loopback_certificate
from boundary_rig.raw_upstream import RawUpstream, chunk, chunked_head, hard_close, whole
from boundary_rig.rig import TOKEN, boundary
from docket.formats.run.policy import Policy
from docket.formats.run.policy_reach import EgressMode, EgressPolicy

BASIC = base64.b64encode(f"docket:{TOKEN}".encode()).decode()
LOOPBACK = ("127.0.0.1", "localhost")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return loopback_certificate(tmp_path_factory.mktemp("tls"))


def rig_for(tmp_path, *allow, mode=EgressMode.DENY, **request):
    policy = Policy(egress=EgressPolicy(mode=mode, allow=allow))
    return boundary(tmp_path, "http://127.0.0.1:9", policy=policy, **{"http_proxy": True, **request})


def ok(request, sock):
    sock.sendall(whole(b"hello " + request.line.encode(), kind="text/plain"))
    return True


def connect(rig, target, *headers, token=BASIC, body=b""):
    """Ask for a tunnel; return the socket and the answer's head."""
    raw = rig.raw()
    fields = [f"Host: {target}", *([f"Proxy-Authorization: Basic {token}"] if token else []), *headers]
    raw.sendall("\r\n".join([f"CONNECT {target} HTTP/1.1", *fields, "", ""]).encode() + body)
    head = b""
    while b"\r\n\r\n" not in head:
        data = raw.recv(65536)
        if not data:
            break
        head += data
    return raw, head


def status(head):
    return int(head.split(b" ", 2)[1])


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not here")
def test_curl_reaches_a_named_host_over_tls_and_no_other(tmp_path, certificate):
    path, context = certificate
    with RawUpstream(ok, tls=context) as upstream, rig_for(tmp_path, *LOOPBACK) as rig:

        def curl(url, *more):
            proxy = f"http://docket:{TOKEN}@127.0.0.1:{rig.port}"
            always = ["curl", "-sS", "-m", "20", "--noproxy", "", "-x", proxy, "--cacert", str(path)]
            return subprocess.run([*always, *more, url], capture_output=True, text=True, check=False)

        for host in LOOPBACK:
            done = curl(f"https://{host}:{upstream.port}/x?y=1")
            assert (done.returncode, done.stdout) == (0, "hello GET /x?y=1 HTTP/1.1"), done.stderr
        refused = curl("https://other.example/x")
        assert refused.returncode != 0
        assert "403" in refused.stderr
        allowed, closed, denied = (rig.data(kind) for kind in ("net.allowed", "x-docket.net-closed", "net.denied"))
    assert [(item["tunnel"], item["host"], item["port"], item["kind"]) for item in allowed] == [
        (1, "127.0.0.1", upstream.port, "tunnel"),
        (2, "localhost", upstream.port, "tunnel"),
    ]
    assert allowed[1]["address"] in ("127.0.0.1", "::1")
    assert [item["outcome"] for item in closed] == ["closed", "closed"]
    assert all(item["sent_bytes"] > 100 and item["received_bytes"] > 100 for item in closed)
    assert denied == [
        {"reason": "egress_host", "kind": "tunnel", "count": 1, "host": "other.example", "port": 443}
    ]  # fmt: skip


def test_pythons_client_reaches_it_by_the_variables_alone(tmp_path, certificate, monkeypatch):
    path, context = certificate
    with RawUpstream(ok) as plain, RawUpstream(ok, tls=context) as secure, rig_for(tmp_path, *LOOPBACK) as rig:
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.setenv(name, f"http://docket:{TOKEN}@127.0.0.1:{rig.port}")
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        client = ssl.create_default_context(cafile=str(path))
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=client))
        assert opener.open(f"https://localhost:{secure.port}/a", timeout=20).read() == b"hello GET /a HTTP/1.1"
        assert opener.open(f"http://127.0.0.1:{plain.port}/b?c", timeout=20).read() == b"hello GET /b?c HTTP/1.1"
        with pytest.raises(urllib.error.HTTPError) as refused:
            opener.open("http://other.example/", timeout=20)
        assert refused.value.code == 403
        refused.value.close()
        (request,) = plain.requests
    assert request.values("host") == [f"127.0.0.1:{plain.port}"]
    assert request.values("proxy-authorization") == []


@pytest.mark.parametrize("token", [None, base64.b64encode(b"docket:wrong").decode(), "%%%", BASIC[:-4]])
def test_without_the_token_nothing_is_told_and_nothing_asked(tmp_path, token):
    with RawUpstream(ok) as upstream, rig_for(tmp_path, *LOOPBACK) as rig:
        for target in (f"127.0.0.1:{upstream.port}", "other.example:443", "nonsense"):
            raw, head = connect(rig, target, token=token)
            raw.close()
            assert status(head) == 407
            assert b'proxy-authenticate: Basic realm="docket"' in head
        assert rig.data("net.denied")[0]["kind"] == "no-token"
    assert upstream.connections == 0


def test_without_the_flag_there_is_no_proxy(tmp_path):
    with RawUpstream(ok) as upstream, rig_for(tmp_path, *LOOPBACK, http_proxy=False) as rig:
        raw, head = connect(rig, f"127.0.0.1:{upstream.port}")
        raw.close()
        assert status(head) == 405
    assert upstream.connections == 0


def test_a_tunnel_ends_each_side_by_itself(tmp_path):
    def server(listening):
        sock, _ = listening.accept()
        with sock:
            got = b""
            while data := sock.recv(65536):
                got += data
            sock.sendall(b"got " + got)

    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server, args=(listening,))
    thread.start()
    with listening, rig_for(tmp_path, "127.0.0.1") as rig:
        # Bytes that come with the request are the tunnel's first.
        raw, head = connect(rig, f"127.0.0.1:{listening.getsockname()[1]}", body=b"one ")
        assert status(head) == 200
        raw.sendall(b"two")
        raw.shutdown(socket.SHUT_WR)
        answer = b""
        while data := raw.recv(65536):
            answer += data
        raw.close()
        (closed,) = rig.data("x-docket.net-closed")
    thread.join(20)
    assert answer == b"got one two"
    assert (closed["outcome"], closed["sent_bytes"], closed["received_bytes"]) == ("closed", 7, 11)


@contextlib.contextmanager
def one_connection(act):
    """A server that gives its one connection to `act`."""
    listening = socket.create_server(("127.0.0.1", 0))

    def run():
        sock, _ = listening.accept()
        with contextlib.suppress(OSError):
            act(sock)
        sock.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        listening.close()
        thread.join(20)


def test_a_reset_of_the_host_is_a_reset_of_the_agent(tmp_path):
    def act(sock):
        sock.recv(10)
        hard_close(sock)

    with one_connection(act) as port, rig_for(tmp_path, "127.0.0.1") as rig:
        raw, _ = connect(rig, f"127.0.0.1:{port}")
        raw.sendall(b"x")
        with pytest.raises(ConnectionResetError):
            raw.recv(10)
        raw.close()
        (closed,) = rig.data("x-docket.net-closed")
    assert closed["outcome"] == "host_reset"


def test_a_reset_of_the_agent_is_a_reset_of_the_host(tmp_path):
    seen = []

    def act(sock):
        sock.sendall(b"x")
        try:
            seen.append(sock.recv(10))
        except ConnectionResetError:
            seen.append("reset")

    with one_connection(act) as port, rig_for(tmp_path, "127.0.0.1") as rig:
        raw, head = connect(rig, f"127.0.0.1:{port}")
        assert status(head) == 200, head
        assert (head.partition(b"\r\n\r\n")[2] or raw.recv(1)) == b"x"
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raw.close()
        rig.boundary.snapshot()
        while not seen:
            threading.Event().wait(0.01)
        (closed,) = rig.data("x-docket.net-closed")
    assert seen == ["reset"]
    assert closed["outcome"] == "agent_reset"


def test_thirty_megabytes_wait_for_a_slow_reader_on_either_side(tmp_path):
    size = 30 * 1024 * 1024
    go, all_there = threading.Event(), threading.Event()
    got = []

    def act(sock):
        sent = threading.Thread(target=sock.sendall, args=(b"d" * size,))
        sent.start()
        go.wait(20)
        left = size
        while left and (data := sock.recv(1 << 20)):
            left -= len(data)
        sent.join(20)
        got.append(left)
        all_there.set()
        sock.shutdown(socket.SHUT_WR)
        sock.recv(1)

    with one_connection(act) as port, rig_for(tmp_path, "127.0.0.1") as rig:
        raw, head = connect(rig, f"127.0.0.1:{port}")
        up = threading.Thread(target=raw.sendall, args=(b"u" * size,))
        up.start()
        go.set()
        left = size - len(head.partition(b"\r\n\r\n")[2])
        while left and (data := raw.recv(1 << 20)):
            left -= len(data)
        up.join(20)
        assert all_there.wait(20)
        raw.close()
        (closed,) = rig.data("x-docket.net-closed")
    assert (left, got) == (0, [0])
    assert (closed["sent_bytes"], closed["received_bytes"]) == (size, size)


@pytest.mark.parametrize(
    ("target", "code", "reason"),
    [
        ("api.anthropic.com:443", 403, "egress_model_host"),
        ("API.OpenAI.com.:443", 403, "egress_model_host"),
        ("169.254.169.254:80", 403, "egress_address"),
        ("[fd00:ec2::254]:80", 403, "egress_address"),
        ("[::ffff:169.254.169.254]:80", 403, "egress_address"),
        ("[64:ff9b::7f00:1]:80", 403, "egress_address"),
        ("[2002:7f00:1::]:80", 403, "egress_address"),
        ("10.0.0.1:22", 403, "egress_address"),
        ("0.0.0.0:1", 403, "egress_address"),
        ("2130706433:1", 403, "egress_address"),
        ("0x7f.1:1", 403, "egress_address"),
        ("localhost:1", 403, "egress_address"),
        ("127.0.0.1:1", 403, "egress_address"),
        ("127.0.0.1:9", 403, "egress_model_host"),  # the upstream's own port
        ("example.com", 400, None),
        ("example.com:0", 400, None),
        ("user@example.com:443", 400, None),
        ("[fe80::1%25eth0]:80", 400, None),
        (":443", 400, None),
    ],
)
def test_where_every_host_may_be_asked_for_special_addresses_and_models_are_refused(tmp_path, target, code, reason):
    with rig_for(tmp_path, mode=EgressMode.TUNNEL) as rig:
        raw, head = connect(rig, target)
        raw.close()
        assert status(head) == code
        denied = rig.data("net.denied")
        assert rig.data("net.allowed") == []
    assert [item["reason"] for item in denied] == ([] if reason is None else [reason])


@pytest.mark.parametrize(
    ("allow", "reached"),
    [
        ("localhost", True),
        ("localhost:{port}", True),
        ("localhost:1", False),
        (".localhost", False),  # names below a domain say nothing of this machine
        ("*.localhost", False),
        ("127.0.0.1", False),  # that is an address, and localhost was asked for
        ("ocalhost", False),
    ],
)
def test_a_host_of_this_machine_is_reached_only_where_it_is_named_itself(tmp_path, allow, reached):
    with RawUpstream(ok) as upstream, rig_for(tmp_path, allow.format(port=upstream.port)) as rig:
        raw, head = connect(rig, f"LOCALHOST.:{upstream.port}")
        raw.close()
        assert status(head) == (200 if reached else 403)


def test_a_plain_request_goes_on_without_the_proxys_fields_and_comes_back_as_it_is(tmp_path):
    def stream(request, sock):
        sock.sendall(chunked_head(kind="text/plain", extra="X-Y: z\r\n") + chunk(b"one") + chunk(request.body))
        sock.sendall(b"0\r\n\r\n")
        return True

    with RawUpstream(stream) as upstream, rig_for(tmp_path, "127.0.0.1") as rig:
        client = rig.connect()
        for _ in range(2):  # the agent's connection is kept
            client.request(
                "POST",
                f"http://127.0.0.1:{upstream.port}/p%20q?r=%2F",
                b"body",
                {"Proxy-Authorization": f"Basic {BASIC}", "Proxy-Connection": "keep-alive", "X-A": "b"},
            )
            reply = client.getresponse()
            assert (reply.status, reply.headers["X-Y"], reply.read()) == (200, "z", b"onebody")
        client.close()
        allowed, closed = rig.data("net.allowed"), rig.data("x-docket.net-closed")
    request = upstream.requests[0]
    assert request.line == "POST /p%20q?r=%2F HTTP/1.1"
    assert request.values("host") == [f"127.0.0.1:{upstream.port}"]
    assert request.values("x-a") == ["b"]
    assert request.values("proxy-authorization") == request.values("proxy-connection") == []
    assert [(item["kind"], item["method"], item["tunnel"]) for item in allowed] == [
        ("request", "POST", 1), ("request", "POST", 2),
    ]  # fmt: skip
    assert [(item["status"], item["sent_bytes"], item["received_bytes"]) for item in closed] == [(200, 4, 7)] * 2


def test_a_plain_reply_that_breaks_off_is_passed_on_as_broken(tmp_path):
    def half(request, sock):
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        hard_close(sock)
        return False

    with RawUpstream(half) as upstream, rig_for(tmp_path, "127.0.0.1") as rig:
        client = rig.connect()
        client.request("GET", f"http://127.0.0.1:{upstream.port}/", headers={"Proxy-Authorization": f"Basic {BASIC}"})
        with pytest.raises((ConnectionResetError, OSError)):
            client.getresponse().read()
        client.close()
        (closed,) = rig.data("x-docket.net-closed")
    assert closed["outcome"] == "host_reset"


@pytest.mark.parametrize("target", ["https://127.0.0.1/", "ftp://127.0.0.1/", "*", "http://u:p@127.0.0.1/", "http://"])
def test_what_is_no_plain_address_is_refused(tmp_path, target):
    with rig_for(tmp_path, "127.0.0.1") as rig:
        raw = rig.raw()
        raw.sendall(f"OPTIONS {target} HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic {BASIC}\r\n\r\n".encode())
        assert status(raw.recv(65536)) == 400
        raw.close()


def test_a_tunnel_goes_through_the_persons_own_proxy_by_name(tmp_path):
    asked = []

    def proxy(request, sock):
        asked.append(request.line)
        # The far side speaks first, in one piece with the proxy's answer.
        sock.sendall(b"HTTP/1.1 200 OK\r\n\r\nSSH-2.0 banner\r\n")
        sock.sendall(sock.recv(100).upper())
        return False

    with RawUpstream(proxy) as own:
        environ = {"https_proxy": f"http://{'127.0.0.1'}:{own.port}"}
        with rig_for(tmp_path, ".example", environ=environ) as rig:
            raw, head = connect(rig, "git.example:22", body=b"")
            answer = head.partition(b"\r\n\r\n")[2]
            while b"banner\r\n" not in answer:
                answer += raw.recv(100)
            raw.sendall(b"hello")
            assert raw.recv(100) == b"HELLO"
            raw.close()
            (allowed,) = rig.data("net.allowed")
    assert status(head) == 200
    assert asked == ["CONNECT git.example:22 HTTP/1.1"]
    assert "address" not in allowed


def test_stopping_cuts_what_is_open(tmp_path):
    with one_connection(lambda sock: sock.recv(10)) as port, rig_for(tmp_path, "127.0.0.1") as rig:
        raw, head = connect(rig, f"127.0.0.1:{port}")
        assert status(head) == 200
        rig.stop()
        with pytest.raises(ConnectionResetError):
            raw.recv(10)
        raw.close()
        (closed,) = rig.data("x-docket.net-closed")
    assert closed["outcome"] == "cut"


def test_many_refused_hosts_do_not_fill_the_record(tmp_path):
    with rig_for(tmp_path, "127.0.0.1") as rig:
        client = rig.connect()
        for number in range(600):
            client.request("GET", f"http://h{number}.example/", headers={"Proxy-Authorization": f"Basic {BASIC}"})
            reply = client.getresponse()
            reply.read()
            assert reply.status == 403
        client.close()
        denied = rig.data("net.denied")
    assert sum(item["count"] for item in denied) == 600
    assert len(denied) <= 514
    assert TOKEN not in json.dumps(denied)
