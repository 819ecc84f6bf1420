"""The receipt vectors of the specification in verify-js: the verdict and first failing check that they name.

Beside them: receipts and ledgers with bytes changed at random, which are no documents any more, or others.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

from docket.engines.verify import verify_receipt
from docket.formats.canonical import encode
from golden_ledgers import elsewhere, samples
from golden_ledgers.judging import receipt_of
from golden_ledgers.strange import strange
from receipt_vectors_lab import Vector, receipt_vectors, request_of
from sweeps import some
from verify_js.in_node import Pair, disagreements, needs_node, verdicts

pytestmark = needs_node

TOKENS = (
    b"0", b"-", b"-0", b"1.0", b"1e2", b"1.5", b"9007199254740991", b"9007199254740992", b"1e16", b"00", b"null",
    b"true", b'""', b'"\\ud800"', b'"\\ud83d\\ude00"', b'"\\u0000"', b"{}", b"[]", b",", b":", b'"', b"\\", b"\xff",
    b"\xc3", b"\xed\xa0\x80", b" ", b"\r\n", b"\n", b"\x00", b"NaN", b"\xef\xbb\xbf", b"\\u00e9", b"\\/", b'"x":1,',
    b'"__proto__":1,', b'"constructor":{},', b'"toString":"",', b"1e400", b"0e9", b'"0.050"',
)  # fmt: skip


def judged_file(name: str, vector: Vector, folder: Path) -> Pair:
    """The pair with docket's verdict on the two as files."""
    asked, told = request_of(vector, folder), vector.get("checkpoints")
    return Pair(
        name,
        vector["receipt"],
        vector["ledger"],
        verify_receipt(asked),
        public_keys=tuple(vector.get("public_keys", ())),
        seal_keys=tuple(vector.get("seal_keys", ())),
        checkpoints=None if told is None else told.encode("utf-8"),
        heads=tuple(vector.get("heads", ())),
    )


def test_each_vector_gets_its_verdict_and_its_first_failing_check(tmp_path: Path) -> None:
    pairs, stated = [], []
    for name, vector in receipt_vectors():
        pairs.append(judged_file(name, vector, tmp_path))
        stated.append((vector["verdict"], vector["first_failure"]))
    given = verdicts(pairs)
    found = [(one["verdict"], one["failures"][0].partition(":")[0] if one["failures"] else None) for one in given]

    wrong = [(one.name, *both) for one, *both in zip(pairs, stated, found, strict=True) if both[0] != both[1]]
    assert wrong == []
    assert len(pairs) > 100
    assert disagreements(pairs, given) == []


def changed(data: bytes, source: random.Random) -> bytes:
    """The bytes with one to three small changes."""
    made = bytearray(data)
    for _ in range(source.choice((1, 1, 1, 2, 3))):
        at, kind = source.randrange(len(made) + 1), source.randrange(6)
        if kind == 0 and at < len(made):
            made[at] ^= 1 << source.randrange(8)
        elif kind == 1:
            made[at:at] = source.choice(TOKENS)
        elif kind == 2:
            del made[at : at + source.choice((1, 1, 2, 5, 20))]
        elif kind == 3 and source.random() < 0.2:
            del made[at:]
        else:
            values = list(re.finditer(rb'(?<=[:\[,])(?:-?\d+|null|true|false|"[^"\\]*")(?=[,\]}])', bytes(made)))
            if values:
                value = source.choice(values)
                made[value.start() : value.end()] = source.choice(TOKENS)
    return bytes(made)


@some(40)
def test_bytes_changed_at_random_are_judged_alike(stride: int, tmp_path: Path) -> None:
    records = [(encode(receipt_of(raw)), raw) for raw in (one().data() for one in (*samples.ALL.values(), strange))]
    built = elsewhere.ledger()
    records.append((encode(elsewhere.receipt(built)), built.data()))
    source = random.Random(20261130)
    pairs = []
    for number in range(8000 // stride):
        receipt, ledger = source.choice(records)
        which = source.randrange(3)
        receipt = receipt if which == 1 else changed(receipt, source)
        ledger = ledger if which == 0 else changed(ledger, source)
        pairs.append(judged_file(f"change {number}", {"receipt": receipt, "ledger": ledger}, tmp_path))

    assert disagreements(pairs) == []
