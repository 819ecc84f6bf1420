"""The other processes of the boundary's benchmark: a light upstream, a load generator, docket's boundary itself.

    python boundary_peers.py upstream            prints its port; answers until its standard input closes
    python boundary_peers.py boundary UPSTREAM   prints its port and token; the same
    python boundary_peers.py load ...            prints one JSON line with what it measured

The upstream and the load share no code with docket: raw asyncio protocols, so that they cost little beside it.
"""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import sys
import tempfile
import threading
import time
import zlib
from pathlib import Path

BODY = json.dumps(
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "a short answer of a few words"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1200, "output_tokens": 80},
    }
).encode()
REPLY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
REQUEST_BODY = json.dumps(
    {"model": "claude-sonnet-4-5", "max_tokens": 512, "messages": [{"role": "user", "content": "a question " * 180}]}
).encode()
LARGE_BYTES = 300_000_000
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def events() -> list[bytes]:
    start = {
        "type": "message_start",
        "message": {"id": "m", "model": "claude-sonnet-4-5", "usage": {"input_tokens": 1200, "output_tokens": 1}},
    }
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "some words "}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 80}}
    whole = [("message_start", start), *[("content_block_delta", delta)] * 20, ("message_delta", end)]
    return [
        f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
        for name, data in [*whole, ("message_stop", {"type": "message_stop"})]
    ]


class Upstream(asyncio.Protocol):
    """Answers by the query: `stream` with a pause between events, `large` with 300 MB of a form, else JSON at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.buffer = b""
        self.ready = asyncio.Event()
        self.ready.set()

    def pause_writing(self) -> None:
        self.ready.clear()

    def resume_writing(self) -> None:
        self.ready.set()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while True:
            at = self.buffer.find(b"\r\n\r\n")
            if at < 0:
                return
            low = self.buffer[:at].lower()
            mark = low.find(b"content-length:")
            length = int(low[mark + 15 :].split(b"\r\n", 1)[0]) if mark >= 0 else 0
            if len(self.buffer) < at + 4 + length:
                return
            line = low.split(b"\r\n", 1)[0]
            self.buffer = self.buffer[at + 4 + length :]
            if b"stream=1" in line:
                self.task = asyncio.ensure_future(self.stream())
            elif b"large=" in line:
                self.task = asyncio.ensure_future(self.large(line.partition(b"large=")[2].split()[0].decode()))
            else:
                self.transport.write(REPLY)

    async def stream(self) -> None:
        self.transport.write(STREAM_HEAD)
        for event in events():
            self.transport.write(b"%x\r\n%s\r\n" % (len(event), event))
            await asyncio.sleep(0.002)
        self.transport.write(b"0\r\n\r\n")

    async def large(self, form: str) -> None:
        first, piece, last = large_parts(form)
        packer = zlib.compressobj(9, wbits=31) if form == "gzip" else None
        head = STREAM_HEAD if form != "json" else STREAM_HEAD.replace(b"text/event-stream", b"application/json")
        if packer is not None:
            head = head.replace(b"Transfer", b"Content-Encoding: gzip\r\nTransfer", 1)
        self.transport.write(head)
        for sent in range(-1, LARGE_BYTES // len(piece) + 1):
            await self.ready.wait()
            data = first if sent < 0 else piece if sent < LARGE_BYTES // len(piece) else last
            if packer is not None:
                data = packer.compress(data) + (packer.flush() if data is last else b"")
            if data:
                self.transport.write(b"%x\r\n%s\r\n" % (len(data), data))
            await asyncio.sleep(0)
        self.transport.write(b"0\r\n\r\n")


def large_parts(form: str) -> tuple[bytes, bytes, bytes]:
    """Return the beginning of a large reply, what is repeated in it, and its end."""
    start, *_, delta_end, stop = events()
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "w" * 4000}}
    event = f"event: content_block_delta\ndata: {json.dumps(delta)}\n\n".encode()
    if form == "json":
        before, after = BODY.split(b"a short answer", 1)
        return before, b"w" * 65536, after
    if form == "one-event":
        before, after = event.split(b"w" * 4000)
        return start + before, b"w" * 65536, after + delta_end + stop
    return start, event * 16, delta_end + stop


async def serve_upstream() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Upstream, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


def serve_boundary(upstream: str) -> None:
    import docket
    from docket.engines.boundary import BoundaryRequest, BoundaryWorld, start
    from docket.formats.amount import Usd
    from docket.formats.run.policy import Policy
    from docket.formats.run.policy_spending import CapsPolicy
    from docket.host.clock import SystemClock
    from docket.rules.providers.registry import with_upstream
    from docket.rules.spending.price_book import PriceBook
    from docket.stores.ledger import LedgerWriter

    book = PriceBook.parse(Path(docket.__file__).with_name("data").joinpath("prices.json").read_bytes())
    with tempfile.TemporaryDirectory() as folder:
        ledger = LedgerWriter.create(Path(folder) / "ledger.jsonl", clock=SystemClock())
        boundary = start(
            BoundaryRequest(
                policy=Policy(caps=CapsPolicy(max_usd=Usd.parse("100000"))),
                token="bench",
                docket_number="DKT-20260101-000000",
                providers=(with_upstream("anthropic", upstream),),
            ),
            BoundaryWorld(ledger=ledger, clock=SystemClock(), book=book),
        )
        print(boundary.port, flush=True)
        for line in sys.stdin:
            if line.strip() == "memory":
                print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, flush=True)
        boundary.stop()
        ledger.close()


class Client:
    """A keep-alive connection on a blocking socket: the least a client can cost."""

    def __init__(self, port: int, path: str) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=120)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        self.request = head.encode() + b"Content-Length: %d\r\n\r\n" % len(REQUEST_BODY) + REQUEST_BODY

    def call(self) -> None:
        self.sock.sendall(self.request)
        buffer = b""
        while b"\r\n\r\n" not in buffer:
            buffer += self._some()
        head, _, rest = buffer.partition(b"\r\n\r\n")
        low = head.lower()
        if not low.startswith(b"http/1.1 200"):
            raise ConnectionError(buffer[:300].decode("latin-1"))
        if b"content-length:" in low:
            left = int(low.split(b"content-length:")[1].split(b"\r\n")[0]) - len(rest)
            while left > 0:
                left -= len(self._some())
            return
        while not rest.endswith(b"0\r\n\r\n"):
            rest = rest[-8:] + self._some()

    def first_byte_ms(self) -> float:
        start = time.perf_counter()
        self.sock.sendall(self.request)
        buffer = b""
        while b"message_start" not in buffer:
            buffer += self._some()
        elapsed = (time.perf_counter() - start) * 1000
        while not buffer.endswith(b"0\r\n\r\n"):
            buffer = buffer[-8:] + self._some()
        return elapsed

    def read_large(self) -> int:
        self.sock.sendall(self.request)
        total, tail = 0, b""
        while not tail.endswith(b"0\r\n\r\n"):
            data = self._some()
            total += len(data)
            tail = (tail + data)[-8:]
        return total

    def _some(self) -> bytes:
        data = self.sock.recv(262144)
        if not data:
            raise ConnectionError("closed")
        return data

    def close(self) -> None:
        self.sock.close()


class LoadClient(asyncio.Protocol):
    """One of many keep-alive connections on an event loop; a closed one opens another, and counts as a reset."""

    def __init__(self, run: Load) -> None:
        self.run, self.buffer, self.busy = run, b"", False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.busy = True
        transport.write(self.run.request)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        at = self.buffer.find(b"\r\n\r\n")
        if at < 0:
            return
        low = self.buffer[:at].lower()
        if b"content-length:" in low:
            length = int(low.split(b"content-length:")[1].split(b"\r\n")[0])
            if len(self.buffer) < at + 4 + length:
                return
        elif not self.buffer.endswith(b"0\r\n\r\n"):
            return
        self.run.note(ok=low.startswith(b"http/1.1 200"))
        self.buffer = b""
        if self.run.open:
            self.transport.write(self.run.request)
        else:
            self.busy = False
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.run.open:
            if self.busy and self.buffer == b"":
                self.run.resets += 1
            self.run.connect()


class Load:
    """As many calls as go through in a time, over a number of connections."""

    def __init__(self, port: int, path: str, clients: int) -> None:
        client = Client.__new__(Client)
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        client.request = head.encode() + b"Content-Length: %d\r\n\r\n" % len(REQUEST_BODY) + REQUEST_BODY
        self.request, self.port, self.clients = client.request, port, clients
        self.done = self.failed = self.resets = 0
        self.open = True
        self.tasks: set[asyncio.Task[None]] = set()

    def note(self, *, ok: bool) -> None:
        if ok:
            self.done += 1
        else:
            self.failed += 1

    def connect(self) -> None:
        task = asyncio.ensure_future(self._connect())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _connect(self) -> None:
        try:
            await asyncio.get_running_loop().create_connection(lambda: LoadClient(self), "127.0.0.1", self.port)
        except OSError:
            self.resets += 1

    async def measure(self, seconds: float) -> dict[str, float]:
        for _ in range(self.clients):
            self.connect()
        await asyncio.sleep(0.3)
        start, before = time.perf_counter(), self.done
        await asyncio.sleep(seconds)
        rate = (self.done - before) / (time.perf_counter() - start)
        self.open = False
        await asyncio.sleep(0.2)
        return {"rate": rate, "failed": self.failed, "resets": self.resets}


async def connect_many(port: int, path: str, count: int) -> dict[str, float]:
    load = Load(port, path, count)
    load.open = False
    clients: list[asyncio.Task[bool]] = []

    async def one() -> bool:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(load.request)
        data = await reader.readuntil(b"\r\n\r\n")
        writer.close()
        return data.startswith(b"HTTP/1.1 200")

    clients = [asyncio.ensure_future(one()) for _ in range(count)]
    results = await asyncio.gather(*clients, return_exceptions=True)
    return {"ok": sum(item is True for item in results), "errors": sum(item is not True for item in results)}


def main() -> None:
    kind, *rest = sys.argv[1:]
    if kind == "upstream":
        asyncio.run(serve_upstream())
    elif kind == "boundary":
        serve_boundary(rest[0])
    elif kind == "load":
        port, path, clients, seconds = int(rest[0]), rest[1], int(rest[2]), float(rest[3])
        print(json.dumps(asyncio.run(Load(port, path, clients).measure(seconds))), flush=True)
    elif kind == "many":
        print(json.dumps(asyncio.run(connect_many(int(rest[0]), rest[1], int(rest[2])))), flush=True)
    else:
        sys.exit(f"unknown part {kind!r}")


if __name__ == "__main__":
    threading.current_thread().name = "bench"
    main()
