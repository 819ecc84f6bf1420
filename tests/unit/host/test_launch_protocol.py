"""The request and the lines between docket and its launcher."""

import os
import socket
import threading

import pytest

from docket.host.launch_protocol import LineReader, StartRequest, encode_request, read_request


@pytest.fixture
def pair():
    one, other = socket.socketpair()
    yield one, other
    one.close()
    other.close()


def request(**more) -> StartRequest:
    given = {
        "argv": [b"prog", b"", b"\xff \n", b"x" * 65536],
        "cwd": b"/tmp/\xfe",
        "environment": [b"A=", b"B=1=2", b"C=\xff\n"],
        "docket_group": 4321,
        "take_terminal": True,
        "leftover_grace_ms": 500,
    }
    return StartRequest(**{**given, **more})


def fields(value: StartRequest) -> dict[str, object]:
    return {name: getattr(value, name) for name in StartRequest.__slots__}


@pytest.mark.parametrize("more", [{}, {"environment": []}, {"argv": [b""], "take_terminal": False}, {"cwd": b""}])
def test_request_arrives_as_it_was_sent(pair, more):
    sent = request(**more)
    # The socket holds less than a large request, so it is written while it is read.
    writer = threading.Thread(target=pair[0].sendall, args=(encode_request(sent),))
    writer.start()
    read = read_request(pair[1].fileno())
    writer.join()
    assert fields(read) == fields(sent)


@pytest.mark.parametrize("kept", [0, 1, 7, 8, 20])
def test_request_cut_short_is_none(pair, kept):
    pair[0].sendall(encode_request(request())[:kept])
    pair[0].close()
    assert read_request(pair[1].fileno()) is None


def test_request_on_a_reset_socket_is_none(pair):
    pair[1].sendall(b"never read")
    pair[0].close()
    assert read_request(pair[1].fileno()) is None


def test_lines_are_whole_however_they_arrive():
    reader, writer = os.pipe()
    lines = LineReader()
    found = []
    for part in (b"st", b"op 5\nsig", b"nal 2\n", b"stop 0\nstop 1\n", b"half"):
        os.write(writer, part)
        found.append(lines.read(reader))
    assert found == [[], [["stop", "5"]], [["signal", "2"]], [["stop", "0"], ["stop", "1"]], []]
    assert not lines.closed
    os.close(writer)
    assert lines.read(reader) == []
    assert lines.closed
    os.close(reader)


def test_reset_counts_as_the_end(pair):
    pair[1].sendall(b"never read")
    pair[0].close()
    lines = LineReader()
    assert lines.read(pair[1].fileno()) == []
    assert lines.closed
