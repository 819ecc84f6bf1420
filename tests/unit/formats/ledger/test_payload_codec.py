"""The codec between payload classes and event data, on classes made for the purpose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Optional

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import JsonValue, encode
from docket.formats.digest import Digest
from docket.formats.ledger.payload_codec import Payload, from_members, to_members
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.run.usage import Usage

DIGEST = Digest("ab" * 32)


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    path: RelPath
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Everything(Payload):
    TYPE: ClassVar[str] = "x-test.everything"
    text: str
    flag: bool
    count: int
    cost: Usd
    digest: Digest
    usage: Usage
    colour: Colour
    names: tuple[str, ...]
    inners: tuple[Inner, ...]
    inner: Inner
    free: Mapping[str, JsonValue]
    path: RelPath | None = None
    note: str | None = None
    colours: Optional[Colour] = None  # noqa: UP045 - the older spelling must read alike


@dataclass(frozen=True, slots=True, kw_only=True)
class Pathless(Payload):
    TYPE: ClassVar[str] = "x-test.pathless"
    z: str
    count: int
    a: Inner
    cost: Usd
    free: Mapping[str, JsonValue] | None = None


def nested(levels: int) -> list:
    return [nested(levels - 1)] if levels else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Single(Payload):
    TYPE: ClassVar[str] = "x-test.single"
    only: int


VALUE = Everything(
    text="é",
    flag=True,
    count=-3,
    cost=Usd(50_000),
    digest=DIGEST,
    usage=Usage(input_tokens=5),
    colour=Colour.BLUE,
    names=("a", "b"),
    inners=(Inner(path=RelPath(b"x"), count=1), Inner(path=RelPath(b"\xff"), count=2)),
    inner=Inner(path=RelPath(b"y/z"), count=0),
    free={"a": [1, None, {"b": Colour.RED, "cost": Usd(1)}], "tuple": (1, 2)},
    path=RelPath(b"top"),
)
DATA = {
    "text": "é",
    "flag": True,
    "count": -3,
    "cost": "0.05",
    "digest": DIGEST,
    "usage": {"input_tokens": 5, "cached_input_tokens": 0, "output_tokens": 0},
    "colour": "blue",
    "names": ["a", "b"],
    "inners": [{"path": "x", "count": 1}, {"path_b64": "/w==", "count": 2}],
    "inner": {"path": "y/z", "count": 0},
    "free": {"a": [1, None, {"b": "red", "cost": "0.000001"}], "tuple": [1, 2]},
    "path": "top",
}


def test_every_kind_of_member_is_written():
    assert VALUE.to_data() == DATA
    assert list(VALUE.to_data()) == [*DATA]
    encode(VALUE.to_data())


def test_every_kind_of_member_is_read():
    read = from_members(Everything, DATA, "thing")
    assert read.to_data() == DATA
    assert read.inners[1].path == RelPath(b"\xff")
    assert read.colour is Colour.BLUE
    assert read.usage == Usage(input_tokens=5)
    assert (read.note, read.colours) == (None, None)
    assert from_members(Everything, {**DATA, "colours": "red"}, "thing").colours is Colour.RED


def test_members_are_encoded_without_building_them():
    assert VALUE.draft() == ("x-test.everything", encode(DATA))
    pathless = Pathless(z='é"', count=3, a=Inner(path=RelPath(b"x"), count=1), cost=Usd(7))
    assert pathless.draft().encoded == ('{"a":{"count":1,"path":"x"},"cost":"0.000007","count":3,"z":"é\\""}'.encode())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"z": "\ud800"}, Reason.LONE_SURROGATE),
        ({"count": 2**53}, Reason.INTEGER_TOO_LARGE),
        ({"count": 1.5}, Reason.WRONG_TYPE),
        ({"free": {"a": [b"x"]}}, Reason.WRONG_TYPE),
        ({"free": {"a": nested(60)}}, None),
        ({"free": {"a": nested(61)}}, Reason.TOO_DEEP),
    ],
)
def test_what_has_no_form_is_refused_where_it_is_encoded(changes, reason):
    payload = Pathless(**{"z": "", "count": 0, "a": Inner(path=RelPath(b"x"), count=1), "cost": Usd(0), **changes})
    for work in (payload.draft, lambda: encode(payload.to_data(), depth=2)):
        if reason is None:
            work()
        else:
            with pytest.raises(InvalidDocumentError) as caught:
                work()
            assert caught.value.reason == reason


def test_a_class_of_one_member():
    assert to_members(Single(only=3)) == {"only": 3}
    assert Single(only=3).draft().encoded == b'{"only":3}'
    assert from_members(Single, {"only": 3}, "thing") == Single(only=3)


def test_an_absent_path_is_none():
    without = {key: value for key, value in DATA.items() if key != "path"}
    assert from_members(Everything, without, "thing").path is None


@pytest.mark.parametrize(
    ("change", "reason", "named"),
    [
        ({"extra": 1}, Reason.UNKNOWN_MEMBER, "extra"),
        ({"text": 1}, Reason.WRONG_TYPE, "thing.text"),
        ({"text": None}, Reason.WRONG_TYPE, "thing.text"),
        ({"note": None}, Reason.WRONG_TYPE, "thing.note"),
        ({"flag": 0}, Reason.WRONG_TYPE, "thing.flag"),
        ({"count": "1"}, Reason.WRONG_TYPE, "thing.count"),
        ({"count": -(2**53)}, Reason.WRONG_VALUE, "thing.count"),
        ({"cost": "0.050000"}, Reason.NOT_CANONICAL, "thing.cost"),
        ({"digest": "AB" * 32}, Reason.NOT_A_DIGEST, "thing.digest"),
        ({"usage": {}}, Reason.MISSING_MEMBER, "thing.usage"),
        ({"colour": "green"}, Reason.WRONG_VALUE, "red, blue"),
        ({"colour": 1}, Reason.WRONG_TYPE, "thing.colour"),
        ({"names": "ab"}, Reason.WRONG_TYPE, "thing.names"),
        ({"names": ["a", 1]}, Reason.WRONG_TYPE, "thing.names"),
        ({"inners": [{"path": "x", "count": 1}, {"path": "x"}]}, Reason.MISSING_MEMBER, "thing.inners[1]"),
        ({"inners": {}}, Reason.WRONG_TYPE, "thing.inners"),
        ({"inner": {"path": "x", "count": 1, "z": 1}}, Reason.UNKNOWN_MEMBER, "thing.inner"),
        ({"inner": {"count": 1}}, Reason.NOT_A_PATH, "path"),
        ({"free": []}, Reason.WRONG_TYPE, "thing.free"),
        ({"path_b64": "/w=="}, Reason.NOT_A_PATH, "path"),
        ({"path": None}, Reason.NOT_A_PATH, "path"),
    ],
)
def test_a_wrong_member_is_refused_by_name(change, reason, named):
    with pytest.raises(InvalidDocumentError) as caught:
        from_members(Everything, {**DATA, **change}, "thing")
    assert caught.value.reason == reason
    assert named in caught.value.detail


@pytest.mark.parametrize("name", [name for name in DATA if name != "path"])
def test_a_missing_member_is_refused_by_name(name):
    without = {key: value for key, value in DATA.items() if key != name}
    with pytest.raises(InvalidDocumentError, match=f"thing has no member '{name}'") as caught:
        from_members(Everything, without, "thing")
    assert caught.value.reason == Reason.MISSING_MEMBER


def test_what_has_no_form_passes_the_codec_and_stops_at_the_encoder():
    for free in ({"a": 1.5}, {1: "a"}, {"a": {2, 3}}):
        with pytest.raises(InvalidDocumentError) as caught:
            encode(to_members(Inner(path=RelPath(b"x"), count=free)))
        assert caught.value.reason == Reason.WRONG_TYPE
