"""The closed list of what a receipt says about the limits of its own evidence (spec/receipt.md, Disclosure).

Each code has one group and one sentence; codes are append-only and a sentence never changes its meaning. Which
codes apply to a run is a pure function of the run's facts and stands in `rules.receipt.limits`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from docket.formats.canonical import JsonValue


class Group(StrEnum):
    """What a sentence is about; the order here is the order in the receipt."""

    ENFORCED_BEFORE_SEND = "enforced_before_send"
    RECORDED_NOT_ENFORCED = "recorded_not_enforced"
    NOT_OBSERVED = "not_observed"
    FAILURE_BEHAVIOUR = "failure_behaviour"
    TRUST_ASSUMPTIONS = "trust_assumptions"


class Limit(StrEnum):
    """One statement about what the record can and cannot show."""

    USD_CAP_METERED = "usd-cap-metered"
    USD_CAP_STRICT = "usd-cap-strict"
    USD_CAP_CEILING = "usd-cap-ceiling"
    SUB_BUDGETS = "sub-budgets"
    POOLS = "pools"
    TOKEN_CAP = "token-cap"  # noqa: S105 - a cap on tokens, not a secret
    CALL_CAP = "call-cap"
    WALL_CLOCK_CAP = "wall-clock-cap"
    MODEL_RULES = "model-rules"
    RECORD_BEFORE_SEND = "record-before-send"

    NO_USD_CAP = "no-usd-cap"
    QUOTA = "quota"
    FILE_CHANGES = "file-changes"
    DENY_WRITE = "deny-write"
    PROCESSES = "processes"

    DIRECT_TRAFFIC = "direct-traffic"
    TUNNELS = "tunnels"
    PASSED_ENDPOINTS = "passed-endpoints"
    BODIES = "bodies"
    OUTSIDE_THE_TREE = "outside-the-tree"
    OMITTED_PATHS = "omitted-paths"
    BETWEEN_PASSES = "between-passes"
    UNPAIRED_PASSES = "unpaired-passes"

    UPSTREAM_FAILURE = "upstream-failure"
    LEDGER_FAILURE = "ledger-failure"
    EVIDENCE_GAP = "evidence-gap"
    NO_END = "no-end"
    ORPHANS_ENDED = "orphans-ended"
    ORPHANS_POSSIBLE = "orphans-possible"

    OPERATOR = "operator"
    PROVIDER_COUNTS = "provider-counts"
    ESTIMATES = "estimates"
    LIST_PRICES = "list-prices"
    ASSUMED_PRICES = "assumed-prices"
    UPSTREAM_OVERRIDES = "upstream-overrides"
    AGENT_ASSERTED = "agent-asserted"
    SIGNING_KEY = "signing-key"
    SEALING_KEY = "sealing-key"
    REDACTED_COPY = "redacted-copy"


SENTENCES: dict[Limit, tuple[Group, str]] = {
    Limit.USD_CAP_METERED: (
        Group.ENFORCED_BEFORE_SEND,
        "The cap in dollars, by spend, holds and estimates: a reply that would cross it was cut, within a bound.",
    ),
    Limit.USD_CAP_STRICT: (
        Group.ENFORCED_BEFORE_SEND,
        "The cap in dollars: the worst case of each call was reserved before it was sent.",
    ),
    Limit.USD_CAP_CEILING: (
        Group.ENFORCED_BEFORE_SEND,
        "The cap in dollars, once it was reached: each call in flight by then could carry the run across it.",
    ),
    Limit.SUB_BUDGETS: (
        Group.ENFORCED_BEFORE_SEND,
        "The budgets of single models and agents, by the same admission; an agent's name is what its calls say it is.",
    ),
    Limit.POOLS: (
        Group.ENFORCED_BEFORE_SEND,
        "The limits of pools: calls took what the pool had granted the run; what other runs took is not on record.",
    ),
    Limit.TOKEN_CAP: (Group.ENFORCED_BEFORE_SEND, "The cap on tokens, by the same admission as dollars."),
    Limit.CALL_CAP: (Group.ENFORCED_BEFORE_SEND, "The cap on model calls: calls in flight count."),
    Limit.WALL_CLOCK_CAP: (
        Group.ENFORCED_BEFORE_SEND,
        "The cap on wall-clock time: at its end calls are refused and the processes of the run are stopped.",
    ),
    Limit.MODEL_RULES: (Group.ENFORCED_BEFORE_SEND, "The policy's rules on which models may be called."),
    Limit.RECORD_BEFORE_SEND: (
        Group.ENFORCED_BEFORE_SEND,
        "A call is written to the ledger before it is sent.",
    ),
    Limit.NO_USD_CAP: (Group.RECORDED_NOT_ENFORCED, "Spend: it was metered, and no cap in dollars was set."),
    Limit.QUOTA: (
        Group.RECORDED_NOT_ENFORCED,
        "Spend in dollars: tokens and calls were counted, and no price was put on them.",
    ),
    Limit.FILE_CHANGES: (
        Group.RECORDED_NOT_ENFORCED,
        "Changes to files under the watched paths, found by comparing a pass before with a pass after.",
    ),
    Limit.DENY_WRITE: (
        Group.RECORDED_NOT_ENFORCED,
        "Writes to paths the policy forbids to write: found afterwards and recorded as violations, not prevented.",
    ),
    Limit.PROCESSES: (
        Group.RECORDED_NOT_ENFORCED,
        "The start and the end of the agent's process; what its own child processes did is not recorded.",
    ),
    Limit.DIRECT_TRAFFIC: (
        Group.NOT_OBSERVED,
        "Traffic that did not pass through the boundary, such as a call to a provider's own address.",
    ),
    Limit.TUNNELS: (Group.NOT_OBSERVED, "What went through the tunnels that the egress policy allowed."),
    Limit.PASSED_ENDPOINTS: (
        Group.NOT_OBSERVED,
        "What an endpoint that docket does not know, and that the policy lets pass, may bill without saying so.",
    ),
    Limit.BODIES: (Group.NOT_OBSERVED, "Prompts and replies: their sizes and digests are kept, not their text."),
    Limit.OUTSIDE_THE_TREE: (Group.NOT_OBSERVED, "Changes outside the watched paths."),
    Limit.OMITTED_PATHS: (
        Group.NOT_OBSERVED,
        "Paths that a pass could not or would not read; the ledger names them with the reason.",
    ),
    Limit.BETWEEN_PASSES: (
        Group.NOT_OBSERVED,
        "A change that was undone before the pass after, and who made a change: the passes see states, not writers.",
    ),
    Limit.UNPAIRED_PASSES: (
        Group.NOT_OBSERVED,
        "Changes to files: the passes before and after are not both on record.",
    ),
    Limit.UPSTREAM_FAILURE: (
        Group.FAILURE_BEHAVIOUR,
        "An error or a broken stream of a provider is passed on as it came and recorded.",
    ),
    Limit.LEDGER_FAILURE: (
        Group.FAILURE_BEHAVIOUR,
        "When the ledger cannot be written, no further call is sent, and the gap is declared.",
    ),
    Limit.EVIDENCE_GAP: (Group.FAILURE_BEHAVIOUR, "Some events of this run could not be written to the ledger."),
    Limit.NO_END: (
        Group.FAILURE_BEHAVIOUR,
        "This run's ledger has no end: what happened after its last event is unknown.",
    ),
    Limit.ORPHANS_ENDED: (
        Group.FAILURE_BEHAVIOUR,
        "When docket itself is killed, the launcher ends every process of the run.",
    ),
    Limit.ORPHANS_POSSIBLE: (
        Group.FAILURE_BEHAVIOUR,
        "The launcher could not be made the parent of orphaned processes: some may outlive the run.",
    ),
    Limit.OPERATOR: (
        Group.TRUST_ASSUMPTIONS,
        "Whoever ran docket ran it unaltered: the chain shows that no part was changed, not that the whole is true.",
    ),
    Limit.PROVIDER_COUNTS: (Group.TRUST_ASSUMPTIONS, "Reported token counts are the provider's own."),
    Limit.ESTIMATES: (
        Group.TRUST_ASSUMPTIONS,
        "Some token counts were estimated from sizes, because the provider's were missing or unreadable.",
    ),
    Limit.LIST_PRICES: (
        Group.TRUST_ASSUMPTIONS,
        "Costs are computed from published list prices; what is billed may differ.",
    ),
    Limit.ASSUMED_PRICES: (
        Group.TRUST_ASSUMPTIONS,
        "Some models have no known price and were priced at an assumed one.",
    ),
    Limit.UPSTREAM_OVERRIDES: (
        Group.TRUST_ASSUMPTIONS,
        "Calls could go to the addresses named in boundary.upstream_overrides, whoever answers there.",
    ),
    Limit.AGENT_ASSERTED: (
        Group.TRUST_ASSUMPTIONS,
        "Tool uses, remarks and calls that events carry as reported by the agent are its own word: docket saw none.",
    ),
    Limit.SIGNING_KEY: (
        Group.TRUST_ASSUMPTIONS,
        "Nobody but docket signed with the run's key: root can read it, and so can who may read where it is kept.",
    ),
    Limit.SEALING_KEY: (
        Group.TRUST_ASSUMPTIONS,
        "Whoever can check the seal can also write it: it shows that nobody without its key changed the receipt.",
    ),
    Limit.REDACTED_COPY: (
        Group.TRUST_ASSUMPTIONS,
        "This is a copy that hides things: that all else is as the other record had it is the word of who made it.",
    ),
}


def disclosure(limits: Iterable[Limit]) -> dict[str, JsonValue]:
    """Return the receipt member: each group with its sentences, and `codes`, all in the order of the list."""
    chosen = set(limits)
    groups: dict[str, list[JsonValue]] = {str(group): [] for group in Group}
    codes: list[JsonValue] = []
    for limit, (group, sentence) in SENTENCES.items():
        if limit in chosen:
            groups[group].append(sentence)
            codes.append(str(limit))
    return {**groups, "codes": codes}
