"""Connections that are bytes without framing: the end of a side whose peer has reset it, before the loop knows."""

from __future__ import annotations

import asyncio
import select
import socket
from typing import Any

from boundary_rig.raw_upstream import hard_close
from docket.engines.boundary.client import ClientConnection
from docket.engines.boundary.upstream import UpstreamConnection
from docket.rules.boundary.http1 import ResponseHead


def room() -> memoryview:
    return memoryview(bytearray(65536))


async def connected(protocol: Any) -> socket.socket:
    """Make `protocol` one side of a loopback connection; return the other."""
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        far = socket.create_connection(listening.getsockname())
        near, _ = listening.accept()
    near.setblocking(False)
    await loop.connect_accepted_socket(lambda: protocol, near)
    return far


def reset_of(far: socket.socket, near: socket.socket) -> None:
    """Reset a connection and wait until the kernel of the other side knows, without a turn of the loop."""
    hard_close(far)
    select.select([near], [], [], 10)


def test_an_agent_that_has_reset_its_side_can_be_told_the_end() -> None:
    async def main() -> None:
        client = ClientConnection(lambda _: lambda: None, room())
        far = await connected(client)
        client.switch(ResponseHead(status=200))
        transport = client._transport
        assert transport is not None
        reset_of(far, transport.get_extra_info("socket"))
        client.end_output()
        client.reset()

    asyncio.run(main())


def test_a_host_that_has_reset_its_side_can_be_told_the_end() -> None:
    async def main() -> None:
        upstream = UpstreamConnection(room(), switched=True)
        far = await connected(upstream)
        reset_of(far, upstream.transport.get_extra_info("socket"))
        upstream.end_body()
        upstream.abort()

    asyncio.run(main())


def test_what_a_host_says_before_anybody_listens_is_kept() -> None:
    async def main() -> None:
        upstream = UpstreamConnection(room(), switched=True)
        far = await connected(upstream)
        far.sendall(b"banner")
        far.shutdown(socket.SHUT_WR)
        for _ in range(200):
            await asyncio.sleep(0)
            if select.select([far], [], [], 0.001)[0]:
                break
        told = asyncio.Event()
        upstream.begin_bytes(told.set)
        found = []
        while (event := upstream.next_event()) is not None:
            found.append(event)
        assert [type(event).__name__ for event in found] == ["UpstreamChunk", "UpstreamEnded"]
        upstream.send_body(b"still heard")
        assert far.recv(100) == b"still heard"
        upstream.abort()
        far.close()
        await asyncio.sleep(0)

    asyncio.run(main())
