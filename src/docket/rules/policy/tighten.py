"""What a policy file inside the tree may change: it may only tighten.

Rules (docs/reference/policy.md, A policy in the tree):
1. A repository is not trusted with the person's money or machine. A key that would loosen anything keeps the person's
   value, and one sentence names the key.
2. Only keys the file wrote count; its defaults say nothing.
3. Each key has its own direction: a lower cap, a stricter choice, one more denied model, one fewer allowed one, one
   more protected path. Keys without a safe direction (`files.ignore`, upstreams, pools, keys, what is kept of replies,
   whether the person's tree is rolled back) are never taken from the tree.
4. Where two lists of allowed models have nothing in common, no model is left.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from docket.formats.dataclass import replace
from docket.formats.run.policy import (
    DEFAULT_NAME,
    KEYS,
    Admission,
    BudgetMode,
    EgressMode,
    Key,
    OnBreach,
    Policy,
    UnknownEndpoints,
    UnknownModels,
    WorkspaceSettle,
)
from docket.formats.run.sub_budgets import SubBudget
from docket.rules.policy.globs import allowed_by_both

# A rule answers (the value to use, whether the file asked for more than it got).
Verdict: TypeAlias = tuple[Any, bool]
Rule: TypeAlias = Callable[[Any, Any], Verdict]


_SUB_BUDGETS = ("caps.per_model", "caps.per_agent")


def tighten(base: Policy, tree: Policy) -> tuple[Policy, tuple[str, ...]]:
    """Return `base` with what `tree` tightens, and one sentence for every key of `tree` that was not followed."""
    changes: dict[str, dict[str, Any]] = {}
    warnings: list[str] = []
    for key in KEYS[1:]:
        if key.path not in tree.stated:
            continue
        ours, asked = _value(base, key), _value(tree, key)
        value, refused = _decide(base, tree, key)
        if refused:
            warnings.append(_sentence(key, asked, value))
        if value != ours:
            changes.setdefault(key.section, {})[key.name] = value
    warnings += [
        f"upstreams.{name} is ignored: a policy file in the tree does not choose where calls go"
        for name, _ in tree.upstreams.entries
    ]
    name = tree.name if base.name == DEFAULT_NAME else base.name
    sections = {section: replace(getattr(base, section), **values) for section, values in _consistent(base, changes)}
    return replace(base, name=name, **sections), tuple(warnings)


def _decide(base: Policy, tree: Policy, key: Key) -> Verdict:
    ours, asked = _value(base, key), _value(tree, key)
    if key.path == "caps.max_usd" and base.budget.mode is BudgetMode.QUOTA:
        return ours, True
    if key.path in _SUB_BUDGETS and base.budget.mode is BudgetMode.QUOTA:
        counted = tuple(one for each in asked if (one := replace(each, max_usd=None)).limits())  # type: ignore[attr-defined]
        value, refused = RULES[key.path](ours, counted)
        return value, refused or counted != asked
    if key.section == "snapshot" and key.name != "enabled" and not (base.snapshot.enabled or tree.snapshot.enabled):
        return ours, False
    if key.section == "cache" and key.name != "enabled" and not base.cache.enabled:
        return ours, False
    return RULES[key.path](ours, asked)


def _consistent(base: Policy, changes: dict[str, dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    allow = changes.get("models", {}).get("allow")
    if allow == ():
        # An empty list would allow every model.
        models = changes["models"]
        models["deny"] = tuple(dict.fromkeys((*models.get("deny", base.models.deny), "*")))
        del models["allow"]
    pauses = changes.get("resilience", {})
    shortest = pauses.get("breaker_cooldown_seconds")
    longest = pauses.get("breaker_max_cooldown_seconds", base.resilience.breaker_max_cooldown_seconds)
    if shortest is not None and shortest > longest:
        pauses["breaker_max_cooldown_seconds"] = shortest
    return list(changes.items())


def _lower(ours: Any, asked: Any) -> Verdict:  # noqa: ANN401
    return (asked, False) if ours is None or (asked is not None and asked <= ours) else (ours, True)


def _lower_but_zero(ours: Any, asked: Any) -> Verdict:  # noqa: ANN401
    value, refused = _lower(ours or None, asked or None)
    return (value or type(ours)(0), refused)


def _higher(ours: Any, asked: Any) -> Verdict:  # noqa: ANN401
    return (asked, False) if asked >= ours else (ours, True)


def _towards(order: Sequence[object]) -> Rule:
    def rule(ours: Any, asked: Any) -> Verdict:  # noqa: ANN401
        return (asked, False) if order.index(asked) >= order.index(ours) else (ours, True)

    return rule


def _more(ours: Any, asked: Any) -> Verdict:  # noqa: ANN401
    added = [pattern for pattern in asked if not pattern.startswith("!")]
    return tuple(dict.fromkeys((*ours, *added))), len(added) < len(asked)


def _more_models(ours: Any, asked: Any) -> Verdict:  # noqa: ANN401
    return tuple(dict.fromkeys((*ours, *asked))), False


def _fewer(ours: Any, asked: Any) -> Verdict:  # noqa: ANN401
    return tuple(item for item in ours if item in asked), not set(asked) <= set(ours)


def _fewer_models(ours: Any, asked: Any) -> Verdict:  # noqa: ANN401
    if not ours or not asked:
        return ours or tuple(dict.fromkeys(asked)), bool(ours)
    both = allowed_by_both(ours, asked)
    unused = [pattern for pattern in asked if not allowed_by_both(ours, (pattern,))]
    return both, bool(unused)


def _more_roots(ours: Any, asked: Any) -> Verdict:  # noqa: ANN401
    added = [root for root in asked if not any(_below(root, watched) for watched in ours)]
    narrowed = any(not any(_below(watched, root) for root in asked) for watched in ours)
    return (*ours, *added), narrowed


def _below(path: str, root: str) -> bool:
    inner, outer = ([part for part in text.split("/") if part not in ("", ".")] for text in (path, root))
    return inner[: len(outer)] == outer


def _lower_sub_budgets(ours: Any, asked: Any) -> Verdict:  # noqa: ANN401
    merged, refused = {one.pattern.lower(): one for one in ours}, False
    for wanted in asked:
        mine = merged.get(wanted.pattern.lower(), SubBudget(pattern=wanted.pattern))
        limits = {}
        for name in ("max_usd", "max_tokens", "max_model_calls"):
            limit = getattr(wanted, name)
            limits[name], looser = (getattr(mine, name), False) if limit is None else _lower(getattr(mine, name), limit)
            refused = refused or looser
        merged[wanted.pattern.lower()] = replace(mine, **limits)
    return tuple(sorted(merged.values(), key=lambda one: one.pattern)), refused


def _never(ours: Any, asked: Any) -> Verdict:  # noqa: ANN401
    return ours, asked != ours


RULES: Mapping[str, Rule] = {
    "budget.mode": _never,
    "budget.admission": _towards([Admission.CEILING, Admission.METERED, Admission.STRICT]),
    "budget.unknown_models": _towards([UnknownModels.ASSUME, UnknownModels.REFUSE]),
    "budget.unknown_endpoints": _towards([UnknownEndpoints.PASS, UnknownEndpoints.REFUSE]),
    "budget.pass_endpoints": _fewer,
    "budget.lower_max_tokens": _towards([True, False]),
    "budget.pools": _never,
    "caps.max_usd": _lower,
    "caps.max_tokens": _lower,
    "caps.max_model_calls": _lower,
    "caps.max_wall_seconds": _lower,
    "caps.max_repeats": _lower,
    "caps.warn_at": _lower,
    "caps.on_breach": _towards([OnBreach.DENY, OnBreach.KILL]),
    "caps.grace_seconds": _lower,
    "caps.admission_wait_ms": _lower,
    "caps.per_model": _lower_sub_budgets,
    "caps.per_agent": _lower_sub_budgets,
    "caps.on_sub_breach": _towards([OnBreach.DENY, OnBreach.KILL]),
    "models.allow": _fewer_models,
    "models.deny": _more_models,
    "models.priced_as": _never,
    "egress.mode": _towards([EgressMode.TUNNEL, EgressMode.DENY]),
    "egress.allow": _fewer,
    "files.watch": _more_roots,
    "files.ignore": _never,
    "files.deny_write": _more,
    "resilience.breaker_threshold": _lower,
    "resilience.breaker_cooldown_seconds": _higher,
    "resilience.breaker_max_cooldown_seconds": _higher,
    "resilience.max_calls_per_minute": _lower,
    "resilience.max_calls_per_second": _lower,
    "resilience.max_pace_wait_seconds": _never,
    "resilience.max_events": _lower,
    "resilience.max_ledger_bytes": _lower,
    "resilience.fail_fast_evidence": _towards([False, True]),
    "resilience.min_free_bytes": _higher,
    "cache.enabled": _towards([True, False]),
    "cache.ttl_seconds": _lower_but_zero,
    "cache.max_entries": _lower,
    "cache.max_hits": _lower_but_zero,
    "cache.max_bytes": _lower,
    "cache.max_response_bytes": _lower,
    "evidence.record_responses": _never,
    "evidence.record_response_max_bytes": _never,
    "evidence.record_total_max_bytes": _never,
    "snapshot.enabled": _towards([False, True]),
    "snapshot.max_bytes": _lower,
    "snapshot.max_file_bytes": _higher,
    "snapshot.max_entries": _lower,
    "snapshot.rollback_on_breach": _never,
    "windows.enabled": _towards([False, True]),
    "workspace.transaction": _towards([False, True]),
    "workspace.backend": _never,
    "workspace.settle": _towards([WorkspaceSettle.AUTO, WorkspaceSettle.REVIEW, WorkspaceSettle.DISCARD]),
    "workspace.exclude": _never,
    "workspace.share": _never,
    "workspace.protect": _more,
    "proof.sign": _never,
    "proof.seal": _never,
}


def _value(policy: Policy, key: Key) -> object:
    return getattr(getattr(policy, key.section), key.name)


def _sentence(key: Key, asked: object, value: object) -> str:
    wanted, kept = (json.dumps(key.kind.to_json(each), ensure_ascii=False) for each in (asked, value))
    if key.path == "models.allow" and value == ():
        return "models.allow has nothing in common with the models the policy allows: no model is left"
    why = "a policy file in the tree may only tighten"
    return f"{key.path} = {_short(wanted)} is not followed: {why}; {_short(kept)} holds"


def _short(text: str) -> str:
    return "no limit" if text == "null" else text if len(text) <= 80 else text[:77] + "..."
