"""Every leaf, member and item of good receipts, changed one at a time: the verdict is always `failed`.

By default every other change is made: of each leaf one of its two.

The one member that may be anything without the verdict changing is the value of a well-formed seal that nobody named
a key for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest

from docket.formats.canonical import encode_document
from docket.formats.run.verdict import Verdict, Word
from docket.rules.checks.registry import judge
from golden_ledgers import mutate, samples
from golden_ledgers.build import LedgerBuilder
from golden_ledgers.judging import first_failure, reading_of, receipt_of
from golden_ledgers.strange import strange
from sweeps import some

# Which checks may be the first to see a change, by the top-level member that was changed.
SEEN_BY: dict[str, set[str]] = {
    "format": {"receipt-format"},
    "docket_number": {"receipt-rebuild"},
    "label": {"receipt-rebuild"},
    "created_at": {"receipt-rebuild"},
    "tool": {"format", "receipt-rebuild"},
    "session": {"evidence-completeness", "receipt-rebuild"},
    "policy": {"policy-digest", "receipt-rebuild"},
    "boundary": {"receipt-rebuild"},
    "totals": {
        "totals", "token-totals", "cached-totals", "assumed-prices", "by-model-totals", "usage-source-counts",
        "cost-basis", "receipt-rebuild",
    },
    "model_calls": {"receipt-rebuild"},
    "budget": {"receipt-rebuild"},
    "tools": {"receipt-rebuild"},
    "files": {"receipt-rebuild"},
    "network": {"receipt-rebuild"},
    "caps": {"receipt-rebuild"},
    "notes": {"receipt-rebuild"},
    "asserted": {"receipt-rebuild"},
    "event_counts": {"event-count"},
    "ledger": {"ledger-chain", "head", "event-count", "merkle-root", "ledger-file-digest", "usage-inclusion-proofs"},
    "price_table": {"cost-recomputation", "price-table-digest", "receipt-rebuild"},
    "appendix": {"usage-inclusion-proofs", "usage-rows-rebound", "receipt-rebuild"},
    "evidence": {"evidence-completeness", "receipt-rebuild"},
    "ops": {"receipt-rebuild"},
    "pools": {"receipt-rebuild"},
    "responses": {"receipt-rebuild"},
    "workspace": {"receipt-rebuild"},
    "windows": {"receipt-rebuild"},
    "cache": {"cache-savings", "cache-hit-origins", "cache-hit-proofs", "receipt-rebuild"},
    "isolation": {"receipt-rebuild"},
    "findings": {"receipt-rebuild"},
    "limits_disclosure": {"limits-disclosure", "receipt-rebuild"},
    "latency": {"latency-summary"},
    "proof": {"seal", "signature", "proof-facts", "receipt-rebuild"},
    "redaction": {"receipt-rebuild"},
    "seal": {"seal"},
    "signature": {"signature"},
}  # fmt: skip


WHOLE = [sample for sample in (*samples.ALL.values(), strange) if sample not in (samples.no_end, samples.gap)]


def judged_changes(sample: Callable[[], LedgerBuilder], stride: int = 1) -> list[tuple[str, Verdict]]:
    raw = sample().data()
    ledger = reading_of(raw)
    found = []
    for what, changed in islice(mutate.mutations(receipt_of(raw)), len(raw) % stride, None, stride):
        encode_document(changed)
        if isinstance(changed, dict):
            found.append((what, judge(changed, ledger, Word.CONSISTENT)))
    return found


@some(2)
@pytest.mark.parametrize("sample", WHOLE)
def test_no_change_of_a_receipt_is_let_through(sample: Callable[[], LedgerBuilder], stride: int) -> None:
    found = judged_changes(sample, stride)
    assert len(found) > 500 // stride

    assert [what for what, verdict in found if verdict.word is not Word.FAILED] == []
    elsewhere = [
        (what, first_failure(verdict))
        for what, verdict in found
        if first_failure(verdict) not in SEEN_BY.get(what.split(".")[0].split()[0], set()) | {"receipt-shape"}
    ]
    assert elsewhere == []


@pytest.mark.parametrize("sample", [samples.no_end, samples.gap])
def test_a_change_of_an_incomplete_receipt_is_a_failure_not_only_incomplete(
    sample: Callable[[], LedgerBuilder],
) -> None:
    found = judged_changes(sample)

    assert Counter(verdict.word for _, verdict in found) == {Word.FAILED: len(found)}


def test_rows_may_not_change_places_be_repeated_or_be_taken_from_another_call() -> None:
    raw = samples.anthropic().data()
    good = receipt_of(raw)
    rows = good["appendix"]["usage"]
    for other in ([*rows, rows[-1]], rows[:-1], rows[1:], [rows[1], rows[0], *rows[2:]], [*rows[:4], rows[2]], []):
        changed: dict[str, Any] = {**good, "appendix": {**good["appendix"], "usage": other}}
        assert judge(changed, reading_of(raw), Word.CONSISTENT).word is Word.FAILED


def test_a_receipt_with_the_ledger_of_another_run_fails() -> None:
    one, other = samples.anthropic().data(), samples.chat().data()

    assert first_failure(judge(receipt_of(one), reading_of(other), Word.CONSISTENT)) == "head"


def test_cheaper_rows_with_all_sums_made_to_fit_fail_at_the_rows() -> None:
    raw = samples.chat().data()
    receipt = receipt_of(raw)
    (row,) = receipt["appendix"]["usage"]
    for holder in (row, receipt["totals"], receipt["totals"]["by_model"][0]):
        holder |= {"input_tokens": 1000, "cached_input_tokens": 800, "output_tokens": 0, "cost_usd": "0.000350"}
    receipt["totals"]["total_tokens"] = 1000

    assert judge(receipt, None, Word.CONSISTENT).word is Word.CONSISTENT
    assert first_failure(judge(receipt, reading_of(raw), Word.CONSISTENT)) == "usage-rows-rebound"
