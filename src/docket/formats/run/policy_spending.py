"""The policy sections that bound a run: budget, caps, resilience."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import ClassVar

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.formats.run.policy_kinds import MAX_SECONDS, Amount, Choice, Count, Flag, Fraction, Texts
from docket.formats.run.policy_reach import is_endpoint
from docket.formats.run.policy_section import Section, key
from docket.formats.run.pool import is_pool_name
from docket.formats.run.sub_budgets import SubBudget, SubBudgets


class BudgetMode(StrEnum):
    """Whether calls cost dollars or count against a subscription."""

    USD = "usd"
    QUOTA = "quota"


class Admission(StrEnum):
    """How a call is weighed against the caps before it is sent."""

    CEILING = "ceiling"
    METERED = "metered"
    STRICT = "strict"


class UnknownModels(StrEnum):
    """What happens to a call for a model without a price."""

    REFUSE = "refuse"
    ASSUME = "assume"


class UnknownEndpoints(StrEnum):
    """What happens to a request to an endpoint that may bill and cannot be metered."""

    REFUSE = "refuse"
    PASS = "pass"  # noqa: S105 - a choice, not a secret


class OnBreach(StrEnum):
    """What a reached cap does."""

    KILL = "kill"
    DENY = "deny"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPolicy(Section):
    """What a call counts as, and how it is weighed before it is sent."""

    NAME: ClassVar[str] = "budget"
    PURPOSE: ClassVar[str] = "What a call counts as, and how it is weighed before it is sent."

    mode: BudgetMode = field(
        default=BudgetMode.USD,
        metadata=key(
            Choice(BudgetMode),
            "`usd` prices every call; `quota` counts tokens and calls for a subscription and invents no dollars.",
        ),
    )
    admission: Admission = field(
        default=Admission.METERED,
        metadata=key(
            Choice(Admission),
            "`metered` admits on an estimate and cuts the stream that would cross a cap; "
            "`strict` reserves the worst case first, so that nothing ever crosses; `ceiling` admits until a cap is "
            "reached, so that each call in flight may cross it once.",
        ),
    )
    unknown_models: UnknownModels = field(
        default=UnknownModels.REFUSE,
        metadata=key(
            Choice(UnknownModels),
            "A model without a price: `refuse` it while there is a dollar cap, or `assume` the provider's dearest "
            "price and mark it assumed.",
        ),
    )
    unknown_endpoints: UnknownEndpoints = field(
        default=UnknownEndpoints.REFUSE,
        metadata=key(
            Choice(UnknownEndpoints),
            "A request that may bill and cannot be metered: `refuse` it while dollars or tokens are capped, or "
            "`pass` it.",
        ),
    )
    pass_endpoints: tuple[str, ...] = field(
        default=(),
        metadata=key(
            Texts("endpoints such as openai/v1/moderations, where * stands for anything", is_endpoint),
            "Endpoints that pass although they are unknown, as `PROVIDER/PATH`; `*` stands for anything.",
        ),
    )
    lower_max_tokens: bool = field(
        default=False,
        metadata=key(
            Flag(),
            "Under `strict`: whether a call whose worst case does not fit has its `max_tokens` lowered until it does, "
            "in place of a refusal.",
            later=True,
        ),
    )
    pools: tuple[str, ...] = field(
        default=(),
        metadata=key(
            Texts("names of pools (see docket pools)", is_pool_name),
            "Pools the run draws on beside its own caps; each must have room for a call.",
            later=True,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CapsPolicy(Section):
    """How much a run may use, and what happens when it has."""

    NAME: ClassVar[str] = "caps"
    PURPOSE: ClassVar[str] = "How much a run may use, and what happens when it has."

    max_usd: Usd | None = field(default=None, metadata=key(Amount(), "Dollars the run may spend."))
    max_tokens: int | None = field(
        default=None, metadata=key(Count(optional=True), "Input and output tokens the run may use together.")
    )
    max_model_calls: int | None = field(
        default=None, metadata=key(Count(optional=True), "Model calls the run may make.")
    )
    max_wall_seconds: int | None = field(
        default=None, metadata=key(Count(minimum=1, optional=True), "Seconds the run may last.")
    )
    warn_at: Decimal = field(
        default=Decimal("0.8"),
        metadata=key(
            Fraction(
                wants="a share such as 0.8, or a whole percentage such as 80",
                minimum=Decimal("0.0001"),
                maximum=Decimal(1),
                places=4,
                percent=True,
            ),
            "Share of a cap at which a warning is recorded: a fraction, or a whole percentage from 2 to 100.",
        ),
    )
    on_breach: OnBreach = field(
        default=OnBreach.KILL,
        metadata=key(
            Choice(OnBreach),
            "`kill` stops everything the run started; `deny` refuses further calls and lets the agent end itself.",
        ),
    )
    grace_seconds: Decimal = field(
        default=Decimal(5),
        metadata=key(
            Fraction(wants="a number of seconds such as 5 or 0.5", minimum=Decimal(0), maximum=MAX_SECONDS),
            "Seconds a refused agent has to end by itself, and between the steps that stop it: "
            "interrupt, terminate, kill.",
        ),
    )
    admission_wait_ms: int = field(
        default=2000,
        metadata=key(
            Count(), "Milliseconds a call waits for others to settle before a cap refuses it; 0 refuses at once."
        ),
    )
    max_repeats: int | None = field(
        default=None,
        metadata=key(
            Count(optional=True),
            "How often the run may send a request again that has been answered; more is a loop. The same body "
            "counts as the same request whatever its ids, and what is sent again after an error does not count.",
            later=True,
        ),
    )
    per_model: tuple[SubBudget, ...] = field(
        default=(),
        metadata=key(
            SubBudgets("patterns of models"),
            "What the models of a pattern may use together, within the caps of the run.",
            later=True,
        ),
    )
    per_agent: tuple[SubBudget, ...] = field(
        default=(),
        metadata=key(
            SubBudgets("patterns of agents"),
            "What each agent of a pattern may use: `main`, or `sub:` and the name a sub-agent's calls carry.",
            later=True,
        ),
    )
    on_sub_breach: OnBreach = field(
        default=OnBreach.DENY,
        metadata=key(
            Choice(OnBreach),
            "What a reached sub-budget does: `deny` refuses further calls of that model or agent alone, `kill` ends "
            "the run.",
            later=True,
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResiliencePolicy(Section):
    """What docket does when a provider, the disk or the agent misbehaves."""

    NAME: ClassVar[str] = "resilience"
    PURPOSE: ClassVar[str] = "What happens when a provider, the disk or the agent misbehaves."

    breaker_threshold: int = field(
        default=5, metadata=key(Count(minimum=1), "Transport failures in a row that stop calls to a provider.")
    )
    breaker_cooldown_seconds: int = field(
        default=30, metadata=key(Count(), "Seconds until a stopped provider is tried again.")
    )
    breaker_max_cooldown_seconds: int = field(
        default=300, metadata=key(Count(), "Longest pause; it doubles with each failed trial.")
    )
    max_calls_per_minute: int | None = field(
        default=None, metadata=key(Count(minimum=1, optional=True), "Model calls in any 60 seconds.")
    )
    max_calls_per_second: Decimal | None = field(
        default=None,
        metadata=key(
            Fraction(
                wants="a number of calls such as 5 or 0.5",
                minimum=Decimal("0.001"),
                maximum=Decimal(10**6),
                optional=True,
            ),
            "Model calls a second.",
        ),
    )
    max_pace_wait_seconds: int = field(
        default=45,
        metadata=key(
            Count(),
            "Seconds a call waits at most for its turn under these limits; one that could not go in time is answered "
            "429 with the seconds it would take. 0 never waits.",
            later=True,
        ),
    )
    max_events: int | None = field(
        default=None, metadata=key(Count(minimum=1, optional=True), "Events the ledger may hold.")
    )
    max_ledger_bytes: int | None = field(
        default=256 * 1024 * 1024,
        metadata=key(Count(minimum=4096, zero_is_none=True), "Bytes the ledger may hold; 0 is no ceiling."),
    )
    fail_fast_evidence: bool = field(
        default=False,
        metadata=key(
            Flag(),
            "Whether a reached ceiling of the record ends the run at once, and a response that cannot be kept ends "
            "admission; otherwise further calls are refused, or the run goes on without the response.",
        ),
    )
    min_free_bytes: int = field(
        default=16 * 1024 * 1024,
        metadata=key(Count(), "Free bytes the disk keeps for the record; responses are kept only beyond them."),
    )

    def _check_together(self) -> None:
        if self.breaker_cooldown_seconds > self.breaker_max_cooldown_seconds:
            raise InvalidDocumentError(
                Reason.WRONG_VALUE,
                "resilience.breaker_cooldown_seconds must not exceed resilience.breaker_max_cooldown_seconds",
            )
