"""The quick reading of payloads says what the strict one says, of golden events and of each with one thing wrong."""

from __future__ import annotations

from types import MappingProxyType

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.ledger.lines import follow
from docket.formats.ledger.payload_codec import from_members
from docket.formats.ledger.payload_quick import Quick, looked_for
from docket.formats.ledger.vocabulary import PAYLOADS
from golden_ledgers.samples import ALL

JUNK = (None, True, 0, 1, -1, 2**53, "", "x", "0.5", "0.50", "a" * 64, "A" * 64, [], ["x"], [1], [None], {}, {"x": 1})


def every_event():
    """One event of each type and set of members."""
    found = {}
    for build in ALL.values():
        for event in follow([build().data()]):
            if event.type in PAYLOADS:
                found.setdefault((event.type, *sorted(event.data)), event.data)
    return [(key[0], data) for key, data in found.items()]


def read(type_, value):
    try:
        return from_members(PAYLOADS[type_], value, type_)
    except InvalidDocumentError as error:
        return error.reason, error.detail


def same(type_, data):
    # What is no dict is never read quickly.
    assert read(type_, data) == read(type_, MappingProxyType(data)), data


@pytest.mark.parametrize(("type_", "data"), every_event())
def test_both_readings_agree(type_, data):
    assert not isinstance(read(type_, data), tuple)
    same(type_, data)
    same(type_, {**data, "beyond": 1})
    for name, value in data.items():
        same(type_, {other: kept for other, kept in data.items() if other != name})
        for junk in JUNK:
            same(type_, {**data, name: junk})
        if isinstance(value, dict):
            for inner in value:
                for junk in JUNK:
                    same(type_, {**data, name: {**value, inner: junk}})
        if isinstance(value, list) and value:
            for junk in JUNK:
                same(type_, {**data, name: [junk, *value[1:]]})


def test_as_many_sets_of_keys_as_there_may_be_are_remembered_and_no_more():
    names = [f"m{number}" for number in range(9)]
    members = tuple(looked_for(name, str, lambda _cls: pytest.fail("none is nested"), optional=True) for name in names)
    quick = Quick(dict, members)
    for number in range(2**9):
        value = {name: "x" for at, name in enumerate(names) if number >> at & 1}
        assert quick.read(value) == value
        assert len(quick._plans) <= 256
    assert quick.read({"m0": 1}) is None
    assert quick.read({"other": "x"}) is None
