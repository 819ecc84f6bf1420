"""Relative paths over bytes."""

from __future__ import annotations

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.reason import Reason
from docket.formats.relpath import MAX_PATH_BYTES, RelPath


@pytest.mark.parametrize(
    "raw",
    [b"a", b"a/b/c", b" ", b"-rf", b"a\nb", b"\xff\xfe", "é".encode(), "e\u0301".encode(), b"...", b"..a", b"a..",
     b"a\\b", b"*?[", b"x" * 255, b"x" * 300, b".git"],
)  # fmt: skip
def test_any_bytes_are_a_name(raw):
    path = RelPath.parse(raw)
    assert path.raw == raw
    assert RelPath.from_members(path.members()) == path


@pytest.mark.parametrize(
    "raw", [b"", b"/", b"/a", b"a/", b"a//b", b".", b"..", b"a/./b", b"a/../b", b"../a", b"a\0b", b"a/\0"]
)
def test_what_leaves_the_tree_or_has_two_spellings_is_refused(raw):
    with pytest.raises(InvalidDocumentError) as caught:
        RelPath.parse(raw)
    assert caught.value.reason == Reason.NOT_A_PATH


def test_a_path_has_a_longest_length():
    # parts of 200 bytes joined by a slash
    longest = b"/".join([b"x" * 200] * 81)[:MAX_PATH_BYTES]
    assert len(longest) < MAX_PATH_BYTES
    RelPath.parse(longest)
    with pytest.raises(InvalidDocumentError, match="longer than"):
        RelPath.parse(b"/".join([b"x" * 200] * 82))


@pytest.mark.parametrize(
    ("raw", "members"),
    [
        (b"src/a.py", {"path": "src/a.py"}),
        ("naïve".encode(), {"path": "naïve"}),
        (b"a\xff", {"path_b64": "Yf8="}),
    ],
)
def test_utf8_is_written_as_text_and_the_rest_as_base64(raw, members):
    assert RelPath.parse(raw).members() == members


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({}, id="neither"),
        pytest.param({"path": "a", "path_b64": "Yf8="}, id="both"),
        pytest.param({"path": "a", "path_b64": None}, id="the other one null"),
        pytest.param({"path": 5}, id="a number"),
        pytest.param({"path_b64": ["Yf8="]}, id="a list"),
        pytest.param({"path_b64": "YQ=="}, id="UTF-8 in base64"),
        pytest.param({"path_b64": "Yf8"}, id="without padding"),
        pytest.param({"path_b64": "Yf9="}, id="stray bits in the last digit"),
        pytest.param({"path_b64": "Yf8=\n"}, id="newline"),
        pytest.param({"path_b64": "Y-8="}, id="the URL alphabet"),
        pytest.param({"path_b64": "Yé8="}, id="not ASCII"),
        pytest.param({"path_b64": "Li4v/w=="}, id="a parent step in base64"),
        pytest.param({"path": "../a"}, id="a parent step"),
        pytest.param({"path": "a\ud800"}, id="a lone surrogate"),
    ],
)
def test_other_members_are_refused(members):
    with pytest.raises(InvalidDocumentError) as caught:
        RelPath.from_members(members)
    assert caught.value.reason == Reason.NOT_A_PATH


def test_parts_parent_and_child():
    path = RelPath.parse(b"a/b/c")
    assert path.parts == (b"a", b"b", b"c")
    assert path.parent == RelPath(b"a/b")
    assert RelPath.parse(b"a").parent is None
    assert tuple(path.above()) == (RelPath(b"a/b"), RelPath(b"a"))
    assert tuple(RelPath.parse(b"a").above()) == ()
    assert RelPath.parse(b"a").child(b"\xff") == RelPath(b"a/\xff")
    for name in (b"", b"..", b"x/y", b"\0"):
        with pytest.raises(InvalidDocumentError):
            path.child(name)


def test_order_is_byte_order_and_text_is_visible():
    assert sorted([RelPath(b"b"), RelPath(b"a/z"), RelPath(b"a-"), RelPath(b"\xff")]) == [
        RelPath(b"a-"), RelPath(b"a/z"), RelPath(b"b"), RelPath(b"\xff")
    ]  # fmt: skip
    assert str(RelPath(b"a\xff")) == "a\\xff"
