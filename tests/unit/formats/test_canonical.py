"""Canonical JSON: one spelling for a value, and nothing else accepted."""

from __future__ import annotations

import json
from collections import OrderedDict
from enum import StrEnum
from types import MappingProxyType

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.canonical import (
    JsonValue,
    decode,
    decode_document,
    encode,
    encode_document,
    first_member,
    object_at,
)
from docket.formats.reason import Reason

ENCODED = [
    pytest.param({}, b"{}", id="empty object"),
    pytest.param([], b"[]", id="empty array"),
    pytest.param((), b"[]", id="tuple"),
    pytest.param(None, b"null", id="null"),
    pytest.param(True, b"true", id="true"),
    pytest.param(False, b"false", id="false"),
    pytest.param(0, b"0", id="zero"),
    pytest.param(-7, b"-7", id="negative"),
    pytest.param(9007199254740991, b"9007199254740991", id="largest"),
    pytest.param(-9007199254740991, b"-9007199254740991", id="smallest"),
    pytest.param("", b'""', id="empty text"),
    pytest.param('a"\\/b', b'"a\\"\\\\/b"', id="quote, backslash, slash literal"),
    pytest.param("\n\r\t\b\f", b'"\\n\\r\\t\\b\\f"', id="short escapes"),
    pytest.param("\x00\x01\x0b\x1f", b'"\\u0000\\u0001\\u000b\\u001f"', id="other C0 in lower case"),
    pytest.param("\x7f\x80\u2028", b'"\x7f\xc2\x80\xe2\x80\xa8"', id="DEL, C1 and U+2028 are literal"),
    pytest.param("\u00e9\U0001f600", b'"\xc3\xa9\xf0\x9f\x98\x80"', id="literal UTF-8"),
    pytest.param({"b": 1, "a": [True, None]}, b'{"a":[true,null],"b":1}', id="sorted"),
    pytest.param(
        {"\U0001f600": 1, "\ufb33": 2, "a": 3, "": 4},
        b'{"":4,"a":3,"\xef\xac\xb3":2,"\xf0\x9f\x98\x80":1}',
        id="sorted by code point, not by UTF-16 unit",
    ),
    pytest.param({"B": 1, "a": 2, "_": 3}, b'{"B":1,"_":3,"a":2}', id="ASCII order"),
    pytest.param(MappingProxyType({"x": OrderedDict(z=1, y=2)}), b'{"x":{"y":2,"z":1}}', id="any mapping"),
]


@pytest.mark.parametrize(("value", "expected"), ENCODED)
def test_a_value_has_one_spelling(value, expected):
    assert encode(value) == expected


def nested(levels: int) -> list[object]:
    value: list[object] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_sixty_four_levels_are_the_most():
    text = b"[" * 64 + b"]" * 64
    assert encode(nested(64)) == text
    assert decode(text) == nested(64)
    assert encode(nested(63), depth=2) == b"[" * 63 + b"]" * 63
    for refuse in (
        lambda: encode(nested(65)),
        lambda: encode(nested(64), depth=2),
        lambda: decode(b"[" * 65 + b"]" * 65),
        lambda: decode_document(b'{"a":' * 65 + b"0" + b"}" * 65),
        lambda: decode(b"[" * 100_000 + b"]" * 100_000),
    ):
        with pytest.raises(InvalidDocumentError) as caught:
            refuse()
        assert caught.value.reason == Reason.TOO_DEEP


def test_a_scalar_below_the_last_level_is_no_level():
    assert decode(b"[" * 64 + b"7" + b"]" * 64) is not None


class Word(StrEnum):
    A = "a"


class Count(int):
    pass


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param(1.0, Reason.WRONG_TYPE, id="float"),
        pytest.param({"a": float("nan")}, Reason.WRONG_TYPE, id="nan"),
        pytest.param([float("inf")], Reason.WRONG_TYPE, id="inf"),
        pytest.param(b"bytes", Reason.WRONG_TYPE, id="bytes"),
        pytest.param({1: 2}, Reason.WRONG_TYPE, id="integer key"),
        pytest.param({None: 2}, Reason.WRONG_TYPE, id="null key"),
        pytest.param({"a": 1, 2: 3}, Reason.WRONG_TYPE, id="mixed keys"),
        pytest.param({Word.A: 1}, Reason.WRONG_TYPE, id="key of a text subclass"),
        pytest.param(Word.A, Reason.WRONG_TYPE, id="text subclass"),
        pytest.param(Count(3), Reason.WRONG_TYPE, id="integer subclass"),
        pytest.param({"a"}, Reason.WRONG_TYPE, id="set"),
        pytest.param(2**53, Reason.INTEGER_TOO_LARGE, id="2**53"),
        pytest.param(-(2**53), Reason.INTEGER_TOO_LARGE, id="-2**53"),
        pytest.param({"a": [10**400]}, Reason.INTEGER_TOO_LARGE, id="huge"),
        pytest.param("\ud800", Reason.LONE_SURROGATE, id="high surrogate"),
        pytest.param({"\udc00": 1}, Reason.LONE_SURROGATE, id="low surrogate in a key"),
        pytest.param(["x\udfff"], Reason.LONE_SURROGATE, id="surrogate inside"),
    ],
)
def test_what_has_no_canonical_form_is_refused(value, reason):
    for write in (encode, encode_document):
        with pytest.raises(InvalidDocumentError) as caught:
            write(value)
        assert caught.value.reason == reason


REFUSED_BY_BOTH = [
    pytest.param(b"", Reason.NOT_JSON, id="nothing"),
    pytest.param(b'\xef\xbb\xbf{"a":1}', Reason.BYTE_ORDER_MARK, id="BOM"),
    pytest.param(b'{"a":"\xff"}', Reason.NOT_UTF8, id="byte FF"),
    pytest.param(b'"\xed\xa0\x80"', Reason.NOT_UTF8, id="a surrogate as three bytes"),
    pytest.param(b'"\xc0\xaf"', Reason.NOT_UTF8, id="overlong slash"),
    pytest.param(b'"\xf4\x90\x80\x80"', Reason.NOT_UTF8, id="over U+10FFFF"),
    pytest.param(b'"\xe2\x82"', Reason.NOT_UTF8, id="cut character"),
    pytest.param(b'{"a":1}x', Reason.NOT_JSON, id="bytes after the value"),
    pytest.param(b'{"a":1}{"b":2}', Reason.NOT_JSON, id="two values"),
    pytest.param(b'{"a":1}\x00', Reason.NOT_JSON, id="NUL after the value"),
    pytest.param(b'{"a":NaN}', Reason.NOT_JSON, id="NaN"),
    pytest.param(b"[Infinity]", Reason.NOT_JSON, id="Infinity"),
    pytest.param(b"-Infinity", Reason.NOT_JSON, id="-Infinity"),
    pytest.param(b"{'a':1}", Reason.NOT_JSON, id="single quotes"),
    pytest.param(b"[1,]", Reason.NOT_JSON, id="trailing comma"),
    pytest.param(b"[01]", Reason.NOT_JSON, id="leading zero"),
    pytest.param(b"[+1]", Reason.NOT_JSON, id="plus sign"),
    pytest.param(b"[.5]", Reason.NOT_JSON, id="no digit before the point"),
    pytest.param(b'["\x01"]', Reason.NOT_JSON, id="bare control character"),
    pytest.param(b'["a\nb"]', Reason.NOT_JSON, id="bare newline"),
    pytest.param(b'["\\x41"]', Reason.NOT_JSON, id="unknown escape"),
    pytest.param(b"[9007199254740992]", Reason.INTEGER_TOO_LARGE, id="2**53"),
    pytest.param(b"[-9007199254740992]", Reason.INTEGER_TOO_LARGE, id="-2**53"),
    pytest.param(b"9" * 5000, Reason.INTEGER_TOO_LARGE, id="an integer of 5000 digits"),
    pytest.param(b'["\\ud800"]', Reason.LONE_SURROGATE, id="lone surrogate escape"),
    pytest.param(b'["\\udc00\\ud800"]', Reason.LONE_SURROGATE, id="pair the wrong way round"),
    pytest.param(b"[1.5]", Reason.FRACTION, id="fraction"),
    pytest.param(b"[1e-1]", Reason.FRACTION, id="negative exponent"),
]


@pytest.mark.parametrize(("data", "reason"), REFUSED_BY_BOTH)
def test_both_readers_refuse(data, reason):
    for read in (decode, decode_document):
        with pytest.raises(InvalidDocumentError) as caught:
            read(data)
        assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("data", "reason", "value"),
    [
        pytest.param(b'{"a": 1}', Reason.NOT_CANONICAL, {"a": 1}, id="blank"),
        pytest.param(b'{"a":1}\n', Reason.NOT_CANONICAL, {"a": 1}, id="newline after the value"),
        pytest.param(b'{"b":1,"a":2}', Reason.NOT_CANONICAL, {"a": 2, "b": 1}, id="key order"),
        pytest.param(b'{"\xf0\x9f\x98\x80":1,"\xef\xac\xb3":2}', Reason.NOT_CANONICAL, {"\U0001f600": 1, "\ufb33": 2},
                     id="sorted by UTF-16 unit"),
        pytest.param(b'["\\/"]', Reason.NOT_CANONICAL, ["/"], id="escaped slash"),
        pytest.param(b'["\\u0041"]', Reason.NOT_CANONICAL, ["A"], id="needless escape"),
        pytest.param(b'["\\u001F"]', Reason.NOT_CANONICAL, ["\x1f"], id="upper-case escape"),
        pytest.param(b'["\\u000a"]', Reason.NOT_CANONICAL, ["\n"], id="long escape"),
        pytest.param(b'["\\ud83d\\ude00"]', Reason.NOT_CANONICAL, ["\U0001f600"], id="escaped pair"),
        pytest.param(b"[-0]", Reason.NOT_CANONICAL, [0], id="minus zero"),
        pytest.param(b"[1.0]", Reason.FRACTION, [1], id="1.0"),
        pytest.param(b"[1e2]", Reason.FRACTION, [100], id="1e2"),
        pytest.param(b"[-0.0]", Reason.FRACTION, [0], id="-0.0"),
        pytest.param(b"[0e99]", Reason.FRACTION, [0], id="0e99"),
        pytest.param(b"[9007199254740991.0]", Reason.FRACTION, [9007199254740991], id="largest with a point"),
    ],
)  # fmt: skip
def test_a_document_may_be_spelled_freely_and_a_canonical_line_may_not(data, reason, value):
    with pytest.raises(InvalidDocumentError) as caught:
        decode(data)
    assert caught.value.reason == reason
    assert decode_document(data) == value
    assert all(type(item) is int for item in value if not isinstance(item, str))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0.99999999999999999999", Reason.FRACTION),
        ("1.00000000000000000001", Reason.FRACTION),
        ("9007199254740991.4", Reason.FRACTION),
        ("1e-999999999", Reason.FRACTION),
        ("1e-99999999999999999999", Reason.FRACTION),
        ("9007199254740992.0", Reason.INTEGER_TOO_LARGE),
        ("-9007199254740992e0", Reason.INTEGER_TOO_LARGE),
        ("1e16", Reason.INTEGER_TOO_LARGE),
        ("1e400", Reason.INTEGER_TOO_LARGE),
        ("1e99999999999999999999", Reason.INTEGER_TOO_LARGE),
        (f"1e{'9' * 5000}", Reason.INTEGER_TOO_LARGE),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_document_reads_a_number_by_its_digits(text, reason):
    with pytest.raises(InvalidDocumentError) as caught:
        decode_document(f"[{text}]".encode())
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0e99999999999999999999", 0),
        (f"-0.0E-{'9' * 5000}", 0),
        (f"1{'0' * 5000}e-5000", 1),
        (f"0.{'0' * 5000}1e5001", 1),
        (f"-12e{'0' * 5000}2", -1200),
        ("900719925474099.10e+1", 2**53 - 1),
        ("-9007199254740991.000", 1 - 2**53),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_document_takes_every_spelling_of_a_whole_number(text, value):
    assert decode_document(f"[{text}]".encode()) == [value]


def test_a_key_that_stands_twice_is_refused_and_named():
    with pytest.raises(InvalidDocumentError) as caught:
        decode_document(b'{"a":1,"b":{"x":1,"cap":2,"cap":2}}')
    assert caught.value.reason == Reason.DUPLICATE_KEY
    assert "'cap'" in caught.value.detail
    with pytest.raises(InvalidDocumentError) as caught:
        decode(b'{"a":1,"a":1}')
    assert caught.value.reason == Reason.NOT_CANONICAL


def test_an_escaped_twin_of_a_key_is_the_same_key():
    with pytest.raises(InvalidDocumentError) as caught:
        decode_document(b'{"a":1,"\\u0061":2}')
    assert caught.value.reason == Reason.DUPLICATE_KEY


def test_a_document_for_people_keeps_its_order_and_ends_its_line():
    value = MappingProxyType({"b": (1, 2), "a": {"z": "\u00e9", "y": []}})
    written = encode_document(value)
    assert written == '{\n  "b": [\n    1,\n    2\n  ],\n  "a": {\n    "z": "é",\n    "y": []\n  }\n}\n'.encode()
    assert decode_document(written) == {"b": [1, 2], "a": {"z": "é", "y": []}}


def test_large_and_deep_together():
    value = {f"k{i:05d}": [i, str(i), None] for i in range(20_000)}
    assert decode(encode(value)) == value


def test_a_document_is_written_as_the_standard_library_indents_it():
    value = {"a": [], "b": {}, "c": [{"d": None, "e": True}, [1, "\u2028\x7f\n\\/"]], "\x00": -(2**53) + 1}
    assert encode_document(value) == (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({1: 2}, Reason.WRONG_TYPE),
        ({"a": [1.5]}, Reason.WRONG_TYPE),
        ({"a": 2**53}, Reason.INTEGER_TOO_LARGE),
        ({"\ud800": 1}, Reason.LONE_SURROGATE),
        ([[]], None),
    ],
)
def test_a_document_is_checked_as_a_line_is(value, reason):
    if reason is None:
        encode_document(value)
        return
    with pytest.raises(InvalidDocumentError) as refused:
        encode_document(value)
    assert refused.value.reason == reason


def test_a_document_is_as_deep_as_a_line_may_be():
    deep: object = 1
    for _ in range(64):
        deep = [deep]
    assert decode_document(encode_document(deep)) == deep
    assert decode_document(b"7\n") == 7
    for refused in (lambda: encode_document([deep]), lambda: decode_document(b"[" * 65 + b"1" + b"]" * 65)):
        with pytest.raises(InvalidDocumentError) as error:
            refused()
        assert error.value.reason == Reason.TOO_DEEP


@pytest.mark.parametrize(
    ("document", "expected"),
    [({"caps": {"a": 1}}, {"a": 1}), ({}, {}), ({"caps": None}, {}), ({"caps": ["a"]}, {}), ({"caps": "a"}, {})],
)
def test_an_object_of_a_document_is_empty_where_there_is_none(
    document: dict[str, JsonValue], expected: dict[str, JsonValue]
) -> None:
    assert object_at(document, "caps") == expected


def test_shared_objects_are_as_strict():
    twice = b'[{"side": "left", "hash": "a"}, {"hash": "a", "side": "left"}, {"side": "left", "hash": "a"}]'
    value = decode_document(twice, shared=True)
    assert value == decode_document(twice)
    assert [list(item) for item in value] == [["side", "hash"], ["hash", "side"], ["side", "hash"]]
    assert value[0] is value[2]
    with pytest.raises(InvalidDocumentError, match="stands twice"):
        decode_document(b'{"side": "left", "side": "left"}', shared=True)


@pytest.mark.parametrize("levels", [64, 65])
def test_the_depth_of_a_document_is_bounded(levels):
    data = b'{"a":' * (levels - 1) + b"[]" + b"}" * (levels - 1)
    if levels == 64:
        assert decode_document(data)
        assert decode(data)
    else:
        for read in (decode_document, decode):
            with pytest.raises(InvalidDocumentError, match="64 levels"):
                read(data)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'{"a": 1, "b": {"c": "x"}, "d": ', {"c": "x"}),  # what stands behind is not looked at
        (b' {\n "a" : [1, {"b": 2}] ,\t"b":\r5}', 5),
        (b'{"b": 1, "b": 2}', 1),
        (b'{"a": "\xc3", "b": "\xc3\xa9"}', "\xe9"),  # cut inside a letter, as a beginning may be
        (b'{"a": 1}', None),
        (b'{"a": 1 "b": 2}', None),
        (b'{"a" 1, "b": 2}', None),
        (b'{"a": 1.5, "b": 2}', None),
        (b'{"a": {"b": 1, "b": 2}, "b": 3}', None),
        (b'{1: 2, "b": 3}', 3),  # not JSON: that is told by who decodes it
        (b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b', "b": 2}', None),
        (b'["b", 1]', None),
        (b'{"b":', None),
        (b"", None),
    ],
)
def test_a_member_near_the_beginning_is_looked_at(data, found):
    assert first_member(data, "b") == found
