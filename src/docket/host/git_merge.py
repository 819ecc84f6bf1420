"""Merging three texts with `git merge-file`, and nothing else of git.

Rules:
1. The program runs in an empty repository of docket's own, with a fixed environment (host.git_batch): no configuration,
   attributes or drivers of a repository or a person are read, so none of their programs is executed.
2. The texts are given as files of docket's own, whole; nothing of a tree is opened.
3. It has `PATIENCE_SECONDS` for one merge.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from docket.errors import UnavailableError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.host.disk_errors import reported
from docket.host.git_batch import empty_repository
from docket.host.git_environment import fixed_environment

PATIENCE_SECONDS = 60.0
_MOST_CONFLICTS = 127
_SIDES = ("ours", "ancestor", "theirs")


@dataclass(frozen=True, slots=True)
class MergedText:
    """What came of it: where there are conflicts, both sides and the ancestor between markers stand in it."""

    content: bytes
    conflicts: int


class GitMerge:
    """Merges texts, one after the other; close it."""

    def __init__(self) -> None:
        """Make the empty repository."""
        self._home = Path(tempfile.mkdtemp(prefix="docket-merge-"))
        try:
            with reported("write in", self._home):
                empty_repository(self._home)
        except BaseException:
            self.close()
            raise

    def merge(self, texts: tuple[bytes, bytes, bytes], labels: tuple[str, str, str]) -> MergedText:
        """Merge ours, the ancestor and theirs, in this order; the labels name them at conflicts.

        UnavailableError: PROGRAM_MISSING without git, NOT_MERGEABLE where it does not take the texts.
        """
        for name, text in zip(_SIDES, texts, strict=True):
            with reported("write", self._home / name):
                (self._home / name).write_bytes(text)
        told = [part for label in labels for part in ("-L", label)]
        try:
            done = subprocess.run(
                ["git", "merge-file", "-p", "--diff3", *told, *_SIDES],
                cwd=self._home,
                env=fixed_environment(self._home),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=PATIENCE_SECONDS,
                check=False,
            )
        except FileNotFoundError as error:
            raise UnavailableError(
                Reason.PROGRAM_MISSING, "git is not installed, and merges texts", hint="install git, or do not merge"
            ) from error
        except subprocess.TimeoutExpired as error:
            detail = f"git merge-file did not end within {PATIENCE_SECONDS:.0f} seconds"
            raise UnavailableError(Reason.NOT_MERGEABLE, detail) from error
        except OSError as error:
            raise UnavailableError(Reason.PROGRAM_NOT_RUNNABLE, f"git cannot be run: {error.strerror}") from error
        if not 0 <= done.returncode <= _MOST_CONFLICTS:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            detail = f"git merge-file failed: {said[0] if said else f'exit code {done.returncode}'}"
            raise UnavailableError(Reason.NOT_MERGEABLE, detail)
        return MergedText(done.stdout, done.returncode)

    def close(self) -> None:
        """Remove the empty repository."""
        shutil.rmtree(self._home, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
