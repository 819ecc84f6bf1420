"""What a receipt says of pacing, breakers and drills."""

from dataclasses import replace

import pytest

from docket.formats.ledger.model_events import ModelError, ModelResponse, Outcome
from docket.formats.ledger.resilience_events import BreakerChange, BreakerState
from docket.rules.receipt.operations import OperationsFold
from golden_ledgers import samples
from golden_ledgers.build import SOME_DIGEST
from golden_ledgers.judging import receipt_of

NOTHING = {"circuit_breaker": {}, "rate_limiter": None, "snapshot": None, "rollback": None}


def test_a_drill_under_pacing_by_hand():
    assert receipt_of(samples.drilled().data())["ops"] == {
        "circuit_breaker": {
            "openai": {
                "state": "closed",
                "consecutive_failures": 1,
                "total_failures": 2,
                "total_successes": 1,
                "openings": 1,
                "cooldown_ms": 0,
            }
        },
        "rate_limiter": {
            "per_minute": 3,
            "per_second": "0.5",
            "allowed": 3,
            "refused": 1,
            "waited": 2,
            "waited_ms": 2000,
            "longest_wait_ms": 1999,
        },
        "snapshot": None,
        "rollback": None,
        "chaos_run": True,
        "fault_injection": {
            "seed": 7,
            "spec": ["status=503@calls=1-2", "slow=64@calls=3"],
            "injections": 3,
            "upstream_asked": 1,
            "by_kind": {"slow": 1, "status": 2},
        },
    }


def test_a_run_without_any_of_it_says_nothing():
    assert receipt_of(samples.busy().data())["ops"] == NOTHING
    assert OperationsFold().member({"resilience": None}, 0) == NOTHING


def error(reason, status):
    return ModelError(
        call=1, provider="p", model="m", status=status, latency_ms=0, reason=reason, error="", response_bytes=0
    )


@pytest.mark.parametrize(
    ("reason", "status", "counts"),
    [
        ("upstream_status", 500, (1, 0)),
        ("upstream_status", 429, (0, 1)),
        ("upstream_unreachable", 502, (1, 0)),
        ("upstream_broken", 502, (1, 0)),
        ("injected_fault", 499, (1, 0)),
        ("upstream_error_event", 529, (1, 0)),
        ("upstream_error_event", 200, (0, 0)),
        ("client_gone", 499, (0, 0)),
    ],
)
def test_errors_count_as_the_breaker_counts_them(reason, status, counts):
    fold = OperationsFold()
    fold.error(error(reason, status))
    assert (fold.failures["p"], fold.successes["p"]) == counts


def test_replies_count_as_the_breaker_counts_them():
    event = next(e for e in samples.drilled().events if e.type == "model.response")
    whole = ModelResponse(**{**read(event), "provider": "p"})
    fold = OperationsFold()
    for payload in (whole, replace(whole, outcome=Outcome.UPSTREAM_BROKEN), replace(whole, status=500)):
        fold.response(payload)
    assert (fold.failures["p"], fold.successes["p"]) == (2, 1)
    assert whole.response_sha256 == SOME_DIGEST


def read(event):
    from docket.formats.ledger.vocabulary import read_payload

    payload = read_payload(event)
    return {name: getattr(payload, name) for name in payload.__slots__}


def test_a_provider_with_several_upstreams_stands_in_the_worst_state():
    fold = OperationsFold()
    change = BreakerChange(provider="p", upstream="b", state=BreakerState.OPEN, failures=5, cooldown_ms=30000)
    fold.breaker(change)
    fold.breaker(replace(change, upstream="a", state=BreakerState.HALF_OPEN, failures=9, cooldown_ms=0))
    fold.breaker(replace(change, upstream="c", state=BreakerState.CLOSED, failures=0, cooldown_ms=0))
    member = fold.member({}, 0)["circuit_breaker"]["p"]
    assert (member["state"], member["consecutive_failures"], member["openings"]) == ("open", 5, 1)
    fold.breaker(replace(change, state=BreakerState.CLOSED, failures=0, cooldown_ms=0))
    assert fold.member({}, 0)["circuit_breaker"]["p"]["state"] == "half_open"
