"""What a ledger says of caps, sub-budgets and pools is judged alike by both verifiers."""

from __future__ import annotations

import random
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from docket.formats.amount import Usd
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.session_events import EvidenceGap
from docket.formats.ledger.spending_events import Budget, CapExceeded, CapWarning, PoolEntered, PoolUse, ScopeUse
from docket.formats.run.usage import Usage
from docket.formats.run.verdict import Status
from golden_ledgers import samples
from golden_ledgers.build import POLICY, LedgerBuilder, component, end, policy, price, request, response, start
from golden_ledgers.judging import bodies, named
from sweeps import some
from verify_js.in_node import Pair, disagreements, needs_node
from verify_js.overhearing import changed, pair_of

AGENTS = ("main", "sub:a", "sub:b1", "sub:B2", "sub:[x]", "*")
PATTERNS = ("main", "sub:*", "sub:b?", "*", "SUB:B*", "sub:[x]", "sub:a")
MODELS = ("gpt-5", "gpt-5-mini")
LIMITS: tuple[dict[str, Any], ...] = (
    {"max_usd": "0.05"}, {"max_usd": "0.050000"}, {"max_usd": "0.02", "max_tokens": 900}, {"max_model_calls": 3},
    {"max_tokens": True, "max_model_calls": 3}, {"max_model_calls": "3"}, {},
)  # fmt: skip

pytestmark = needs_node
Calls = list[tuple[str, str, int]]


def drawn_ledger(seed: int) -> LedgerBuilder:
    """A few calls of several agents, and a budget that says of them what may be so."""
    drawn = random.Random(seed)
    caps: dict[str, Any] = {"max_usd": drawn.choice((None, "0.01", "1.00"))}
    for name, patterns in (("per_agent", PATTERNS), ("per_model", ("gpt-*", "gpt-5"))):
        caps[name] = {pattern: drawn.choice(LIMITS) for pattern in patterns if drawn.random() < 0.4}
    budget = {"mode": "usd", "admission": "metered", "pools": ["team"]}
    ledger = LedgerBuilder()
    for payload in (start(), policy({**POLICY, "caps": caps, "budget": budget}), price("gpt-*", "1.00", None, "1.00")):
        ledger.add(payload)
    ledger.add(PoolEntered(pool="team", daily_usd=Usd(50_000), total_usd=None))
    calls: Calls = []
    for number in range(1, drawn.randrange(2, 7)):
        agent, model, tokens = drawn.choice(AGENTS), drawn.choice(MODELS), drawn.choice((300, 400))
        asked = replace(
            request(number, "openai", model), agent_id=drawn.choice((agent, None)) if agent == "main" else agent
        )
        ledger.add(asked)
        if drawn.random() < 0.9:
            calls.append((agent, model, tokens))
            spent = str(Usd(sum(used for _, _, used in calls)))
            part = component(model, tokens, 0, 0, str(Usd(tokens)))
            usage = Usage(input_tokens=tokens, output_tokens=0)
            ledger.add(
                response(
                    number, "openai", model, usage=usage, components=(part,), cost=str(Usd(tokens)), cumulative=spent
                )
            )
        if drawn.random() < 0.4:
            ledger.add(reached(drawn, caps))
    for payload in ended(drawn, caps, calls):
        ledger.add(payload)
    return ledger


def reached(drawn: random.Random, caps: dict[str, Any]) -> Payload:
    """A cap that is said to be reached."""
    scope = drawn.choice((None, "model", "agent", "agent", "pool", "other"))
    names = {None: (None, "", "x"), "model": ("gpt-*", "gpt-5", "x"), "pool": ("team", "x")}.get(
        scope, (*AGENTS, *PATTERNS)
    )
    cap = drawn.choice(
        ("max_usd", "max_tokens", "max_model_calls", "pattern", "daily_usd", "pool_daily_usd", "pool_total_usd")
    )
    limit = drawn.choice(("0.05", "0.050000", "0.02", "900", "3", str(caps["max_usd"]), "1", "True", "sub:*"))
    if drawn.random() < 0.5:
        return CapWarning(
            cap=cap, threshold="0.8", used_pct="80", used="1", limit=limit, scope=scope, scope_name=drawn.choice(names)
        )
    return CapExceeded(
        cap=cap, limit=limit, used="1", cost_usd=Usd(1), tokens=1, calls=1, action="deny", detail="x", scope=scope,
        scope_name=drawn.choice(names),
    )  # fmt: skip


def ended(drawn: random.Random, caps: dict[str, Any], calls: Calls) -> list[Payload]:
    """What is said at the end: a budget, what the pool gave, the end."""
    spent = Usd(sum(tokens for _, _, tokens in calls))
    cap = None if caps["max_usd"] is None else Usd.parse(caps["max_usd"])
    scopes = tuple(scope_use(drawn, caps, calls) for _ in range(drawn.randrange(4)))
    told = {use.name for use in scopes if use.scope == "agent"}
    scopes = tuple(borne_out(drawn, use, told, calls) for use in scopes)
    over = Usd(0 if cap is None else max(0, spent.micros - cap.micros))
    said = Budget(
        admission="metered", cap_usd=cap, spent_usd=spent, overshoot_usd=over, bound_usd=Usd(0), peak_held_usd=Usd(0),
        scopes=scopes or None,
    )  # fmt: skip
    gap = [EvidenceGap(first_failing_seq=9, unwritten_events=1, detail="full")] if drawn.random() < 0.1 else []
    used = drawn.choice((spent, spent, Usd(1)))
    pool = PoolUse(
        pool=drawn.choice(("team", "team", "x")),
        spent_usd=used,
        unknown_usd=Usd(0),
        overshoot_usd=Usd(0),
        bound_usd=Usd(0),
    )
    breached = drawn.choice((None, None, "max_usd"))
    return [*gap, said, *drawn.choice(([], [pool], [pool, pool])), end(str(spent), breached=breached)]


def scope_use(drawn: random.Random, caps: dict[str, Any], calls: Calls) -> ScopeUse:
    """A sub-budget with the limits of a pattern that there is, mostly."""
    scope = drawn.choice(("agent", "agent", "model", "pool"))
    name = drawn.choice(("gpt-*", "gpt-5") if scope == "model" else (*AGENTS, *PATTERNS, "team"))
    table = caps["per_model" if scope == "model" else "per_agent"]
    meant = [name] if name in table else [one for one in table if fnmatchcase(name.lower(), one.lower())]
    limits: dict[str, Any] = {}
    for key in meant:
        for member, limit in table[key].items():
            known = Usd.parse(limit) if member == "max_usd" else limit
            if type(known) is not str and type(known) is not bool:
                limits[member] = min(limits.get(member, known), known)
    return ScopeUse(
        scope=scope, name=name, cap_usd=limits.get("max_usd"), cap_tokens=limits.get("max_tokens"),
        cap_calls=limits.get("max_model_calls"), spent_usd=Usd(0), tokens=0, calls=0, bound_usd=Usd(0),
    )  # fmt: skip


def borne_out(drawn: random.Random, use: ScopeUse, told: set[str], calls: Calls) -> ScopeUse:
    """The same with a sum that some reading of its name bears out."""
    kind = 1 if use.scope == "model" else 0
    ways = [
        lambda call: call[kind] == use.name,
        lambda call: fnmatchcase(call[kind].lower(), use.name.lower()),
        lambda call: call[kind] == use.name or (call[0] not in told and fnmatchcase(call[0].lower(), use.name.lower())),
    ]
    way = ways[1] if use.scope == "model" and drawn.random() < 0.9 else drawn.choice((*ways, ways[2], ways[2]))
    counted = [call[2] for call in calls if way(call)]
    return replace(use, spent_usd=Usd(sum(counted)), tokens=sum(counted), calls=len(counted))


@some(40)
def test_budgets_drawn_at_random(stride: int) -> None:
    pairs = [pair_of(f"seed {seed}", drawn_ledger(seed)) for seed in range(0, 8000, stride)]
    assert disagreements(pairs) == []
    statuses = {named(one.verdict, "cap-limits").status for one in pairs}
    assert statuses == {Status.PASS, Status.FAIL}


def doctored(name: str, *path: str, value: Any) -> Pair:
    """The golden ledger of sub-budgets and a pool, with a member of its first event of a type changed."""

    def change(items: list[Any]) -> None:
        holder = next(data for type_, _, data in items if type_ == path[0])
        for key in path[1:-1]:
            holder = holder[key]
        holder[path[-1]] = value

    return changed(name, samples.pooled(), change)


def test_limits_that_are_none() -> None:
    caps = ("policy.applied", "document", "caps")
    types = {type_ for type_, _, _ in bodies(samples.pooled().events)}
    assert {"policy.applied", "x-docket.pool", "x-docket.budget"} <= types
    pairs = [
        doctored(f"caps {value!r}", *caps, value=value) for value in (None, [], "x", {"max_usd": 1}, {"max_usd": True})
    ]
    pairs += [
        doctored(f"{name} {value!r}", *caps, name, value=value)
        for name in ("per_model", "per_agent")
        for value in (None, [], {"*": 1})
    ]
    for value in ({}, {"a": 1}, ["team"], "1.0", 1, True, None):
        pairs.append(doctored(f"max_usd {value!r}", *caps, "max_usd", value=value))
    for value in (None, "team", {"team": 1}, ["team"]):
        pairs.append(doctored(f"pools {value!r}", "policy.applied", "document", "budget", "pools", value=value))
    assert disagreements(pairs) == []
    assert all(named(one.verdict, "cap-limits").status is Status.FAIL for one in pairs[:5])
