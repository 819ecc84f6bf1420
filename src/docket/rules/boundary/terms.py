"""What holds for every exchange of a run, and what its exchanges share.

Rules:
1. `Terms` never change while a run lasts; what changes is in `Shared`, and only on the boundary's one thread.
2. A gate stands between the policy and admission, in the order of `Shared.gates`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from docket.formats.run.policy import Policy
from docket.rules.agents.interface import RefusalStyle
from docket.rules.boundary.access import TurnawayCounter
from docket.rules.boundary.admission import Desk
from docket.rules.boundary.billing import Prices
from docket.rules.boundary.gates import Gate
from docket.rules.providers.registry import Provider


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What holds for every exchange of a run."""

    policy: Policy
    docket_number: str
    token: str
    providers: Mapping[str, Provider]
    prices: Prices
    refusal: RefusalStyle
    tolerates_usage_injection: bool = False


@dataclass(slots=True, kw_only=True)
class Shared:
    """What the exchanges of a run have in common: the desk, the door's counter, the gates in their order."""

    desk: Desk
    door: TurnawayCounter
    gates: tuple[Gate, ...] = ()
