"""The fold that writes the vectors, made from the specification alone, and docket's: one receipt of every ledger."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from golden_ledgers import samples
from golden_ledgers.drawn import Drawn
from golden_ledgers.judging import receipt_of
from sweeps import some


@pytest.fixture(autouse=True)
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "tools"))


def differing(raw: bytes) -> list[tuple[str, Any, Any]]:
    """The members that are not the same."""
    from record_vectors.fold import receipt_of as folded

    there = folded([json.loads(line) for line in raw.split(b"\n")[:-1]])
    here = receipt_of(raw)
    names = sorted({*here, *there})
    return [(name, here.get(name), there.get(name)) for name in names if here.get(name) != there.get(name)]


def test_of_each_golden_ledger() -> None:
    assert {name: found for name, make in samples.ALL.items() if (found := differing(make().data()))} == {}


@some(24)
def test_of_ledgers_drawn_at_random(stride: int) -> None:
    drawn = {seed: differing(Drawn(seed).ledger(seed % 60).data()) for seed in range(0, 2400, stride)}
    assert {seed: found for seed, found in drawn.items() if found} == {}
