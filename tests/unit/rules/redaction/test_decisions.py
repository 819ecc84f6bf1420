"""Each member that can hold a text is covered by a profile, or said to be nobody's: of events, policies, receipts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from docket.formats.ledger.redaction_facts import Profile
from docket.formats.run.policy import KEYS
from docket.rules.redaction.table import EVENTS, POLICY, RECORDS, Kind, PolicyKind

SHAPE = json.loads((Path(__file__).parents[4] / "spec" / "receipt-shape.json").read_text("utf-8"))
ALL = frozenset(Profile)
SPOKEN = ALL - {Profile.SECRETS}

# Which profiles hide what is of a kind, or why it is never personal.
DECIDED: dict[Kind, frozenset[Profile] | str] = {
    Kind.WORD: "a word of a closed list of docket's",
    Kind.OWN: "made by docket, by chance or by count, or a word about itself",
    Kind.FIGURE: "digits: whatever else stands there is hidden",
    Kind.MODEL: frozenset({Profile.NAMES}),
    Kind.ROW: frozenset({Profile.NAMES}),
    Kind.PROVIDER: frozenset({Profile.NAMES}),
    Kind.AGENT: frozenset({Profile.NAMES}),
    Kind.TOOL: frozenset({Profile.NAMES}),
    Kind.USE: frozenset({Profile.NAMES}),
    Kind.SESSION: frozenset({Profile.NAMES}),
    Kind.TURN: frozenset({Profile.NAMES}),
    Kind.POOL: frozenset({Profile.NAMES}),
    Kind.SCOPE: frozenset({Profile.NAMES}),
    Kind.REMARK: frozenset({Profile.NAMES}),
    Kind.TITLE: frozenset({Profile.NAMES}),
    Kind.PRICE: frozenset({Profile.NAMES}),
    Kind.SOURCE: SPOKEN,
    Kind.TABLE: SPOKEN,
    Kind.SERVICE: SPOKEN,
    Kind.METHOD: SPOKEN,
    Kind.VARIABLES: frozenset({Profile.NAMES}),
    Kind.FAULTS: SPOKEN,
    Kind.PROSE: SPOKEN,
    Kind.DETAILS: SPOKEN,
    Kind.LABEL: frozenset({Profile.ARGV}),
    Kind.ARGV: frozenset({Profile.ARGV}),
    Kind.PLACE: frozenset({Profile.PATHS}),
    Kind.ROOTS: frozenset({Profile.PATHS}),
    Kind.TARGET: frozenset({Profile.PATHS}),
    Kind.PATH: frozenset({Profile.PATHS}),
    Kind.HOST: frozenset({Profile.HOSTS}),
    Kind.HOSTS_OF: frozenset({Profile.HOSTS}),
    Kind.OVERRIDES: frozenset({Profile.HOSTS, Profile.NAMES}),
    Kind.ENDPOINT: frozenset({Profile.HOSTS}),
    Kind.ACCOUNT: frozenset({Profile.HOSTS}),
    Kind.CODED: "it goes with the text beside it",
    Kind.DIGEST: ALL,
    Kind.POLICY: "key by key, as the policy's own table says",
    Kind.LINK: "made anew for the copy",
}
POLICY_DECIDED: dict[PolicyKind, frozenset[Profile] | str] = {
    PolicyKind.WORD: "a word of a closed list of docket's",
    PolicyKind.ROOTS: frozenset({Profile.PATHS}),
    PolicyKind.PATHS: frozenset({Profile.PATHS}),
    PolicyKind.HOSTS: frozenset({Profile.HOSTS, Profile.NAMES}),
    PolicyKind.PRICED_AS: frozenset({Profile.HOSTS, Profile.NAMES}),
    PolicyKind.MODELS: frozenset({Profile.NAMES}),
    PolicyKind.POOLS: frozenset({Profile.NAMES}),
    PolicyKind.MODEL_BUDGETS: frozenset({Profile.NAMES}),
    PolicyKind.AGENT_BUDGETS: frozenset({Profile.NAMES}),
}

# Where a member of a receipt that can hold a text comes from: `event.member`, or why it is never personal.
_ANEW = "= made anew from the events of the copy"
_WORDS = "= a sentence of docket's, or words and numbers of its own"
RECEIPT = {
    ".docket_number": "session.start.docket_number",
    ".label": "session.start.label",
    ".budget": "x-docket.budget.scopes",
    ".notes": "note.code",
    ".event_counts": "= types of events",
    ".findings": "= always empty",
    ".limits_disclosure": _WORDS,
    ".seal": _ANEW,
    ".signature": _ANEW,
    "asserted.notes": "note.code",
    "boundary.admission": "session.start.admission",
    "boundary.listener": "session.start.boundary",
    "boundary.upstream_overrides": "session.start.upstream_overrides",
    "breaker.state": "x-docket.breaker.state",
    "cache.policy": "policy.applied.document",
    "cache.note": _WORDS,
    "decision.is": "x-docket.workspace-intent.decision",
    "decision.reason": "x-docket.workspace-intent.reason",
    "decision.detail": "x-docket.workspace-intent.detail",
    "evidence.note": _WORDS,
    "excluded_write.path": "excluded_write.path",
    "excluded_write.path_b64": "excluded_write.path",
    "family.pattern": "x-docket.price.pattern",
    "family.input": "x-docket.price.input",
    "family.output": "x-docket.price.output",
    "family.source": "x-docket.price.source",
    "family.cached_input": "x-docket.price.cached_input",
    "fault_injection.spec": "x-docket.fault-plan.spec",
    "fault_injection.by_kind": "x-docket.fault.kind",
    "files.top_paths": "fs.change.path",
    "files.violations_by_rule": "policy.violation.rule",
    "hit_group.key": "model.cache_hit.key",
    "hit_group.model": "model.cache_hit.model",
    "hit_group.usage_source": "model.cache_hit.usage_source",
    "hit_group.usage": "model.cache_hit.usage",
    "hit_group.merkle_path": _ANEW,
    "isolation.launcher": "proc.spawn.isolation",
    "landing_refusal.reason": "refused_change.reason",
    "landing_refusal.path": "refused_change.path",
    "landing_refusal.path_b64": "refused_change.path",
    "landing_refusal.detail": "refused_change.detail",
    "landing_refusal.transaction": "refused_change.transaction",
    "limiter.per_second": "policy.applied.document",
    "model_calls.by_provider": "model.response.provider",
    "model_calls.outcomes": "model.response.outcome",
    "model_calls.denied_by_reason": "model.denied.reason",
    "model_calls.errors_by_reason": "model.error.reason",
    "model_sum.model": "component.model",
    "not_covered.reason": "omitted_path.reason",
    "not_covered.path": "omitted_path.path",
    "not_covered.path_b64": "omitted_path.path",
    "ops.circuit_breaker": "x-docket.breaker.provider",
    "pass.roots": "fs.snapshot.roots",
    "policy.name": "policy.applied.name",
    "policy.document": "policy.applied.document",
    "policy.source": "policy.applied.source",
    "pool.pool": "x-docket.pool.pool",
    "previous.session": "= a copy names no run before",
    "price_document._meta": "session.start.prices",
    "price_table.as_of": "session.start.prices",
    "proof.origin": _ANEW,
    "proof.project": "= 128 bits by chance",
    "redaction.profiles": _WORDS,
    "redaction.not_carried": _WORDS,
    "refusal.reason": "omitted_path.reason",
    "refusal.path": "omitted_path.path",
    "refusal.path_b64": "omitted_path.path",
    "refusal.detail": "omitted_path.detail",
    "rollback.trigger": "x-docket.rollback-applied.trigger",
    "rollback.reason": "x-docket.rollback-refused.reason",
    "rollback.detail": "x-docket.rollback-refused.detail",
    "rollback.record": "x-docket.rollback-applied.record",
    "row.model": "component.model",
    "row.provider": "model.response.provider",
    "row.cache_key": "cache_mark.key",
    "sealing_key.key_id": "= a copy is not sealed",
    "session.id": "session.start.session_id",
    "session.argv": "session.start.argv",
    "session.duration_seconds": "session.end.duration_seconds",
    "session.breached": "session.end.breached",
    "session.cwd": "session.start.cwd",
    "session.agent": "session.start.agent",
    "session.exit_source": "session.end.exit_source",
    "session.agent_exit": "proc.exit.signal",
    "session.host": "session.start.host",
    "session.argv_b64": "session.start.argv_b64",
    "session.cwd_b64": "session.start.cwd_b64",
    "signing_key.public_key": "= the key that signs the copy, which its maker shows",
    "snapshot.roots": "fs.snapshot.roots",
    "snapshot.format": "fs.snapshot.format",
    "snapshot.store": "fs.snapshot.store",
    "snapshot.reason": "x-docket.snapshot-refused.reason",
    "snapshot.detail": "x-docket.snapshot-refused.detail",
    "tool.name": "session.start.tool",
    "tool.version": "session.start.version",
    "tool.fold": "session.start.fold",
    "tools.names": "tool.call.name",
    "totals.cost_basis": _WORDS,
    "totals.assumed_price_models": "component.model",
    "window.window_id": "tool.result.window_id",
    "window.id": "tool.call.id",
    "window.name": "tool.call.name",
    "window.repository": "window_begun.repository",
    "window.provider": "window_begun.provider",
    "window.session_id": "window_begun.session_id",
    "window.turn_id": "window_begun.turn_id",
    "window.mode": "window_begun.mode",
    "window_before.group_id": "window_begun.group_id",
    "window_before.tree": "window_begun.tree",
    "window_before.hashes": "window_begun.hashes",
    "window_before.head": "window_begun.head",
    "window_before.reason": "window_begun.reason",
    "window_delta.scope": "x-docket.tool-delta.scope",
    "window_delta.status": "x-docket.tool-delta.status",
    "window_delta.merkle_path": _ANEW,
    "window_delta.group_id": "x-docket.tool-delta.group_id",
    "window_delta.reason": "x-docket.tool-delta.reason",
    "window_delta.tree_before": "x-docket.tool-delta.tree_before",
    "window_delta.tree_after": "x-docket.tool-delta.tree_after",
    "windows.partial_by_reason": "x-docket.tool-delta.reason",
    "windows.hooks_lost": "x-docket.hook-lost.kind",
    "windows.note": _WORDS,
    "workspace.outcome": "x-docket.workspace-settled.outcome",
    "workspace.reason": "x-docket.workspace-settled.reason",
    "workspace.detail": "x-docket.workspace-settled.detail",
    "workspace.transaction": "x-docket.workspace-opened.transaction",
    "workspace.backend": "x-docket.workspace-opened.backend",
    "workspace.view": "x-docket.workspace-opened.view",
    "workspace.settle": "x-docket.workspace-opened.settle",
    "workspace.store": "x-docket.workspace-opened.store",
    "workspace.approval": "x-docket.workspace-intent.approval",
}


def can_hold_text(word: Any) -> bool:
    """Whether a member of that word can hold a text, or a member of a name that somebody chose."""
    return isinstance(word, str) and (word.rstrip("?[]{}") in ("text", "object", "any") or word.endswith("{}"))


def members(name: str, entry: dict[str, Any]) -> set[str]:
    told = {**entry["required"], **entry.get("optional", {})}
    return {f"{name}.{member}" for member, word in told.items() if can_hold_text(word)}


def test_every_kind_is_decided_on() -> None:
    assert set(DECIDED) == set(Kind)
    assert set(POLICY_DECIDED) == set(PolicyKind)
    used = {kind for table in (*EVENTS.values(), *RECORDS.values()) for kind in table.values()}
    assert {kind for kind in used if isinstance(kind, Kind)} == set(Kind)
    assert set(POLICY.values()) == set(PolicyKind)


def test_every_member_of_a_receipt_that_can_hold_a_text_comes_from_an_event_or_is_nobodys() -> None:
    wanted = members("", SHAPE["ours"])
    for name, entry in SHAPE["records"].items():
        if not name.startswith("v1"):
            wanted |= members(name, entry)
    assert wanted == set(RECEIPT)


@pytest.mark.parametrize("source", sorted({source for source in RECEIPT.values() if not source.startswith("=")}))
def test_what_a_receipt_says_comes_from_what_is_decided_on(source: str) -> None:
    name, _, member = source.rpartition(".")
    table = EVENTS.get(name) or RECORDS[name]
    kind = table[member]
    assert kind in DECIDED or kind in RECORDS


def test_every_key_of_a_policy_that_can_hold_a_text_is_decided_on() -> None:
    texts = {
        f"{key.section}.{key.name}"
        for key in KEYS
        if key.kind.toml_type in ("text", "array of texts", "table", "path") and key.section != "policy"
    }
    assert texts == set(POLICY)
    others = {key.kind.toml_type for key in KEYS} - {"text", "array of texts", "table", "path"}
    assert others == {"dollars", "whole number", "number", "true or false"}
