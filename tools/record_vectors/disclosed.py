"""`limits_disclosure` of a receipt: the facts of disclosure.json, each as that file words it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from record_vectors.primitives import Json
from record_vectors.texts import DISCLOSURE

if TYPE_CHECKING:
    from record_vectors.fold import Record


def disclosure(record: Record, start: Json, policy: Json) -> Json:
    """The groups with the sentences that apply, and their codes."""
    facts = _facts(record, start, policy)

    def holds(fact: str) -> bool:
        # A fact that is not told below is of something that stands in none of these records.
        return not facts.get(fact[1:], False) if fact.startswith("!") else facts.get(fact, False)

    limits = [limit for limit in DISCLOSURE["limits"] if all(holds(fact) for fact in limit["when"])]
    groups = {
        group: [limit["sentence"] for limit in limits if limit["group"] == group] for group in DISCLOSURE["groups"]
    }
    return {**groups, "codes": [limit["code"] for limit in limits]}


def _facts(record: Record, start: Json, policy: Json) -> dict[str, bool]:
    budget, caps, models, egress, files = (
        policy.get(name, {}) for name in ("budget", "caps", "models", "egress", "files")
    )
    replies = record.all("model.response")
    # Of several passes of a phase the last one counts (spec/fold.md, For all members).
    passes = {data["phase"]: data for data in record.all("fs.snapshot")}
    spoken = record.all("note", "tool.call", "tool.result")
    proof: dict[str, Any] = start.get("proof", {})
    facts = {
        "quota": budget.get("mode") == "quota",
        "strict": start["admission"] == "strict",
        "ceiling": start["admission"] == "ceiling",
        "sub_budgets": bool(caps.get("per_model") or caps.get("per_agent")),
        "pools": bool(budget.get("pools")),
        "model_rules": bool(models.get("allow") or models.get("deny")),
        "tunnels": start["boundary"].get("http_proxy") is True or egress.get("mode") == "tunnel",
        "passed_endpoints": bool(budget.get("pass_endpoints")) or budget.get("unknown_endpoints", "refuse") != "refuse",
        "deny_write": bool(files.get("deny_write")),
        "both_passes": {"before", "after"} <= set(passes),
        "omissions": any(data["omissions"] > 0 for data in passes.values()),
        "gap": bool(record.all("x-docket.evidence-gap")),
        "ended": bool(record.all("session.end")),
        "subreaper": "subreaper" in (record.last("proc.spawn") or {"isolation": []})["isolation"],
        "calls": bool(replies),
        "estimates": any(reply["usage_source"] == "estimated" for reply in replies),
        "assumed_prices": any(reply["components"] and reply["assumed_price"] for reply in replies),
        "upstream_overrides": bool(start["upstream_overrides"]),
        "asserted": bool(record.all("x-docket.asserted-call")) or any("reported_by" in data for data in spoken),
        "signed": proof.get("signature") is not None,
        "sealed": proof.get("seal") is not None,
        "redacted": "redaction" in start,
    }
    for fact, cap in (
        ("usd", "max_usd"),
        ("token", "max_tokens"),
        ("call", "max_model_calls"),
        ("wall_clock", "max_wall_seconds"),
    ):
        facts[f"{fact}_cap"] = caps.get(cap) is not None
    return facts
