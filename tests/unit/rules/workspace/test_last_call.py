"""What was wrong with a run's last model call: the one that was begun last, by the ledger's order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from docket.formats.ledger.model_events import ModelDenied, ModelError, ModelResponse, Outcome
from docket.formats.run.usage import Usage
from docket.rules.workspace.settle import last_call_trouble
from golden_ledgers.build import LedgerBuilder, component, opened, price, request, response

MODEL = "gpt-5"


def replied(call: int, outcome: Outcome = Outcome.COMPLETE, status: int = 200) -> ModelResponse:
    parts = (component(MODEL, 1, 0, 0, "0.000001"),)
    found = response(
        call, "openai", MODEL, usage=Usage(input_tokens=1), components=parts, cost="0.000001", cumulative="0.000001"
    )
    return replace(found, outcome=outcome, status=status)


def failed(call: int, reason: str) -> ModelError:
    return ModelError(
        call=call, provider="openai", model=MODEL, status=529, latency_ms=1, reason=reason, error="x", response_bytes=0
    )


DENIED = ModelDenied(provider="openai", model=MODEL, reason="max_usd", detail="x", status=402, path="/v1")


def ask(call: int) -> object:
    return request(call, "openai", MODEL)


@pytest.mark.parametrize(
    ("events", "trouble"),
    [
        ([], None),
        ([ask(1), replied(1)], None),
        ([ask(1)], "was never settled"),
        ([ask(1), replied(1), DENIED], "was refused (max_usd)"),
        ([ask(1), DENIED, replied(1)], "was refused (max_usd)"),
        ([DENIED, ask(1), replied(1)], None),
        ([ask(1), failed(1, "upstream_status")], "failed (upstream_status)"),
        ([ask(1), failed(1, "upstream_status"), ask(2), replied(2)], None),
        ([ask(1), ask(2), replied(2), failed(1, "upstream_broken")], None),
        ([ask(1), ask(2), failed(2, "upstream_broken"), replied(1)], "failed (upstream_broken)"),
        ([ask(1), failed(1, "client_gone")], None),
        ([ask(1), replied(1, Outcome.CLIENT_GONE)], None),
        ([ask(1), replied(1, Outcome.CUT)], "was broken (cut)"),
        ([ask(1), replied(1, Outcome.UPSTREAM_BROKEN)], "was broken (upstream_broken)"),
        ([ask(1), replied(1, status=500)], "was broken (complete)"),
    ],
)
def test_the_call_that_was_begun_last_counts(events: list[object], trouble: str | None) -> None:
    ledger: LedgerBuilder = opened()
    ledger.add(price(MODEL, "1.25", "0.125", "10.00"))
    for payload in events:
        ledger.add(payload)  # type: ignore[arg-type]
    assert last_call_trouble(ledger.events) == trouble
