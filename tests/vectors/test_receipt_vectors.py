"""The receipt vectors of the specification: the verdict and the first failing check of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from docket.engines.verify import verify_receipt
from golden_ledgers.judging import first_failure
from receipt_vectors_lab import receipt_vectors, request_of

VECTORS = dict(receipt_vectors())


def test_there_are_many() -> None:
    assert len(VECTORS) > 150


@pytest.mark.parametrize("vector", VECTORS.values(), ids=VECTORS)
def test_each_vector_gets_its_verdict_and_its_first_failing_check(vector: dict[str, Any], tmp_path: Path) -> None:
    verdict = verify_receipt(request_of(vector, tmp_path))

    assert (str(verdict.word), first_failure(verdict) or None) == (vector["verdict"], vector["first_failure"])
