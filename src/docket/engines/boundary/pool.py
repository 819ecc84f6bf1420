"""The way to upstreams: idle connections kept for the next exchange, and new ones opened.

Rules:
1. An idle connection is dropped long before an edge would drop it, or before the time the upstream states. One that
   its upstream has closed is never written to: it is looked at first, so that going on with a fresh one repeats
   nothing.
2. Certificates are checked against the system's store, or the one SSL_CERT_FILE and SSL_CERT_DIR name.
3. The environment's proxies are used, through a tunnel; loopback never goes through one.
4. Of names that are looked up for the proxy at most `_MAX_LOOKUPS` are under way at once, those included that nobody
   waits for any more; calls to models have their names looked up beside them.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from typing import TypeAlias

from docket.engines.boundary.upstream import UpstreamConnection, in_words, wake_nobody
from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.rules.boundary.http1 import RequestHead
from docket.rules.boundary.outward import Proxy, proxy_for
from docket.rules.boundary.protocol import BYTES, DIRECT, TUNNELLED, Connect, Resolve, Resolved, UpstreamHead

Origin: TypeAlias = tuple[str, str, int]

CONNECT_TIMEOUT_SECONDS = 30.0
RESOLVE_TIMEOUT_SECONDS = 15.0
IDLE_SECONDS = 30.0
_EYEBALLS_SECONDS = 0.25
_MAX_LOOKUPS = 64
_EXTRA_CA_VARIABLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")


class Pool:
    """Idle connections by origin, and the way to new ones."""

    def __init__(self, environ: Mapping[str, str], room: memoryview) -> None:
        """Begin empty; `room` is what the loop reads into."""
        self._environ = environ
        self._read_room = room
        self._watched: set[Origin] = set()
        self._idle: dict[Origin, list[UpstreamConnection]] = {}
        self._tls: ssl.SSLContext | None = None
        self._lookups = asyncio.Semaphore(_MAX_LOOKUPS)

    def idle(self, origin: Origin) -> UpstreamConnection | None:
        """Return an idle connection that is still good, None if there is none."""
        waiting = self._idle.get(origin)
        now = asyncio.get_running_loop().time()
        while waiting:
            connection = waiting.pop()
            if now < connection.idle_until and connection.is_fresh():
                return connection
            connection.abort()
        return None

    def give_back(self, origin: Origin, connection: UpstreamConnection) -> None:
        """Take a connection after its exchange; one that cannot be used again is dropped."""
        connection.wake = wake_nobody
        if connection.switched:
            connection.close()
            return
        if not connection.reusable:
            connection.abort()
            return
        loop = asyncio.get_running_loop()
        stated = connection.stated_idle_seconds
        kept = IDLE_SECONDS if stated is None else min(IDLE_SECONDS, stated - 1)
        connection.idle_until = loop.time() + kept
        self._idle.setdefault(origin, []).append(connection)
        self._watch(origin)

    def _watch(self, origin: Origin) -> None:
        """Have idle connections dropped in time: one timer for all of them, for a busy one comes back very often."""
        if origin not in self._watched:
            self._watched.add(origin)
            asyncio.get_running_loop().call_later(IDLE_SECONDS + 1, self._drop_stale, origin)

    def close(self) -> None:
        """Drop every idle connection."""
        for waiting in self._idle.values():
            for connection in waiting:
                connection.abort()
        self._idle.clear()

    async def open(self, origin: Origin) -> UpstreamConnection:
        """Return a new connection; UnavailableError (UPSTREAM_UNREACHABLE) with the cause in words."""
        scheme, host, port = origin
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_SECONDS):
                proxy = None if scheme in (DIRECT, BYTES) else proxy_for(self._environ, _spoken(scheme), host, port)
                if proxy is not None:
                    return await self._through(proxy, origin)
                return await self._direct(origin)
        except (OSError, TimeoutError, UnicodeError) as error:
            raise UnavailableError(
                Reason.UPSTREAM_UNREACHABLE, f"{host} port {port} cannot be reached: {in_words(error)}"
            ) from error

    async def resolve(self, resolve: Resolve) -> Resolved:
        """Return the addresses of a host as the system has them; none where it has none, or not in time."""
        loop = asyncio.get_running_loop()
        proxy = proxy_for(self._environ, resolve.scheme, resolve.host, resolve.port)
        found: tuple[str, ...] = ()
        with suppress(OSError, UnicodeError):
            async with asyncio.timeout(RESOLVE_TIMEOUT_SECONDS):
                await self._lookups.acquire()
                listed = loop.create_task(loop.getaddrinfo(resolve.host, resolve.port, type=socket.SOCK_STREAM))
                listed.add_done_callback(lambda _: self._lookups.release())
                found = tuple(dict.fromkeys(str(entry[4][0]) for entry in await asyncio.shield(listed)))
        return Resolved(found, through_proxy=proxy is not None)

    def _drop_stale(self, origin: Origin) -> None:
        now = asyncio.get_running_loop().time()
        self._watched.discard(origin)
        waiting = self._idle.get(origin, [])
        for connection in [one for one in waiting if one.idle_until <= now]:
            waiting.remove(connection)
            connection.abort()
        if waiting:
            self._watch(origin)

    def _make(self) -> UpstreamConnection:
        return UpstreamConnection(self._read_room)

    def _make_bytes(self) -> UpstreamConnection:
        return UpstreamConnection(self._read_room, switched=True)

    async def _direct(self, origin: Origin) -> UpstreamConnection:
        scheme, host, port = origin
        loop = asyncio.get_running_loop()
        context = self._context() if scheme == "https" else None
        make = self._make_bytes if scheme == BYTES else self._make
        _, connection = await loop.create_connection(
            make, host, port, ssl=context, happy_eyeballs_delay=_EYEBALLS_SECONDS
        )
        return connection

    async def _through(self, proxy: Proxy, origin: Origin) -> UpstreamConnection:
        scheme, host, port = origin
        shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        headers = [(b"Host", shown.encode("idna" if not shown.isascii() else "ascii"))]
        if proxy.authorization is not None:
            headers.append((b"Proxy-Authorization", proxy.authorization.encode("latin-1")))
        _, tunnel = await asyncio.get_running_loop().create_connection(
            self._make, proxy.host, proxy.port, happy_eyeballs_delay=_EYEBALLS_SECONDS
        )
        try:
            head = RequestHead(method="CONNECT", target=shown, headers=tuple(headers))
            await _opened(tunnel, Connect(origin, head, b"", upgrade=scheme == TUNNELLED))
            return await self._secured(tunnel, host) if scheme == "https" else tunnel
        except BaseException:
            tunnel.abort()
            raise

    async def _secured(self, tunnel: UpstreamConnection, host: str) -> UpstreamConnection:
        connection = self._make()
        transport = await asyncio.get_running_loop().start_tls(
            tunnel.transport, connection, self._context(), server_hostname=host
        )
        if transport is None:
            raise ConnectionResetError("the tunnel closed")
        connection.connection_made(transport)
        return connection

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = tls_context(self._environ)
        return self._tls


async def _opened(tunnel: UpstreamConnection, connect: Connect) -> None:
    """Ask a proxy for a tunnel and wait for it; ConnectionError if it is refused."""
    answered = asyncio.Event()
    tunnel.send(connect, answered.set)
    while (event := tunnel.next_event()) is None:
        answered.clear()
        await answered.wait()
    if not isinstance(event, UpstreamHead) or not 200 <= event.head.status < 300:
        said = f"{event.head.status}" if isinstance(event, UpstreamHead) else "no answer"
        raise ConnectionError(f"the proxy refused the tunnel: {said}")
    while not tunnel.switched and tunnel.next_event() is not None:
        pass
    tunnel.wake = wake_nobody


def _spoken(scheme: str) -> str:
    return "https" if scheme == TUNNELLED else scheme


def tls_context(environ: Mapping[str, str]) -> ssl.SSLContext:
    """Return what upstreams' certificates are checked with; the variables other programs read add to it."""
    file, folder = environ.get("SSL_CERT_FILE") or None, environ.get("SSL_CERT_DIR") or None
    context = ssl.create_default_context(cafile=file, capath=folder)
    for variable in _EXTRA_CA_VARIABLES:
        path = environ.get(variable)
        if path:
            with suppress(OSError):
                context.load_verify_locations(cafile=path)
    context.set_alpn_protocols(["http/1.1"])
    return context
