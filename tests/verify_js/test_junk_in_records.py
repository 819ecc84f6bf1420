"""Junk at random places of receipts and of events, several at once, is judged alike by both verifiers.

A changed event is chained anew, and the receipt is made to fit it: its figures alone, or all of it where the ledger
gives a receipt. So what is judged is mostly not the chain.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from docket.errors import DocketError
from docket.formats.canonical import encode
from docket.formats.ledger.event import Event
from golden_ledgers import elsewhere, mutate, samples
from golden_ledgers.judging import Body, bodies, chained, lines_of, receipt_of, rederived
from golden_ledgers.strange import strange
from sweeps import some
from verify_js.in_node import Pair, disagreements, needs_node, pair

pytestmark = needs_node

Record = tuple[dict[str, Any], bytes, list[Event]]
JUNK: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**53 - 1, 1 - 2**53, 10**15, "", "x", "0.00", "0.000001", "999999999999.999999",
    "00" * 32, "2026-02-31T23:59:60Z", "2026-10-01T12:00:00.250Z", [], ["x"], [None], [[[]]], {}, {"x": 1},
    {"__proto__": 1}, {"constructor": 2, "toString": 3}, "\u2028\U0001f600", "..", "a/../b", "\x00", "*", "[a-",
    {"seq": 0, "hash": "ab" * 32}, {"max_usd": "0.01"}, "gpt-5", "main", "openai", "usd", "max_usd", "reported",
    "estimated", "complete",
)  # fmt: skip
NAMES = ("x", "__proto__", "constructor", "path_b64", "reported_by", "seq", "unread", "proof", "window", "scope")


def records() -> list[Record]:
    """The golden records: receipt, ledger and events."""
    built = [sample() for sample in (*samples.ALL.values(), strange)]
    found = [(receipt_of(one.data()), one.data(), one.events) for one in built]
    foreign = elsewhere.ledger()
    return [*found, (elsewhere.receipt(foreign), foreign.data(), foreign.events)]


def place(value: Any, source: random.Random) -> mutate.Path:
    """A leaf or container of a value."""
    return source.choice([*(path for path, _ in mutate.leaves(value)), *mutate.containers(value)])


def spoilt(value: Any, source: random.Random) -> Any:
    """The value with junk, or something of its own, in one to three places."""
    for _ in range(source.choice((1, 1, 2, 3))):
        path = place(value, source)
        if not path:
            continue
        holder = mutate.at(value, path[:-1])
        if source.random() < 0.75:
            other = mutate.at(value, place(value, source)) if source.random() < 0.3 else source.choice(JUNK)
            value = mutate.replaced(value, path, other)
        elif isinstance(holder, list):
            value = mutate.replaced(value, path[:-1], [item for at, item in enumerate(holder) if at != path[-1]])
        elif source.random() < 0.4:
            more = {**holder, source.choice(NAMES): source.choice(JUNK)}
            value = mutate.replaced(value, path[:-1], more)
        else:
            value = mutate.replaced(value, path[:-1], {name: one for name, one in holder.items() if name != path[-1]})
    return value


def is_event(value: Any) -> bool:
    texts = isinstance(value, dict) and all(isinstance(value.get(name), str) for name in ("type", "ts"))
    return texts and 0 < len(value["type"]) <= 128 and isinstance(value.get("data"), dict)


def reordered(items: list[Body], source: random.Random) -> list[Body]:
    """The bodies with one changed, left out, repeated or exchanged with another."""
    at, kind = source.randrange(len(items)), source.random()
    type_, ts, data = items[at]
    if kind < 0.8:
        changed = spoilt({"type": type_, "ts": ts, "data": data}, source)
        body = (changed["type"], changed["ts"], changed["data"]) if is_event(changed) else items[at]
        return [*items[:at], body, *items[at + 1 :]]
    if kind < 0.87 and len(items) > 1:
        return [*items[:at], *items[at + 1 :]]
    other = source.randrange(len(items))
    if kind < 0.94:
        return [*items[:other], items[at], *items[other:]]
    made = list(items)
    made[at], made[other] = made[other], made[at]
    return made


def spoilt_pairs(number: int, source: random.Random) -> Iterator[Pair]:
    """So many pairs."""
    known = records()
    for index in range(number):
        receipt, raw, events = source.choice(known)
        kind = source.randrange(4)
        document: Any = receipt
        ledger: bytes | None = None if kind == 1 else raw
        if kind < 2:
            document = spoilt(receipt, source)
        else:
            chain = chained(reordered(bodies(events), source), events)
            document, ledger = rederived(receipt, chain), lines_of(chain)
            document = derived(ledger, document) if kind == 3 else document
        if isinstance(document, dict):
            yield pair(f"{index} of {receipt['docket_number']}, kind {kind}", json.loads(encode(document)), ledger)


def derived(ledger: bytes, otherwise: dict[str, Any]) -> dict[str, Any]:
    """The receipt that the ledger gives, if it gives one."""
    try:
        return receipt_of(ledger)
    except DocketError:
        return otherwise


@some(40)
def test_junk_is_judged_alike(stride: int) -> None:
    pairs = list(spoilt_pairs(8000 // stride, random.Random(20261130)))

    assert disagreements(pairs) == []
    words = {str(one.verdict.word) for one in pairs}
    assert {"failed", "consistent", "incomplete"} <= words
