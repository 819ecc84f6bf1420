"""Figures of a doctored record that only one language would read as such count for nothing, and stop no check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from docket.errors import UsageError
from docket.formats.run.verdict import Status
from docket.rules.drills.faults import parse_faults
from golden_ledgers import samples
from golden_ledgers.build import LedgerBuilder
from golden_ledgers.judging import bodies, chained, judged, lines_of, named, receipt_of, rederived

Data = dict[str, Any]


def status_of(
    check: str, sample: Callable[[], LedgerBuilder], change: Callable[[Callable[[str], Data]], object]
) -> Status:
    """How a check of a golden ledger ends when `change` was made to the data of its events, by type."""
    ledger = sample()
    items = bodies(ledger.events)
    change(lambda type_: next(data for item, _, data in items if item == type_))
    events = chained(items, ledger.events)
    return named(judged(rederived(receipt_of(ledger.data()), events), lines_of(events)), check).status


@pytest.mark.parametrize("ttl", ["NaN", "Infinity", "1e3", "1_0", "-1", True, None, {}, "0" * 40])
def test_a_lifetime_that_is_no_plain_number_is_no_limit(ttl: object) -> None:
    def change(of: Callable[[str], Data]) -> None:
        of("policy.applied")["document"]["cache"]["ttl_seconds"] = ttl
        of("model.cache_hit")["age_ms"] = 10**12

    assert status_of("cache-hit-origins", samples.cached, change) is Status.PASS


@pytest.mark.parametrize(("ttl", "status"), [("0.5", Status.FAIL), (1, Status.FAIL), ("2.000001", Status.PASS)])
def test_a_lifetime_in_seconds_is_one(ttl: object, status: Status) -> None:
    def change(of: Callable[[str], Data]) -> None:
        of("policy.applied")["document"]["cache"]["ttl_seconds"] = ttl
        of("model.cache_hit")["age_ms"] = 2000
        of("x-docket.cache-hit")["age_ms"] = 0

    assert status_of("cache-hit-origins", samples.cached, change) is status


def test_a_ceiling_of_true_is_none() -> None:
    def change(of: Callable[[str], Data]) -> None:
        of("policy.applied")["document"]["cache"]["max_hits"] = True
        of("note")["event"] = "another"

    assert status_of("cache-hit-origins", samples.cached, change) is Status.PASS


@pytest.mark.parametrize(
    ("limit", "said"), [(True, "True"), ({"a": 1}, "{'a': 1}"), (["1.00"], "['1.00']"), (None, "None"), (1, "1.0")]
)
def test_a_cap_that_is_no_text_and_no_integer_is_no_limit(limit: object, said: str) -> None:
    def change(of: Callable[[str], Data]) -> None:
        cap = of("cap.exceeded")
        of("policy.applied")["document"]["caps"][cap["cap"]] = limit
        cap["limit"] = said

    assert status_of("cap-limits", samples.busy, change) is Status.FAIL


@pytest.mark.parametrize(
    ("scope", "name", "cap", "limit"),
    [
        ("agent", "sub:a1", "pattern", "sub:*"),
        ("model", "*opus*", "pattern", "*opus*"),
        ("pool", "team", "daily_usd", "0.016000"),
    ],
)
def test_a_cap_has_a_name_that_is_one(scope: str, name: str, cap: str, limit: str) -> None:
    def change(of: Callable[[str], Data]) -> None:
        of("cap.warning").update(scope=scope, scope_name=name, cap=cap, limit=limit)

    assert status_of("cap-limits", samples.pooled, change) is Status.FAIL
    assert status_of("cap-limits", samples.pooled, lambda of: of("cap.warning").update(used="x")) is Status.PASS


def test_components_that_count_less_than_nothing_are_refused_by_their_check() -> None:
    def change(of: Callable[[str], Data]) -> None:
        of("model.response")["components"][0]["output_tokens"] = -(10**6)

    assert status_of("components", samples.chat, change) is Status.FAIL
    assert status_of("ledger-chain", samples.chat, change) is Status.PASS


def test_a_breaker_of_a_policy_whose_threshold_is_true_has_none() -> None:
    def change(of: Callable[[str], Data]) -> None:
        of("policy.applied")["document"]["resilience"]["breaker_threshold"] = True
        of("x-docket.breaker")["failures"] = 0

    assert status_of("event-order", samples.drilled, change) is Status.PASS


def test_a_reply_whose_payload_was_refused_names_no_body() -> None:
    def change(of: Callable[[str], Data]) -> None:
        of("model.response")["response_path"] = 1

    assert status_of("retained-responses", samples.cached, change) is Status.SKIP
    assert status_of("ledger-payloads", samples.cached, change) is Status.FAIL


@pytest.mark.parametrize(
    "rule",
    ["slow=1@share=1e-1", "slow=1@share=+0.5", "slow=1@share=0_1", "slow=1@share=.", "slow=1@share=0.1234567890123",
     "delay=1e1", "slow=1@calls=*/3-5", "slow=1@calls=*/3-"],
)  # fmt: skip
def test_numbers_of_a_rule_are_plain(rule: str) -> None:
    with pytest.raises(UsageError):
        parse_faults(rule, 1)


@pytest.mark.parametrize("share", ["0.5", ".5", "1.", "0", "0.123456789012"])
def test_shares_that_are_plain(share: str) -> None:
    assert parse_faults(f"slow=1@share={share}", 1).spec == (f"slow=1@share={share}",)
