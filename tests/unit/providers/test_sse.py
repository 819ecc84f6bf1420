"""Server-sent events by the rules of the HTML standard, 9.2.6."""

from __future__ import annotations

import pytest

from docket.rules.providers.json_scan import MemberScan
from docket.rules.providers.sse import MAX_EVENT_BYTES, EventStream


def datas(*chunks: bytes) -> list[bytes]:
    stream = EventStream()
    found = [event for chunk in chunks for event in stream.feed(chunk)]
    return [event for event in found if isinstance(event, bytes)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_end_in_three_ways(end: bytes) -> None:
    assert datas(end.join([b"data: one", b"", b"data: two", b"", b""])) == [b"one", b"two"]


def test_line_ends_may_be_mixed() -> None:
    assert datas(b"data: a\r\ndata: b\rdata: c\n\r\ndata: d\r\r") == [b"a\nb\nc", b"d"]


def test_a_carriage_return_and_its_line_feed_may_be_cut_apart() -> None:
    assert datas(b"data: a\r", b"\n\r", b"\n", b"data: b\r\n\r\n") == [b"a", b"b"]
    assert datas(b"data: a\r", b"", b"\n", b"data: b\n\n") == [b"a\nb"]


def test_the_blank_after_the_colon_is_optional_and_only_one_is_taken() -> None:
    assert datas(b"data:a\n\ndata:  b\n\ndata\n\ndata:\n\n") == [b"a", b" b", b"", b""]


def test_data_of_several_lines_is_joined() -> None:
    # The standard's own example.
    assert datas(b"data: YHOO\ndata: +2\ndata: 10\n\n") == [b"YHOO\n+2\n10"]


def test_comments_other_fields_and_junk_are_ignored() -> None:
    assert datas(b": hi\n\nevent: x\nid: 1\nretry: 5\nwhat\ndatabase: no\ndata: a\n\n") == [b"a"]


def test_a_byte_order_mark_before_the_first_line_is_ignored() -> None:
    assert datas(b"\xef\xbb", b"\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n") == [b"a"]


def test_what_was_not_ended_is_pending() -> None:
    stream = EventStream()
    assert stream.pending() is None
    assert stream.feed(b"data: a\nda") == []
    assert stream.pending() == b"a"
    assert stream.feed(b"ta: b") == []
    assert stream.pending() == b"a\nb"
    assert stream.feed(b"\n\n") == [b"a\nb"]
    assert stream.pending() is None


def test_an_event_too_long_to_hold_is_scanned() -> None:
    stream = EventStream((("usage",),))
    text = b'data: {"text":"' + b"x" * MAX_EVENT_BYTES
    assert stream.feed(text) == []
    assert stream.feed(b'xx","usage":{"a":1}') == []
    assert isinstance(stream.pending(), MemberScan)
    (scan,) = stream.feed(b"}\n\n")
    assert isinstance(scan, MemberScan)
    assert scan.result() == {"usage": {"a": 1}}
    assert stream.feed(b"data: next\n\n") == [b"next"]


def test_an_event_of_many_lines_too_long_to_hold_is_scanned() -> None:
    stream = EventStream((("usage",),))
    stream.feed(b'data: {"text":\n')
    for _ in range(5):
        stream.feed(b"data: [" + b"1," * (MAX_EVENT_BYTES // 8) + b"1],\ndata:\n")
    stream.feed(b'data: "usage":7')
    (scan,) = stream.feed(b"}\n\n")
    assert isinstance(scan, MemberScan)


def test_a_long_line_may_follow_a_short_one_of_the_same_event() -> None:
    stream = EventStream((("usage",),))
    stream.feed(b'data: {"usage":7,\n')
    stream.feed(b'data: "text":"' + b"y" * (MAX_EVENT_BYTES + 1))
    stream.feed(b'"\n')
    stream.feed(b'data: ,"z":"' + b"y" * (MAX_EVENT_BYTES + 1))
    (scan,) = stream.feed(b'"}\n\n')
    assert isinstance(scan, MemberScan)
    assert scan.result() == {"usage": 7}


def test_a_comment_too_long_to_hold_is_dropped() -> None:
    stream = EventStream()
    assert stream.feed(b": " + b"x" * (MAX_EVENT_BYTES + 1)) == []
    assert stream.pending() is None
    assert stream.feed(b"yyy") == []
    assert stream.feed(b"zzz\ndata: a\n\n") == [b"a"]
