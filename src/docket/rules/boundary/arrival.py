"""What a request is, told from its head: turned away, answered here, metered, or passed through.

Rules:
1. A request is let in by `access` and told apart by its provider's endpoints.
2. Billed requests are metered, free ones pass; an unknown one passes only where no cap of dollars or tokens and no
   rule for models is set, or the policy lists it.
3. A request that a server may serve as a billed one of another method is unknown.

What happens with a metered one is `exchange`'s, with one that passes `passing`'s.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TypeAlias

from docket.formats.dataclass import dataclass
from docket.formats.ledger.network_events import OtherExchange
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.rules.boundary.access import Door, Entered, TurnedAway, knock, without_token
from docket.rules.boundary.admission import Refused
from docket.rules.boundary.forwarding import asks_for_upgrade, has_dot_segment, overrides_its_method
from docket.rules.boundary.handshake import Upgrading, metered_upgrade
from docket.rules.boundary.http1 import NO_BODY, RequestHead, joined, request_framing, values
from docket.rules.boundary.own import Visit, visit_of
from docket.rules.boundary.protocol import Command, Finish, Record
from docket.rules.boundary.refusing import Asked, not_found, plain_text, refuse
from docket.rules.boundary.terms import Terms
from docket.rules.boundary.weighed import Weighed
from docket.rules.providers.bedrock import signed_for_host
from docket.rules.providers.endpoints import ANY_WIRE
from docket.rules.providers.interface import Endpoint, EndpointKind, RequestTarget, Wire
from docket.rules.providers.registry import Provider

_LISTS = re.compile(r"(?:/[A-Za-z0-9_.-]+)*/(?:models|files)(?:/[A-Za-z0-9_.-]+)?/?")
_TURNED_AWAY = {
    Door.CONNECT: "docket's boundary is no proxy: point the agent's base URL at it instead\n",
    Door.ABSOLUTE_FORM: "docket's boundary is no proxy: send requests to the base URL it was given\n",
}


@dataclass(frozen=True, slots=True)
class Closed:
    """A request without a way in; `commands` answer it, and it is counted as `kind`."""

    kind: Door
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Denied:
    """A request that is refused, and recorded as that."""

    asked: Asked
    refused: Refused


@dataclass(frozen=True, slots=True)
class Answered:
    """A request that `commands` answer and end."""

    asked: Asked
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Metered:
    """A billed request; its body is to be read whole."""

    asked: Asked
    weighed: Weighed


@dataclass(frozen=True, slots=True)
class PassedOn:
    """A request that passes through; `wire` reads its reply in case it reports usage."""

    asked: Asked
    provider: Provider
    wire: Wire
    entered: Entered
    head: RequestHead


Arrival: TypeAlias = "Closed | Denied | Answered | Metered | Upgrading | PassedOn | Visit"


def arrive(head: RequestHead, terms: Terms) -> Arrival:
    """Return what a request is."""
    entered = knock(head, terms.token)
    visit = visit_of(head, entered, terms)
    if visit is not None:
        return visit
    if isinstance(entered, TurnedAway):
        text = _TURNED_AWAY.get(entered.kind)
        return Closed(entered.kind, (not_found() if text is None else plain_text(405, text), Finish()))
    head, path = without_token(head), entered.recorded_path
    provider = terms.providers.get(entered.provider)
    if provider is None:
        return _unknown_provider(head, Asked(provider=entered.provider, path=path), entered, terms)
    if has_dot_segment(path):
        asked = Asked(provider=provider.name, path=path)
        return Denied(asked, Refused(reason=Reason.MALFORMED_MESSAGE, detail="the path has a dot segment"))
    endpoint = _endpoint(provider, head, entered)
    asked = Asked(provider=provider.name, path=path, wire=endpoint.wire)
    if asks_for_upgrade(head):
        # Faults are drilled into replies of HTTP, which clients fall back to.
        metered = metered_upgrade(asked, provider, entered, head) if terms.faults is None else None
        return metered or _no_upgrade(head, asked, terms)
    if values(head.headers, b"authorization") or "?" in entered.rest:
        # A signature stands in one of the two.
        signed = signed_for_host(RequestTarget(path=entered.rest, headers=head.headers))
        if signed is not None:
            return Denied(asked, Refused(reason=Reason.SIGNED_FOR_HOST, detail=signed))
    if endpoint.kind is EndpointKind.BILLED and endpoint.wire is not None:
        return Metered(asked, Weighed(provider=provider, wire=endpoint.wire, head=head, entered=entered))
    if endpoint.kind is EndpointKind.UNKNOWN and not _may_pass(entered, terms.policy):
        detail = f"{head.method} {entered.recorded_path} is no endpoint docket knows; it may bill unmetered"
        return Denied(asked, Refused(reason=Reason.UNKNOWN_ENDPOINT, detail=detail))
    return PassedOn(asked, provider, endpoint.wire or ANY_WIRE, entered, head)


def _unknown_provider(head: RequestHead, asked: Asked, entered: Entered, terms: Terms) -> Arrival:
    if head.method in ("HEAD", "OPTIONS"):
        return Answered(asked, (not_found(), Finish()))
    known = ", ".join(sorted(terms.providers))
    detail = f"no provider is called {entered.provider[:64]!r} here; known: {known}"
    return Denied(asked, Refused(reason=Reason.UNKNOWN_PROVIDER, detail=detail))


def _no_upgrade(head: RequestHead, asked: Asked, terms: Terms) -> Answered:
    detail = f"no {joined(head.headers, b'upgrade')[:40]} here; use plain HTTP"
    refused = Refused(reason=Reason.UPGRADE_REFUSED, detail=detail)
    answer, _ = refuse(refused, asked, terms.refusal, terms.docket_number)
    other = OtherExchange(
        provider=asked.provider,
        method=head.method,
        path=asked.path,
        status=answer.head.status,
        response_bytes=len(answer.body),
    )
    return Answered(asked, (Record(other), answer, Finish()))


def _may_pass(entered: Entered, policy: Policy) -> bool:
    if not policy.refuses_unknown_endpoints:
        return True
    named = entered.recorded_path.removeprefix("/").rstrip("/")
    return any(fnmatchcase(named, pattern) for pattern in policy.budget.pass_endpoints)


def _endpoint(provider: Provider, head: RequestHead, entered: Entered) -> Endpoint:
    endpoint = provider.classify(head.method, entered.rest)
    if endpoint.kind is not EndpointKind.FREE:
        return endpoint
    with_body = request_framing(head) != NO_BODY
    # A server that goes by the path alone would take a body with GET for what it takes with POST.
    posted = with_body and _LISTS.fullmatch(entered.path) is None
    may_bill = posted and provider.classify("POST", entered.rest).kind is not EndpointKind.FREE
    return Endpoint(EndpointKind.UNKNOWN, ANY_WIRE) if may_bill or overrides_its_method(head) else endpoint
