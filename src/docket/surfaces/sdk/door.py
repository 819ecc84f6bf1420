"""The client of the boundary's own door: one small request at a time, over one kept connection.

Rules:
1. It speaks to 127.0.0.1 alone, never through a proxy, and waits no longer than SECONDS.
2. An answer is a value. What cannot be reached raises UnavailableError, and nothing else does.
3. Threads may share it; a process that was forked opens a connection of its own.
"""

from __future__ import annotations

import http.client
import json
import os
import select
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from docket.errors import UnavailableError, UsageError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason

SECONDS = 10.0
_MAX_ANSWER_BYTES = 1024 * 1024
_MEMBERS = frozenset(("docket_number", "token", "providers", "spent_usd", "remaining_usd"))


@dataclass(frozen=True, slots=True)
class Reply:
    """What the door said: an HTTP status and the members of its document."""

    status: int
    document: Mapping[str, Any]

    @property
    def ok(self) -> bool:
        """Whether it was done."""
        return self.status == 200


class Door:
    """The door of one session; `origin` is the boundary's address without any token."""

    def __init__(self, url: str) -> None:
        """Take the address a run hands out; UsageError if it is none of a boundary on this machine."""
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            port = None
        if parts.scheme != "http" or parts.hostname != "127.0.0.1" or port is None:
            raise UsageError(Reason.USAGE, "the session's address is none of a boundary on this machine")
        self.origin = f"http://127.0.0.1:{port}"
        self.url = url
        self._port, self._path = port, parts.path.rstrip("/")
        self._lock = threading.Lock()
        self._connection: http.client.HTTPConnection | None = None
        self._process = os.getpid()

    def session(self) -> Mapping[str, Any]:
        """Return what the boundary tells of the session; UnavailableError where it does not."""
        reply = self._ask("GET", "/session", None)
        if not reply.ok or not reply.document.keys() >= _MEMBERS:
            raise UnavailableError(Reason.BAD_TOKEN, "the boundary does not know this session")
        return reply.document

    def say(self, type_: str, data: Mapping[str, object]) -> Reply:
        """Assert an event."""
        return self._ask("POST", "/events", json.dumps({"type": type_, "data": data}).encode())

    def close(self) -> None:
        """Give the connection back; a forked process leaves its parent's alone."""
        if self._process == os.getpid():
            with self._lock:
                self._drop()

    def _ask(self, method: str, path: str, body: bytes | None) -> Reply:
        if self._process != os.getpid():
            # Whoever held the lock at the fork is not there to give it back.
            self._process, self._connection, self._lock = os.getpid(), None, threading.Lock()
        with self._lock:
            try:
                if self._is_stale():
                    self._drop()
                return self._exchange(method, path, body)
            except (OSError, http.client.HTTPException) as error:
                # Not tried again: the event may stand in the record already.
                self._drop()
                raise _unreachable(error) from error

    def _is_stale(self) -> bool:
        """Whether the other side has closed the kept connection, or said something unasked."""
        sock = None if self._connection is None else self._connection.sock
        if sock is None:
            return True
        poll = select.poll()
        poll.register(sock, select.POLLIN)
        return bool(poll.poll(0))

    def _exchange(self, method: str, path: str, body: bytes | None) -> Reply:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=SECONDS)
        headers = {} if body is None else {"Content-Type": "application/json"}
        self._connection.request(method, self._path + path, body, headers)
        response = self._connection.getresponse()
        data = response.read(_MAX_ANSWER_BYTES)
        try:
            document = json.loads(data)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise http.client.HTTPException("its answer is no document")
        return Reply(response.status, document)

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(OSError):
                self._connection.close()
            self._connection = None


def _unreachable(error: Exception) -> UnavailableError:
    return UnavailableError(Reason.UPSTREAM_UNREACHABLE, f"the run's boundary does not answer: {error}")
