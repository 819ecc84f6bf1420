"""What holds for every exchange of a run, and what its exchanges share.

Rules:
1. `Terms` never change while a run lasts; what changes is in `Shared`, and only on the boundary's one thread.
2. A gate stands between the policy and admission, in the order of `Shared.gates`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from docket.formats.dataclass import dataclass, field
from docket.formats.run.policy import Policy
from docket.rules.agents.interface import RefusalStyle
from docket.rules.boundary.access import TurnawayCounter
from docket.rules.boundary.admission import Desk
from docket.rules.boundary.assertions import AssertionDesk
from docket.rules.boundary.billing import Prices
from docket.rules.boundary.cache import ResponseCache, StoresUnder
from docket.rules.boundary.denials import Denials
from docket.rules.boundary.gates import Gate
from docket.rules.boundary.keeping import ReplyCopy
from docket.rules.boundary.weighed import Weighed
from docket.rules.providers.registry import Provider

if TYPE_CHECKING:
    from docket.rules.drills.faults import FaultPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What holds for every exchange of a run. `agent_headers` are those that may name a sub-agent, in their order.

    `session_token` opens the door for what an agent says of itself, its hooks included, and nothing else; None where
    there is none.
    `http_proxy`: the boundary is a proxy for other hosts too.
    """

    policy: Policy
    docket_number: str
    token: str
    providers: Mapping[str, Provider]
    prices: Prices
    refusal: RefusalStyle
    tolerates_usage_injection: bool = False
    faults: FaultPlan | None = None
    agent_headers: tuple[str, ...] = ()
    session_token: str | None = None
    http_proxy: bool = False


@dataclass(slots=True)
class HookReading:
    """How many bytes the payloads of hooks hold that are being read, of the whole run."""

    size_bytes: int = 0


@dataclass(slots=True, kw_only=True)
class Shared:
    """What the exchanges of a run have in common: the desk, the door's counter, the gates in their order.

    `cache` is one of the gates; `retain_bytes` is how much of each reply is kept beside the ledger, None for nothing.
    """

    desk: Desk
    door: TurnawayCounter
    gates: tuple[Gate, ...] = ()
    cache: ResponseCache | None = None
    retain_bytes: int | None = None
    assertions: AssertionDesk = field(default_factory=AssertionDesk)
    denials: Denials = field(default_factory=Denials)
    hooks: HookReading = field(default_factory=HookReading)
    tunnels: int = 0

    def next_tunnel(self) -> int:
        """Return the number of what is let through the proxy next."""
        self.tunnels += 1
        return self.tunnels

    def copy(self, weighed: Weighed) -> ReplyCopy | None:
        """Return what takes a copy of the reply to a request that is sent, None where nobody wants one."""
        # Messages of a socket are no reply that could be given again over HTTP.
        cache = None if weighed.on_socket else self.cache
        if cache is None and self.retain_bytes is None:
            return None
        # A reply to a request whose limit was lowered answers another question than the agent asked.
        key = weighed.cache_key if weighed.lowered is None else None
        stores = None if cache is None else StoresUnder(cache, key)
        store_bytes = 0 if cache is None else cache.max_response_bytes
        return ReplyCopy(stores=stores, store_bytes=store_bytes, retain_bytes=self.retain_bytes)
