"""Following a ledger from chunks."""

from __future__ import annotations

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.digest import sha256
from docket.formats.ledger import lines as lines_module
from docket.formats.ledger.event import GENESIS, draft, seal
from docket.formats.ledger.lines import TornTail, encode_line, events_again, follow
from docket.formats.reason import Reason


def chain(count: int):
    prev, events = GENESIS, []
    for seq in range(count):
        event = seal(draft("note", {"n": seq}), seq=seq, ts="2026-01-31T09:00:00.000Z", prev=prev)
        events.append(event)
        prev = event.hash
    return events


EVENTS = chain(4)
WHOLE = b"".join(encode_line(event) for event in EVENTS)
LAST = encode_line(EVENTS[3])


def test_nothing_is_an_empty_ledger():
    assert list(follow([])) == []
    assert list(follow([b"", b""])) == []


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100, 10_000])
def test_the_size_of_the_chunks_does_not_matter(size):
    assert list(follow(WHOLE[i : i + size] for i in range(0, len(WHOLE), size))) == EVENTS


@pytest.mark.parametrize("cut", range(len(WHOLE) - len(LAST) + 1, len(WHOLE)))
def test_a_tail_torn_at_any_byte_is_returned(cut):
    *events, tail = follow([WHOLE[:cut]])
    start = len(WHOLE) - len(LAST)
    assert events == EVENTS[:3]
    assert tail == TornTail(start, WHOLE[start:cut])


def test_a_flipped_bit_is_told_at_its_event():
    starts = [0]
    for event in EVENTS:
        starts.append(starts[-1] + len(encode_line(event)))
    for seq in range(4):
        for place in range(starts[seq], starts[seq + 1] - 1, 7):
            doctored = bytearray(WHOLE)
            doctored[place] ^= 1
            with pytest.raises(InvalidDocumentError, match=rf"^event {seq}: "):
                list(follow([bytes(doctored)]))


def test_events_before_the_damage_are_still_given():
    doctored = WHOLE.replace(b'"n":2', b'"n":9')
    stream = follow([doctored])
    assert [next(stream), next(stream)] == EVENTS[:2]
    with pytest.raises(InvalidDocumentError) as caught:
        next(stream)
    assert caught.value.reason == Reason.BROKEN_CHAIN


def test_a_second_chain_does_not_begin():
    with pytest.raises(InvalidDocumentError, match=r"event 4: the line there carries the number 0"):
        list(follow([WHOLE, encode_line(EVENTS[0])]))


def test_a_right_number_with_a_wrong_predecessor():
    stranger = seal(draft("note", {}), seq=4, ts="2026-01-31T09:00:00.000Z", prev=GENESIS)
    with pytest.raises(InvalidDocumentError, match=r"event 4: it does not follow"):
        list(follow([WHOLE, encode_line(stranger)]))


def test_a_line_has_a_longest_length(monkeypatch):
    monkeypatch.setattr(lines_module, "MAX_LINE_BYTES", max(len(event.line) for event in EVENTS))
    assert list(follow([WHOLE])) == EVENTS
    too_long = b"x" * (lines_module.MAX_LINE_BYTES + 1)
    for chunks in ([too_long], [too_long + b"\n"], [too_long[:5], too_long[5:], b"\n"]):
        with pytest.raises(InvalidDocumentError) as caught:
            list(follow(chunks))
        assert caught.value.reason == Reason.TOO_LARGE


@pytest.mark.parametrize("size", [1, 97, 10_000])
def test_events_are_read_again_by_the_digest_of_their_file(size):
    for whole in (WHOLE, WHOLE + LAST[:9]):  # a torn tail is left out
        chunks = (whole[i : i + size] for i in range(0, len(whole), size))
        again = list(events_again(chunks, sha256(whole)))
        assert again == EVENTS
        assert [(one[:5], one.data) for one in again] == [(one[:5], one.data) for one in EVENTS]


@pytest.mark.parametrize(
    ("read", "reason"),
    [
        (WHOLE[:-1], Reason.CHANGED_WHILE_READ),
        (WHOLE + LAST, Reason.CHANGED_WHILE_READ),
        (WHOLE + b"\n", Reason.NOT_JSON),
        (WHOLE + b"[" * 100_000 + b"\n", Reason.NOT_JSON),
        (WHOLE + b"\xff\n", Reason.NOT_JSON),
        (WHOLE + b"{}\n", Reason.MISSING_MEMBER),
    ],
)
def test_other_bytes_are_told_at_their_line_or_at_the_end(read, reason):
    with pytest.raises(InvalidDocumentError) as caught:
        list(events_again([read], sha256(WHOLE)))
    assert caught.value.reason == reason


class Trusting:
    """A glance that takes every line for one event."""

    def __init__(self, event):
        self.event, self.seen = event, []

    def read(self, line):
        self.seen.append(len(line))
        return self.event._replace(line=line)

    def learn(self, event):
        assert event == self.event


def test_a_line_that_is_too_long_is_not_even_glanced_at(monkeypatch):
    first, line = EVENTS[0], encode_line(EVENTS[0])
    monkeypatch.setattr(lines_module, "MAX_LINE_BYTES", len(first.line))
    glance = Trusting(first)
    assert list(follow([line], glance)) == [first]
    with pytest.raises(InvalidDocumentError, match="longer than"):
        list(follow([b" " + line], glance))
    assert glance.seen == [len(first.line)]


def test_what_a_glance_takes_has_its_place_in_the_chain():
    first, second = EVENTS[:2]
    with pytest.raises(InvalidDocumentError, match="event 0: the line there carries the number 1"):
        list(follow([encode_line(second)], Trusting(second)))
    with pytest.raises(InvalidDocumentError, match="event 1: the line there carries the number 0"):
        list(follow([encode_line(first) * 2], Trusting(first)))
    other = seal(draft("note", {"n": 1}), seq=1, ts="2026-01-31T09:00:00.000Z", prev=GENESIS)
    with pytest.raises(InvalidDocumentError, match="event 0: the line there carries the number 1"):
        list(follow([encode_line(other)], Trusting(other)))
