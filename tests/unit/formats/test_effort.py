"""The steps of comparing: what weighs how much, and that what is spent stays spent."""

from __future__ import annotations

from docket.formats.effort import MOST_STEPS, Effort, weight, weight_of


def test_a_text_weighs_its_characters_and_sixteen() -> None:
    assert weight("") == 16
    assert weight("gpt-5") == 21
    assert weight("\U0001f600") == 17
    assert weight_of(["", "gpt-5"]) == 37


def test_all_steps_may_be_taken_and_none_more() -> None:
    effort = Effort()

    assert effort.take(MOST_STEPS - 1)
    assert effort.take(1)
    assert not effort.is_spent
    assert not effort.take(1)
    assert effort.is_spent


def test_what_was_too_much_once_stays_so() -> None:
    effort = Effort()

    assert not effort.take(MOST_STEPS + 1)
    assert not effort.take(0)
