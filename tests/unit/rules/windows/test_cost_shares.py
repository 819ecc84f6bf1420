"""A call's cost over its tool uses: equal parts that add up to the micro-dollar."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docket.formats.amount import Usd
from docket.formats.run.usage import Usage
from docket.rules.windows.cost import AskedTools, shares
from golden_ledgers.build import component, response


@pytest.mark.parametrize(
    ("micros", "count", "parts"),
    [(0, 3, (0, 0, 0)), (2, 3, (1, 1, 0)), (1002, 4, (251, 251, 250, 250)), (7, 1, (7,)), (9, 0, ())],
)
def test_by_hand(micros: int, count: int, parts: tuple[int, ...]) -> None:
    assert tuple(part.micros for part in shares(Usd(micros), count)) == parts


@given(st.integers(0, 10**12), st.integers(1, 128))
def test_they_add_up_and_differ_by_one_at_most(micros: int, count: int) -> None:
    parts = [part.micros for part in shares(Usd(micros), count)]
    assert sum(parts) == micros
    assert len(parts) == count
    assert max(parts) - min(parts) <= 1
    assert parts == sorted(parts, reverse=True)


def answered(call: int, cost: str, *ids: str) -> object:
    part = component("claude-haiku-4-5", 1, 0, 0, cost)
    usage = Usage(input_tokens=1)
    said = response(call, "anthropic", "claude-haiku-4-5", usage=usage, components=(part,), cost=cost, cumulative=cost)
    return replace(said, tool_use_ids=ids or None)


def test_a_call_without_tools_is_shared_by_none_and_the_first_call_that_names_an_id_has_it() -> None:
    asked = AskedTools()
    for seq, said in enumerate(
        (answered(1, "0.000003", "a", "b"), answered(2, "0.50"), answered(3, "0.000009", "b", "c"))
    ):
        asked.response(said, seq)  # type: ignore[arg-type] # a response
    assert {name: (by.call, by.seq, by.tools, str(by.share_usd)) for name, by in asked.by_id.items()} == {
        "a": (1, 0, 2, "0.000002"),
        "b": (1, 0, 2, "0.000001"),
        "c": (3, 2, 2, "0.000004"),
    }
