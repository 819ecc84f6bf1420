"""What a boundary is asked to be, the world it runs in, and how it ended.

Light on purpose: these values are needed before the first connection, what serves it only with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.spending_events import Budget
from docket.formats.run.policy import Policy
from docket.host.clock import Clock
from docket.rules.agents.interface import RefusalStyle
from docket.rules.boundary.state import BoundaryState, LedgerFacts

if TYPE_CHECKING:
    from docket.engines.pools.entry import PoolEntry
    from docket.rules.boundary.protocol import Breach
    from docket.rules.drills.faults import FaultPlan
    from docket.rules.providers.registry import Provider
    from docket.rules.spending.price_book import PriceBook
    from docket.rules.windows.hook_door import Hook
    from docket.stores.appended import Appended
    from docket.stores.responses import Kept

BACKLOG = 1024


class Ledger(Protocol):
    """What the boundary needs of the record."""

    def append(self, payload: Payload, *, control: bool = False, first: Callable[[], None] | None = None) -> Appended:
        """Queue an event; `first` is done before it is written."""
        ...

    def listen(self, listener: Callable[[], None] | None) -> None:
        """Be told when what was appended has become safer."""
        ...


class Responses(Protocol):
    """Where the bodies of replies are kept."""

    def keep(self, body: bytes) -> Kept:
        """Keep a body, or say why not; it never raises for what a disk does."""
        ...


class Hooks(Protocol):
    """Who keeps the windows of the agent's tools."""

    def tell(self, hook: Hook, done: Callable[[], None]) -> None:
        """Take a hook, on the boundary's thread and without a wait; `done` is called once, from any thread."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryRequest:
    """What a boundary is to do.

    `token` stands in the first path segment of every request. `providers` are the ones that can be reached, each
    with its upstream's address. `port` 0 lets the system choose. `refusal` is how the agent is told no.
    `http_proxy`: it is a proxy for other hosts too, by the policy.
    `agent_headers` may name a sub-agent.
    `session_token` opens the door for what the agent says of itself, None where there is none.
    """

    policy: Policy
    token: str
    docket_number: str
    providers: tuple[Provider, ...]
    refusal: RefusalStyle = field(default_factory=RefusalStyle)
    tolerates_usage_injection: bool = False
    faults: FaultPlan | None = None
    port: int = 0
    http_proxy: bool = False
    session_token: str | None = None
    agent_headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryWorld:
    """What a boundary needs: the record, the clock, the price book, and the person's environment for proxies and CAs.

    `on_breach` is called once, on the boundary's thread, when a cap is to end the run; it must return soon.
    `pools` is the run's part in its pools, None where it has none.
    `responses` is None where the policy keeps none, `hooks` where no windows are kept. `ledger_facts` says how the
    record fares, for whoever asks.
    """

    ledger: Ledger
    clock: Clock
    book: PriceBook
    environ: Mapping[str, str] = field(default_factory=dict)
    on_breach: Callable[[Breach], None] | None = None
    responses: Responses | None = None
    ledger_facts: Callable[[], LedgerFacts] | None = None
    pools: PoolEntry | None = None
    hooks: Hooks | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryEnd:
    """How a boundary ended: its last figures, and how the budget held (recorded too)."""

    state: BoundaryState
    budget: Budget
    turned_away: int
