"""Running git where it reads no configuration but docket's own: a private repository folder, a fixed environment.

Rules:
1. GIT_DIR is a folder of docket's own. The person's repository is named only as an object store to read from, as an
   index to read a copy of, and as files to look at: its configuration, hooks, drivers and remotes are never read.
2. Of docket's environment PATH alone is handed on. No optional lock is taken, nothing is fetched, asked or paged.
3. A program that is not done at the deadline is killed; one that fails, or says more than MAX_OUTPUT_BYTES, is an
   error. Its words are never parsed.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from docket.errors import UnavailableError
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.host.git_environment import fixed_environment

MAX_OUTPUT_BYTES = 1024**3
_TOLD = 300


class GitTimeoutError(UnavailableError):
    """git was not done at the deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """An instant on the monotonic clock."""

    at_ns: int

    @classmethod
    def within(cls, seconds: float) -> Deadline:
        """Return the instant so many seconds from now."""
        return cls(at_ns=time.monotonic_ns() + int(seconds * 1e9))

    def is_over(self) -> bool:
        """Whether it has passed."""
        return time.monotonic_ns() >= self.at_ns

    def seconds_left(self) -> float:
        """Return how long there is; GitTimeoutError where it is over."""
        left = (self.at_ns - time.monotonic_ns()) / 1e9
        if left <= 0:
            raise GitTimeoutError(Reason.LOCKED, "the time for looking at the tree is over")
        return left


@dataclass(frozen=True, slots=True, kw_only=True)
class GitWorkplace:
    """A repository folder of docket's own; `worktree` are the files to look at, `index` the one to read or write."""

    git_dir: Path
    worktree: Path | None = None
    index: Path | None = None
    extra: dict[str, str] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """Return the whole environment of a git that works here."""
        found = {**fixed_environment(self.git_dir), **self.extra}
        if self.worktree is not None:
            found["GIT_WORK_TREE"] = str(self.worktree)
        if self.index is not None:
            found["GIT_INDEX_FILE"] = str(self.index)
        return found


class GitRunning:
    """One git that was started; `result` waits for it."""

    def __init__(self, place: GitWorkplace, arguments: Sequence[str], *, fed: bool = False) -> None:
        """Start it; UnavailableError(PROGRAM_MISSING) where there is no git."""
        self._name = arguments[0]
        try:
            self._process = subprocess.Popen(
                ["git", *arguments],
                cwd=place.worktree or place.git_dir,
                env=place.environment(),
                stdin=subprocess.PIPE if fed else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except FileNotFoundError as error:
            raise UnavailableError(Reason.PROGRAM_MISSING, "git is not installed") from error
        except OSError as error:
            raise UnavailableError(Reason.PROGRAM_NOT_RUNNABLE, f"git cannot be run: {error.strerror}") from error

    def result(self, deadline: Deadline, fed: bytes | None = None) -> bytes:
        """Return what it said; GitTimeoutError, or UnavailableError where it failed."""
        try:
            said, complained = self._process.communicate(fed, timeout=deadline.seconds_left())
        except (subprocess.TimeoutExpired, GitTimeoutError) as error:
            self.stop()
            raise GitTimeoutError(Reason.LOCKED, f"git {self._name} was not done in time") from error
        except BaseException:  # a hook's alarm
            self._process.kill()
            raise
        if self._process.returncode != 0:
            words = complained[:_TOLD].decode("utf-8", "backslashreplace").strip()
            raise UnavailableError(Reason.UNREADABLE, f"git {self._name} failed: {words}")
        if len(said) > MAX_OUTPUT_BYTES:
            raise UnavailableError(Reason.TOO_LARGE, f"git {self._name} said more than {MAX_OUTPUT_BYTES:,} bytes")
        return said

    def stop(self) -> None:
        """Kill it; nothing of it is left."""
        self._process.kill()
        self._process.communicate()


def run_git(place: GitWorkplace, arguments: Sequence[str], deadline: Deadline, *, fed: bytes | None = None) -> bytes:
    """Run one git to its end and return what it said."""
    return GitRunning(place, arguments, fed=fed is not None).result(deadline, fed)


def run_together(place: GitWorkplace, commands: Sequence[Sequence[str]], deadline: Deadline) -> list[bytes]:
    """Run several at once and return what each said."""
    started: list[GitRunning] = []
    try:
        started.extend(GitRunning(place, arguments) for arguments in commands)
        return [started.pop(0).result(deadline) for _ in commands]
    finally:
        for running in started:
            running.stop()
