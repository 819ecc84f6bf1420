"""What the tests of processes share: agents that mark all they start, and a foreign look at who still runs.

Processes are found by a mark in their environment, which the code under test neither sets nor reads.
"""

import os
import time
import uuid
from pathlib import Path

MARK = "DOCKET_TEST_MARK"
# A daemon that forked twice, left its parent's session, and ignores every polite signal.
STUBBORN_DAEMON = '(setsid sh -c \'trap "" TERM INT HUP QUIT; echo $$ >> "$PIDS"; while :; do sleep 1; done\' &)'
PLAIN_CHILD = "sh -c 'echo $$ >> \"$PIDS\"; while :; do sleep 1; done' &"
SESSION_CHILD = "setsid sh -c 'echo $$ >> \"$PIDS\"; while :; do sleep 1; done' &"
PATIENCE_SECONDS = 60


class Mark:
    """One test's mark: the environment that carries it, and the processes that have it."""

    def __init__(self, folder: Path) -> None:
        self.text = uuid.uuid4().hex
        self.pids_file = folder / "pids"

    def environment(self, **more: str) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], MARK: self.text, "PIDS": str(self.pids_file), **more}

    def running(self) -> list[int]:
        """Return the pids of the processes that carry the mark and are not dead."""
        needle = f"{MARK}={self.text}".encode()
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdecimal():
                try:
                    if needle in (folder / "environ").read_bytes().split(b"\0"):
                        found.append(int(folder.name))
                except OSError:
                    continue
        return found

    def written_pids(self) -> list[int]:
        try:
            return [int(line) for line in self.pids_file.read_text().split()]
        except FileNotFoundError:
            return []

    def await_written(self, count: int) -> list[int]:
        await_true(lambda: len(self.written_pids()) >= count)
        return self.written_pids()


def await_true(condition) -> None:
    """Wait until the condition holds; a test that waits a minute has failed."""
    ends_at = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < ends_at, "waited too long"
        time.sleep(0.005)


def stat_fields(pid: int) -> dict[str, int | str] | None:
    """Return state, parent, group, session and terminal foreground group of a process, None if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    state, parent, group, session, _terminal, foreground = text.rpartition(")")[2].split()[:6]
    return {
        "state": state,
        "parent": int(parent),
        "group": int(group),
        "session": int(session),
        "foreground": int(foreground),
    }


def parent_of(pid: int) -> int:
    fields = stat_fields(pid)
    assert fields is not None
    return int(fields["parent"])


def is_gone(pid: int) -> bool:
    """Whether the process has ended (a corpse that its parent did not reap counts as ended)."""
    fields = stat_fields(pid)
    return fields is None or fields["state"] in ("Z", "X")
