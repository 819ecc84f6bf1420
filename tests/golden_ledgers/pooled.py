"""A golden ledger of budgets within budgets: a model's, an agent's, a pool's, each reached once."""

from __future__ import annotations

from dataclasses import replace

from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelDenied
from docket.formats.ledger.spending_events import CapExceeded, CapWarning, PoolEntered, PoolUse, ScopeUse
from docket.formats.ledger.tree_events import Phase
from docket.formats.run.usage import Usage
from golden_ledgers.build import (
    POLICY,
    LedgerBuilder,
    added,
    budget,
    component,
    end,
    exited,
    policy,
    price,
    request,
    response,
    snapshot,
    spawn,
    start,
)

DOCUMENT = POLICY | {
    "budget": {"mode": "usd", "admission": "metered", "pools": ["team"]},
    "caps": {
        "max_usd": "1.00", "max_tokens": None, "max_model_calls": None, "max_wall_seconds": None,
        "per_model": {"*opus*": {"max_usd": "0.02"}},
        "per_agent": {"sub:*": {"max_model_calls": 1, "max_usd": "0.90"}},
    },
}  # fmt: skip


def pooled() -> LedgerBuilder:
    """Two calls: opus by the main agent, 1000 in at 5, 200 out at 25; sonnet by a sub-agent, 1000 at 3, 200 at 15."""
    ledger = LedgerBuilder()
    pool = PoolEntered(pool="team", daily_usd=Usd(16_000), total_usd=Usd(5_000_000))
    for payload in (start(), policy(DOCUMENT), pool, snapshot(Phase.BEFORE, 2), spawn()):
        ledger.add(payload)
    usage = Usage(input_tokens=1000, output_tokens=200)
    ledger.add(request(1, "anthropic", "claude-opus-4-5"))
    ledger.add(price("claude-opus-4-5", "5.00", "0.50", "25.00"))
    opus = (component("claude-opus-4-5", 1000, 0, 200, "0.01"),)
    ledger.add(
        response(1, "anthropic", "claude-opus-4-5", usage=usage, components=opus, cost="0.01", cumulative="0.01")
    )
    model = {"scope": "model", "scope_name": "*opus*"}
    ledger.add(CapWarning(cap="max_usd", threshold="0.5", used_pct="50.0", used="0.01", limit="0.02", **model))
    ledger.add(replace(request(2, "anthropic", "claude-sonnet-4-5"), agent_id="sub:a1"))
    ledger.add(price("claude-sonnet-4-5", "3.00", "0.30", "15.00"))
    sonnet = (component("claude-sonnet-4-5", 1000, 0, 200, "0.006000"),)
    ledger.add(
        response(
            2, "anthropic", "claude-sonnet-4-5", usage=usage, components=sonnet, cost="0.006000", cumulative="0.016000"
        )
    )
    spent = {"cost_usd": Usd(16_000), "tokens": 2400, "calls": 2}
    agent = {"scope": "agent", "scope_name": "sub:a1"}
    exceeded = CapExceeded(cap="max_model_calls", limit="1", used="1", action="deny", detail="no", **agent, **spent)
    ledger.add(denied("max_model_calls", "claude-sonnet-4-5"))
    ledger.add(exceeded)
    ledger.add(denied("pool_daily_usd", "claude-sonnet-4-5"))
    shared = {"scope": "pool", "scope_name": "team"}
    ledger.add(
        CapExceeded(
            cap="pool_daily_usd", limit="0.016000", used="0.016000", action="kill", detail="no", **shared, **spent
        )
    )
    ledger.add(exited())
    ledger.add(added(b"src/new.py"))
    ledger.add(snapshot(Phase.AFTER, 3, "22"))
    scopes = (
        ScopeUse(
            scope="agent", name="sub:a1", cap_usd=Usd(900_000), cap_calls=1, spent_usd=Usd(6000), tokens=1200, calls=1,
            bound_usd=Usd(0),
        ),
        ScopeUse(
            scope="model", name="*opus*", cap_usd=Usd(20_000), spent_usd=Usd(10_000), tokens=1200, calls=1,
            bound_usd=Usd(7000),
        ),
    )  # fmt: skip
    ledger.add(replace(budget("0.016000"), scopes=scopes))
    ledger.add(
        PoolUse(pool="team", spent_usd=Usd(16_000), unknown_usd=Usd(30), overshoot_usd=Usd(0), bound_usd=Usd(9000))
    )
    ledger.add(end("0.016000", code=42, breached="pool_daily_usd"))
    return ledger


def denied(reason: str, model: str) -> ModelDenied:
    """A call that a budget refused."""
    return ModelDenied(
        provider="anthropic", model=model, reason=reason, cap=reason, detail="no", status=400, path="/v1/messages"
    )
