"""A listening socket and the wait for its first connection."""

from __future__ import annotations

import socket
import threading

import pytest

from docket.errors import UnavailableError
from docket.host.listening import Listening


@pytest.fixture
def listening():
    port = Listening(0, 16)
    yield port
    port.close_wait()
    port.socket.close()


def test_a_connection_ends_the_wait_and_is_kept(listening):
    with socket.create_connection(("127.0.0.1", listening.port), timeout=10) as client:
        assert listening.wait_for_connection() is True
        accepted, address = listening.socket.accept()
        with accepted:
            assert address == client.getsockname()


def test_small_chunks_are_not_held_back(listening):
    with socket.create_connection(("127.0.0.1", listening.port), timeout=10):
        assert listening.wait_for_connection()
        accepted, _ = listening.socket.accept()
        with accepted:
            assert accepted.proto == socket.IPPROTO_TCP
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


def test_the_wait_can_be_ended_from_another_thread(listening):
    ended = []
    waiter = threading.Thread(target=lambda: ended.append(listening.wait_for_connection()))
    waiter.start()
    listening.end_wait()
    waiter.join(30)
    assert ended == [False]


def test_it_listens_on_the_loopback_alone(listening):
    assert listening.socket.getsockname()[0] == "127.0.0.1"


def test_a_port_that_is_taken_is_named(listening):
    with pytest.raises(UnavailableError, match=f"port {listening.port}"):
        Listening(listening.port, 16)
