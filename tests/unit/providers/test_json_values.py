"""Streams of JSON values cut by hand."""

from __future__ import annotations

import pytest

from docket.rules.providers.json_scan import MemberScan
from docket.rules.providers.json_values import MAX_VALUE_BYTES, JsonValues


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (b'[{"a":1},{"b":[2,{"c":3}]}]', [b'{"a":1}', b'{"b":[2,{"c":3}]}']),
        (b'[{"a":1}\r\n,\r\n{"b":2}\r\n]', [b'{"a":1}', b'{"b":2}']),
        (b'[{"a":1}] {"b":2}', [b'{"a":1}']),
        (b'{"a":1}\n{"b":2}\n', [b'{"a":1}', b'{"b":2}']),
        (b'{"a":1}{"b":2}', [b'{"a":1}', b'{"b":2}']),
        (b'{"a":"}{\\"]["}\n', [b'{"a":"}{\\"]["}']),
        (b'{"a":"\\\\"}\n{"b":2}', [b'{"a":"\\\\"}', b'{"b":2}']),
        (b'["{", "\\"{", {"a":1}]', [b'{"a":1}']),
        (b'junk "open\n{"a":1}\n', [b'{"a":1}']),
        (b'}\n]\n{"a":1}\n', [b'{"a":1}']),
        (b'[1,2,"x"]', []),
        (b'{"a":', []),
        (b"", []),
    ],
)
def test_values(data: bytes, values: list[bytes]) -> None:
    assert JsonValues().feed(data) == values
    stream = JsonValues()
    assert [value for at in range(len(data)) for value in stream.feed(data[at : at + 1])] == values


def test_a_long_value_is_read_as_it_passes() -> None:
    stream = JsonValues([("n",)])
    assert stream.feed(b'[{"x":"' + b"a" * MAX_VALUE_BYTES) == []
    assert isinstance(stream.pending(), MemberScan)
    assert stream.feed(b'","n":5') == []
    value, after = stream.feed(b'},{"n":6}]')
    assert isinstance(value, MemberScan)
    assert value.result() == {"n": 5}
    assert after == b'{"n":6}'
    assert stream.pending() is None
