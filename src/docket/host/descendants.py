"""Every process that descends from one process: found in the process table, signalled, ended.

Rules:
1. A signal reaches the process that was seen or none: it is sent through a pidfd whose start time was compared.
2. A process group is signalled as a whole (which no fork can outrun) only if all its members descend from the
   root and one of them is held by SIGSTOP, so that the group's number cannot pass to a stranger.
3. Ending is repeated until the root has no child left, or the time allowed is over: never for ever.

The root must be a subreaper, so that a daemon that forked twice is its child and not init's. Imported by the
launcher: the standard library only, and of it only what starts fast (hence no dataclasses, no enum, no typing).
"""

from __future__ import annotations

import os
import time

from docket.host.light_signal import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_FIRST_PAUSE_SECONDS = 0.002
_LONGEST_PAUSE_SECONDS = 0.1


class Process:
    """One row of the process table; `started` (clock ticks since boot) tells apart two holders of one pid."""

    __slots__ = ("alive", "group", "parent", "pid", "session", "started")

    def __init__(self, pid: int, fields: list[bytes]) -> None:
        self.pid = pid
        self.parent = int(fields[1])
        self.group = int(fields[2])
        self.session = int(fields[3])
        self.started = int(fields[19])
        # A process whose first thread has ended shows as a zombie while its other threads run on.
        self.alive = fields[0] not in (b"Z", b"X") or int(fields[17]) > 1

    @property
    def identity(self) -> tuple[int, int]:
        """What no other process ever shares: pid and start time."""
        return self.pid, self.started


def read_process(pid: int) -> Process | None:
    """Return the row of `pid`, None if there is no such process."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        text = os.read(descriptor, 2048)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    # The name stands in parentheses and may itself hold any byte, parentheses and blanks too.
    return Process(pid, text[text.rindex(b")") + 2 :].split(b" ", 20))


def read_table() -> dict[int, Process]:
    """Return the process table. It is read row by row: a process that forks meanwhile can be missed."""
    names = os.listdir("/proc")  # noqa: PTH208 - pathlib would cost the launcher its start time
    rows = (read_process(int(name)) for name in names if name.isdecimal())
    return {row.pid: row for row in rows if row is not None}


def descendants(root: int, table: dict[int, Process]) -> list[Process]:
    """Return all that descends from `root`, parents before children, the dead that nobody reaped included."""
    children: dict[int, list[Process]] = {}
    for row in table.values():
        children.setdefault(row.parent, []).append(row)
    found = list(children.get(root, ()))
    for row in found:
        found.extend(children.get(row.pid, ()))
    return found


def living(root: int, spared: frozenset[int] = frozenset()) -> list[Process]:
    """Return the descendants of `root` that still run, without those whose pid is in `spared`."""
    return [row for row in descendants(root, read_table()) if row.alive and row.pid not in spared]


def send(process: Process, signum: int) -> bool:
    """Send a signal to exactly this process; False if it is gone or may not be signalled."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    except (OSError, AttributeError):
        return _send_by_number(process, signum)
    try:
        if not _is_same(process):
            return False
        signal.pidfd_send_signal(descriptor, signum)
    except ProcessLookupError:
        return False
    except (OSError, AttributeError):
        return _send_by_number(process, signum)
    finally:
        os.close(descriptor)
    return True


def _send_by_number(process: Process, signum: int) -> bool:
    """Send where the kernel (or a sandbox) offers no pidfd: compare, then send at once."""
    if not _is_same(process):
        return False
    try:
        os.kill(process.pid, signum)
    except OSError:
        return False
    return True


def _is_same(process: Process) -> bool:
    now = read_process(process.pid)
    return now is not None and now.identity == process.identity


def kill_once(roots: list[int]) -> list[Process]:
    """Send SIGKILL to every descendant of `roots` seen now; return those that were running."""
    table = read_table()
    victims = [row for root in roots for row in descendants(root, table)]
    kill(victims, table)
    return [row for row in victims if row.alive]


def kill(victims: list[Process], table: dict[int, Process]) -> None:
    """Send SIGKILL to `victims`, all rows of `table`; by whole groups where a group holds nobody else."""
    pids = {row.pid for row in victims}
    groups: dict[int, list[Process]] = {}
    for row in victims:
        groups.setdefault(row.group, []).append(row)
    mixed = {row.group for row in table.values() if row.pid not in pids}
    for group, members in groups.items():
        if group in mixed or len(members) == 1 or not _kill_group(group, members):
            for row in members:
                send(row, signal.SIGKILL)


def _kill_group(group: int, members: list[Process]) -> bool:
    """Kill the whole group through a member that is held in it; False if none could be held."""
    for row in members:
        if not send(row, signal.SIGSTOP):
            continue
        now = read_process(row.pid)
        if now is None or now.identity != row.identity or now.group != group or not now.alive:
            continue
        try:
            os.killpg(group, signal.SIGKILL)
        except OSError:
            return False
        return True
    return False


def end_all(
    root: int, reap: Callable[[], bool], pause: Callable[[float], None], allowed_seconds: float
) -> tuple[set[tuple[int, int]], int]:
    """End every descendant of the subreaper `root`; return the identities killed and how many could not be.

    `reap` takes the dead children and tells whether no child is left; `pause` waits at most that many seconds
    and returns early when a child died.
    """
    ends_at = time.monotonic() + allowed_seconds
    killed: set[tuple[int, int]] = set()
    seconds = _FIRST_PAUSE_SECONDS
    while not reap():
        running = kill_once([root])
        killed.update(row.identity for row in running)
        if time.monotonic() >= ends_at:
            # A family that forks faster than it can be seen leaves a child, though none was seen running.
            return killed, max(1, len(running))
        pause(seconds)
        seconds = min(2 * seconds, _LONGEST_PAUSE_SECONDS)
    return killed, 0
