"""How long what an agent is shown is."""

from __future__ import annotations

import pytest

from docket.rules.providers.text import text_bytes


def nested(depth: int) -> list[object]:
    found: list[object] = []
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("value", "length"),
    [
        ("abc", 3),
        ("é", 2),
        ("\ud800", 3),
        (None, 0),
        ("", 0),
        ({}, 0),
        ({"a": "é"}, 11),  # {"a": "é"}
        ([1, 2], 6),
        (nested(100_000), 0),
    ],
)
def test_the_length_is_that_of_its_utf8(value: object, length: int) -> None:
    assert text_bytes(value) == length
