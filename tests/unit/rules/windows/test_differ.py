"""Line differences by hand, and contents that budgets and limits cut off."""

from __future__ import annotations

import pytest

from docket.formats.relpath import RelPath
from docket.formats.windows.changes import Side, TreeChange
from docket.formats.windows.delta import Hunk
from docket.formats.windows.names import Hashes, Operation
from docket.rules.line_difference import Budget, Lines, split_lines
from docket.rules.windows import compare
from docket.rules.windows.compare import Room, compare_file
from docket.rules.windows.differ import diff_lines


def rows(text: str) -> list[bytes]:
    return [char.encode() for char in text]


def shown(hunks: tuple[Hunk, ...]) -> list[tuple[int, str, int, str]]:
    return [
        (hunk.old_start, b"".join(hunk.old_lines).decode(), hunk.new_start, b"".join(hunk.new_lines).decode())
        for hunk in hunks
    ]


@pytest.mark.parametrize(
    ("content", "lines", "open_end"),
    [(b"", (), False), (b"a", (b"a",), True), (b"a\n", (b"a",), False), (b"\n", (b"",), False),
     (b"a\r\nb\rc\n", (b"a\r", b"b\rc"), False), (b"a\x0cb\xe2\x80\xa8c", (b"a\x0cb\xe2\x80\xa8c",), True)],
)  # fmt: skip
def test_lines_end_at_a_line_feed_alone(content, lines, open_end):
    assert split_lines(content) == Lines(lines=lines, no_eof_newline=open_end)


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("", "", []),
        ("abc", "abc", []),
        ("", "ab", [(1, "", 1, "ab")]),
        ("ab", "", [(1, "ab", 1, "")]),
        ("abc", "axc", [(2, "b", 2, "x")]),
        ("abc", "abxc", [(3, "", 3, "x")]),
        ("abc", "ac", [(2, "b", 2, "")]),
        ("abcdef", "abXdeY", [(3, "c", 3, "X"), (6, "f", 6, "Y")]),
        ("aa", "aaa", [(3, "", 3, "a")]),
        ("abab", "baba", [(1, "a", 1, ""), (5, "", 4, "a")]),
        ("abcabba", "cbabac", [(1, "ab", 1, ""), (4, "", 2, "b"), (6, "b", 5, ""), (8, "", 6, "c")]),
        ("xaxb", "aybx", [(1, "x", 1, ""), (3, "x", 2, "y"), (5, "", 4, "x")]),
    ],
)
def test_hunks_are_these(old, new, wanted):
    assert shown(diff_lines(rows(old), rows(new), Budget())) == wanted


def test_beyond_the_depth_the_middle_is_one_hunk():
    old, new = rows("=abcdefgh="), rows("=hgfedcba=")
    assert shown(diff_lines(old, new, Budget(depth=2))) == [(2, "abcdefgh", 2, "hgfedcba")]


def test_steps_are_shared_by_the_files_of_a_delta():
    budget = Budget(steps_left=12)
    assert shown(diff_lines(rows("ab"), rows("ba"), budget)) == [(1, "a", 1, ""), (3, "", 2, "a")]
    assert budget.steps_left == 5
    assert shown(diff_lines(rows("xy"), rows("yx"), budget)) == [(1, "xy", 1, "yx")]


CONTENTS = {"1": b"a\nb\n", "2": b"a\nc\n", "3": b"a\nb", "0b": b"\0", "t": b"target", "e": b""}


def compared(before: Side, after: Side, room: Room | None = None) -> compare.FileDelta:
    change = TreeChange(path=RelPath(b"p"), before=before, after=after)
    return compare_file(change, Hashes.SHA1, CONTENTS.get, room or Room())


def side(name: str | None, mode: str = "100644") -> Side:
    return Side(mode=mode, name=name)


def test_an_edit_has_its_lines():
    file = compared(side("1"), side("2"))
    assert (file.operation, shown(file.hunks)) == (Operation.EDIT, [(2, "b", 2, "c")])


def test_a_last_line_end_alone_has_no_hunks():
    file = compared(side("1"), side("3"))
    assert (file.hunks, file.old_no_eof_newline, file.new_no_eof_newline) == ((), False, True)


def test_a_nul_on_either_side_makes_it_binary():
    assert compared(side("0b"), side("1")).binary
    assert compared(side("1"), side("0b")).binary


def test_another_kind_is_no_edit_and_has_no_lines():
    file = compared(side("1"), side("t", "120000"))
    assert (file.operation, file.hunks, file.truncated) == (Operation.TYPECHANGE, (), False)


def test_an_executable_bit_is_an_edit_without_lines():
    file = compared(side("1"), side("1", "100755"))
    assert (file.operation, file.hunks, file.before_hash == file.after_hash) == (Operation.EDIT, (), True)


def test_a_repository_has_no_lines():
    file = compared(side("1", "160000"), side("2", "160000"))
    assert (file.operation, file.hunks, file.truncated) == (Operation.EDIT, (), False)


def test_what_was_created_and_what_was_deleted():
    file = compared(Side(), side("1"))
    assert (file.operation, file.before_hash, shown(file.hunks)) == (Operation.CREATE, "0" * 40, [(1, "", 1, "ab")])
    file = compared(side("1"), Side())
    assert (file.operation, file.after_hash, shown(file.hunks)) == (Operation.DELETE, "0" * 40, [(1, "ab", 1, "")])


@pytest.mark.parametrize("missing", [side(None), side("larger")])
def test_what_was_not_read_is_told_without_lines(missing):
    file = compared(side("1"), missing)
    assert (file.truncated, file.hunks) == (True, ())


@pytest.mark.parametrize(("name", "limit"), [("MAX_LINES", 2), ("MAX_FILE_BYTES", 3)])
def test_beyond_a_limit_a_file_is_truncated(monkeypatch, name, limit):
    monkeypatch.setattr(compare, name, limit)
    assert compared(side("1"), side("2")).truncated


def test_the_lines_of_a_delta_have_an_end():
    room = Room(hunk_bytes_left=5)
    assert not compared(side("1"), side("2"), room).truncated
    assert compared(side("1"), side("2"), room).truncated
