"""Each check: what it passes, what it fails with which words, when it is skipped."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from docket.formats.run.verdict import Status, Word
from docket.rules.checks.registry import CHECKS
from golden_ledgers import samples
from golden_ledgers.judging import bodies, chained, first_failure, judged, lines_of, named, receipt_of, rederived

REGISTERED = [
    "receipt-format", "receipt-shape", "format", "ledger-chain", "retained-responses", "head", "event-count",
    "merkle-root", "ledger-file-digest", "usage-inclusion-proofs", "usage-rows-rebound", "cost-recomputation",
    "totals", "token-totals", "cached-totals", "assumed-prices", "by-model-totals", "usage-source-counts",
    "cost-basis", "latency-summary", "cache-savings", "cache-hit-origins", "cache-hit-proofs", "seal", "signature",
    "limits-disclosure", "evidence-completeness",
]  # fmt: skip
OURS = [
    "ledger-payloads", "session-shape", "event-order", "components", "cap-limits", "policy-digest",
    "price-table-digest", "receipt-rebuild", "tool-windows", "tool-deltas", "proof-facts",
    "checkpoints", "rollback",
]  # fmt: skip

Change = Callable[[dict[str, Any]], object]


def put(*path: Any, value: Any) -> Change:
    """A change that sets one member."""

    def change(receipt: dict[str, Any]) -> None:
        there: Any = receipt
        for key in path[:-1]:
            there = there[key]
        there[path[-1]] = value

    return change


def drop(*path: Any) -> Change:
    """A change that removes one member."""

    def change(receipt: dict[str, Any]) -> None:
        there: Any = receipt
        for key in path[:-1]:
            there = there[key]
        del there[path[-1]]

    return change


@pytest.fixture(scope="module")
def anthropic() -> tuple[dict[str, Any], bytes]:
    raw = samples.anthropic().data()
    return receipt_of(raw), raw


def test_every_check_is_reported_once_in_the_registered_order(anthropic: tuple[dict[str, Any], bytes]) -> None:
    receipt, raw = anthropic
    for document, ledger in (
        (receipt, raw),
        (receipt, None),
        ({**receipt, "format": "docket/receipt/v2"}, raw),
        ({**receipt, "caps": 1}, raw),
    ):
        assert [check.name for check in judged(document, ledger).checks] == REGISTERED + OURS
    assert [name for name, _ in CHECKS] == (REGISTERED + OURS)[2:]


@pytest.mark.parametrize("name", sorted(samples.ALL))
def test_a_receipt_as_written_passes(name: str) -> None:
    raw = samples.ALL[name]().data()
    receipt = receipt_of(raw)
    verdict = judged(receipt, raw)

    if name in ("no_end", "gap"):
        assert verdict.word is Word.INCOMPLETE
        assert [failure.partition(":")[0] for failure in verdict.failures] == ["evidence-completeness"]
    else:
        assert verdict.word is Word.CONSISTENT
        assert verdict.failures == ()
    skipped = {check.name for check in verdict.checks if check.status is Status.SKIP}
    cache = {"cache-savings", "cache-hit-origins", "cache-hit-proofs"} if name != "cached" else set()
    windows = {"tool-windows", "tool-deltas"} if name not in ("windowed", "on_a_stage") else {"tool-deltas"}
    proof = {"seal", "signature"} | ({"proof-facts"} if name not in ("numbered", "checkpointed") else set())
    always = {"retained-responses", "checkpoints", "rollback"} | proof | cache | windows
    assert skipped - {"latency-summary"} == always


def test_without_a_ledger_what_needs_one_is_skipped_and_the_receipt_is_consistent_with_itself(
    anthropic: tuple[dict[str, Any], bytes],
) -> None:
    verdict = judged(anthropic[0], None)

    assert verdict.word is Word.CONSISTENT
    without = [check.name for check in verdict.checks if check.detail == "no ledger was given"]
    assert without == [
        "ledger-chain", "retained-responses", "head", "event-count", "merkle-root", "ledger-file-digest",
        "usage-rows-rebound", "ledger-payloads", "session-shape", "event-order", "components", "cap-limits",
        "receipt-rebuild",
    ]  # fmt: skip


USAGE = ("appendix", "usage")
FAMILIES = ("price_table", "document", "families")
ZEROS = "0" * 64
FIRST_FAILURES = [
    (
        "receipt-format",
        put("format", value="docket/receipt/v2"),
        'format is "docket/receipt/v2", not docket/receipt/v1',
    ),
    ("receipt-shape", put("caps", "exceeded", value=-1), "receipt.caps.exceeded is below 0"),
    ("receipt-shape", put("caps", "exceeded", value=True), "receipt.caps.exceeded is not an integer"),
    ("receipt-shape", put("zzz", value=1), "receipt has the unknown member 'zzz'"),
    ("receipt-shape", drop("tools"), "receipt has no member 'tools'"),
    ("receipt-shape", put(*USAGE, 0, "latency_ms", value=None), "appendix.usage[0].latency_ms is null"),
    ("receipt-shape", put(*USAGE, 0, "asserted_by", value="agent"), "unknown member 'asserted_by'"),
    (
        "receipt-shape",
        put(*USAGE, 0, "merkle_path", value=[{"side": "up", "hash": ZEROS}]),
        "merkle_path[0] is not a side, left or right",
    ),
    ("receipt-shape", put(*USAGE, 0, "merkle_path", value=[{}] * 65), "merkle_path has more than 64 steps"),
    ("receipt-shape", drop("tool", "fold"), "receipt.tool has no member 'fold'"),
    ("ledger-chain", put("ledger", "genesis", value=ZEROS), "ledger.genesis is not the genesis"),
    ("head", put("ledger", "head", value=ZEROS), f'ledger.head is "{ZEROS}", the ledger gives'),
    ("event-count", put("ledger", "events", value=16), "event_counts add up to 17, ledger.events is 16"),
    ("event-count", put("event_counts", "note", value=1), "event_counts add up to 18, ledger.events is 17"),
    ("merkle-root", put("ledger", "merkle_root", value=ZEROS), "ledger.merkle_root is"),
    ("ledger-file-digest", put("ledger", "file_sha256", value=ZEROS), "ledger.file_sha256 is"),
    (
        "usage-inclusion-proofs",
        drop(*USAGE, 2, "merkle_path", 0),
        "appendix.usage[2] (event 8): its path does not lead",
    ),
    ("usage-inclusion-proofs", put(*USAGE, 1, "event_hash", value=ZEROS), "appendix.usage[1] (event 8)"),
    (
        "usage-rows-rebound",
        put(*USAGE, 0, "provider", value="openai"),
        'provider is "openai", the ledger gives "anthropic"',
    ),
    ("usage-rows-rebound", put(*USAGE, 2, "latency_ms", value=1), "latency_ms is 1, the ledger gives 100"),
    (
        "usage-rows-rebound",
        put(*USAGE, 4, "seq", value=10),
        "appendix.usage[4] (event 10): seq is 10, the ledger gives 11",
    ),
    ("usage-rows-rebound", drop(*USAGE, 4), "the receipt has 4 usage rows, the ledger gives 5"),
    (
        "cost-recomputation",
        put(*FAMILIES, 0, "input", value="4.00"),
        "appendix.usage[2] (event 8): cost_usd is 0.013500, its tokens cost 0.014500",
    ),
    ("cost-recomputation", drop(*FAMILIES, 0), 'no family of the table prices "claude-sonnet-4-5"'),
    ("cost-recomputation", put(*FAMILIES, 0, "output", value="1e3"), "families[0]: '1e3' is not a price"),
    ("totals", put("totals", "calls", value=4), "totals.calls is 4, the rows give 5"),
    ("totals", put("totals", "cost_usd", value="0.060951"), 'totals.cost_usd is "0.060951", the rows give "0.060950"'),
    ("token-totals", put("totals", "total_tokens", value=1), "totals.total_tokens is 1, the rows give 17612"),
    ("cached-totals", put("totals", "cached_input_tokens", value=1), "totals.cached_input_tokens is 1"),
    ("assumed-prices", put("totals", "assumed_price_models", value=["x"]), 'totals.assumed_price_models is ["x"]'),
    (
        "by-model-totals",
        put("totals", "by_model", 0, "calls", value=2),
        'totals.by_model[0] of "claude-sonnet-4-5+web-search" differs',
    ),
    ("by-model-totals", put("totals", "by_model", 0, "model", value="x"), 'totals.by_model[0]: no row is left for "x"'),
    ("by-model-totals", drop("totals", "by_model", 2), 'totals.by_model has no entry for "claude-sonnet-4-5"'),
    ("usage-source-counts", put("totals", "asserted_calls", value=1), "totals.asserted_calls is 1, the rows give 0"),
    (
        "cost-basis",
        put("totals", "cost_basis", value="mixed: both"),
        'totals.cost_basis is "mixed: both", the rows are',
    ),
    ("cost-basis", put("totals", "cost_basis", value="reported: asserted"), "0 rows were asserted by the agent"),
    ("latency-summary", put("latency", "p95_ms", value=199), "latency is {"),
    ("latency-summary", drop("latency"), "latency is null, the rows give {"),
    ("seal", put("seal", value={"alg": "none", "value": ZEROS}), "seal.alg is not hmac-sha256"),
    ("seal", put("seal", value={"alg": "hmac-sha256", "value": ZEROS}), "seal has not exactly the members alg, key_id"),
    ("signature", put("signature", value={"alg": "ed25519", "public_key": "AA" * 32, "value": 1}), "public_key is not"),
    (
        "signature",
        put("signature", value={"alg": "ed25519", "public_key": ZEROS, "value": 1}),
        "signature.value is not",
    ),
    (
        "limits-disclosure",
        put("limits_disclosure", "codes", 0, value="no-limits"),
        'has "no-limits", which is no known',
    ),
    ("limits-disclosure", put("limits_disclosure", "not_observed", 0, value="nothing"), "not_observed[0] is"),
    ("limits-disclosure", drop("limits_disclosure", "codes"), "limits_disclosure.enforced_before_send has 2 items"),
    ("evidence-completeness", put("evidence", "ledger_complete", value=False), "the record itself says"),
    ("evidence-completeness", put("evidence", "unwritten_events", value=3), "3 events could not be written"),
    ("evidence-completeness", put("session", "exit_code", value=None), "the record has no end"),
    ("policy-digest", put("policy", "document", "caps", "max_usd", value="9.00"), "policy.digest is"),
    ("policy-digest", put("policy", "digest", value=ZEROS), "policy.digest is"),
    ("price-table-digest", put("price_table", "digest", value=ZEROS), "price_table.digest is"),
    ("price-table-digest", put(*FAMILIES, 0, "source", value="x"), "price_table.digest is"),
    ("receipt-rebuild", put("label", value="other"), 'receipt.label is "other", the ledger gives "golden"'),
    (
        "receipt-rebuild",
        put("findings", value=["x"]),
        "it has findings, and what is found in a record is no part of it",
    ),
    ("receipt-rebuild", put("files", "top_paths", 0, value="x"), "receipt.files.top_paths[0] is"),
    ("receipt-rebuild", drop("session", "host", "machine"), 'receipt.session.host has no member "machine"'),
    ("receipt-rebuild", put("session", "host", "x", value=1), 'receipt.session.host has the member "x"'),
]


@pytest.mark.parametrize(("name", "change", "words"), FIRST_FAILURES)
def test_what_is_changed_fails_first_where_it_should(
    anthropic: tuple[dict[str, Any], bytes], name: str, change: Change, words: str
) -> None:
    receipt = copy.deepcopy(anthropic[0])
    change(receipt)
    verdict = judged(receipt, anthropic[1])

    assert verdict.word is Word.FAILED
    assert first_failure(verdict) == name
    assert words in named(verdict, name).detail


def test_when_the_shape_fails_nothing_else_is_computed(anthropic: tuple[dict[str, Any], bytes]) -> None:
    verdict = judged({**anthropic[0], "caps": None}, anthropic[1])

    assert {check.status for check in verdict.checks[2:]} == {Status.SKIP}
    assert verdict.docket_number == "DKT-20261001-00C0DE"


def test_a_docket_number_that_is_no_text_is_not_repeated(anthropic: tuple[dict[str, Any], bytes]) -> None:
    assert judged({**anthropic[0], "docket_number": 7}, None).docket_number is None


def test_a_well_formed_seal_that_nobody_named_a_key_for_changes_nothing(
    anthropic: tuple[dict[str, Any], bytes],
) -> None:
    seal = {"alg": "hmac-sha256", "key_id": "0" * 16, "value": ZEROS}
    verdict = judged({**anthropic[0], "seal": seal}, anthropic[1])

    assert verdict.word is Word.CONSISTENT
    assert named(verdict, "seal").status is Status.SKIP


def test_a_fold_of_another_version_is_not_guessed_at(anthropic: tuple[dict[str, Any], bytes]) -> None:
    receipt = copy.deepcopy(anthropic[0])
    receipt["tool"]["fold"] = "docket/fold/v9"
    verdict = judged(receipt, None)

    assert first_failure(verdict) == "format"
    assert (
        named(verdict, "format").detail == 'the receipt derives by "docket/fold/v9", which this version does not know'
    )


def test_a_ledger_of_another_fold_is_not_guessed_at() -> None:
    ledger = samples.zero()
    raw = ledger.data()
    items = bodies(ledger.events)
    items[0][2]["fold"] = "docket/fold/v9"
    events = chained(items)
    verdict = judged(rederived(receipt_of(raw), events), lines_of(events))

    assert named(verdict, "format").detail == 'the ledger derives by "docket/fold/v9", which this version does not know'


def test_a_receipt_of_ours_with_a_ledger_of_another_writer_fails(anthropic: tuple[dict[str, Any], bytes]) -> None:
    items = bodies(samples.anthropic().events)
    del items[0][2]["fold"]
    events = chained(items)
    verdict = judged(rederived(anthropic[0], events), lines_of(events))

    assert named(verdict, "receipt-rebuild").detail == "the receipt names docket/fold/v1, the ledger does not"
    assert named(verdict, "components").detail == "the ledger is another writer's"
