"""Plays events to one exchange and names the commands that come out."""

from __future__ import annotations

from typing import Any

from boundary_rig.rig import BOOK, TOKEN
from docket.formats.ledger.payload_codec import Payload
from docket.formats.run.policy import Policy
from docket.rules.agents.interface import RefusalStyle
from docket.rules.boundary.access import TurnawayCounter
from docket.rules.boundary.admission import Desk
from docket.rules.boundary.billing import Prices
from docket.rules.boundary.drilled import exchange_under
from docket.rules.boundary.gates import Gate
from docket.rules.boundary.http1 import ResponseHead, parse_request, response_framing
from docket.rules.boundary.protocol import (
    Await,
    BodyChunk,
    BodyEnded,
    Command,
    Event,
    HeadArrived,
    Record,
    SendClient,
    UpstreamHead,
)
from docket.rules.boundary.terms import Shared, Terms
from docket.rules.providers.registry import with_upstream

AT = "2026-11-29T12:00:00.000Z"


def names(commands: list[Command]) -> list[str]:
    """`Record(model.request)`, `Await(WRITTEN)`, `SendClient(5)`, else the command's own name."""
    found = []
    for command in commands:
        name = type(command).__name__
        if isinstance(command, Record):
            name = f"Record({command.payload.TYPE})"
        elif isinstance(command, Await):
            name = f"Await({command.mark.name})"
        elif isinstance(command, SendClient):
            name = f"SendClient({len(command.data)})"
        found.append(name)
    return found


class Stage:
    """The desk and terms that exchanges share."""

    def __init__(
        self, policy: Policy | None = None, *, provider: str = "anthropic", gates: tuple[Gate, ...] = (), **terms: Any
    ) -> None:
        self.policy = policy or Policy()
        self.shared = Shared(desk=Desk(self.policy), door=TurnawayCounter(), gates=gates)
        self.desk = self.shared.desk
        self.terms = Terms(
            **{
                "policy": self.policy,
                "docket_number": "DKT-20260101-ABCDEF",
                "token": TOKEN,
                "providers": {provider: with_upstream(provider, "https://upstream.example/base")},
                "prices": Prices.under(self.policy, BOOK),
                "refusal": RefusalStyle(),
                **terms,
            }
        )

    def play(self) -> Play:
        return Play(self)


class Play:
    """One exchange; `clock` is the instant of the next event, in milliseconds."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.exchange = exchange_under(stage.terms, stage.shared)
        self.clock = 0
        self.all: list[Command] = []

    def feed(self, event: Event) -> list[Command]:
        commands = self.exchange.receive(event, self.clock * 1_000_000)
        self.all += commands
        return commands

    def head(self, path: str = "/anthropic/v1/messages", method: str = "POST", *headers: str) -> list[Command]:
        lines = [f"{method} /{TOKEN}{path} HTTP/1.1", "Host: 127.0.0.1:1", *headers, "", ""]
        return self.feed(HeadArrived(parse_request("\r\n".join(lines).encode("latin-1")), AT))

    def post(self, body: bytes, path: str = "/anthropic/v1/messages", *headers: str) -> list[Command]:
        commands = self.head(path, "POST", f"Content-Length: {len(body)}", *headers)
        if body:
            commands += self.feed(BodyChunk(body))
        return commands + self.feed(BodyEnded())

    def reply(self, status: int = 200, *headers: tuple[bytes, bytes]) -> list[Command]:
        head = ResponseHead(status=status, reason=b"", headers=headers)
        return self.feed(UpstreamHead(head, response_framing(head, "POST")))

    def payloads(self, kind: type[Payload]) -> list[Any]:
        return [item.payload for item in self.all if isinstance(item, Record) and isinstance(item.payload, kind)]
