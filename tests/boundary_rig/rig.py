"""A boundary for a test: a real one over real sockets, with a real ledger in a folder of the test's own."""

from __future__ import annotations

import contextlib
import http.client
import pathlib
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import docket
from docket.engines.boundary import Boundary, BoundaryEnd, BoundaryRequest, BoundaryWorld, start
from docket.engines.boundary.request import Hooks
from docket.engines.pools.entry import PoolEntry
from docket.formats.ledger.event import Event
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import CapsPolicy
from docket.host.clock import SystemClock
from docket.rules.boundary.protocol import Breach
from docket.rules.providers.registry import with_upstream
from docket.rules.spending.price_book import PriceBook
from docket.stores.ledger import LedgerWriter, read_ledger

TOKEN = "t0kenT0ken-t0ken_T0ken"
BOOK = PriceBook.parse(pathlib.Path(docket.__file__).with_name("data").joinpath("prices.json").read_bytes())


class Rig:
    """A running boundary; `events` may be asked once it has stopped."""

    def __init__(self, boundary: Boundary, ledger: LedgerWriter) -> None:
        self.boundary = boundary
        self.ledger = ledger
        self.breaches: list[Breach] = []
        self.end: BoundaryEnd | None = None

    @property
    def port(self) -> int:
        return self.boundary.port

    def stop(self) -> BoundaryEnd:
        self.end = self.boundary.stop()
        self.ledger.close()
        return self.end

    def events(self, *types: str) -> list[Event]:
        if self.end is None:
            self.stop()
        found = [item for item in read_ledger(self.ledger.path) if isinstance(item, Event)]
        return [item for item in found if not types or item.type in types]

    def data(self, *types: str) -> list[Mapping[str, Any]]:
        return [item.data for item in self.events(*types)]

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def raw(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def post(
        self, body: bytes, path: str = "/anthropic/v1/messages", headers: Mapping[str, str] | None = None
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection = self.connect()
        try:
            connection.request("POST", f"/{TOKEN}{path}", body, {"Content-Type": "application/json", **(headers or {})})
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read()
        finally:
            connection.close()


def caps(**members: Any) -> Policy:
    return Policy(caps=CapsPolicy(**members))


@contextlib.contextmanager
def boundary(
    tmp_path: pathlib.Path,
    upstream: str,
    *,
    policy: Policy | None = None,
    environ: Mapping[str, str] | None = None,
    name: str = "anthropic",
    recorder: Callable[[LedgerWriter], Any] = lambda ledger: ledger,
    pools: PoolEntry | None = None,
    hooks: Hooks | None = None,
    **request: Any,
) -> Iterator[Rig]:
    ledger = LedgerWriter.create(tmp_path / "ledger.jsonl", clock=SystemClock())
    breaches: list[Breach] = []
    world = BoundaryWorld(
        ledger=recorder(ledger),
        clock=SystemClock(),
        book=BOOK,
        environ=environ or {},
        on_breach=breaches.append,
        pools=pools,
        hooks=hooks,
    )
    members = {
        "policy": policy or Policy(),
        "token": TOKEN,
        "docket_number": "DKT-20260101-ABCDEF",
        "providers": (with_upstream(name, upstream),),
        **request,
    }
    try:
        rig = Rig(start(BoundaryRequest(**members), world), ledger)
    except BaseException:
        ledger.close()
        raise
    rig.breaches = breaches
    try:
        yield rig
    finally:
        if rig.end is None:
            rig.stop()
