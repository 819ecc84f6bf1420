"""Shapes: what each accepts, and the member a refusal names."""

from __future__ import annotations

import pytest

from docket.errors import InvalidDocumentError
from docket.formats import shape
from docket.formats.canonical import JsonValue
from docket.formats.shown import MAX_SHOWN, shown

NAME = shape.record({"a": shape.text}, {"b": shape.count})


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (shape.anything, (None, 1, "x", [], {}), ()),
        (shape.text, ("", "x"), (1, None, True)),
        (shape.flag, (True, False), (1, 0, None, "true")),
        (shape.count, (0, 7), (-1, True, "1", None)),
        (shape.integer, (-1, 0), (False, "1", None)),
        (shape.digest, ("0" * 64,), ("0" * 63, "A" * 64, 1)),
        (shape.amount, ("0.00", "0.000001"), ("0", "0.000010x", "1.500000", 1)),
        (shape.instant, ("2026-01-31T23:59:59.123Z",), ("2026-01-31", "12:00:00", 1)),
        (shape.null, (None,), (0, False, "")),
        (shape.nullable(shape.text), (None, "x"), (1,)),
        (shape.constant(1), (1,), (True, 2, "1")),
        (shape.constant("a"), ("a",), ("b", None)),
        (shape.array(shape.count), ([], [1, 2]), ([1, -1], "ab", {"a": 1}, None)),
        (shape.mapping(shape.count), ({}, {"x": 1}), ({"x": "1"}, [], None)),
        (NAME, ({"a": "x"}, {"a": "x", "b": 1}), ({}, {"a": 1}, {"a": "x", "c": 1}, {"a": "x", "b": -1}, [], None)),
        (shape.record({"a": shape.text}, closed=False), ({"a": "x", "z": 1},), ({"z": 1},)),
    ],
)
def test_what_is_accepted_and_refused(
    check: shape.Shape, good: tuple[JsonValue, ...], bad: tuple[JsonValue, ...]
) -> None:
    for value in good:
        check(value, "x")
    for value in bad:
        with pytest.raises(InvalidDocumentError, match="x"):
            check(value, "x")


def test_a_refusal_names_the_member_by_its_path() -> None:
    deep = shape.record({"rows": shape.array(shape.record({"hash": shape.digest}))})
    with pytest.raises(InvalidDocumentError, match=r"receipt\.rows\[1\]\.hash: a SHA-256 is"):
        deep({"rows": [{"hash": "0" * 64}, {"hash": "0"}]}, "receipt")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("caf\u00e9\n\x1b[31m", '"caf\\u00e9\\n\\u001b[31m"'),
        (None, "null"),
        (["a", 1], '["a", 1]'),
        ("x" * 1_000_000, '"' + "x" * (MAX_SHOWN - 2) + "\u2026"),
    ],
)
def test_a_value_in_a_sentence_is_short_and_cannot_drive_a_terminal(value: JsonValue, words: str) -> None:
    assert shown(value) == words
