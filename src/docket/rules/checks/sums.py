"""Checks of the receipt's sums against its own rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from docket.formats.amount import Usd
from docket.formats.canonical import JsonValue
from docket.formats.run.receipt_view import ReceiptView
from docket.formats.run.row_sums import sum_of_all
from docket.formats.shown import shown
from docket.rules.checks.case import Answer, Case, broken, held, skipped
from docket.rules.checks.rows import TOO_MANY, table
from docket.rules.receipt.latency import summary
from docket.rules.wording import count_of


def totals(case: Case) -> Answer:
    """The stated number of rows and their cost."""
    whole = sum_of_all(case.receipt.sums)
    return _compare(case.receipt, {"calls": whole.calls, "cost_usd": str(Usd(whole.micros))})


def token_totals(case: Case) -> Answer:
    """The stated input, output and total tokens."""
    whole = sum_of_all(case.receipt.sums)
    input_, output = whole.input_tokens, whole.output_tokens
    return _compare(case.receipt, {"input_tokens": input_, "output_tokens": output, "total_tokens": input_ + output})


def cached_totals(case: Case) -> Answer:
    """The stated cached input tokens."""
    return _compare(case.receipt, {"cached_input_tokens": sum_of_all(case.receipt.sums).cached_input_tokens})


def assumed_prices(case: Case) -> Answer:
    """The models named as assumed are those the table prices by its fallback; ours may name more of its rows'."""
    families, fault = table(case)
    if families is None:
        return broken(fault)
    models = set(case.receipt.sums)
    fallback, stated = families.assumed(models), case.receipt.part("totals", "assumed_price_models")
    if families.is_spent:
        return broken(TOO_MANY)
    named = _texts(stated)
    allowed = models if case.receipt.ours else set(fallback)
    if len(set(named)) != len(named) or not set(fallback) <= set(named) <= allowed:
        return broken(f"totals.assumed_price_models is {shown(stated)}, the table's fallback prices {shown(fallback)}")
    return held(f"{count_of(len(named), 'model')} with an assumed price")


def by_model_totals(case: Case) -> Answer:
    """The sums by model."""
    sums = {model: {"model": model, **found.to_json()} for model, found in case.receipt.sums.items()}
    stated = case.receipt.part("totals", "by_model")
    for index, entry in enumerate(stated if isinstance(stated, Sequence) else ()):
        named = entry.get("model") if isinstance(entry, Mapping) else None
        wanted = sums.pop(str(named), None)
        if wanted is None:
            return broken(f"totals.by_model[{index}]: no row is left for {shown(named)}")
        if entry != wanted:
            return broken(f"totals.by_model[{index}] of {shown(named)} differs from the sum of its rows")
    if sums:
        return broken(f"totals.by_model has no entry for {shown(min(sums))}")
    return held("every model's sum equals its rows")


def usage_source_counts(case: Case) -> Answer:
    """How many rows were reported, estimated and asserted."""
    whole = sum_of_all(case.receipt.sums)
    return _compare(
        case.receipt,
        {
            "usage_reported_calls": whole.reported,
            "usage_estimated_calls": whole.estimated,
            "asserted_calls": _asserted(case),
        },
    )


def cost_basis(case: Case) -> Answer:
    """The basis begins with the word that fits the rows: reported, estimated or mixed."""
    whole, asserted = sum_of_all(case.receipt.sums), _asserted(case)
    reported, estimated = whole.reported, whole.estimated
    word = "mixed" if reported and estimated else "estimated" if estimated else "reported"
    stated = str(case.receipt.part("totals", "cost_basis"))
    if stated.partition(":")[0] != word:
        return broken(f"totals.cost_basis is {shown(stated)}, the rows are {word}")
    if ("asserted" in stated) is not bool(asserted):
        return broken(f"totals.cost_basis is {shown(stated)}, {asserted} rows were asserted by the agent")
    return held(f"the rows are {word}")


def latency_summary(case: Case) -> Answer:
    """The percentiles follow from the rows' latencies by nearest rank."""
    stated = case.receipt.part("latency")
    measured = [item.row.latency_ms for item in case.receipt.rows if item.row.latency_ms is not None]
    found = summary(measured, len(case.receipt.rows))
    if stated is None and found is None:
        return skipped("no latency was measured")
    if stated != found:
        return broken(f"latency is {shown(stated)}, the rows give {shown(found)}")
    return held(f"{count_of(len(measured), 'row')} measured")


def _compare(receipt: ReceiptView, wanted: Mapping[str, JsonValue]) -> Answer:
    for name, value in wanted.items():
        stated = receipt.part("totals", name)
        if stated != value:
            return broken(f"totals.{name} is {shown(stated)}, the rows give {shown(value)}")
    return held(", ".join(f"{name} {shown(value)}" for name, value in wanted.items()))


def _asserted(case: Case) -> int:
    # docket's own rows are never the agent's word.
    return 0 if case.gives_rows else sum(item.asserted_by is not None for item in case.receipt.rows)


def _texts(value: JsonValue) -> list[str]:
    return [str(item) for item in value] if isinstance(value, Sequence) else []
