"""Rows that a ledger gives and that have not the form of any: the receipt that derives says the same, and fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docket.engines.verify import VerifyRequest, verify_receipt
from docket.formats.canonical import encode_document
from docket.formats.run.verdict import Word
from golden_ledgers import samples
from golden_ledgers.build import LedgerBuilder
from golden_ledgers.judging import bodies, chained, first_failure, lines_of, named, receipt_of

Data = dict[str, Any]


@pytest.mark.parametrize(
    ("sample", "number", "change", "said"),
    [
        # Beside the others' figures a count below nothing is in no sum and no rank.
        (samples.ALL["cached"], 0, lambda data: data.update(latency_ms=-1), "appendix.usage[0].latency_ms is below 0"),
        (samples.ALL["cached"], 2, lambda data: data.update(latency_ms=-1), "appendix.usage[3].latency_ms is below 0"),
        (
            samples.anthropic,
            1,
            lambda data: data["components"][1].update(output_tokens=-5),
            "appendix.usage[4].output_tokens is below 0",
        ),
    ],
)
def test_a_count_below_nothing_in_one_of_many_rows_is_no_receipt(
    sample: Callable[[], LedgerBuilder], number: int, change: Callable[[Data], object], said: str, tmp_path: Path
) -> None:
    ledger = sample()
    items = bodies(ledger.events)
    change([data for type_, _, data in items if type_ == "model.response"][number])
    raw, path = lines_of(chained(items, ledger.events)), tmp_path / "run.jsonl"
    path.write_bytes(raw)
    verdict = verify_receipt(VerifyRequest(receipt=encode_document(receipt_of(raw)), ledger_path=path))

    assert (verdict.word, first_failure(verdict)) == (Word.FAILED, "receipt-shape")
    assert said in named(verdict, "receipt-shape").detail
