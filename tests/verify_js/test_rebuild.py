"""The JavaScript verifier makes every receipt again from its ledger, and sees a change of any leaf of it.

All pairs go to one process. Only the form of the receipt, its rows and `receipt-rebuild` are asked: no sum, proof or
digest helps them. That `docket verify` fails on each of these changes too is held here for some of them, and by the
hostile tests for all.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from docket.formats.canonical import encode
from docket.formats.run.verdict import Word
from docket.rules.checks.registry import judge
from golden_ledgers import elsewhere, samples
from golden_ledgers.build import LedgerBuilder
from golden_ledgers.drawn import Drawn
from golden_ledgers.judging import reading_of, receipt_of
from golden_ledgers.mutate import dotted, leaves, mutations, replaced
from golden_ledgers.strange import strange
from sweeps import some
from verify_js import in_node

HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

Change = tuple[tuple[str | int, ...], Any]
# What no rebuilding can see: keys, and of another writer's receipt what v1 does not derive from events.
KEYS = ("seal", "signature")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A receipt and its ledger, and the changes that are tried; `form` is whether it has the form of one."""

    name: str
    receipt: dict[str, Any]
    ledger: bytes
    changes: list[Change]
    form: bool = True

    @classmethod
    def of(cls, name: str, ledger: bytes, *, changes: bool = False) -> Pair:
        """The receipt that Python gives the ledger."""
        receipt = receipt_of(ledger)
        return cls(name=name, receipt=receipt, ledger=ledger, changes=list(junk(receipt)) if changes else [])


def junk(receipt: dict[str, Any]) -> Iterator[Change]:
    """A change of each leaf, of another kind or another value by turns."""
    for turn, (path, leaf) in enumerate(leaves(receipt)):
        if path[0] not in KEYS:
            yield path, other(leaf, turn)


def other(leaf: Any, turn: int) -> Any:
    """What is put in a leaf's place."""
    choices = [0 if leaf is None else None, [leaf], {"x": leaf}]
    if isinstance(leaf, bool):
        choices += [not leaf, int(leaf)]
    elif isinstance(leaf, int):
        choices += [leaf + 1, str(leaf), -leaf - 1]
    elif isinstance(leaf, str):
        choices += [leaf + " ", leaf[:-1] if leaf else "x", leaf + "\u0301"]
    elif leaf in ({}, []):
        choices += ["", {"x": 1} if leaf == {} else ["x"]]
    return choices[turn % len(choices)]


def answers(pairs: list[Pair]) -> list[dict[str, Any]]:
    """What verify-js says of them."""
    asked = [
        {
            "receipt": base64.b64encode(encode(pair.receipt)).decode(),
            "ledger": base64.b64encode(pair.ledger).decode(),
            "changes": pair.changes,
            "form": pair.form,
        }
        for pair in pairs
    ]
    text = "".join(f"{json.dumps(item)}\n" for item in asked)
    done = subprocess.run(
        ["node", str(HERE / "rebuild.mjs")], input=text, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def held(pairs: list[Pair]) -> None:
    """Every pair is made again, and no change is let through."""
    found = answers(pairs)
    assert len(found) == len(pairs)
    assert [
        (pair.name, answer["fault"], answer["rebuild"])
        for pair, answer in zip(pairs, found, strict=True)
        if answer["rebuild"]["status"] != "pass"
    ] == []
    let_through = [
        f"{pair.name}: {dotted(path)} -> {junk!r}"
        for pair, answer in zip(pairs, found, strict=True)
        for (path, junk), status in zip(pair.changes, answer["changed"], strict=True)
        if status != "fail"
    ]
    assert let_through == []


def test_golden_ledgers_and_every_leaf_of_their_receipts() -> None:
    pairs = [Pair.of(make.__name__, make().data(), changes=True) for make in (*samples.ALL.values(), strange)]
    assert sum(len(pair.changes) for pair in pairs) > 5000

    held(pairs)


@some(17)
def test_docket_verify_fails_on_the_same_changes(stride: int) -> None:
    for make in samples.ALL.values():
        pair = Pair.of(make.__name__, make().data(), changes=True)
        reading = reading_of(pair.ledger)
        for path, junk in pair.changes[::stride]:
            assert judge(replaced(pair.receipt, path, junk), reading, Word.CONSISTENT).word is Word.FAILED, path


@some(67)
def test_both_verifiers_say_the_same_of_changed_receipts(stride: int) -> None:
    pairs = []
    for make in (*samples.ALL.values(), strange):
        raw = make().data()
        reading = reading_of(raw)
        changes = [item for item in mutations(receipt_of(raw)) if isinstance(item[1], dict)]
        for place, (what, changed) in enumerate(changes[len(pairs) % stride :: stride]):
            name, ledger = f"{make.__name__}: {what}", (raw, reading) if place % 2 else (None, None)
            verdict = judge(changed, ledger[1], Word.CONSISTENT)
            pairs.append(in_node.Pair(name, encode(changed), ledger[0], verdict))

    assert in_node.disagreements(pairs) == []


@some(24)
def test_ledgers_drawn_at_random(stride: int) -> None:
    pairs = [
        Pair.of(f"seed {seed}", Drawn(seed).ledger(seed % 60).data(), changes=seed % 5 == 0)
        for seed in range(0, 2400, stride)
    ]

    held(pairs)


# What v1 derives, as far as the event has it: the rest is another writer's own.
DERIVED = {
    "docket_number", "label", "model_calls", "tools", "files", "network", "caps", "event_counts", "policy", "session",
}  # fmt: skip
OWN = {("policy", "source"), ("session", "duration_seconds"), ("session", "host")}


def added(value: dict[str, Any], path: tuple[str | int, ...], junk: Any) -> dict[str, Any]:
    """The object with one more member."""
    name, *rest = (str(key) for key in path)
    return {**value, name: added(value[name], tuple(rest), junk) if rest else junk}


def test_another_writers_receipt_is_held_to_what_v1_derives() -> None:
    built = elsewhere.ledger()
    receipt = elsewhere.receipt(built)
    changes = [
        (path, other(leaf, turn))
        for turn, (path, leaf) in enumerate(leaves(receipt))
        if path[0] in DERIVED and path[:2] not in OWN
    ]
    more: list[Change] = [(("event_counts", "x"), 0), (("model_calls", "by_provider", "x"), 0)]
    pair = Pair(name="elsewhere", receipt=receipt, ledger=built.data(), changes=[*changes, *more])
    free: list[Change] = [(("session", "host"), {"x": 1}), (("files", "x"), 1), (("findings",), [])]

    held([pair])
    reading = reading_of(built.data())
    for path, junk in more:
        changed = {**receipt, path[0]: added(receipt[path[0]], path[1:], junk)}
        assert judge(changed, reading, Word.CONSISTENT).failures[0].startswith("receipt-rebuild: ")
    (answer,) = answers([Pair(name="free", receipt=receipt, ledger=built.data(), changes=free)])
    assert answer["changed"] == ["pass"] * 3


def theirs(seed: int) -> Pair:
    """A ledger of another writer drawn at random, and a receipt that says what Python finds to derive from it."""
    built = Drawn(seed).theirs(seed % 40 + 1)
    reading = reading_of(built.data())
    assert reading.public is not None
    assert reading.rows is not None
    rows = [
        {**item.row.to_json(()), **({} if item.asserted_by is None else {"asserted_by": item.asserted_by})}
        for item in reading.rows
    ]
    receipt = {"format": "docket/receipt/v1", "tool": {}, "appendix": {"usage": rows}, **reading.public}
    changes = [(path, other(leaf, turn)) for turn, (path, leaf) in enumerate(leaves(reading.public)) if leaf != {}]
    return Pair(name=f"theirs {seed}", receipt=receipt, ledger=built.data(), changes=changes, form=False)


@some(20)
def test_ledgers_of_others_drawn_at_random(stride: int) -> None:
    held([theirs(seed) for seed in range(0, 2000, stride)])


def test_a_receipt_of_this_fold_with_a_ledger_that_names_none() -> None:
    theirs = LedgerBuilder()
    theirs.add_raw("session.start", {"session_id": "s1"})
    pair = Pair(name="", receipt=receipt_of(samples.zero().data()), ledger=theirs.data(), changes=[])

    (answer,) = answers([pair])

    assert answer["rebuild"]["detail"] == "the receipt names docket/fold/v1, the ledger does not"
