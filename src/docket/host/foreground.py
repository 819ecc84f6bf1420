"""Job control between the terminal, docket's process group and the agent's, done by the launcher.

The agent has a process group of its own, so a full-screen agent must be the terminal's foreground group, and a
stop (Ctrl-Z) of the agent must become a stop of docket's whole job, which the shell that started docket sees.

Rules:
1. The terminal is only ever given away when it is docket's or the agent's to give, never taken from a third group.
2. If nobody would continue docket's group (no shell above it does job control), it is not stopped.
3. While the job is stopped the launcher itself runs on: docket's death is noticed even then.

Nothing here restores the terminal at the end of a run: docket does (`host/terminal`), and if docket was killed,
the shell. Imported by the launcher: no imports that cost.
"""

from __future__ import annotations

import os
import termios

from docket.host import descendants
from docket.host.light_signal import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_WANTS_TERMINAL = (signal.SIGTTIN, signal.SIGTTOU)


def open_terminal() -> int | None:
    """Return a descriptor of the controlling terminal, None if this process has none."""
    try:
        return os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return None


class Foreground:
    """Who has the terminal. All calls need SIGTTOU blocked."""

    __slots__ = ("_docket_group", "_modes", "_terminal", "stand_in")

    def __init__(self, docket_group: int) -> None:
        self._terminal = open_terminal()
        self._docket_group = docket_group
        self._modes: list[Any] | None = None
        # The pid of the process that stopped with docket's group and tells when the group goes on.
        self.stand_in: int | None = None

    @property
    def exists(self) -> bool:
        """Whether there is a terminal at all."""
        return self._terminal is not None

    def give(self, group: int) -> None:
        """Make `group` the foreground group if docket's is it now."""
        if self._holder() == self._docket_group:
            self._set_holder(group)

    def stopped(self, agent: int, signum: int) -> None:
        """The agent (leader of its own group) was stopped by `signum`: let it go on, or stop docket's job too."""
        if self._terminal is None or self.stand_in is not None:
            return
        holder = self._holder()
        if signum in _WANTS_TERMINAL and holder in (self._docket_group, agent):
            self.give(agent)
            _continue(agent)
            return
        if _is_job(self._docket_group):
            self._stop_job(agent, holder)
        elif signum not in _WANTS_TERMINAL:
            # With nobody to continue it a stopped agent would stand for ever; one that wants a terminal which
            # is not ours would only be stopped again at once.
            _continue(agent)

    def continued(self, agent: int) -> None:
        """The stand-in ended, so docket's group goes on (in the foreground or not): so does the agent."""
        self.stand_in = None
        if self._holder() == self._docket_group:
            self._set_holder(agent)
            self._apply_modes()
        _continue(agent)

    def _stop_job(self, agent: int, holder: int | None) -> None:
        """Stop docket's group, with a child of ours in it that ends when the group is continued."""
        if holder == agent:
            self._save_modes()
            self._set_holder(self._docket_group)
        pid = os.fork()
        if pid == 0:
            _stand_in(self._docket_group)
        self.stand_in = pid

    def _holder(self) -> int | None:
        try:
            return None if self._terminal is None else os.tcgetpgrp(self._terminal)
        except OSError:
            return None  # the terminal was hung up

    def _set_holder(self, group: int) -> None:
        try:
            if self._terminal is not None:
                os.tcsetpgrp(self._terminal, group)
        except OSError:
            return  # hung up, or the group has ended

    def _save_modes(self) -> None:
        try:
            self._modes = None if self._terminal is None else termios.tcgetattr(self._terminal)
        except termios.error:
            self._modes = None

    def _apply_modes(self) -> None:
        if self._terminal is None or self._modes is None:
            return
        try:
            termios.tcsetattr(self._terminal, termios.TCSANOW, self._modes)
        except termios.error:
            return  # hung up


def _continue(group: int) -> None:
    try:
        os.killpg(group, signal.SIGCONT)
    except OSError:
        return  # it has ended


def _stand_in(docket_group: int) -> None:
    """Join docket's group, stop it and with it this process; end when continued. Does not return."""
    try:
        os.setpgid(0, docket_group)
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTSTP})
        os.killpg(docket_group, signal.SIGTSTP)
    finally:
        os._exit(0)


def _is_job(group: int) -> bool:
    """Whether somebody could continue `group`: a member's parent in the same session but another group."""
    table = descendants.read_table()
    for row in table.values():
        parent = table.get(row.parent)
        if row.group == group and parent is not None and parent.session == row.session and parent.group != group:
            return True
    return False
