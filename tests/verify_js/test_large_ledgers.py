"""Ledgers of several chunks of the second verifier's reading: long lines, lines beyond ASCII, damage late in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docket.engines.verify import VerifyRequest, verify_receipt
from docket.formats.canonical import encode
from golden_ledgers.build import LedgerBuilder, closed, opened
from golden_ledgers.judging import receipt_of
from verify_js.in_node import Pair, disagreements, needs_node

pytestmark = needs_node
CHUNK_BYTES = 1 << 18


def nested(levels: int) -> Any:
    """Arrays in arrays, so many."""
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


def large() -> LedgerBuilder:
    """Lines short and long, in ASCII and not, across several chunks; the deepest nesting that an event may have."""
    built = opened()
    for number in range(3):
        built.add_raw("x-other.short", {"text": "a" * 500, "number": number})
        built.add_raw("x-other.long", {"text": "b" * (CHUNK_BYTES + number)})
        built.add_raw("x-other.foreign", {"text": "é\u2028\U0001f600" * 400, "ﬁ": 1, "\U0001f600": 2})
        for _ in range(40):
            built.add_raw("x-other.fill", {"text": "c" * 9000})
    built.add_raw("x-other.deep", {"value": nested(62)})
    return closed(built, "0.00", ())


def test_what_stands_in_many_chunks_is_judged_alike(tmp_path: Path) -> None:
    raw = large().data()
    assert len(raw) > 4 * CHUNK_BYTES
    receipt = encode(receipt_of(raw))
    late = len(raw) - CHUNK_BYTES // 2
    line_end = raw.index(b"\n", late)
    line_start = raw.rindex(b"\n", 0, line_end) + 1
    foreign = raw.rindex("é".encode())
    ledgers = {
        "whole": raw,
        "cut in a line": raw[:late],
        "cut before an LF": raw[:line_end],
        "cut behind an LF": raw[: line_end + 1],
        "another byte": raw[:late] + bytes([raw[late] ^ 1]) + raw[late + 1 :],
        "a blank": raw[: line_end + 1] + b" " + raw[line_end + 1 :],
        "an empty line": raw[: line_end + 1] + b"\n" + raw[line_end + 1 :],
        "a line twice": raw[: line_end + 1] + raw[line_start:],
        "half a character": raw[:foreign] + raw[foreign + 1 :],
        "CR LF": raw.replace(b"\n", b"\r\n"),
        "a tail of many bytes": raw + b"x" * (17 * 1024 * 1024),
    }  # fmt: skip
    path = tmp_path / "run.jsonl"
    pairs = []
    for name, data in ledgers.items():
        path.write_bytes(data)
        verdict = verify_receipt(VerifyRequest(receipt=receipt, ledger_path=path))
        pairs.append(Pair(name, receipt, data, verdict))

    assert [one.verdict.ok for one in pairs] == [True] + [False] * (len(pairs) - 1)
    assert disagreements(pairs) == []


def test_an_event_nests_as_deep_as_a_value_may_and_no_deeper(tmp_path: Path) -> None:
    raw = large().data()
    receipt = encode(receipt_of(raw))
    deeper = raw.replace(b"[" * 62, b"[" * 63).replace(b"]" * 62, b"]" * 63)
    assert deeper != raw
    path = tmp_path / "run.jsonl"
    path.write_bytes(deeper)
    verdict = verify_receipt(VerifyRequest(receipt=receipt, ledger_path=path))

    assert disagreements([Pair("deeper", receipt, deeper, verdict)]) == []
    assert "64" in next(check.detail for check in verdict.checks if check.name == "ledger-chain")
