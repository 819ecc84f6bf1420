"""What usage rows add up to, model by model (spec/fold.md, member `totals`).

Rules: rows are counted, calls are not; every figure is of all rows of its model, in the order in which models first
stand in them. What a receipt says of its sums is for others: here is one look at each row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from docket.formats.amount import Usd
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.run.receipt import UsageRow
from docket.formats.run.usage import UsageSource


@dataclass(slots=True)
class RowSum:
    """The sums of some rows; `micros` in micro-dollars, `estimated` how many of them nobody reported."""

    calls: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    micros: int = 0
    estimated: int = 0

    @property
    def reported(self) -> int:
        """How many of the rows the provider reported."""
        return self.calls - self.estimated

    def to_json(self) -> dict[str, JsonValue]:
        """Return the members that `totals` and its `by_model` share."""
        return {
            "calls": self.calls,
            "input_tokens": self.input_tokens,
            "cached_input_tokens": self.cached_input_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": str(Usd(self.micros)),
        }


def sums_by_model(rows: Iterable[UsageRow]) -> dict[str, RowSum]:
    """Return the sums of each model's rows."""
    sums: dict[str, RowSum] = {}
    for row in rows:
        found = sums.get(row.model)
        if found is None:
            found = sums[row.model] = RowSum()
        found.calls += 1
        found.input_tokens += row.input_tokens
        found.cached_input_tokens += row.cached_input_tokens
        found.output_tokens += row.output_tokens
        found.micros += row.cost_usd.micros
        if row.usage_source is UsageSource.ESTIMATED:
            found.estimated += 1
    return sums


def sum_of_all(sums: Mapping[str, RowSum]) -> RowSum:
    """Return what the sums of all models add up to."""
    whole = RowSum()
    for one in sums.values():
        whole.calls += one.calls
        whole.input_tokens += one.input_tokens
        whole.cached_input_tokens += one.cached_input_tokens
        whole.output_tokens += one.output_tokens
        whole.micros += one.micros
        whole.estimated += one.estimated
    return whole
