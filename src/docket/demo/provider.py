"""A scripted model provider on the loopback: what the demo and the tests talk to instead of the network.

Rules:
1. It listens on 127.0.0.1 alone and stops by itself after `Limits.max_seconds` or `Limits.max_requests`.
2. It runs in a thread with an event loop of its own; entering it starts it, leaving it stops and joins it.
3. `python -m docket.demo.provider --script FILE --port-file FILE` runs it as a program; the port is written whole.

It owns the socket and the thread; `demo.connection` answers, `demo.replies` decides what.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from docket.demo.connection import Connection, ServerState
from docket.demo.replies import Exchange, Replies
from docket.demo.script import Script, parse_script
from docket.errors import DocketError
from docket.formats.dataclass import dataclass

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a scripted provider serves at most; `max_records` exchanges are kept, the oldest go first."""

    max_requests: int = 10_000
    max_seconds: float = 300.0
    max_body_bytes: int = 64 * 1024 * 1024
    max_records: int = 10_000


class ScriptedProvider:
    """A provider that answers from a script.

    `keep_bodies` keeps request bodies in the records. OSError if the port cannot be had.
    """

    def __init__(
        self, script: Script, *, limits: Limits | None = None, port: int = 0, keep_bodies: bool = False
    ) -> None:
        self._limits = limits or Limits()
        self._replies = Replies(script, keep_bodies=keep_bodies, max_records=self._limits.max_records)
        self._socket = socket.create_server((HOST, port), backlog=1024)
        self.port: int = self._socket.getsockname()[1]
        self._started = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._state: ServerState | None = None
        self._thread = threading.Thread(target=self._run, name="scripted-provider", daemon=True)

    @property
    def url(self) -> str:
        """The base URL without a path."""
        return f"http://{HOST}:{self.port}"

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All requests recorded so far, in the order they came."""
        return tuple(self._replies.exchanges)

    @property
    def calls(self) -> tuple[Exchange, ...]:
        """The recorded model calls, in the order they came."""
        return tuple(exchange for exchange in self.exchanges if exchange.call is not None)

    def start(self) -> None:
        """Start serving; returns when connections are accepted."""
        self._thread.start()
        self._started.wait()

    def stop(self) -> None:
        """Stop serving, drop every connection and wait for the thread."""
        if self._thread.ident is None:
            self._socket.close()
            return
        if self._loop is not None and self._state is not None and self._thread.is_alive():
            self._call(self._state.stop.set)
        self._thread.join()

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until it has stopped by itself; return whether it has."""
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def release(self, count: int = 1) -> None:
        """Let `count` writes of gated turns go."""
        if self._state is not None:
            for _ in range(count):
                self._call(self._state.gate.release)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del kind, error, trace
        self.stop()

    def _call(self, order: object) -> None:
        try:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(order)  # type: ignore[arg-type]
        except RuntimeError:
            # The loop has closed by itself between the check and the call: there is nothing left to order.
            return

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            self._started.set()

    async def _serve(self) -> None:
        state = ServerState(
            replies=self._replies,
            max_body_bytes=self._limits.max_body_bytes,
            max_requests=self._limits.max_requests,
            stop=asyncio.Event(),
            full=asyncio.Event(),
            gate=asyncio.Semaphore(0),
        )
        self._loop, self._state = asyncio.get_running_loop(), state
        server = await self._loop.create_server(lambda: Connection(state), sock=self._socket, backlog=1024)
        self._started.set()
        try:
            async with asyncio.timeout(self._limits.max_seconds):
                await _until_over(state)
        except TimeoutError:
            pass
        finally:
            server.close()
            await _drop(state)


async def _until_over(state: ServerState) -> None:
    """Return when a stop was ordered, or when the last permitted request has been answered."""
    stopped, full = asyncio.create_task(state.stop.wait()), asyncio.create_task(state.full.wait())
    try:
        await asyncio.wait((stopped, full), return_when=asyncio.FIRST_COMPLETED)
        tasks = {connection.task for connection in state.connections if connection.task is not None}
        while tasks and not state.stop.is_set():
            done, _ = await asyncio.wait((*tasks, stopped), return_when=asyncio.FIRST_COMPLETED)
            tasks -= done
    finally:
        stopped.cancel()
        full.cancel()
    for connection in tuple(state.connections):
        connection.close()
    await _let_closed_connections_go()


async def _drop(state: ServerState) -> None:
    connections = tuple(state.connections)
    tasks = [connection.task for connection in connections if connection.task is not None]
    for connection in connections:
        connection.abort()
    await asyncio.gather(*tasks, return_exceptions=True)
    await _let_closed_connections_go()


async def _let_closed_connections_go() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def main(arguments: Sequence[str]) -> int:
    """Run a scripted provider as a program; return its exit code."""
    defaults = Limits()
    parser = argparse.ArgumentParser(prog="docket.demo.provider", description="A scripted model provider.")
    parser.add_argument("--script", type=Path, required=True, help="the script, as JSON")
    parser.add_argument("--port-file", type=Path, required=True, help="where to write the port")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--max-requests", type=int, default=defaults.max_requests)
    parser.add_argument("--max-seconds", type=float, default=defaults.max_seconds)
    asked = parser.parse_args(arguments)
    limits = Limits(max_requests=asked.max_requests, max_seconds=asked.max_seconds)
    try:
        script = parse_script(asked.script.read_bytes())
        provider = ScriptedProvider(script, limits=limits, port=asked.port)
    except (DocketError, OSError, OverflowError) as error:
        print(f"docket.demo.provider: {error}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, _end)
    with provider:
        _write_whole(asked.port_file, f"{provider.port}\n")
        try:
            while not provider.wait(0.5):
                pass
        except KeyboardInterrupt:
            return 0
    return 0


def _end(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt


def _write_whole(path: Path, text: str) -> None:
    beside = path.with_name(path.name + ".tmp")
    beside.write_text(text, encoding="ascii")
    beside.replace(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
