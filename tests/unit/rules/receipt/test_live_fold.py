"""The fold of somebody who looks on adds up as the receipt's does, at every length of the ledger."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from docket.formats.amount import Usd
from docket.formats.ledger.event import Event
from docket.formats.ledger.resilience_events import BreakerChange, BreakerState, FaultPlanned, Paced
from docket.formats.ledger.spending_events import CapExceeded, CapWarning, PoolEntered
from docket.formats.ledger.vocabulary import read_payload
from docket.formats.run.usage import Usage
from docket.rules.receipt.live import CALLS_KEPT, NOTES_KEPT, LiveFold
from golden_ledgers import samples
from golden_ledgers.build import LedgerBuilder, component, opened, price, request, response
from golden_ledgers.judging import receipt_of


def folded(events: Iterable[Event]) -> LiveFold:
    fold = LiveFold()
    for event in events:
        fold.take(event, read_payload(event))
    return fold


@pytest.mark.parametrize("name", sorted(samples.ALL))
def test_its_figures_are_the_receipts(name: str) -> None:
    ledger: LedgerBuilder = samples.ALL[name]()
    fold, receipt = folded(ledger.events), receipt_of(ledger.data())

    assert str(fold.spent) == receipt["totals"]["cost_usd"]
    assert fold.calls == receipt["model_calls"]["count"]
    assert len(fold.open) == receipt["model_calls"]["unsettled"]
    assert fold.denials.total() == receipt["model_calls"]["denied"]
    assert dict(fold.errors) == receipt["model_calls"]["errors_by_reason"]
    assert fold.estimated_calls == receipt["model_calls"]["estimated"]
    assert fold.used_tokens == sum(receipt["model_calls"]["usage"][n] for n in ("input_tokens", "output_tokens"))
    assert fold.asserted.tools_member() == receipt["tools"]
    assert fold.asserted.member() == receipt.get("asserted")
    assert fold.tree.files() == receipt["files"]
    assert fold.course.notes == receipt["notes"]
    assert fold.course.network() == receipt["network"]
    assert fold.events == receipt["ledger"]["events"]
    assert fold.last_at == receipt["created_at"]
    assert (fold.course.end is not None) is receipt["evidence"]["ended"]


def test_a_run_half_way_shows_what_is_in_flight_and_what_it_holds() -> None:
    ledger = samples.cut()
    first = next(i for i, event in enumerate(ledger.events) if event.type == "model.request")
    fold = folded(ledger.events[: first + 1])

    assert (fold.calls, fold.spent, fold.held) == (0, Usd(0), Usd(5000))  # held_usd of the sample's request
    assert [call.model for call in fold.open.values()] == ["gpt-5"]


def test_a_busy_run_tells_its_caps_refusals_and_last_calls() -> None:
    fold = folded(samples.busy().events)

    assert fold.exceeded is not None
    assert fold.exceeded.cap == "max_usd"
    assert set(fold.warnings) == {"max_usd"}
    assert [(call.call, call.outcome) for call in fold.recent if not call.billed][-1] == (None, "max_usd")
    assert dict(fold.asserted.tools) == {"bash": 1, "edit": 1}


def test_memory_is_bounded_by_the_calls_in_flight_and_the_last_ones() -> None:
    ledger = opened()
    ledger.add(price("gpt-5", "1.25", "0.125", "10.00"))
    for call in range(1, 4 * CALLS_KEPT):
        ledger.add(request(call, "openai", "gpt-5"))
        ledger.add(
            response(
                call, "openai", "gpt-5", usage=Usage(input_tokens=400, output_tokens=100),
                components=(component("gpt-5", 400, 0, 100, "0.001500"),), cost="0.001500",
                cumulative=str(Usd(1500 * call)),
            )
        )  # fmt: skip
    fold = folded(ledger.events)

    assert (len(fold.recent), len(fold.open), fold.calls) == (CALLS_KEPT, 0, 4 * CALLS_KEPT - 1)
    assert fold.recent[-1].call == 4 * CALLS_KEPT - 1
    assert fold.spent == Usd(1500 * (4 * CALLS_KEPT - 1))


def test_an_unknown_type_is_counted_and_nothing_else() -> None:
    ledger = opened()
    before = folded(ledger.events)
    ledger.add_raw("x-other.thing", {"any": 1})
    after = folded(ledger.events)

    assert after.events == before.events + 1
    assert (after.calls, after.spent) == (before.calls, before.spent)


def test_what_stands_around_the_calls_is_told() -> None:
    ledger = opened()
    ledger.add(Paced(provider="openai", model="m", waited_ms=5))
    for state in (BreakerState.OPEN, BreakerState.HALF_OPEN):
        ledger.add(BreakerChange(provider="openai", upstream="https://x", state=state, failures=5, cooldown_ms=0))
    ledger.add(PoolEntered(pool="team", daily_usd=Usd(1)))
    ledger.add(FaultPlanned(seed=1, spec=("delay=1",)))
    ledger.add(
        BreakerChange(provider="openai", upstream="https://y", state=BreakerState.OPEN, failures=5, cooldown_ms=0)
    )
    fold = folded(ledger.events)

    assert (fold.paced, fold.pools) == (1, ("team",))
    assert fold.breakers == {
        ("openai", "https://x"): BreakerState.HALF_OPEN, ("openai", "https://y"): BreakerState.OPEN,
    }  # fmt: skip
    assert fold.is_drill
    hits = folded(samples.cached().events)
    receipt = receipt_of(samples.cached().data())
    assert hits.cache_hits == receipt["cache"]["hits"] + receipt["cache"]["component_hits"]["hits"]
    saved = Usd.parse(receipt["cache"]["saved_usd"]) + Usd.parse(receipt["cache"]["component_hits"]["saved_usd"])
    assert hits.avoided == saved


def test_a_sub_budget_that_only_refuses_leaves_the_run_as_it_is() -> None:
    ledger = opened()
    model = {"scope": "model", "scope_name": "*opus*"}
    used = {"cost_usd": Usd(0), "tokens": 0, "calls": 0, "detail": "no more of these"}
    warning = CapWarning(cap="max_usd", threshold="0.8", used_pct="90.0", used="0.90", limit="1.00")
    ledger.add(replace(warning, **model))
    ledger.add(CapExceeded(cap="max_usd", limit="1.00", used="1.00", action="deny", **used, **model))
    for number in range(NOTES_KEPT):
        ledger.add(replace(warning, scope="agent", scope_name=f"sub:{number}"))
    fold = folded(ledger.events)
    assert (fold.exceeded, fold.warnings) == (None, {})
    assert len(fold.sub_budgets) == NOTES_KEPT
    assert list(fold.sub_budgets)[-1] == ("agent", f"sub:{NOTES_KEPT - 1}", "max_usd")

    ledger.add(CapExceeded(cap="max_model_calls", limit="3", used="3", action="kill", **used, **model))
    ledger.add(warning)
    fold = folded(ledger.events)
    assert fold.exceeded is not None
    assert (fold.exceeded.cap, list(fold.warnings)) == ("max_model_calls", ["max_usd"])
