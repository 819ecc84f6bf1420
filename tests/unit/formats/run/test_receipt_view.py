"""A receipt seen through its shape."""

from __future__ import annotations

from typing import Any

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.merkle import Sibling, Side
from docket.formats.run.receipt_view import is_ours, view
from golden_ledgers import elsewhere, samples
from golden_ledgers.judging import receipt_of


def test_rows_become_values() -> None:
    seen = view(receipt_of(samples.chat().data()), ours=True)
    (item,) = seen.rows

    assert (item.row.seq, item.row.model, str(item.row.cost_usd), item.row.latency_ms) == (6, "gpt-5", "0.004600", 100)
    assert isinstance(item.path[0], Sibling)
    assert item.path[0].side is Side.RIGHT
    assert (item.asserted_by, item.row.cache_key) == (None, None)


def test_what_another_writer_adds_to_a_row_is_kept() -> None:
    seen = view(elsewhere.receipt(elsewhere.ledger()), ours=False)

    assert [item.row.cache_key for item in seen.rows] == ["k", None]
    assert [item.asserted_by for item in seen.rows] == [None, "agent"]


def test_members_are_found_by_path_and_missing_ones_are_none() -> None:
    seen = view(receipt_of(samples.chat().data()), ours=True)

    assert seen.part("ledger", "events") == 12
    assert seen.part("ledger", "events", "more") is None
    assert seen.part("nothing", "there") is None
    assert seen.mapping("caps") == {"exceeded": 0, "warnings": 0}
    assert seen.mapping("seal") == {}


@pytest.mark.parametrize(
    ("document", "ours"),
    [
        ({"tool": {"fold": "docket/fold/v1"}}, True),
        ({"tool": {"fold": "docket/fold/v2"}}, False),
        ({"tool": 1}, False),
        ({}, False),
    ],
)
def test_who_wrote_it_is_what_it_names_as_its_fold(document: dict[str, Any], ours: bool) -> None:
    assert is_ours(document) is ours


def test_the_closed_shape_refuses_what_the_open_one_allows() -> None:
    document = receipt_of(samples.chat().data())
    document["appendix"]["usage"][0]["asserted_by"] = "agent"
    view(document, ours=False)
    with pytest.raises(InvalidDocumentError, match=r"appendix\.usage\[0\] has the unknown member 'asserted_by'"):
        view(document, ours=True)
