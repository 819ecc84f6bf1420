"""Edits between two texts: the right ones by hand, and what holds for any two."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docket.rules.line_difference import Budget, Edit, edits, lines_of

FEW_LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"{\n", b"once\n", b"\r\n"]), max_size=14)


def made(before: list[bytes], after: list[bytes], found: tuple[Edit, ...]) -> list[bytes]:
    out: list[bytes] = []
    at = 0
    for edit in found:
        out += before[at : edit.before_start] + after[edit.after_start : edit.after_end]
        at = edit.before_end
    return out + before[at:]


def length_of_shortest_script(before: list[bytes], after: list[bytes]) -> int:
    """By the plain recurrence over all pairs of beginnings."""
    row = list(range(len(after) + 1))
    for i, ours in enumerate(before, 1):
        last, row[0] = row[0], i
        for j, theirs in enumerate(after, 1):
            last, row[j] = row[j], last if ours == theirs else 1 + min(row[j], row[j - 1])
    return row[-1]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [b"\n"]),
        (b"a", [b"a"]),
        (b"a\nb", [b"a\n", b"b"]),
        (b"a\r\n\n", [b"a\r\n", b"\n"]),
        ("a\u2028b\x0cc\n".encode(), ["a\u2028b\x0cc\n".encode()]),
    ],
)
def test_a_line_ends_with_a_line_feed_alone(data: bytes, lines: list[bytes]) -> None:
    assert lines_of(data) == lines


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (b"", b"", []),
        (b"a\n", b"a\n", []),
        (b"", b"a\nb\n", [Edit(0, 0, 0, 2)]),
        (b"a\nb\n", b"", [Edit(0, 2, 0, 0)]),
        (b"a\nb\nc\n", b"a\nB\nc\n", [Edit(1, 2, 1, 2)]),
        (b"a\nb\nc\nd\n", b"x\na\nb\nc\ny\n", [Edit(0, 0, 0, 1), Edit(3, 4, 4, 5)]),
        (b"a\nb", b"a\nb\n", [Edit(1, 2, 1, 2)]),
        # A function put before another that looks like it: the lines that stand once keep the rest together.
        (b"f1\n{\n}\n", b"f0\n{\n}\nf1\n{\n}\n", [Edit(0, 0, 0, 3)]),
        # What moved is one removal and one addition; the longer part stays.
        (b"1\n2\n3\n4\n", b"4\n1\n2\n3\n", [Edit(0, 0, 0, 1), Edit(3, 4, 4, 4)]),
    ],
)
def test_the_edits_of_small_texts(before: bytes, after: bytes, found: list[Edit]) -> None:
    assert list(edits(lines_of(before), lines_of(after), Budget())) == found


@given(before=FEW_LINES, after=FEW_LINES)
def test_edits_make_the_other_text_and_a_common_line_stands_between_two(
    before: list[bytes], after: list[bytes]
) -> None:
    found = edits(before, after, Budget())
    assert made(before, after, found) == after
    for one, next_one in pairwise(found):
        assert one.before_end < next_one.before_start
        assert one.after_end < next_one.after_start
        assert next_one.before_start - one.before_end == next_one.after_start - one.after_end
    for edit in found:
        assert (edit.before_start, edit.after_start) != (edit.before_end, edit.after_end)


@given(
    before=st.lists(st.sampled_from([b"a\n", b"b\n"]), max_size=10),
    after=st.lists(st.sampled_from([b"a\n", b"b\n"]), max_size=10),
)
def test_where_no_line_stands_once_the_script_is_a_shortest(before: list[bytes], after: list[bytes]) -> None:
    before, after = before * 2, after * 2
    steps = sum(e.before_end - e.before_start + e.after_end - e.after_start for e in edits(before, after, Budget()))
    assert steps == length_of_shortest_script(before, after)


def test_a_script_that_is_too_long_to_look_for_is_one_edit() -> None:
    # Turned round: one line of eight stays, seven go and seven come.
    before = [b"%c\n" % letter for letter in b"abcdefgh"]
    after = before[::-1]
    assert edits(before, after, Budget(depth=13)) == (Edit(0, 8, 0, 8),)
    found = edits(before, after, Budget(depth=14))
    assert sum(e.before_end - e.before_start for e in found) == 7
    # One change in a thousand lines that are alike is found.
    before = [b"a\n", b"b\n"] * 500
    middle = [*before[:300], b"new\n", *before[300:]]
    assert edits(before, middle, Budget()) == (Edit(300, 300, 300, 301),)
