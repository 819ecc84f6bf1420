"""Reading agents' JSON files."""

from __future__ import annotations

import json

import pytest

from docket.rules.agents.documents import encoded, merged, names_in, read_object, table, text_at


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        ('{"a": [1, 2,], "b": {"c": 1,},\n}', {"a": [1, 2], "b": {"c": 1}}),
        (b'{// one\n"a": "http://x/*y*/", /* two\n lines */ "b": "//no", "c": ",]"}',
         {"a": "http://x/*y*/", "b": "//no", "c": ",]"}),
        (b'{"a": "quote \\" // still text"}', {"a": 'quote " // still text'}),
        (None, None),
        (b"[]", None),
        (b"", None),
        (b"{", None),
        (b"\xff{}", None),
        (b"[" * 100_000, None),
    ],
)  # fmt: skip
def test_an_object_with_comments_or_nothing(data, value):
    assert read_object(data) == value


def test_members_at_a_path():
    value = {"a": {"b": {"c": "x", "d": "", "e": 1}}}
    assert table(value, "a", "b") == value["a"]["b"]
    assert table(value, "a", "z") == table(value, "a", "b", "c") == table(None) == {}
    assert text_at(value, "a", "b", "c") == "x"
    assert [text_at(value, "a", "b", name) for name in "dez"] == [None, None, None]


def test_one_object_over_another():
    below = {"a": {"x": 1, "y": 2}, "b": 1, "c": [1]}
    assert merged(below, {"a": {"y": 3}, "b": {"z": 1}, "c": [2]}) == {"a": {"x": 1, "y": 3}, "b": {"z": 1}, "c": [2]}
    assert below == {"a": {"x": 1, "y": 2}, "b": 1, "c": [1]}


def test_what_is_written_is_read_again():
    value = {"a": "\udcff ü", "b": None}
    assert json.loads(encoded(value)) == value
    assert names_in(b"a\nb c\n\xff") == ("a", "b c", "\udcff")
    assert names_in(None) == ()
