"""Doctored records fail at the same checks in verify-js as in docket: their order, caps, caches, windows."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from golden_ledgers import elsewhere, samples
from golden_ledgers.build import LedgerBuilder
from golden_ledgers.drawn import Drawn
from golden_ledgers.judging import bodies, chained, lines_of, receipt_of, rederived
from golden_ledgers.strange import strange
from sweeps import some
from verify_js.in_node import Pair, disagreements, needs_node, pair
from verify_js.overhearing import judged_pairs, ordered_pairs, pair_of

TESTS = Path(__file__).parent.parent
SAMPLES = [*samples.ALL.values(), strange]
JUDGED = ("hostile/test_doctored_cache.py", "unit/rules/checks/test_ledger_checks.py")
ORDERED = ("test_windows_course.py", "test_workspace_course.py", "test_drill_order.py", "test_tunnel_order.py")

pytestmark = needs_node


def loaded(path: str) -> ModuleType:
    """A test module of another folder, without its being collected."""
    name = f"overheard_{Path(path).stem}"
    found = importlib.util.spec_from_file_location(name, TESTS / path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    found.loader.exec_module(module)
    return module


def test_golden_ledgers() -> None:
    built = elsewhere.ledger()
    pairs = [pair("elsewhere", elsewhere.receipt(built), built.data())]
    pairs += [pair(sample.__name__, receipt_of(raw), raw) for sample in SAMPLES for raw in [sample().data()]]
    assert disagreements(pairs) == []


@pytest.mark.parametrize("path", JUDGED)
def test_records_that_other_tests_doctor(path: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pairs = judged_pairs(loaded(path), monkeypatch, tmp_path)
    assert len(pairs) > 10
    assert disagreements(pairs) == []


def test_orders_of_events() -> None:
    pairs = [one for name in ORDERED for one in ordered_pairs(loaded(f"unit/rules/checks/{name}"))]
    assert len(pairs) > 60
    assert disagreements(pairs) == []


@pytest.mark.parametrize("changes", ["every_small_change", "every_known_value"])
@some(191)
def test_changes_of_an_event_with_the_chain_made_to_fit(changes: str, stride: int) -> None:
    made = getattr(loaded("hostile/test_doctored_ledgers.py"), changes)
    for batch in batches(one for sample in SAMPLES for one in changed_events(sample, made, stride)):
        assert disagreements(batch) == []


@some(23)
def test_events_left_out_repeated_and_exchanged(stride: int) -> None:
    pairs = [one for sample in SAMPLES for one in other_orders(sample, stride)]
    assert disagreements(pairs) == []


@some(20)
def test_ledgers_drawn_at_random(stride: int) -> None:
    pairs = [pair_of(f"seed {seed}", Drawn(seed).ledger(40)) for seed in range(0, 400, stride)]
    assert disagreements(pairs) == []


def other_orders(sample: Callable[[], LedgerBuilder], stride: int) -> list[Pair]:
    """The ledger with each so-many-th event left out, told twice, or exchanged with the next one."""
    good = sample()
    receipt, items = receipt_of(good.data()), bodies(good.events)
    found = []
    for number in range(0, 3 * (len(items) - 2), stride):
        at, what = number // 3 + 1, number % 3
        middle = ([], [items[at], items[at]], [items[at + 1], items[at]])[what]
        events = chained([*items[:at], *middle, *items[at + 1 + (what == 2) :]], good.events)
        name = f"{sample.__name__}, event {at}: {('left out', 'twice', 'exchanged')[what]}"
        found.append(pair(name, rederived(receipt, events), lines_of(events)))
    return found


def batches(pairs: Iterator[Pair], size: int = 2000) -> Iterator[list[Pair]]:
    """What one process of node is asked at a time."""
    while batch := list(islice(pairs, size)):
        yield batch


def changed_events(
    sample: Callable[[], LedgerBuilder], changes: Callable[[dict[str, Any]], Iterable[tuple[str, Any]]], stride: int
) -> Iterator[Pair]:
    """The ledger with each so-many-th of the changes of its events."""
    good = sample()
    receipt, items, number = receipt_of(good.data()), bodies(good.events), 0
    for index, (type_, at, data) in enumerate(items):
        for what, body in changes({"type": type_, "ts": at, "data": data}):
            number += 1
            if number % stride or not is_event(body):
                continue
            changed = (body["type"], body["ts"], body["data"])
            events = chained([*items[:index], changed, *items[index + 1 :]], good.events)
            name = f"{sample.__name__}, event {index} ({type_}): {what}"
            yield pair(name, rederived(receipt, events), lines_of(events))


def is_event(body: Any) -> bool:
    """Whether a changed body is still one of which an event can be made."""
    return (
        isinstance(body, dict)
        and set(body) == {"type", "ts", "data"}
        and all(isinstance(body[name], str) for name in ("type", "ts"))
        and isinstance(body["data"], dict)
    )
