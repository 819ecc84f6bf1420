"""Contents without hunks, by hand: numbers, the end of a file, and hunks that are not of the content."""

from __future__ import annotations

import hashlib

import pytest

from docket.formats.relpath import RelPath
from docket.formats.windows.changes import Side, TreeChange
from docket.formats.windows.delta import FileDelta, Hunk
from docket.formats.windows.names import REGULAR_MODE, Hashes
from docket.rules.windows.compare import Room, compare_file
from docket.rules.windows.naming import content_name
from docket.rules.windows.undo_hunks import after_of, before_of, numbered, places_by_path, without_hunks

A = RelPath(b"a")


def delta_of(before: bytes, after: bytes) -> FileDelta:
    kept = {"0" * 63 + "1": before, "0" * 63 + "2": after}
    sides = [Side(mode=REGULAR_MODE, name=name) for name in kept]
    change = TreeChange(path=A, before=sides[0], after=sides[1])
    return compare_file(change, Hashes.CONTENT_SHA256, kept.__getitem__, Room())


BEFORE, AFTER = b"1\n2\n3\n4\n5\n", b"0\n1\n3\n4\nfive\n"  # an insertion, a removal, a replacement


@pytest.mark.parametrize(
    ("places", "wanted"),
    [
        ((), AFTER),
        ((0,), b"1\n3\n4\nfive\n"),
        ((1,), b"0\n1\n2\n3\n4\nfive\n"),
        ((2,), b"0\n1\n3\n4\n5\n"),
        ((0, 2), b"1\n3\n4\n5\n"),
        ((0, 1, 2), BEFORE),
    ],
)
def test_a_content_without_some_hunks(places: tuple[int, ...], wanted: bytes) -> None:
    assert without_hunks(AFTER, delta_of(BEFORE, AFTER), places) == wanted


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"a\n"), (b"a\n", b""), (b"", b"a"), (b"a", b"a\n"), (b"a\n", b"a"), (b"a\nb", b"a\n"), (b"a\n", b"a\nb"),
        (b"a\nb\n", b"a"), (b"\n", b""), (b"\n\n", b"\n"), (b"a\r\n", b"a\n"), (b"\xff\n", b"\xfe"),
    ],
)  # fmt: skip
def test_either_side_is_told_by_the_other(before: bytes, after: bytes) -> None:
    file = delta_of(before, after)
    assert before_of(after, file) == before
    assert after_of(before, file) == after


def test_the_end_of_a_file_goes_with_the_hunk_that_reaches_it() -> None:
    file = delta_of(b"1\n2\n3", b"one\n2\nthree\n")
    assert without_hunks(b"one\n2\nthree\n", file, (0,)) == b"1\n2\nthree\n"
    assert without_hunks(b"one\n2\nthree\n", file, (1,)) == b"one\n2\n3"


@pytest.mark.parametrize("other", [b"0\n1\n3\n4\nsix\n", b"0\n1\n", b"", b"1\n3\n4\nfive\n"])
def test_hunks_of_another_content_are_not_taken(other: bytes) -> None:
    assert before_of(other, delta_of(BEFORE, AFTER)) is None


def test_hunks_that_overlap_are_not_taken() -> None:
    hunk = Hunk(old_start=1, new_start=1, new_lines=(b"x",))
    file = FileDelta(path=A, operation=delta_of(BEFORE, AFTER).operation, before_hash="", after_hash="",
                     before_mode=REGULAR_MODE, after_mode=REGULAR_MODE, hunks=(hunk, hunk))  # fmt: skip
    assert before_of(b"x\n", file) is None


def test_what_has_no_lines_is_not_told_by_them() -> None:
    binary = delta_of(b"a\0\n", b"b\0\n")
    assert binary.binary
    assert before_of(b"b\0\n", binary) is None


def test_hunks_are_numbered_through() -> None:
    from docket.formats.windows.delta import Delta, Span
    from docket.formats.windows.names import Scope, Status

    first, second = delta_of(BEFORE, AFTER), delta_of(b"x\n", b"y\n")
    delta = Delta(scope=Scope.TOOL, status=Status.COMPLETE, window=Span(started_at="", completed_at="", duration_ms=0),
                  actors=(), tool_uses=(), files=(first, second))  # fmt: skip
    hunks = numbered(delta)
    assert [(hunk.number, hunk.place) for hunk in hunks] == [(1, 0), (2, 1), (3, 2), (4, 0)]
    assert places_by_path(hunks[:3], {1, 3, 9}) == {A: frozenset((0, 2))}


def test_names_are_git_s_and_plain_digests() -> None:
    # `printf 'hello\n' | git hash-object --stdin`, in repositories of both formats
    assert content_name(b"hello\n", Hashes.SHA1) == "ce013625030ba8dba906f756967f9e9ca394464a"
    assert content_name(b"hello\n", Hashes.SHA256) == (
        "2cf8d83d9ee29543b34a87727421fdecb7e3f3a183d337639025de576db9ebb4"
    )
    assert content_name(b"hello\n", Hashes.CONTENT_SHA256) == hashlib.sha256(b"hello\n").hexdigest()
