"""One suite for every implementation of the signals port."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from docket.host.signals import Signals
from fakes.fake_signals import FakeSignals


@pytest.fixture(params=["system", "fake"])
def port(request):
    """Return (port, a function that lets a signal arrive)."""
    if request.param == "fake":
        fake = FakeSignals()
        yield fake, fake.arrive
        return
    with Signals() as signals:
        yield signals, lambda number: os.kill(os.getpid(), number)


def test_a_signal_ends_the_wait_and_is_told_once(port):
    signals, arrive = port
    arrive(signal.SIGTERM)
    assert signals.wait(5) == (signal.SIGTERM,)
    assert signals.wait(0) == ()


def test_signals_are_told_in_order(port):
    signals, arrive = port
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        arrive(number)
    assert signals.wait(5) == (signal.SIGINT, signal.SIGTERM, signal.SIGINT)


def test_a_wake_from_another_thread_ends_the_wait_without_a_signal(port):
    signals, _ = port
    thread = threading.Timer(0.05, signals.wake)
    thread.start()
    assert signals.wait(30) == ()
    thread.join()


def test_a_wake_before_the_wait_is_not_lost(port):
    signals, _ = port
    signals.wake()
    assert signals.wait(30) == ()


def test_a_wait_ends_with_its_time(port):
    signals, _ = port
    assert signals.wait(0.01) == ()


def test_closing_restores_the_handlers():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    with Signals():
        assert signal.getsignal(signal.SIGTERM) is not before[signal.SIGTERM]
    assert {number: signal.getsignal(number) for number in before} == before


def test_an_ignored_hangup_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Signals():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
