"""A hook in a process of its own, in a run: its payload goes to the run's boundary, which does the rest.

Rules:
1. One request on a connection of its own, by hand: a library for it takes longer to load than the request takes.
2. Nothing is raised. Where the run is not there any more, or does not answer in time, the caller is told so.
"""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from docket.rules.windows.hook_address import hook_url

_STATUS_BYTES = 12  # HTTP/1.1 200


def post_hook(session_url: str, agent: str, event: str, payload: bytes, seconds: float) -> bool:
    """Return whether the run took the hook, and has dealt with it."""
    parts = urlsplit(hook_url(session_url, agent, event))
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=seconds) as connection:
            head = (
                f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(payload)}\r\nConnection: close\r\n\r\n"
            )
            connection.sendall(head.encode("ascii") + payload)
            status = b""
            while len(status) < _STATUS_BYTES and (piece := connection.recv(4096)):
                status += piece
    except (OSError, ValueError):  # ValueError: an address or a name that is none
        return False
    return status[9:_STATUS_BYTES] == b"200"
