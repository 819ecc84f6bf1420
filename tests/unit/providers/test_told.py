"""What replies of most formats tell alike: the answers side by side, and how many of them are told apart."""

from __future__ import annotations

import pytest

from docket.rules.providers.told import Answers, place_of


@pytest.mark.parametrize(
    ("index", "place"),
    [(0, 0), (1, 1), (127, 127), (128, 0), (10**9, 0), (-1, 0), ("2", 0), (2.0, 0), (None, 0)],
)
def test_only_so_many_answers_are_told_apart(index: object, place: int) -> None:
    assert place_of({"index": index}) == place


def test_an_answer_without_a_number_is_the_first() -> None:
    assert place_of({}) == 0


def test_answers_are_finished_once_each_that_began_is() -> None:
    none = Answers()
    one = none.after(0, finished=True)
    two = one.after(1, finished=False)

    assert not none.all_finished
    assert one.all_finished
    assert not two.all_finished
    assert two.after(1, finished=True).all_finished
    assert two.after(0, finished=False).finished == {0}
