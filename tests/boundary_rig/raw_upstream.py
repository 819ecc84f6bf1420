"""An upstream of the tests' own, on blocking sockets and threads: it shares no code with the product.

`RawUpstream(handler)` calls `handler(request, sock)` for every request it has read whole; the handler writes raw
bytes and returns True to keep the connection.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True)
class RawRequest:
    head: bytes
    body: bytes
    connection: int

    @property
    def line(self) -> str:
        return self.head.split(b"\r\n", 1)[0].decode("latin-1")

    def values(self, name: str) -> list[str]:
        found = []
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.decode("latin-1").lower() == name.lower():
                found.append(value.strip().decode("latin-1"))
        return found


class RawUpstream:
    def __init__(self, handler: Callable[[RawRequest, socket.socket], bool], tls: ssl.SSLContext | None = None):
        self.handler = handler
        self.tls = tls
        self.requests: list[RawRequest] = []
        self.connections = 0
        self.lock = threading.Lock()
        self.arrived = threading.Condition(self.lock)
        self.server = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.server.getsockname()[1]
        self.open: set[socket.socket] = set()
        self.threads: list[threading.Thread] = []
        self.acceptor = threading.Thread(target=self._accept, daemon=True)
        self.acceptor.start()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def wait_for(self, count: int, timeout: float = 20) -> None:
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.requests) >= count, timeout), self.requests

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        self.acceptor.join(10)
        with self.lock:
            left = list(self.open)
        for sock in left:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self.server.accept()
            except OSError:
                return
            with self.lock:
                self.connections += 1
                number = self.connections
                self.open.add(sock)
            thread = threading.Thread(target=self._connection, args=(sock, number), daemon=True)
            self.threads.append(thread)
            thread.start()

    def _connection(self, sock: socket.socket, number: int) -> None:
        raw = sock
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls is not None:
                sock = self.tls.wrap_socket(sock, server_side=True)
            buffer = bytearray()
            while True:
                request = self._read(sock, buffer, number)
                if request is None:
                    return
                with self.arrived:
                    self.requests.append(request)
                    self.arrived.notify_all()
                if not self.handler(request, sock):
                    return
        except (OSError, ssl.SSLError):
            return
        finally:
            with self.lock:
                self.open.discard(raw)
            sock.close()
            raw.close()

    @staticmethod
    def _read(sock: socket.socket, buffer: bytearray, number: int) -> RawRequest | None:
        def more() -> bool:
            data = sock.recv(262144)
            buffer.extend(data)
            return bool(data)

        while b"\r\n\r\n" not in buffer:
            if not more():
                return None
        head, _, rest = bytes(buffer).partition(b"\r\n\r\n")
        buffer[:] = rest
        request = RawRequest(head, b"", number)
        body = b""
        if "chunked" in request.values("transfer-encoding"):
            while True:
                while b"\r\n" not in buffer:
                    if not more():
                        return None
                line, _, rest = bytes(buffer).partition(b"\r\n")
                size = int(line.split(b";")[0], 16)
                while len(rest) < size + 2:
                    if not more():
                        return None
                    rest = bytes(buffer).partition(b"\r\n")[2]
                body += rest[:size]
                buffer[:] = rest[size + 2 :]
                if size == 0:
                    break
        elif request.values("content-length"):
            length = int(request.values("content-length")[0])
            while len(buffer) < length:
                if not more():
                    return None
            body = bytes(buffer[:length])
            del buffer[:length]
        return RawRequest(head, body, number)


def whole(body: bytes, *, status: str = "200 OK", kind: str = "application/json", extra: str = "") -> bytes:
    """A reply with a Content-Length."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    return head.encode("latin-1") + body


def chunked_head(*, kind: str = "text/event-stream", extra: str = "") -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n{extra}\r\n".encode("latin-1")


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def hard_close(sock: socket.socket) -> None:
    """Close with a reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
