"""Reading an object member by member."""

from __future__ import annotations

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.reading import Reader
from docket.formats.reason import Reason

DIGEST = "0" * 64


def refusal(read, value, name="m"):
    with pytest.raises(InvalidDocumentError) as caught:
        read(Reader({name: value}, "thing"), name)
    assert f"thing.{name}" in caught.value.detail
    return caught.value.reason


@pytest.mark.parametrize(
    ("read", "value", "expected"),
    [
        (Reader.text, "x", "x"),
        (Reader.flag, False, False),
        (Reader.integer, 0, 0),
        (Reader.digest, DIGEST, DIGEST),
        (Reader.usd, "0.05", Usd(50_000)),
        (Reader.instant, "2026-02-28T23:59:60.123456789Z", "2026-02-28T23:59:60.123456789Z"),
        (Reader.items, [1, "a"], [1, "a"]),
        (Reader.items, (), ()),
        (Reader.texts, ["a", "b"], ("a", "b")),
        (Reader.mapping, {"a": 1}, {"a": 1}),
        (Reader.any, None, None),
    ],
)
def test_a_member_of_the_wanted_type(read, value, expected):
    reader = Reader({"m": value}, "thing")
    assert read(reader, "m") == expected
    reader.close()


@pytest.mark.parametrize(
    ("read", "value", "reason"),
    [
        (Reader.text, 1, Reason.WRONG_TYPE),
        (Reader.text, None, Reason.WRONG_TYPE),
        (Reader.flag, 1, Reason.WRONG_TYPE),
        (Reader.flag, "true", Reason.WRONG_TYPE),
        (Reader.integer, True, Reason.WRONG_TYPE),
        (Reader.integer, "1", Reason.WRONG_TYPE),
        (Reader.integer, -1, Reason.WRONG_VALUE),
        (Reader.digest, DIGEST[1:], Reason.NOT_A_DIGEST),
        (Reader.usd, "5", Reason.NOT_CANONICAL),
        (Reader.usd, 5, Reason.NOT_AN_AMOUNT),
        (Reader.items, "ab", Reason.WRONG_TYPE),
        (Reader.texts, ["a", 1], Reason.WRONG_TYPE),
        (Reader.texts, "ab", Reason.WRONG_TYPE),
        (Reader.mapping, [], Reason.WRONG_TYPE),
        (Reader.object, [], Reason.WRONG_TYPE),
    ],
)
def test_a_member_of_another_type(read, value, reason):
    assert refusal(read, value) == reason


@pytest.mark.parametrize(
    "text",
    ["2026-01-31", "2026-01-31T00:00:00", "2026-01-31T00:00:00+00:00", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
     "2026-01-32T00:00:00Z", "2026-01-31T24:00:00Z", "2026-01-31T00:60:00Z", "2026-01-31T00:00:61Z",
     "2026-01-31T00:00:00.Z", "2026-01-31T00:00:00.1234567890Z", "2026-01-31t00:00:00z", "2026-01-31 00:00:00Z",
     "٢٠٢٦-01-31T00:00:00Z", "2026-01-31T00:00:00Z\n"],
)  # fmt: skip
def test_what_is_no_instant(text):
    assert refusal(Reader.instant, text) == Reason.NOT_AN_INSTANT


def test_an_integer_may_have_another_minimum():
    assert Reader({"m": -5}, "thing").integer("m", minimum=-5) == -5


def test_a_choice():
    assert Reader({"m": "kill"}, "thing").choice("m", ("kill", "deny")) == "kill"
    with pytest.raises(InvalidDocumentError, match="not one of kill, deny") as caught:
        Reader({"m": "stop"}, "thing").choice("m", ("kill", "deny"))
    assert caught.value.reason == Reason.WRONG_VALUE


def test_an_absent_or_null_member_is_optional():
    reader = Reader({"null": None, "there": "x"}, "thing")
    assert reader.optional("absent", reader.text) is None
    assert reader.optional("null", reader.text) is None
    assert reader.optional("there", reader.text) == "x"
    assert reader.has("null")
    assert not reader.has("absent")
    reader.close()


def test_a_missing_member_is_named():
    with pytest.raises(InvalidDocumentError, match="thing has no member 'm'") as caught:
        Reader({}, "thing").text("m")
    assert caught.value.reason == Reason.MISSING_MEMBER


def test_nothing_may_be_left_over():
    reader = Reader({"a": 1, "zz": 2, "b": {"c": 3}}, "thing")
    reader.integer("a")
    inner = reader.object("b")
    with pytest.raises(InvalidDocumentError, match="thing has the unknown member 'zz'") as caught:
        reader.close()
    assert caught.value.reason == Reason.UNKNOWN_MEMBER
    with pytest.raises(InvalidDocumentError, match=r"thing\.b has the unknown member 'c'"):
        inner.close()


@pytest.mark.parametrize("value", [None, [], "x", 1])
def test_only_an_object_is_read(value):
    with pytest.raises(InvalidDocumentError, match="thing is not an object") as caught:
        Reader(value, "thing")
    assert caught.value.reason == Reason.WRONG_TYPE
