"""A listening socket on this machine's loopback, and a wait for its first connection that can be ended."""

from __future__ import annotations

import os
import select
import socket

from docket.errors import UnavailableError
from docket.formats.reason import Reason

LOOPBACK = "127.0.0.1"


class Listening:
    """A socket that listens on 127.0.0.1; connections queue up until somebody takes `socket` over."""

    def __init__(self, port: int, backlog: int) -> None:
        """Bind and listen; UnavailableError(IO_ERROR) if the port cannot be had."""
        # The protocol is named because asyncio switches Nagle's algorithm off only where it reads TCP there, and the
        # option is set here too: accepted connections inherit it. With it a small chunk waits 40 ms for an ACK.
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.socket.bind((LOOPBACK, port))
            self.socket.listen(backlog)
            self.socket.settimeout(0)
            self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            self.socket.close()
            raise UnavailableError(
                Reason.IO_ERROR, f"cannot listen on {LOOPBACK} port {port}: {error.strerror}"
            ) from error
        self.port: int = self.socket.getsockname()[1]

    def wait_for_connection(self) -> bool:
        """Wait until a connection is there; False if the wait was ended first."""
        ready = select.select([self.socket.fileno(), self._reader], [], [])[0]
        return self._reader not in ready

    def end_wait(self) -> None:
        """End the wait, now or the next one; any thread may call it."""
        os.write(self._writer, b"\0")

    def close_wait(self) -> None:
        """Give back what the wait needed; the socket stays."""
        os.close(self._reader)
        os.close(self._writer)
