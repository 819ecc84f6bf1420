"""A receipt that is read around its rows is the one that is read whole, and any other is not read so."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.canonical import decode_document, encode, encode_document
from docket.formats.digest import Digest
from docket.formats.ledger.event import Event
from docket.formats.ledger.line_shape import LineShapes
from docket.formats.ledger.lines import follow
from docket.formats.ledger.vocabulary import PAYLOADS
from docket.formats.run.usage import Usage
from docket.formats.run.usage_array import UsageArray
from docket.formats.run.verdict import Word
from docket.rules.checks.ledger_pass import LedgerPass
from docket.rules.checks.registry import judge
from docket.rules.checks.written_rows import read_around_rows
from docket.rules.receipt.assemble import receipt_from_ledger
from golden_ledgers.build import LedgerBuilder, added, closed, component, opened, price, request, response
from golden_ledgers.judging import reading_of
from golden_ledgers.samples import ALL

WITH_ROWS = [name for name, build in ALL.items() if b'"type":"model.response"' in build().data()]


def pair(name: str) -> tuple[bytes, Any]:
    raw = ALL[name]().data()
    return encode_document(receipt_from_ledger([raw])), reading_of(raw)


def whole(data: bytes) -> Any:
    try:
        return decode_document(data)
    except InvalidDocumentError:
        return None


def rows_of(document: Any) -> Any:
    return document["appendix"]["usage"]


@pytest.mark.parametrize("name", WITH_ROWS)
def test_what_docket_writes_is_read_around_its_rows_and_judged_alike(name: str) -> None:
    data, ledger = pair(name)
    document = read_around_rows(data, ledger)
    assert document is not None
    assert isinstance(rows_of(document), UsageArray)
    assert document == whole(data)
    assert encode(document) == encode(whole(data))
    assert judge(document, ledger, Word.CONSISTENT) == judge(whole(data), ledger, Word.CONSISTENT)


def test_a_ledger_without_rows_is_read_whole() -> None:
    data, ledger = pair(next(name for name in ALL if name not in WITH_ROWS))
    assert read_around_rows(data, ledger) is None


def test_no_other_text_is_taken_for_the_rows() -> None:
    data, ledger = pair("several calls" if "several calls" in WITH_ROWS else WITH_ROWS[0])
    begins, ends = data.index(b'"usage": ['), data.index(b'"proof_included"')
    read = 0
    for at in range(begins, ends):
        for new in (b"", bytes([data[at] ^ 1]), data[at : at + 1] * 2):
            changed = data[:at] + new + data[at + 1 :]
            found = read_around_rows(changed, ledger)
            if found is not None:
                assert found == whole(changed)
                read += 1
    assert read < 40  # blanks and commas behind the rows, which no row is made of


def test_rows_that_are_left_out_doubled_or_put_elsewhere_are_read_whole() -> None:
    name = next(name for name in WITH_ROWS if len(rows_of(whole(pair(name)[0]))) > 1)
    data, ledger = pair(name)
    document = whole(data)
    rows = rows_of(document)
    for other in (rows[:-1], rows[1:], [*rows, rows[-1]], rows[::-1], []):
        text = encode_document({**document, "appendix": {**document["appendix"], "usage": other}})
        assert read_around_rows(text, ledger) is None
    begins, ends = data.index(b'\n  "appendix"'), data.index(b'\n  "evidence"')
    appendix = data[begins:ends]
    for text in (
        data[:begins] + data[ends:],
        data[:ends] + appendix + data[ends:],
        data.replace(b'"appendix": {', b'"appendix":  {', 1),
        # The text stands within another member, and the receipt's own rows are none.
        data[:begins] + b'\n  "x": {' + appendix[:-1] + b"}," + b'"appendix": {"usage": []},' + data[ends:],
        data[:begins] + b'\n  "x": {' + appendix[:-1] + b"}," + data[ends:],
        data[:-3],
        data + b"x",
        b"[" + data + b"]",
    ):
        assert read_around_rows(text, ledger) is None
    assert read_around_rows(data + b"\n", ledger) == document


def test_a_ledger_that_is_torn_or_says_what_none_can_vouches_for_no_rows() -> None:
    data, ledger = pair(WITH_ROWS[0])
    raw = ALL[WITH_ROWS[0]]().data()
    assert ledger.sound
    assert read_around_rows(data, reading_of(raw + b"{")) is None
    other = next(name for name in WITH_ROWS[1:] if pair(name)[1].file_sha256 != hashlib.sha256(raw).hexdigest())
    assert read_around_rows(data, pair(other)[1]) is None


def test_rows_that_count_less_than_nothing_are_read_whole_and_have_not_the_form_of_rows() -> None:
    raw = ALL[WITH_ROWS[0]]().data()
    events = [item for item in follow([raw]) if isinstance(item, Event)]
    chain = LedgerBuilder()
    for event in events:
        members: Any = dict(event.data)
        if event.type == "model.response":
            members["components"] = [{**part, "input_tokens": -1} for part in members["components"]]
        chain.add_raw(event.type, members)
    ledger = reading_of(chain.data())
    data = encode_document(receipt_from_ledger([chain.data()]))
    assert read_around_rows(data, ledger) is None
    assert "receipt-shape" in judge(whole(data), ledger, Word.CONSISTENT).failures[0]


def test_rows_of_another_root_are_told_as_ever() -> None:
    data, ledger = pair(WITH_ROWS[0])
    changed = data.replace(f'"merkle_root": "{ledger.tree.root}"'.encode(), b'"merkle_root": "' + b"0" * 64 + b'"')
    document = read_around_rows(changed, ledger)
    assert document is not None
    verdict = judge(document, ledger, Word.CONSISTENT)
    assert verdict == judge(whole(changed), ledger, Word.CONSISTENT)
    assert any(failure.startswith("usage-inclusion-proofs: appendix.usage[0]") for failure in verdict.failures)


def long_ledger(calls: int, changed: int | None = None) -> bytes:
    built = opened()
    built.add(price("gpt-5", "1.25", "0.125", "10"))
    for call in range(1, calls + 1):
        built.add(request(call, "openai", "gpt-5", "openai-chat"))
        tokens = 1600 if call != changed else 1601
        built.add(
            response(
                call,
                "openai",
                "gpt-5",
                usage=Usage(input_tokens=1600, cached_input_tokens=0, output_tokens=50),
                components=(component("gpt-5", tokens, 0, 50, "0.002500"),),
                cost="0.002500",
                cumulative=f"0.{call * 2500:06d}" if call % 4 else f"0.{call * 25 // 100:02d}",
            )
        )
        built.add(added(b"module%d.py" % call))
    return closed(built, f"0.{calls * 25 // 100:02d}", ()).data()


@pytest.mark.parametrize("changed", [None, 3, 39])
def test_a_long_ledger_read_by_its_shapes_gives_the_same_reading(changed: int | None) -> None:
    raw = long_ledger(40, changed)
    quick = LedgerPass()
    for item in follow([raw], LineShapes(PAYLOADS)):
        quick.take(item)
    reading = quick.finish(file_sha256=Digest(hashlib.sha256(raw).hexdigest()), damage=None)
    strict = reading_of(raw)
    assert (reading.faults, reading.folded, reading.rows) == (strict.faults, strict.folded, strict.rows)
    assert ("components" in reading.faults) is (changed is not None)
    document = whole(encode_document(receipt_from_ledger([raw])))
    assert judge(document, reading, Word.CONSISTENT) == judge(document, strict, Word.CONSISTENT)


def test_the_rows_of_dockets_own_ledger_are_a_sequence_of_any_ledger_s_rows():
    reading = reading_of(ALL["anthropic"]().data())
    assert [item.row for item in reading.rows] == list(reading.folded.rows)
    assert {item.asserted_by for item in reading.rows} == {None}
    assert list(reading.rows[1:]) == list(reading.rows)[1:]
    assert (len(reading.rows), reading.rows[-1].row) == (len(reading.folded.rows), reading.folded.rows[-1])
    assert reading.rows != list(reading.rows)
