"""Receipts of another writer: the registered checks and the rebuild of what v1 defines, without ours."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from docket.formats.run.verdict import Status, Word
from golden_ledgers import elsewhere
from golden_ledgers.judging import bodies, chained, first_failure, judged, lines_of, named, rederived

Pair = tuple[dict[str, Any], bytes]


@pytest.fixture(scope="module")
def pair() -> Pair:
    built = elsewhere.ledger()
    return elsewhere.receipt(built), built.data()


def edited(document: dict[str, Any], *path: Any, value: Any = None, drop: bool = False) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    there: Any = changed
    for key in path[:-1]:
        there = there[key]
    if drop:
        del there[path[-1]]
    else:
        there[path[-1]] = value
    return changed


def test_it_is_consistent_with_its_ledger_and_without(pair: Pair) -> None:
    verdict = judged(*pair)

    assert (verdict.word, verdict.failures) == (Word.CONSISTENT, ())
    assert {check.name for check in verdict.checks if check.status is Status.SKIP} == {
        "retained-responses", "seal", "signature", "ledger-payloads", "session-shape", "event-order", "components",
        "cap-limits", "tool-windows", "tool-deltas", "proof-facts", "checkpoints", "rollback",
    }  # fmt: skip
    assert named(verdict, "receipt-rebuild").detail == "what v1 derives equals the ledger"
    assert judged(pair[0], None).word is Word.CONSISTENT
    assert named(judged(pair[0], None), "cache-hit-origins").detail == "no ledger was given"


ORIGIN = ("cache", "by_origin", 0)
USAGE = ("appendix", "usage")
CHANGES: list[tuple[str, tuple[Any, ...], Any, str]] = [
    ("receipt-shape", ("totals", "calls"), "2", "receipt.totals.calls is not an integer"),
    ("receipt-shape", ("latency", "p90_ms"), 5, "receipt.latency has the unknown member 'p90_ms'"),
    ("usage-rows-rebound", (*USAGE, 0, "provider"), "x", 'provider is "x", the ledger gives "theirs"'),
    ("usage-rows-rebound", (*USAGE, 0, "asserted_by"), "agent", 'asserted_by is "agent", the ledger gives null'),
    ("assumed-prices", ("totals", "assumed_price_models"), [], "assumed_price_models is []"),
    ("assumed-prices", ("totals", "assumed_price_models"), ["mystery", "Tiny-1"], "assumed_price_models is ["),
    ("cost-basis", ("totals", "cost_basis"), "reported: counts", "1 rows were asserted by the agent"),
    ("cache-savings", ("cache", "hits"), 3, "cache states other sums than its groups: 2 hits, 2100 tokens"),
    ("cache-savings", ("cache", "hits"), "2", "cache.hits is not an integer"),
    ("cache-savings", ("cache", "saved_usd"), "0.00", "cache states other sums"),
    ("cache-savings", ("cache", "by_origin"), 1, "cache.by_origin is not an array"),
    (
        "cache-savings",
        (*ORIGIN, "avoided_usd_per_hit"),
        "0.01",
        "avoided_usd_per_hit is 0.01, its tokens cost 0.000740",
    ),
    ("cache-savings", (*ORIGIN, "avoided_usd_total"), "0.01", "avoided_usd_total is not 2 times 0.000740"),
    ("cache-savings", (*ORIGIN, "hits"), 0, "cache.by_origin[0].hits is below 1"),
    ("cache-savings", ("cache",), None, "receipt.cache is not an object"),
    ("cache-hit-origins", (*ORIGIN, "origin_seq"), 5, "cache.by_origin[0]: no usage row is event 5"),
    ("cache-hit-origins", (*ORIGIN, "model"), "tiny", "its model and usage are not those of event 2"),
    ("cache-hit-origins", (*ORIGIN, "last_seq"), 5, "the ledger has 2 hits of event 2"),
    ("cache-hit-origins", (*ORIGIN, "event_hash"), "0" * 64, "its pinned hit is not event 3"),
    ("cache-hit-proofs", (*ORIGIN, "merkle_path"), [], "its path does not lead to ledger.merkle_root"),
    ("limits-disclosure", ("limits_disclosure",), {}, "limits_disclosure states nothing"),
    ("policy-digest", ("policy", "document", "name"), "other", "policy.digest is"),
    ("receipt-rebuild", ("label",), "y", 'receipt.label is "y", the ledger gives "x"'),
    ("receipt-rebuild", ("session", "exit_code"), 1, "receipt.session.exit_code is 1, the ledger gives 0"),
    ("receipt-rebuild", ("session", "interrupted"), True, "receipt.session.interrupted is true"),
    ("receipt-rebuild", ("model_calls", "count"), 3, "receipt.model_calls.count is 3, the ledger gives 2"),
    ("receipt-rebuild", ("tools", "names"), ["write"], "receipt.tools.names[0] is"),
    ("receipt-rebuild", ("files", "top_paths"), ["a.txt"], "receipt.files.top_paths has 1 items, the ledger gives 2"),
    ("receipt-rebuild", ("network", "tunnels_denied"), 0, "receipt.network.tunnels_denied is 0"),
    ("receipt-rebuild", ("caps", "warnings"), 1, "receipt.caps.warnings is 1"),
]


@pytest.mark.parametrize(("name", "path", "value", "words"), CHANGES)
def test_what_is_changed_fails_first_where_it_should(
    pair: Pair, name: str, path: tuple[Any, ...], value: Any, words: str
) -> None:
    verdict = judged(edited(pair[0], *path, value=value), pair[1])

    assert verdict.word is Word.FAILED
    assert first_failure(verdict) == ("receipt-shape" if path == ("cache",) else name)
    assert words in named(verdict, first_failure(verdict)).detail


def test_hits_without_the_member_cache_are_a_fault(pair: Pair) -> None:
    verdict = judged(edited(pair[0], "cache", drop=True), pair[1])

    assert named(verdict, "cache-savings").detail == "event_counts has model.cache_hit, the receipt has no member cache"
    assert named(verdict, "cache-hit-proofs").detail == "this run had no response cache"


def test_a_cache_of_models_without_a_price_is_a_fault(pair: Pair) -> None:
    document = copy.deepcopy(pair[0])
    del document["price_table"]["document"]["families"][1]
    document["cache"]["by_origin"][0]["model"] = "mystery"
    assert named(judged(document, None), "cache-savings").detail == (
        'cache.by_origin[0]: no family of the table prices "mystery"'
    )


def test_a_table_that_cannot_be_read_fails_every_check_that_prices(pair: Pair) -> None:
    document = edited(pair[0], "price_table", "document", "families", 0, "cached_input", value=1)
    verdict = judged(document, None)

    for name in ("cost-recomputation", "assumed-prices", "cache-savings"):
        assert named(verdict, name).detail == "price_table.document.families[0]: cached_input is not a text"


def test_hits_that_no_group_names_are_a_fault(pair: Pair) -> None:
    document = copy.deepcopy(pair[0])
    document["cache"] |= {"by_origin": [], "hits": 0, "saved_usd": "0.00", "avoided_tokens": 0}
    assert named(judged(document, pair[1]), "cache-hit-origins").detail == (
        "the ledger has hits of event 2 that no group names"
    )


def test_rows_without_proofs_are_said_to_have_none(pair: Pair) -> None:
    document = copy.deepcopy(pair[0])
    document["appendix"]["proof_included"] = False
    for row in document["appendix"]["usage"]:
        del row["merkle_path"]
    verdict = judged(document, pair[1])

    assert named(verdict, "usage-inclusion-proofs").detail == "the receipt carries no proofs"
    assert verdict.word is Word.CONSISTENT


def test_members_that_v1_does_not_know_are_left_alone(pair: Pair) -> None:
    assert judged({**pair[0], "proxy": {"x": 1}}, pair[1]).word is Word.CONSISTENT


def test_a_ledger_without_an_end_contradicts_a_receipt_that_says_it_is_complete() -> None:
    built = elsewhere.ledger()
    events = chained(bodies(built.events)[:-1])
    document = rederived(elsewhere.receipt(built), events)
    document["ledger"]["events"] = 11
    del document["event_counts"]["session.end"]
    verdict = judged(document, lines_of(events))

    assert verdict.failures == (
        "evidence-completeness: evidence says the ledger is complete, the ledger has no session.end",
    )
    assert verdict.word is Word.FAILED


DAMAGE: list[tuple[int, Callable[[dict[str, Any]], object], str]] = [
    (2, lambda data: data.update(usage=1), "event 2: usage is not an object"),
    (2, lambda data: data.update(usage_source="guessed"), "event 2: usage_source is not a known one"),
    (2, lambda data: data.update(model=None), "event 2: model is not a text"),
    (2, lambda data: data["usage"].update(input_tokens=-1), "event 2: usage.input_tokens is not a count"),
    (2, lambda data: data["usage"].update(input_tokens=True), "event 2: usage.input_tokens is not a count"),
    (2, lambda data: data.update(cost_usd="free"), "event 2: cost_usd: 'free' is not an amount"),
    (3, lambda data: data.update(origin=None), "event 3: origin does not name an event"),
    (3, lambda data: data["origin"].update(seq=True), "event 3: origin does not name an event"),
]


@pytest.mark.parametrize(("seq", "change", "words"), DAMAGE)
def test_replies_that_cannot_be_read_fail_the_rows(
    seq: int, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    built = elsewhere.ledger()
    items = bodies(built.events)
    change(items[seq][2])
    events = chained(items)
    check = named(judged(rederived(elsewhere.receipt(built), events), lines_of(events)), "usage-rows-rebound")

    assert check.status is Status.FAIL
    assert words in check.detail


def test_a_damaged_ledger_leaves_the_hits_unchecked(pair: Pair) -> None:
    torn = judged(pair[0], pair[1] + b"{")

    assert named(torn, "cache-hit-origins").detail == "the ledger could not be read to its end"
