"""Records of another writer, changed in one place, are judged alike by both verifiers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from golden_ledgers import elsewhere, mutate
from golden_ledgers.judging import bodies, chained, lines_of, rederived
from sweeps import some
from verify_js.in_node import Pair, disagreements, needs_node, pair

NEAR: Sequence[Any] = (None, True, 0, -1, "", "x", "1.00", "0.5", "ab" * 32, {}, {"seq": 1})
pytestmark = needs_node


def variants(value: Any) -> Iterator[tuple[str, Any]]:
    """A document with one leaf, member or item changed."""
    yield from mutate.mutations(value)
    for path, _ in mutate.leaves(value):
        for other in NEAR:
            yield f"{mutate.dotted(path)} = {other!r}", mutate.replaced(value, path, other)


@some(19)
def test_events(stride: int) -> None:
    built = elsewhere.ledger()
    good, items = elsewhere.receipt(built), bodies(built.events)
    pairs: list[Pair] = []
    number = 0
    for index, (type_, at, data) in enumerate(items):
        for what, changed in variants({"data": data}):
            number += 1
            if number % stride or not isinstance(changed, dict) or not isinstance(changed.get("data"), dict):
                continue
            events = chained([*items[:index], (type_, at, changed["data"]), *items[index + 1 :]], built.events)
            pairs.append(pair(f"event {index} ({type_}): {what}", rederived(good, events), lines_of(events)))
    assert disagreements(pairs) == []


@some(41)
def test_receipts(stride: int) -> None:
    built = elsewhere.ledger()
    pairs = [
        pair(f"receipt: {what}", changed, raw)
        for number, (what, changed) in enumerate(variants(elsewhere.receipt(built)))
        for raw in (built.data(), None)
        if number % stride == 0 and isinstance(changed, dict)
    ]
    assert disagreements(pairs) == []
