"""Junk in a receipt or in a ledger's events gives a page or a refusal, and markup that is whole."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docket.errors import DocketError
from golden_ledgers import elsewhere, samples, staged, windowed
from golden_ledgers.build import LedgerBuilder
from golden_ledgers.judging import bodies, chained, lines_of, receipt_of
from page_lab import page_at, parsed, write

JUNK: tuple[Any, ...] = (
    None, True, 0, -1, 2**53 - 1, "", "</script>", "\u202e\x00", [], {}, [1], ["a"], {"a": 1}, "9" * 40, "1e9999", "-5",
    "nan", [[]], [None], {"x": {}},
)  # fmt: skip
MADE: dict[str, LedgerBuilder] = {
    made.__name__: made()
    for made in (samples.busy, samples.anthropic, samples.asserted, staged.left_for_review, windowed.windowed)
}
DRAWS = 6


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in items:
        yield (*path, key)
        yield from places(part, (*path, key))


def spoiled(value: dict[str, Any], draw: random.Random) -> None:
    """Put junk in one place of a document."""
    *above, last = draw.choice(list(places(value)))
    for key in above:
        value = value[key]
    value[last] = copy.deepcopy(draw.choice(JUNK))


def plain(value: Any) -> Any:
    """Lists for tuples, all of it apart from the original."""
    return json.loads(json.dumps(value))


def shown(folder: Path, raw: bytes, receipt: dict[str, Any]) -> None:
    """Make the page, or be refused."""
    identity = {"docket_number": "DKT-20261001-00C0DE", "session": {"id": "0123456789ab"}}
    path = write(folder, raw, identity)
    path.write_text(json.dumps(receipt))
    try:
        page = page_at(path)
    except DocketError:
        return
    parsed(page)


@pytest.mark.parametrize("name", [*MADE, "elsewhere"])
def test_junk_in_a_receipt(tmp_path: Path, name: str) -> None:
    draw = random.Random(name)
    ledger = MADE.get(name) or elsewhere.ledger()
    receipt = receipt_of(ledger.data()) if name in MADE else elsewhere.receipt(ledger)
    for _ in range(DRAWS):
        changed = plain(receipt)
        changed["tool"].pop("fold", None)  # of another writer's, members may be anything that v1 does not name
        for _ in range(3):
            spoiled(changed, draw)
        shown(tmp_path, ledger.data(), changed)


@pytest.mark.parametrize("name", MADE)
def test_junk_in_events(tmp_path: Path, name: str) -> None:
    draw = random.Random(name)
    ledger = MADE[name]
    for _ in range(DRAWS):
        events = plain(bodies(ledger.events))
        for _ in range(6):
            spoiled(draw.choice([event for event in events if event[2]])[2], draw)
        try:
            raw = lines_of(chained([tuple(event) for event in events]))
        except DocketError:  # it has no canonical form
            continue
        shown(tmp_path, raw, receipt_of(ledger.data()))
