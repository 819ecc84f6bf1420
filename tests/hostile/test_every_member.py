"""Each member of a receipt that has everything, with fifteen kinds of junk in its place: refused by both verifiers.

The ledger is at hand, no key is named. Half of the receipts are sealed and signed anew by the keys that the ledger
names, as if who holds them told something else than the record: no signature helps a receipt that its ledger does not
give. What may be anything is listed in FREE.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import record_vectors_lab
from docket.formats.canonical import encode
from docket.formats.proof.pins import PinnedKey, PinnedSeal, Pins
from docket.formats.run.verdict import Word
from docket.rules.checks.registry import Beside, judge
from golden_ledgers.judging import first_failure, reading_of
from golden_ledgers.mutate import at, containers, dotted, leaves, replaced
from golden_ledgers.proven import SEAL_KEY, SECRET_KEY, sealed, signed
from sweeps import some
from verify_js.in_node import Pair, disagreements, needs_node

RECORD = next(told for told in record_vectors_lab.sides() if told.name == "everything, accepted")
GENUINE: dict[str, Any] = json.loads(RECORD.receipt)
LEDGER = RECORD.ledger or b""
JUNK: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**53 - 1, "", "x", "0.000001", "00" * 32, "2026-11-05T08:00:00.500Z", [], [None],
    {"x": 1},
)  # fmt: skip
# Members that may be anything where no key is named; of this receipt none, for its signature covers its seal.
FREE: frozenset[str] = frozenset()
VOUCHING = ("seal", "signature")


def mutants(stride: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each member, item and leaf with each junk, every so-many-th; every other one vouched for anew."""
    places = sorted({*(path for path, _ in leaves(GENUINE)), *containers(GENUINE)} - {()}, key=dotted)
    changes = [(path, junk) for path in places for junk in JUNK]
    for number, (path, junk) in enumerate(changes[::stride]):
        if is_same(at(GENUINE, path), junk):
            continue
        changed = replaced(GENUINE, path, junk)
        anew = number % 2 == 1 and path[0] not in VOUCHING
        yield f"{dotted(path)} -> {junk!r}{', signed anew' if anew else ''}", vouched(changed) if anew else changed


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same value of JSON: true is not 1."""
    return encode(one) == encode(other)


def vouched(receipt: dict[str, Any]) -> dict[str, Any]:
    """The receipt as who holds the keys would let it go."""
    return signed(sealed(receipt, SEAL_KEY), SECRET_KEY)


def name_of(what: str) -> str:
    """The member, without numbers of items."""
    return ".".join(part for part in what.partition(" -> ")[0].split(".") if not part.isdigit())


def test_the_receipt_has_everything_and_holds() -> None:
    pins = Pins(
        signers=tuple(PinnedKey(public_key=bytes.fromhex(key)) for key in RECORD.keys["public_keys"]),
        seals=tuple(PinnedSeal(key=bytes.fromhex(key)) for key in RECORD.keys["seal_keys"]),
    )
    verdict = judge(GENUINE, reading_of(LEDGER), Word.VERIFIED, Beside(pins=pins))
    assert verdict.word is Word.VERIFIED
    assert {"cache", "workspace", "windows", "asserted", "proof", "latency"} < set(GENUINE)
    assert vouched(GENUINE) == GENUINE
    rows = [row["model"] for row in GENUINE["appendix"]["usage"]]
    assert rows == ["claude-x+cache-write-5m", "claude-x", "gpt-5"]
    assert all(GENUINE["cache"][name] for name in ("by_origin", "component_hits"))


@needs_node
@some(29)
def test_no_junk_in_the_place_of_a_member_is_let_through(stride: int) -> None:
    reading = reading_of(LEDGER)
    pairs = [
        Pair(what, encode(changed), LEDGER, judge(changed, reading, Word.CONSISTENT))
        for what, changed in mutants(stride)
    ]

    assert len(pairs) > 6000 // stride
    assert {name_of(one.name) for one in pairs if one.verdict.word is not Word.FAILED} == FREE
    assert disagreements(pairs) == []
    seen = Counter(first_failure(one.verdict) for one in pairs)
    assert {"receipt-shape", "signature", "receipt-rebuild"} < set(seen)
