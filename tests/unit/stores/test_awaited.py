"""What one thread waits for and another brings."""

from __future__ import annotations

import threading

import pytest

from docket.stores.awaited import Awaited


def test_a_value_reaches_all_that_wait_for_it():
    told: Awaited[int] = Awaited()
    found: list[int] = []
    waiting = [threading.Thread(target=lambda: found.append(told.result())) for _ in range(8)]
    for thread in waiting:
        thread.start()
    assert (told.done(), found) == (False, [])
    told.set_result(7)
    for thread in waiting:
        thread.join()
    assert (told.done(), found, told.exception(), told.result()) == (True, [7] * 8, None, 7)


def test_a_failure_is_raised_and_told():
    told: Awaited[int] = Awaited()
    failure = ValueError("no")
    told.set_exception(failure)
    assert (told.done(), told.exception()) == (True, failure)
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            told.result()


def test_it_comes_once():
    told: Awaited[int] = Awaited()
    told.set_result(1)
    with pytest.raises(RuntimeError):
        told.set_result(2)
