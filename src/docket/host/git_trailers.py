"""Adding trailers to a commit message with `git interpret-trailers`, which knows where they belong.

Rules: the program runs in an empty repository of docket's own, with a fixed environment: no configuration of a person
or a repository is read, and no program that it names is run. The message is given and taken as text.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from docket.host.disk_errors import reported
from docket.host.git_batch import empty_repository
from docket.host.git_program import Deadline, GitWorkplace, run_git

PATIENCE_SECONDS = 30.0


def with_trailers(message: bytes, trailers: Sequence[str]) -> bytes:
    """Return the message with these trailers, each `Name: value`, one that stands there already left as it is.

    UnavailableError: PROGRAM_MISSING without git, and where it fails.
    """
    named = [part for trailer in trailers for part in ("--trailer", trailer)]
    with tempfile.TemporaryDirectory(prefix="docket-trailers-") as folder:
        home = Path(folder)
        with reported("write in", home):
            empty_repository(home)
        arguments = ["interpret-trailers", "--no-divider", "--if-exists", "addIfDifferent", *named]
        return run_git(GitWorkplace(git_dir=home), arguments, Deadline.within(PATIENCE_SECONDS), fed=message)
