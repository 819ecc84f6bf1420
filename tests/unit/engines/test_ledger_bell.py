"""The bell between the ledger's thread and the loop: who waits is woken once, by what was waited for, and not after."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from docket.engines.boundary.bell import LedgerBell
from docket.formats.ledger.event import Draft
from docket.stores.appended import DURABLE, WRITTEN, Appended


def queued() -> Appended:
    return Appended(Draft("x", b"{}"), threading.Lock())


def run(test):
    return asyncio.run(asyncio.wait_for(test(), 30))


@pytest.fixture(params=["descriptor", "callbacks"])
def way(request, monkeypatch):
    if request.param == "callbacks":
        monkeypatch.delattr(os, "eventfd", raising=False)
    elif not hasattr(os, "eventfd"):
        pytest.skip("this system has no eventfd")


def ring_elsewhere(bell: LedgerBell) -> None:
    thread = threading.Thread(target=bell.ring)
    thread.start()
    thread.join()


def test_who_waits_is_woken_by_another_threads_ring(way):
    async def test():
        bell, woken, item = LedgerBell(asyncio.get_running_loop()), asyncio.Event(), queued()
        assert not bell.has_reached(item, WRITTEN, woken.set)
        item.stage = WRITTEN
        ring_elsewhere(bell)
        await woken.wait()
        assert bell.has_reached(item, WRITTEN, woken.set)
        woken.clear()
        ring_elsewhere(bell)
        for _ in range(5):
            await asyncio.sleep(0)
        assert not woken.is_set()
        bell.close()

    run(test)


def test_a_stage_that_was_not_waited_for_wakes_nobody(way):
    async def test():
        bell, woken, item = LedgerBell(asyncio.get_running_loop()), asyncio.Event(), queued()
        assert not bell.has_reached(item, DURABLE, woken.set)
        item.stage = WRITTEN
        ring_elsewhere(bell)
        for _ in range(5):
            await asyncio.sleep(0)
        assert not woken.is_set()
        item.stage = DURABLE
        ring_elsewhere(bell)
        await woken.wait()
        bell.close()

    run(test)


def test_rings_before_a_turn_of_the_loop_are_one(way):
    async def test():
        bell, woken, last = LedgerBell(asyncio.get_running_loop()), [], asyncio.Event()
        items = [queued() for _ in range(3)]
        wakes = [lambda place=place: woken.append(place) or (place == 2 and last.set()) for place in range(3)]
        for item, wake in zip(items, wakes, strict=True):
            assert not bell.has_reached(item, WRITTEN, wake)
        for item in items:
            item.stage = WRITTEN
            ring_elsewhere(bell)
        await last.wait()
        assert woken == [0, 1, 2]
        bell.close()

    run(test)


def test_a_closed_bell_is_rung_in_vain(way):
    async def test():
        bell, woken, item = LedgerBell(asyncio.get_running_loop()), asyncio.Event(), queued()
        assert not bell.has_reached(item, WRITTEN, woken.set)
        bell.close()
        bell.close()
        item.stage = WRITTEN
        ring_elsewhere(bell)
        for _ in range(5):
            await asyncio.sleep(0)
        assert not woken.is_set()

    run(test)


def test_a_ring_after_the_loop_has_gone_is_harmless(way):
    bells = []

    async def test():
        bell, item = LedgerBell(asyncio.get_running_loop()), queued()
        assert not bell.has_reached(item, WRITTEN, lambda: None)
        item.stage = WRITTEN
        bells.append(bell)

    run(test)
    bells[0].ring()
    bells[0].ring()
    descriptor = bells[0]._descriptor
    if descriptor is not None:
        os.close(descriptor)
