"""docket's side of the terminal: whether the agent gets it, and taking it back afterwards.

Rules:
1. The agent gets the terminal only if docket has it: standard input is the controlling terminal and docket's
   group is its foreground group.
2. If standard output is a pipe, the agent gets the terminal only once it asks for it (the launcher sees that):
   the reader of the pipe, a pager perhaps, may need the terminal itself.
3. Afterwards the foreground group and the terminal's modes are as before, whatever the agent died of; but the
   terminal is not taken from a third group: docket may have become a background job meanwhile.

Job control while the agent runs is the launcher's (`host/foreground`).
"""

from __future__ import annotations

import os
import signal
import stat
import termios
import threading
from collections.abc import Callable
from types import FrameType

# What a full-screen program that was killed leaves on: attributes, hidden cursor, mouse and focus reports,
# bracketed paste, the alternate screen. Each is without effect on a terminal where it was off.
_SCREEN_RESET = b"\x1b[0m\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?2004l\x1b[?47l"


class Terminal:
    """docket's controlling terminal while an agent may use it.

    `give_at_start`: whether the agent is the foreground group from the start. Only the main thread can keep
    docket from being stopped when it writes while it is not in the foreground (`stty tostop`), so a Terminal
    borrowed and closed in another thread leaves that signal as it is.
    """

    def __init__(self, descriptor: int, *, give_at_start: bool) -> None:
        self.give_at_start = give_at_start
        self._descriptor = descriptor
        self._group = os.getpgrp()
        self._modes = termios.tcgetattr(descriptor) if self._holder() == self._group else None
        self._disposition = _ignore_background_output()

    def take_back(self, agent_group: int | None, *, reset_screen: bool) -> None:
        """Make docket's group the foreground again and restore the modes, if the terminal is still ours to take.

        `reset_screen`: the agent was killed, so switch off what a full-screen program switches on. Any thread may
        call it. It never fails: a terminal that was hung up needs nothing.
        """
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        try:
            self._take_back(agent_group, reset_screen=reset_screen)
        except (OSError, termios.error):
            return
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def close(self) -> None:
        """Let go of the terminal and give the signal its disposition back."""
        os.close(self._descriptor)
        if self._disposition is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTTOU, self._disposition)

    def _take_back(self, agent_group: int | None, *, reset_screen: bool) -> None:
        holder = self._holder()
        if holder not in (self._group, agent_group) and _has_members(holder):
            return
        if holder != self._group:
            os.tcsetpgrp(self._descriptor, self._group)
        if self._modes is not None:
            termios.tcsetattr(self._descriptor, termios.TCSANOW, self._modes)
        if reset_screen and holder != self._group:
            os.write(self._descriptor, _SCREEN_RESET)

    def _holder(self) -> int:
        return os.tcgetpgrp(self._descriptor)


def borrow(standard_input: int, standard_output: int) -> Terminal | None:
    """Return the controlling terminal for a run over these descriptors, None if docket has none."""
    try:
        descriptor = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return None
    try:
        return Terminal(descriptor, give_at_start=_is_interactive(standard_input, standard_output))
    except (OSError, termios.error):
        os.close(descriptor)
        return None


def _is_interactive(standard_input: int, standard_output: int) -> bool:
    """Whether docket's group is in the foreground of the terminal that is its input, and no pipe takes its output."""
    try:
        if os.tcgetpgrp(standard_input) != os.getpgrp():
            return False
        return not stat.S_ISFIFO(os.fstat(standard_output).st_mode)
    except OSError:
        return False


def _ignore_background_output() -> signal.Handlers | int | Callable[[int, FrameType | None], object] | None:
    """Let docket write to the terminal when it is not in the foreground; return the disposition before."""
    if threading.current_thread() is not threading.main_thread():
        return None
    return signal.signal(signal.SIGTTOU, signal.SIG_IGN)


def _has_members(group: int) -> bool:
    """Whether any process is in `group`; one that the agent made has none left when the run is over."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
