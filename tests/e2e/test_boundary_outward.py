"""TLS and proxies towards the upstream, over real sockets."""

from __future__ import annotations

import contextlib
import json
import socket
import threading

import pytest

from boundary_rig.certificates import loopback_certificate
from boundary_rig.raw_upstream import RawUpstream, whole
from boundary_rig.replies import messages_json, messages_request
from boundary_rig.rig import boundary


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return loopback_certificate(tmp_path_factory.mktemp("tls"))


def ok(request, sock):
    sock.sendall(whole(messages_json()))
    return True


def test_a_certificate_that_is_not_trusted_is_refused(tmp_path, certificate):
    _, context = certificate
    with RawUpstream(ok, tls=context) as upstream, boundary(tmp_path, upstream.url) as rig:
        status, _, body = rig.post(messages_request())
        assert upstream.requests == []
        (error,) = rig.data("model.error")
    assert status == 502
    assert "certificate is not trusted" in json.loads(body)["error"]["message"]
    assert error["reason"] == "upstream_unreachable"


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"])
def test_a_certificate_of_the_environment_is_trusted_and_the_connection_kept(tmp_path, certificate, variable):
    path, context = certificate
    with (
        RawUpstream(ok, tls=context) as upstream,
        boundary(tmp_path, upstream.url, environ={variable: str(path)}) as rig,
    ):
        for _ in range(3):
            assert rig.post(messages_request())[0::2] == (200, messages_json())
        assert upstream.connections == 1
        assert len(rig.data("model.response")) == 3


class TunnelProxy:
    """A proxy of the test's own: answers CONNECT, then moves bytes to `target` whatever was asked for."""

    def __init__(self, target: int, status: bytes = b"200 OK"):
        self.target, self.status, self.heads = target, status, []
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.threads = [threading.Thread(target=self._accept, daemon=True)]
        self.threads[0].start()

    def _accept(self):
        while True:
            try:
                sock, _ = self.server.accept()
            except OSError:
                return
            head = b""
            while b"\r\n\r\n" not in head:
                head += sock.recv(65536)
            self.heads.append(head)
            sock.sendall(b"HTTP/1.1 " + self.status + b"\r\n\r\n")
            if not self.status.startswith(b"200"):
                sock.close()
                continue
            other = socket.create_connection(("127.0.0.1", self.target))
            for one, two in ((sock, other), (other, sock)):
                thread = threading.Thread(target=self._move, args=(one, two), daemon=True)
                thread.start()
                self.threads.append(thread)

    @staticmethod
    def _move(one, two):
        try:
            while data := one.recv(65536):
                two.sendall(data)
        except OSError:
            pass
        for sock in (one, two):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        one.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        for thread in self.threads:
            thread.join(10)


def test_the_environments_proxy_is_used(tmp_path):
    with RawUpstream(ok) as upstream, TunnelProxy(upstream.port) as proxy:
        environ = {"http_proxy": f"http://user:p%40ss@127.0.0.1:{proxy.port}"}
        with boundary(tmp_path, "http://upstream.invalid:8080", environ=environ) as rig:
            assert rig.post(messages_request())[0::2] == (200, messages_json())
        assert b"CONNECT upstream.invalid:8080 HTTP/1.1" in proxy.heads[0]
        assert b"Proxy-Authorization: Basic dXNlcjpwQHNz" in proxy.heads[0]
        assert upstream.requests[0].values("host") == ["upstream.invalid:8080"]


def test_tls_through_a_proxy(tmp_path, certificate):
    path, context = certificate
    with RawUpstream(ok, tls=context) as upstream, TunnelProxy(upstream.port) as proxy:
        environ = {"HTTPS_PROXY": f"127.0.0.1:{proxy.port}", "SSL_CERT_FILE": str(path)}
        with boundary(tmp_path, "https://upstream.invalid", environ=environ) as rig:
            status, _, body = rig.post(messages_request())
        # The tunnel stands and the certificate, which is for another name, is refused inside it.
        assert status == 502
        assert "certificate is not trusted" in json.loads(body)["error"]["message"]
        assert b"CONNECT upstream.invalid:443 HTTP/1.1" in proxy.heads[0]


def test_a_proxy_that_refuses_is_named(tmp_path):
    with TunnelProxy(1, b"403 Forbidden") as proxy:
        environ = {"all_proxy": f"http://127.0.0.1:{proxy.port}"}
        with boundary(tmp_path, "http://upstream.invalid", environ=environ) as rig:
            status, _, body = rig.post(messages_request())
    assert status == 502
    assert "the proxy refused the tunnel: 403" in json.loads(body)["error"]["message"]
