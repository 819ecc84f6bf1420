"""What docket and its launcher say to each other over their socket.

docket sends one request (`encode_request`), then commands, a line each: `stop GRACE_MS`, `signal NUMBER`.
The launcher sends reports, a line each, numbers in decimal:

* `forked PID START LAUNCHER LAUNCHER_START`: told by the agent's own process before its program can act, so that a
  program which kills its launcher at once was seen to run; START is its start time in clock ticks.
* `started PID START LAUNCHER LAUNCHER_START`: the agent runs.
* `failed STAGE ERRNO`: the agent could not be started; STAGE is one of the names below.
* `exited CODE` or `killed SIGNAL`: how the agent ended.
* `lost`: the launcher was killed, the guard above it ends what it left.
* `ended INTERRUPTED TERMINATED KILLED LEFTOVERS SURVIVORS`: the last one; counts of processes.

When docket's end closes, everything the run started is killed. Imported by the launcher: no imports that cost.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

STAGE_FORK = "fork"
STAGE_CWD = "cwd"
STAGE_NAMESPACE = "namespace"
STAGE_PROGRAM = "program"
STAGE_INTERPRETER = "interpreter"

_LENGTH_BYTES = 8
_FIXED = 7
NO_NAMESPACE = -1


class StartRequest:
    """What the launcher is to start, and for whom.

    `argv` and `cwd` are bytes as the kernel takes them, `environment` holds `NAME=value` items.
    `take_terminal`: make the agent the terminal's foreground group before it runs.
    `leftover_grace_ms`: how long processes that outlive the agent have between SIGTERM and SIGKILL.
    `mount_namespace` and `user_namespace`: descriptors of what the agent enters, NO_NAMESPACE to stay.
    """

    __slots__ = (
        "argv", "cwd", "docket_group", "environment", "leftover_grace_ms", "mount_namespace", "take_terminal",
        "user_namespace",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 - a record; dataclasses would cost the launcher as much as starting Python
        self,
        *,
        argv: Sequence[bytes],
        cwd: bytes,
        environment: Sequence[bytes],
        docket_group: int,
        take_terminal: bool,
        leftover_grace_ms: int,
        mount_namespace: int = NO_NAMESPACE,
        user_namespace: int = NO_NAMESPACE,
    ) -> None:
        self.argv = list(argv)
        self.cwd = cwd
        self.environment = list(environment)
        self.docket_group = docket_group
        self.take_terminal = take_terminal
        self.leftover_grace_ms = leftover_grace_ms
        self.mount_namespace = mount_namespace
        self.user_namespace = user_namespace


def encode_request(request: StartRequest) -> bytes:
    """Return the request as `encode_items` packs it."""
    numbers = (
        request.docket_group,
        int(request.take_terminal),
        request.leftover_grace_ms,
        request.mount_namespace,
        request.user_namespace,
        len(request.argv),
    )
    return encode_items([*(b"%d" % number for number in numbers), request.cwd, *request.argv, *request.environment])


def encode_items(items: Sequence[bytes]) -> bytes:
    """Return a length of eight bytes and the items, each of which ends in NUL."""
    body = b"".join(item + b"\0" for item in items)
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


def read_request(descriptor: int) -> StartRequest | None:
    """Read one request; None if the other end closed before it was whole."""
    items = read_items(descriptor)
    if items is None:
        return None
    docket_group, take_terminal, leftover_grace_ms, mounts, users, count = (int(item) for item in items[: _FIXED - 1])
    return StartRequest(
        argv=items[_FIXED : _FIXED + count],
        cwd=items[_FIXED - 1],
        environment=items[_FIXED + count :],
        docket_group=docket_group,
        take_terminal=bool(take_terminal),
        leftover_grace_ms=leftover_grace_ms,
        mount_namespace=mounts,
        user_namespace=users,
    )


def read_items(descriptor: int) -> list[bytes] | None:
    """Read what `encode_items` packed; None if the other end closed before it was whole."""
    head = _read_exactly(descriptor, _LENGTH_BYTES)
    body = None if head is None else _read_exactly(descriptor, int.from_bytes(head, "big"))
    return None if body is None else body.split(b"\0")[:-1]


def _read_exactly(descriptor: int, count: int) -> bytes | None:
    parts = []
    while count:
        try:
            part = os.read(descriptor, min(count, 1 << 20))
        except ConnectionResetError:
            return None
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


class LineReader:
    """Whole lines out of a stream that arrives in parts."""

    __slots__ = ("_rest", "closed")

    def __init__(self) -> None:
        self._rest = b""
        self.closed = False

    def read(self, descriptor: int) -> list[list[str]]:
        """Read once; return the words of each line that is now whole. At the end `closed` is set."""
        try:
            part = os.read(descriptor, 65536)
        except OSError:
            part = b""
        if not part:
            self.closed = True
            return []
        *lines, self._rest = (self._rest + part).split(b"\n")
        return [line.decode("ascii").split() for line in lines]
