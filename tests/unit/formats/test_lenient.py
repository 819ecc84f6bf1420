"""Members by type, whoever wrote them: the right one, or the empty value of the type that was asked for."""

from __future__ import annotations

from typing import Any

import pytest

from docket.formats import lenient
from docket.formats.amount import Usd
from docket.formats.canonical import LazyArray

JUNK: tuple[Any, ...] = (None, True, -1, 7, "", "7", [], [1], {}, {"a": 1})


class Numbers(LazyArray):
    """1, 2."""

    def __len__(self) -> int:
        return 2

    def item(self, index: int) -> int:
        return index + 1

    def spelled(self) -> str:
        return "[1,2]"

    def indented(self, margin: str) -> str:
        return margin


@pytest.mark.parametrize(
    ("read", "right"),
    [
        (lenient.text_of, {"", "7"}),
        (lenient.integer_of, {-1, 7}),
        (lenient.count_of, {7}),
    ],
)
def test_a_value_of_another_type_is_as_one_that_is_not_there(read: Any, right: set[Any]) -> None:
    nothing = read(None)
    for value in JUNK:
        is_right = not isinstance(value, (bool, list, dict)) and value in right
        assert read(value) == (value if is_right else nothing)


def test_objects_arrays_amounts_and_instants() -> None:
    assert [lenient.object_of(value) for value in JUNK] == [{}] * 9 + [{"a": 1}]
    assert [list(lenient.items_of(value)) for value in JUNK] == [[]] * 7 + [[1], [], []]
    assert list(lenient.items_of(Numbers())) == [1, 2]
    assert lenient.amount_of("1.5") == Usd(1_500_000)
    assert [lenient.amount_of(value) for value in (None, "", "x", 1.5, [])] == [None] * 5  # type: ignore[arg-type]
    assert lenient.instant_of("2026-01-31T09:00:00Z") == "2026-01-31T09:00:00Z"
    assert [lenient.instant_of(value) for value in (None, "", "2026-01-31", 7)] == [None] * 4


def test_what_stands_deeper() -> None:
    document: Any = {"a": {"b": "x", "n": 3, "m": -3, "rows": [{"c": 1}, 2, None, {}], "texts": ["u", 1, "v"]}, "d": 1}
    assert lenient.part(document) is document
    assert lenient.part(document, "a", "b") == "x"
    assert [lenient.part(document, *names) for names in (("z",), ("d", "b"), ("a", "b", "c"))] == [None] * 3
    assert (lenient.text_at(document, "a", "b"), lenient.text_at(document, "a", "n")) == ("x", "")
    assert [lenient.count_at(document, "a", name) for name in ("n", "m", "b")] == [3, 0, 0]
    assert lenient.rows_at(document, "a", "rows") == ({"c": 1}, {})
    assert lenient.texts_at(document, "a", "texts") == ("u", "v")
    assert (lenient.rows_at(document, "d"), lenient.texts_at(document, "a", "b")) == ((), ())
