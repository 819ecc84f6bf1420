"""Records with so many patterns and names that comparing each with each would take hours: they are refused at once.

Each stands beside a twin with a few of them, which is judged by what it says.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from docket.formats.digest import digest_of
from golden_ledgers import samples
from golden_ledgers.judging import Body, bodies, chained, first_failure, lines_of, named, receipt_of
from verify_js.in_node import Pair, disagreements, needs_node, pair

Make = Callable[[int], tuple[dict[str, Any], bytes | None]]
FEW, MANY = 60, 8200


def story() -> list[Body]:
    return bodies(samples.ALL["anthropic"]().events)


def place(items: list[Body], type_: str) -> int:
    return next(at for at, (found, _, _) in enumerate(items) if found == type_)


def record(items: list[Body]) -> tuple[dict[str, Any], bytes]:
    ledger = lines_of(chained(items))
    return receipt_of(ledger), ledger


def with_caps(items: list[Body], caps: dict[str, Any]) -> None:
    policy = items[place(items, "policy.applied")][2]
    policy["document"] = {**policy["document"], "caps": {**policy["document"]["caps"], **caps}}
    policy["digest"] = digest_of(policy["document"])


def used(items: list[Body], scope: str, name: str, **limits: object) -> dict[str, Any]:
    replies = [data for type_, _, data in items if type_ == "model.response"]
    usages = [reply["usage"] for reply in replies]
    return {
        "scope": scope, "name": name, "spent_usd": replies[-1]["cumulative_cost_usd"], "calls": len(replies),
        "tokens": sum(one["input_tokens"] + one["output_tokens"] for one in usages), "bound_usd": "0.00", **limits,
    }  # fmt: skip


def agents(number: int) -> tuple[dict[str, Any], bytes]:
    """A cap of an agent that one of so many patterns gives."""
    items = story()
    others = {f"*a{at}": {"max_usd": "1.00"} for at in range(number)}
    with_caps(items, {"per_agent": others | {"m*": {"max_usd": "9.00"}}})
    warning = {"cap": "max_usd", "threshold": "0.80", "used_pct": "80", "used": "8.00", "limit": "9.00"}
    at = place(items, "policy.applied") + 1
    items.insert(at, ("cap.warning", items[at][1], {**warning, "scope": "agent", "scope_name": "main"}))
    items[place(items, "x-docket.budget")][2]["scopes"] = [used(items, "agent", "main", cap_usd="9.00")]
    return record(items)


def scopes(number: int) -> tuple[dict[str, Any], bytes]:
    """The same of what a budget says."""
    items = story()
    with_caps(items, {"per_agent": {f"*a{at}": {"max_usd": "1.00"} for at in range(number)}})
    items[place(items, "x-docket.budget")][2]["scopes"] = [used(items, "agent", "main")]
    return record(items)


def models(number: int) -> tuple[dict[str, Any], bytes]:
    """A budget of models with a long pattern, and models with long names."""
    items = story()
    for type_, _, data in items:
        if type_ == "model.request":
            data["model"] = "a" * 5 * number
        if type_ == "model.response":
            data["requested_model"] = "a" * 5 * number
    pattern = "*" + "a" * 4 * number
    with_caps(items, {"per_model": {pattern: {"max_usd": "9.00"}}})
    items[place(items, "x-docket.budget")][2]["scopes"] = [used(items, "model", pattern, cap_usd="9.00")]
    return record(items)


def faults(number: int) -> tuple[dict[str, Any], bytes]:
    """A plan of so many rules, of which the last gives each call its fault."""
    items = story()
    at = place(items, "policy.applied") + 1
    ts, request = items[at - 1][1], items[place(items, "model.request")][2]
    rules = [f"drop@model=*{'a' * 200}{rule}" for rule in range(number)]
    told: list[Body] = [("x-docket.fault-plan", ts, {"seed": 1, "spec": [*rules, "drop"]})]
    for call in range(1, 12):
        told.append(("model.request", ts, {**copy.deepcopy(request), "call": call}))
        fault = {"call": call, "kind": "drop", "detail": "the connection breaks before any answer", "asked": False}
        told.append(("x-docket.fault", ts, fault))
    return record([*items[:at], *told])


def families(number: int) -> tuple[dict[str, Any], bytes]:
    """A family with so many alternatives, before the one that prices."""
    items = story()
    at = place(items, "x-docket.price")
    pattern = "/".join(f"*{alternative:x}" for alternative in range(number))
    items.insert(at, ("x-docket.price", items[at][1], {"pattern": pattern, "input": "0", "output": "0", "source": "x"}))
    return record(items)


def table(number: int) -> tuple[dict[str, Any], None]:
    """A receipt alone, none of whose rows is asked about."""
    receipt = receipt_of(samples.ALL["anthropic"]().data())
    document = receipt["price_table"]["document"]
    document["families"].append({"pattern": "/".join(["zz*"] * number), "input": "0", "output": "0"})
    receipt["price_table"]["digest"] = digest_of(document)
    del receipt["tool"]["fold"]
    return receipt, None


def places(number: int) -> tuple[dict[str, Any], None]:
    """So many sets of places of `?`, and as many names of that length."""
    receipt = receipt_of(samples.ALL["anthropic"]().data())
    del receipt["tool"]["fold"]
    row = receipt["appendix"]["usage"][0]
    marked = ["".join("x?"[at >> bit & 1] for bit in range(14)) for at in range(number)]
    free = [{"pattern": pattern, "input": "0", "output": "0"} for pattern in (*marked, "*")]
    document = receipt["price_table"]["document"] | {"families": free}
    receipt["price_table"] |= {"document": document, "digest": digest_of(document)}
    receipt["appendix"]["usage"] = [{**row, "model": f"{at:014}", "cost_usd": "0.00"} for at in range(number // 40)]
    return receipt, None


CASES: list[tuple[Make, str, str, str]] = [
    (agents, "", "cap-limits", "cap-limits"),
    (scopes, "", "cap-limits", "cap-limits"),
    (models, "", "cap-limits", "cap-limits"),
    (faults, "evidence-completeness", "evidence-completeness", "event-order"),
    (families, "", "cost-recomputation", "components"),
    (table, "", "cost-recomputation", "assumed-prices"),
    (places, "totals", "cost-recomputation", "cost-recomputation"),
]
NAMES = [make.__name__ for make, *_ in CASES]


@cache
def shown(make: Make, number: int) -> Pair:
    """The record, and what docket says of it."""
    return pair(f"{number} {make.__name__}", *make(number))


@pytest.mark.parametrize(("make", "few", "many", "fails"), CASES, ids=NAMES)
def test_many_are_refused_and_few_are_compared(make: Make, few: str, many: str, fails: str) -> None:
    assert first_failure(shown(make, FEW).verdict) == few

    verdict = shown(make, MANY).verdict

    assert first_failure(verdict) == many
    assert named(verdict, fails).status == "fail"


@needs_node
def test_both_verifiers_say_the_same() -> None:
    assert disagreements([shown(make, number) for make, *_ in CASES for number in (FEW, MANY)]) == []
