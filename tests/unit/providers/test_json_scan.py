"""Members out of JSON that is too long to hold, or too broken to trust."""

from __future__ import annotations

import json

import pytest

from docket.rules.providers.json_scan import (
    MAX_CAPTURE_BYTES,
    MemberScan,
    as_items,
    as_map,
    as_text,
    loads_lenient,
    loads_object,
)

WANTED = (("usage",), ("model",), ("response", "usage"), ("response", "status"))


def scan(data: bytes, step: int = 1 << 20) -> dict[str, object]:
    reader = MemberScan(WANTED)
    for at in range(0, len(data), step):
        reader.feed(data[at : at + step])
    return reader.result()


DOCUMENT = {
    "id": "x",
    "model": 'a "quoted\\" name',
    "choices": [{"usage": {"not": "this"}, "text": '{"usage":1}'}, [], {}],
    "nested": {"usage": 1, "response": {"usage": 2}},
    "response": {
        "output": [{"status": "no"}],
        "usage": {"input_tokens": 5, "d": {"c": [1, {"x": "}"}]}},
        "status": "ok",
    },
    "usage": {"prompt_tokens": 3, "list": [1, 2, "]"]},
    "after": -1.5e3,
}  # fmt: skip


@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("indent", [None, 2])
def test_wanted_members_are_found_wherever_they_stand(step: int, indent: int | None) -> None:
    data = json.dumps(DOCUMENT, indent=indent).encode()
    assert scan(data, step) == {
        "model": 'a "quoted\\" name',
        "response": {"usage": {"input_tokens": 5, "d": {"c": [1, {"x": "}"}]}}, "status": "ok"},
        "usage": {"prompt_tokens": 3, "list": [1, 2, "]"]},
    }


def test_the_last_of_two_members_counts_and_escapes_in_keys_are_read() -> None:
    assert scan(b'{"usage":1,"us\\u0061ge":2}') == {"usage": 2}


def test_an_empty_key_and_a_long_key_are_not_wanted_ones() -> None:
    assert scan(b'{"":{"usage":1},"' + b"usage" * 40 + b'":3,"usage":4}') == {"usage": 4}
    assert scan(b'{"usage' + b" " * 200 + b'":3}', 6) == {}


def test_what_follows_the_value_is_ignored() -> None:
    assert scan(b'{"usage":1} {"usage":2}') == {"usage": 1}


@pytest.mark.parametrize(
    "data",
    [
        b"", b"]", b"}", b"[", b'[{"usage":1}]', b'"usage":1', b'{"usage"', b'{"usage":', b'{"usage":[1', b"{,:,:}",
        b'{"a":1:2,"b"}', b'{"usage" 1}', b"{:1}", b"{]", b'{"a":{"usage":1}}', b"\x00\xff\xfe", b'{"\\',
    ],
)  # fmt: skip
def test_broken_documents_give_nothing(data: bytes) -> None:
    assert scan(data) == {}
    assert scan(data, 1) == {}


def test_a_wanted_member_that_cannot_be_read_is_none() -> None:
    assert scan(b'{"usage":tru,"model":"m"}') == {"usage": None, "model": "m"}


def test_a_member_too_long_to_capture_is_dropped() -> None:
    reader = MemberScan(WANTED)
    reader.feed(b'{"usage":{"a":"' + b"x" * MAX_CAPTURE_BYTES + b'","b":[1,2]},"model":"m"}')
    assert reader.result() == {"model": "m"}
    assert reader.overflowed


def test_depth_is_no_danger() -> None:
    reader = MemberScan(WANTED)
    for _ in range(100):
        reader.feed(b'{"a":[' * 1000)
    assert reader.result() == {}
    assert loads_lenient(b'{"a":' * 100_000) is None


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a":1}', {"a": 1}),
        (b"\xef\xbb\xbf \t\r\n[1]", [1]),
        (b'{"a":1}{"b":2}', {"a": 1}),
        (b'{"a":"\xff"}', {"a": "\ufffd"}),
        (b'{"a":"\\ud800"}', {"a": "\ud800"}),
        (b'{"a":1,"a":2}', {"a": 2}),
        (b"", None),
        (b"{", None),
        (b"nul", None),
        (b"1" * 5000, None),
    ],
)
def test_lenient_reading(data: bytes, value: object) -> None:
    assert loads_lenient(data) == value


def test_shapes() -> None:
    assert (as_map({"a": 1}), as_map([]), as_map(None)) == ({"a": 1}, {}, {})
    assert (as_items([1]), as_items({}), as_items("ab")) == ([1], (), ())
    assert (as_text("a"), as_text(""), as_text("x" * 257), as_text(5), as_text("\ud800")) == (
        "a", None, None, None, "\\ud800",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("data", "members", "repeated"),
    [
        (b"{}", {}, None),
        (b"\xef\xbb\xbf \n{ \t} tail", {}, None),
        (b'{"a":1}', {"a": 1}, None),
        (b' { "a" : [1, {"a": 2, "a": 3}] ,\r\n "b":"x\\"}" } more', {"a": [1, {"a": 3}], "b": 'x"}'}, "a"),
        (b'{"messages":[{"a":2,"a":3}]}', {"messages": [{"a": 3}]}, None),
        (b'{"x":{"b":1,"b":2},"c":1,"c":2}', {"x": {"b": 2}, "c": 2}, "c"),
        (b'{"a":1,"a":2}', {"a": 2}, "a"),
        (b'{"a":1,"b":2,"\\u0061":3,"b":4}', {"a": 3, "b": 4}, "a"),
        (b'{"model":"x","mod\\u0065l" : "y"}', {"model": "y"}, "model"),
    ],
)
def test_an_object_is_taken_member_by_member(data: bytes, members: dict[str, object], repeated: str | None) -> None:
    assert loads_object(data) == (members, repeated)
    assert loads_lenient(data) == members


@pytest.mark.parametrize(
    "data",
    [
        b"", b"[]", b'"{"', b"{", b'{"a"', b'{"a":', b'{"a":1', b'{"a":1 "b":2}', b'{"a":1,}', b'{,"a":1}', b'{"a" 1}',
        b"{1:2}", b'{"a":1]', b'{"a":' + b"[" * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_whole_object_is_none(data: bytes) -> None:
    assert loads_object(data) is None
    assert not isinstance(loads_lenient(data), dict)


@pytest.mark.parametrize(
    ("data", "repeated"),
    [
        (b'{"usage":1,"model":2,"nested":{"usage":3},"other":1,"other":2}', None),
        (b'{"usage":1,"us\\u0061ge":2}', "usage"),
        (b'{"model":1,"MODEL":2}', "MODEL"),
        (b'{"response":{"status":1,"status":2}}', "status"),
        (b'{"usage":"' + b"x" * (MAX_CAPTURE_BYTES + 1) + b'","usage":2,"model":1,"model":2}', "usage"),
    ],
)
def test_a_scan_tells_a_wanted_member_that_came_again(data: bytes, repeated: str | None) -> None:
    for step in (1, 1 << 20):
        reader = MemberScan(WANTED)
        for at in range(0, len(data), step):
            reader.feed(data[at : at + step])
        assert reader.repeated == repeated
