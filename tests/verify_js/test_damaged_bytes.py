"""Bytes of receipts and ledgers, damaged at random: both verifiers say the same word, and of each check the same."""

from __future__ import annotations

import random
from pathlib import Path

from docket.engines.verify import VerifyRequest, verify_receipt
from docket.errors import DocketError
from docket.formats.canonical import encode_document
from golden_ledgers import samples
from golden_ledgers.judging import receipt_of
from sweeps import some
from verify_js import in_node

pytestmark = in_node.needs_node

PIECES = (
    b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"0", b"-", b".", b"e", b"\xff", b"\0", b"\n", b"\r", b" ", b"*",
    b"\\u0000", b"\\ud800", b"\\/", b"null", b"1e2", b"1.0", b"-0", b"9007199254740993", b"\xef\xbb\xbf", b'"a":1,',
    b"\xed\xa0\x80", b"\xc3\xa9",
)  # fmt: skip


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The bytes with one to three small changes."""
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 3))):
        at, what = chance.randrange(len(made)), chance.randrange(5)
        if what == 0:
            made[at] ^= 1 << chance.randrange(8)
        elif what == 1:
            made[at:at] = chance.choice(PIECES)
        elif what == 2:
            del made[at : at + chance.choice((1, 2, 30))]
        elif what == 3:
            made[at : at + 1] = chance.choice(PIECES)
        else:
            other = chance.randrange(len(made))
            made[at:at] = made[other : other + chance.choice((1, 5, 60))]
    return bytes(made)


def word_and_statuses(receipt: bytes, ledger: Path) -> tuple[str, dict[str, str]]:
    """What docket says of them."""
    try:
        verdict = verify_receipt(VerifyRequest(receipt=receipt, ledger_path=ledger))
    except DocketError:
        return "unreadable", {}
    return str(verdict.word), {check.name: str(check.status) for check in verdict.checks}


def compared(pairs: list[tuple[bytes, bytes]], folder: Path) -> None:
    """Both say the same of every pair."""
    path = folder / "runs" / "x.jsonl"
    path.parent.mkdir()
    here = []
    for receipt, ledger in pairs:
        path.write_bytes(ledger)
        here.append(word_and_statuses(receipt, path))
    there = [
        (one["verdict"], {check["name"]: check["status"] for check in one["checks"]})
        for one in in_node.verdicts(in_node.Pair("", *pair, None) for pair in pairs)
    ]
    assert [(pair, *both) for pair, *both in zip(pairs, here, there, strict=True) if both[0] != both[1]] == []


@some(40)
def test_damage_at_random(stride: int, tmp_path: Path) -> None:
    chance = random.Random(7)
    ledgers = [make().data() for make in samples.ALL.values()]
    originals = [(encode_document(receipt_of(raw)), raw) for raw in ledgers]
    pairs = []
    for _ in range(8000 // stride):
        receipt, ledger = chance.choice(originals)
        hurt = chance.randrange(2)
        pairs.append((damaged(receipt, chance), ledger) if hurt else (receipt, damaged(ledger, chance)))

    compared(pairs, tmp_path)


def test_what_stands_in_the_place_of_a_mark(tmp_path: Path) -> None:
    raw = samples.chat().data()
    receipt = encode_document(receipt_of(raw))
    first = raw.index(b"\n")
    places = [at for at in range(first) if raw[at : at + 1] in b'{}:,"' and (at < 80 or at > first - 400)]

    compared([(receipt, raw[:at] + b"*" + raw[at + 1 :]) for at in places], tmp_path)
