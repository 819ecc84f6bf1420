"""Which limits a run's receipt must disclose: a pure function of facts that stand in the ledger."""

from __future__ import annotations

from collections.abc import Iterator

from docket.formats.canonical import JsonObject, object_at
from docket.formats.dataclass import dataclass
from docket.formats.disclosure import Limit


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What decides the disclosure; `policy` is the policy document, `isolation` what held of the launcher."""

    admission: str
    policy: JsonObject
    isolation: tuple[str, ...]
    upstream_overrides: bool
    both_passes: bool
    omissions: int
    calls: int
    estimated: bool
    assumed: bool
    gap: bool
    ended: bool
    http_proxy: bool = False
    asserted: bool = False
    signed: bool = False
    sealed: bool = False
    redacted: bool = False


_USD_CAPS = {"strict": Limit.USD_CAP_STRICT, "ceiling": Limit.USD_CAP_CEILING}


def applying(facts: RunFacts) -> frozenset[Limit]:
    """Return the limits that hold for the run."""
    return frozenset((*_always(), *_caps(facts), *_tree(facts), *_failures(facts), *_trust(facts)))


def _always() -> Iterator[Limit]:
    yield from (Limit.RECORD_BEFORE_SEND, Limit.PROCESSES, Limit.DIRECT_TRAFFIC, Limit.BODIES)
    yield from (Limit.OUTSIDE_THE_TREE, Limit.UPSTREAM_FAILURE, Limit.LEDGER_FAILURE, Limit.OPERATOR)


def _caps(facts: RunFacts) -> Iterator[Limit]:
    caps = object_at(facts.policy, "caps")
    if _is_quota(facts):
        yield Limit.QUOTA
    elif caps.get("max_usd") is None:
        yield Limit.NO_USD_CAP
    else:
        yield _USD_CAPS.get(facts.admission, Limit.USD_CAP_METERED)
    if caps.get("per_model") or caps.get("per_agent"):
        yield Limit.SUB_BUDGETS
    budget = object_at(facts.policy, "budget")
    if budget.get("pools"):
        yield Limit.POOLS
    if caps.get("max_tokens") is not None:
        yield Limit.TOKEN_CAP
    if caps.get("max_model_calls") is not None:
        yield Limit.CALL_CAP
    if caps.get("max_wall_seconds") is not None:
        yield Limit.WALL_CLOCK_CAP
    models = object_at(facts.policy, "models")
    if models.get("allow") or models.get("deny"):
        yield Limit.MODEL_RULES
    if facts.http_proxy or object_at(facts.policy, "egress").get("mode") == "tunnel":
        yield Limit.TUNNELS
    if budget.get("pass_endpoints") or budget.get("unknown_endpoints", "refuse") != "refuse":
        yield Limit.PASSED_ENDPOINTS


def _tree(facts: RunFacts) -> Iterator[Limit]:
    if object_at(facts.policy, "files").get("deny_write"):
        yield Limit.DENY_WRITE
    if facts.both_passes:
        yield from (Limit.FILE_CHANGES, Limit.BETWEEN_PASSES)
    else:
        yield Limit.UNPAIRED_PASSES
    if facts.omissions > 0:
        yield Limit.OMITTED_PATHS


def _failures(facts: RunFacts) -> Iterator[Limit]:
    if facts.gap:
        yield Limit.EVIDENCE_GAP
    if not facts.ended:
        yield Limit.NO_END
    yield Limit.ORPHANS_ENDED if "subreaper" in facts.isolation else Limit.ORPHANS_POSSIBLE


def _trust(facts: RunFacts) -> Iterator[Limit]:
    if facts.calls:
        yield Limit.PROVIDER_COUNTS
    if facts.calls and not _is_quota(facts):
        yield Limit.LIST_PRICES
    if facts.estimated:
        yield Limit.ESTIMATES
    if facts.assumed:
        yield Limit.ASSUMED_PRICES
    if facts.upstream_overrides:
        yield Limit.UPSTREAM_OVERRIDES
    if facts.asserted:
        yield Limit.AGENT_ASSERTED
    if facts.signed:
        yield Limit.SIGNING_KEY
    if facts.sealed:
        yield Limit.SEALING_KEY
    if facts.redacted:
        yield Limit.REDACTED_COPY


def _is_quota(facts: RunFacts) -> bool:
    return object_at(facts.policy, "budget").get("mode") == "quota"
