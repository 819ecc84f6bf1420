"""A line that a shape reads is read as the strict reading does, and what that refuses no shape takes."""

from __future__ import annotations

import hashlib

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.canonical import decode, encode
from docket.formats.ledger.event import DATA_DEPTH, GENESIS, Draft, draft, read_event, seal
from docket.formats.ledger.line_shape import LineShapes
from docket.formats.ledger.lines import follow
from docket.formats.ledger.payload_codec import from_members
from docket.formats.ledger.vocabulary import PAYLOADS, read_payload
from golden_ledgers.samples import ALL

JUNK = (None, True, 0, 1, -1, 2**53 - 1, 10**14, 10**15, "", "x", "é𝄞\x7f", 'a"b', "\n", "0.5", "0.50", "0.500000",
        "0.500001", "00.50", "a" * 64, "A" * 64, "a/b", "a//b", [], ["x"], [1], {}, {"x": 1})  # fmt: skip
TIMES = 16
TS = "2026-10-01T12:00:01.250Z"


def every_event():
    """One event of each type and set of members."""
    found = {}
    for build in ALL.values():
        for event in follow([build().data()]):
            if event.type in PAYLOADS:
                found.setdefault((event.type, *sorted(event.data)), event)
    return list(found.values())


def taught(*events, times=TIMES):
    shapes = LineShapes(PAYLOADS)
    for event in events:
        for _ in range(times):
            shapes.learn(read_event(decode(event.line), event.line))
    return shapes


def strictly(line):
    """The event and its payload as the strict reading gives them; None where it refuses either."""
    try:
        event = read_event(decode(line), line)
        return event[:6], from_members(PAYLOADS[event.type], event.data, event.type)
    except InvalidDocumentError:
        return None


def same(shapes, line):
    """Whether a shape read the line; if so, the strict reading does too, and gives the same."""
    found = shapes.read(line)
    if found is not None:
        assert (found[:6], read_payload(found)) == strictly(line), line
        assert found.data == read_event(decode(line), line).data
    return found is not None


def sealed(type_, data, seq=7):
    return seal(draft(type_, data), seq=seq, ts=TS, prev=GENESIS).line


@pytest.mark.parametrize("event", every_event(), ids=lambda event: event.type)
def test_both_readings_agree_of_an_event_and_of_each_with_one_thing_wrong(event):
    shapes, data = taught(event), event.data
    same(shapes, event.line)
    same(shapes, sealed(event.type, {**data, "beyond": 1}))
    for name, value in data.items():
        same(shapes, sealed(event.type, {other: kept for other, kept in data.items() if other != name}))
        for junk in JUNK:
            same(shapes, sealed(event.type, {**data, name: junk}))
            if isinstance(value, dict):
                for inner in value:
                    same(shapes, sealed(event.type, {**data, name: {**value, inner: junk}}))
            if isinstance(value, list) and value:
                same(shapes, sealed(event.type, {**data, name: [junk, *value[1:]]}))


def of_type(*types):
    events = {event.type: event for event in every_event()}
    return [events[type_] for type_ in types]


OFTEN = ("model.request", "model.response", "fs.change", "x-docket.price", "tool.call")


def test_what_a_long_ledger_says_most_is_read_by_its_shape():
    for event in of_type(*OFTEN):
        shapes = taught(event)
        assert same(shapes, event.line)
        assert same(shapes, sealed(event.type, event.data, seq=10**14))
    assert not same(LineShapes(PAYLOADS), event.line)


def test_a_shape_takes_other_values_of_the_same_kinds():
    (event,) = of_type("fs.change")
    shapes = taught(event)
    for path in ("b", "ä/ö.py", "a b", "\x7f", "a/.../b", "𝄞", "'", ".env", "a/.b/c.", "...", "x" * 16384, "ä" * 8192):
        assert same(shapes, sealed("fs.change", {**event.data, "path": path}))
    for path in ("", "/a", "a/", "a/../b", "./a", "a\0b", "a\\b", 'a"b', "a\tb", "x" * 20000, ".", "..", "a/..", "a/.",
                 "../a", "a/./b", "/", "//", "x" * 16385, "ä" * 8193):  # fmt: skip
        assert not same(shapes, sealed("fs.change", {**event.data, "path": path}))


@pytest.mark.parametrize("type_", OFTEN)
def test_a_line_that_is_not_canonical_is_left_to_the_strict_reading(type_):
    (event,) = of_type(type_)
    shapes, encoded = taught(event), encode(event.data, depth=DATA_DEPTH)
    assert same(shapes, seal(Draft(type_, encoded), seq=7, ts=TS, prev=GENESIS).line)
    changed = [
        encoded.replace(b":", b": ", 1),
        encoded.replace(b",", b" ,", 1),
        encoded.replace(b"{", b"{ ", 1),
        encoded + b" ",
        encoded[:-1] + b',"zz":1}',
        encoded.replace(b'"', b'"\\u0061', 1),
        b"{" + encoded[1:].split(b",")[0] + b"," + encoded[1:],
        *(encoded.replace(b":" + old, b":" + new) for old in (b"0", b"1") for new in (b"-0", b"01", b"1.0", b"1e0")),
        *(encoded[:at] + bytes([byte]) + encoded[at:][1:] for at in (3, 20, -3) for byte in (0, 10, 127, 255)),
    ]  # fmt: skip
    for one in changed:
        if one != encoded:
            same(shapes, seal(Draft(type_, one), seq=7, ts=TS, prev=GENESIS).line)


def test_every_byte_of_a_line_counts():
    (event,) = of_type("model.request")
    shapes = taught(event)
    for at in range(0, len(event.line), 3):
        for byte in (0x20, 0x22, 0x30, 0x5C, 0x61, 0xC3):
            line = event.line[:at] + bytes([byte]) + event.line[at + 1 :]
            if line != event.line:
                assert not same(shapes, line)
        assert not same(shapes, event.line[:at] + event.line[at + 1 :])
    assert not same(shapes, event.line + b"}")


def test_members_beside_the_data_have_their_forms():
    (event,) = of_type("model.request")
    shapes = taught(event)
    encoded = encode(event.data, depth=DATA_DEPTH)
    for prev, seq, ts in (
        ("AB" * 32, "7", TS),
        ("g" * 64, "7", TS),
        ("é" * 64, "7", TS),
        ("é" * 32, "7", TS),
        (GENESIS, "-1", TS),
        (GENESIS, "07", TS),
        (GENESIS, "7", "yesterday"),
        (GENESIS, "7", TS.replace("Z", "+00:00")),
        (GENESIS, "7", "٢" + TS[1:]),
    ):
        rest = f',"prev":"{prev}","seq":{seq},"ts":"{ts}","type":"{event.type}"}}'.encode()
        head = b'{"data":' + encoded
        digest = hashlib.sha256(head + rest).hexdigest().encode()
        assert not same(shapes, head + b',"hash":"' + digest + b'"' + rest)
        for other in (digest.upper(), b"g" * 64, "é".encode() * 64, "é".encode() * 32):
            assert not same(shapes, head + b',"hash":"' + other + b'"' + rest)


def test_what_the_payload_itself_refuses_is_left_to_the_strict_reading():
    (event,) = of_type("model.response")
    usage = {"cached_input_tokens": 11, "input_tokens": 10, "output_tokens": 1}
    for part in ({}, {"reasoning_tokens": 0}, {"reasoning_tokens": 1}):
        assert not same(taught(event), sealed(event.type, {**event.data, "usage": {**usage, **part}}))


def test_nothing_is_learned_of_what_is_seldom_said_is_unknown_or_is_refused():
    (event,) = of_type("fs.change")
    assert not same(taught(event, times=TIMES - 1), event.line)
    for type_, data in (("x-other", {}), ("fs.change", {"path": "a"}), ("note", {"code": "x", "text": 1})):
        line = sealed(type_, data)
        shapes = taught(read_event(decode(line), line))
        assert shapes.read(line) is None


def test_no_more_shapes_are_kept_than_their_bound():
    (event,) = of_type("model.response")
    counts = ("reasoning_tokens", "web_searches", "file_searches", "audio_input_tokens")
    chosen = [[name for place, name in enumerate(counts) if mask >> place & 1] for mask in range(16)]
    usages = [event.data["usage"] | dict.fromkeys(names, 1) for names in chosen]
    lines = [sealed(event.type, {**event.data, "usage": usage}) for usage in usages]
    shapes = taught(*(read_event(decode(line), line) for line in lines))
    assert sum(same(shapes, line) for line in lines) == 12


def test_an_event_of_too_many_members_has_no_shape():
    (event,) = of_type("model.response")
    part = {"model": "m", "cost_usd": "0.00", "input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0}
    line = sealed(event.type, {**event.data, "components": [part] * 20})
    assert not same(taught(read_event(decode(line), line)), line)
    line = sealed(event.type, {**event.data, "components": [part] * 8})
    assert same(taught(read_event(decode(line), line)), line)


def test_nothing_is_learned_from_a_text_with_an_escape_or_a_path_of_other_bytes():
    (event,) = of_type("fs.change")
    others = {name: value for name, value in event.data.items() if name != "path"}
    for path in ({"path": "a\\b"}, {"path_b64": "/w=="}):
        line = sealed(event.type, others | path)
        assert taught(read_event(decode(line), line)).read(line) is None


def test_a_ledger_is_followed_alike():
    for build in ALL.values():
        data = build().data()
        shapes = taught(*follow([data]))
        assert [item[:6] for item in follow([data], shapes)] == [item[:6] for item in follow([data])]
