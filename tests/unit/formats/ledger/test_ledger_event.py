"""Sealing and reading one event."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.canonical import decode
from docket.formats.ledger import event as event_module
from docket.formats.ledger.event import GENESIS, Draft, draft, read_event, seal
from docket.formats.reason import Reason

TS = "2026-01-31T09:00:00.000Z"


def sealed(data, *, type_="note", seq=0, ts=TS, prev=GENESIS):
    return seal(draft(type_, data), seq=seq, ts=ts, prev=prev)


def naive(value) -> bytes:
    """The standard library's own writer, which happens to agree with canonical form for these values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def test_genesis_is_the_published_value():
    assert GENESIS == "adf41ffdf0fd9128f8f4fe88fa09fba359e27453b02be87886b621a2c2b0f7dc"


@pytest.mark.parametrize(
    ("type_", "data", "ts"),
    [
        ("note", {}, TS),
        ("note", {"z": [1, {"hash": "x", "prev": "y"}], "a": "é\n"}, TS),
        ('odd "type"\n', {"data": {"data": {}}}, "not an instant \\ é"),
        ("x-other.é", {"hash": GENESIS}, ""),
    ],
)
def test_the_hash_covers_the_other_five_members(type_, data, ts):
    event = sealed(data, type_=type_, seq=41, ts=ts)
    body = {"seq": 41, "ts": ts, "type": type_, "data": data, "prev": GENESIS}
    assert event.hash == sha256(naive(body)).hexdigest()
    assert event.line == naive({**body, "hash": event.hash})
    assert read_event(decode(event.line), event.line) == event


def test_an_event_that_was_changed_is_told_by_its_hash():
    event = sealed({"a": 1})
    for old, new in ((b'"a":1', b'"a":2'), (b'"seq":0', b'"seq":1'), (b"09:00", b"08:00"), (b"note", b"nose")):
        line = event.line.replace(old, new)
        with pytest.raises(InvalidDocumentError) as caught:
            read_event(decode(line), line)
        assert caught.value.reason == Reason.BROKEN_CHAIN


def test_every_flipped_bit_is_noticed():
    line = sealed({"n": 7, "t": "é"}).line
    for place in range(len(line)):
        for bit in range(8):
            doctored = bytearray(line)
            doctored[place] ^= 1 << bit
            with pytest.raises(InvalidDocumentError):
                read_event(decode(bytes(doctored)), bytes(doctored))


@pytest.mark.parametrize("type_", ["", "x" * 129])
def test_a_type_has_a_length(type_):
    with pytest.raises(InvalidDocumentError) as caught:
        draft(type_, {})
    assert caught.value.reason == Reason.WRONG_VALUE


def test_data_has_a_largest_size(monkeypatch):
    monkeypatch.setattr(event_module, "MAX_DATA_BYTES", 10)
    assert draft("note", {"a": "xx"}) == Draft("note", b'{"a":"xx"}')
    with pytest.raises(InvalidDocumentError) as caught:
        draft("note", {"a": "xxx"})
    assert caught.value.reason == Reason.TOO_LARGE


def test_the_largest_data_fits_into_the_largest_line():
    event = seal(Draft("\x01" * 128, b"x" * event_module.MAX_DATA_BYTES), seq=2**53 - 1, ts="\x01" * 64, prev=GENESIS)
    assert len(event.line) <= event_module.MAX_LINE_BYTES


def test_data_stands_one_level_down_in_its_line():
    deep: dict = {}
    for _ in range(62):
        deep = {"a": deep}
    line = sealed(deep).line
    assert read_event(decode(line), line).data == deep
    with pytest.raises(InvalidDocumentError) as caught:
        draft("note", {"a": deep})
    assert caught.value.reason == Reason.TOO_DEEP


def test_data_without_canonical_form_is_refused():
    with pytest.raises(InvalidDocumentError) as caught:
        draft("note", {"a": 1.5})
    assert caught.value.reason == Reason.WRONG_TYPE


def test_an_event_that_was_sealed_knows_its_data():
    event = sealed({"b": [1, {}], "a": "é"})
    assert event.data == {"a": "é", "b": [1, {}]}
    assert sealed({}).data == {}


def test_events_are_alike_if_their_lines_are():
    event, other = sealed({"a": 1}), sealed({"a": 2})
    again = read_event(decode(event.line), event.line)
    assert (event == again, event == other, event == event.line) == (True, False, False)
    assert (event != again, event != other) == (False, True)
    assert {event, again, other} == {again, other}
