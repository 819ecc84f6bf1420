"""Ending a `docket run` that a demonstration or a drill has started, when it is itself interrupted."""

from __future__ import annotations

import signal
import subprocess
from contextlib import suppress

# A terminal has told the run already; anybody else has not.
_OF_ITSELF_SECONDS = 1
_PATIENCE_SECONDS = 30


def stop(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    """Wait until the run has ended: by itself, then by SIGINT, SIGTERM, and SIGKILL at last."""
    waits = (
        (_OF_ITSELF_SECONDS, signal.SIGINT),
        (_PATIENCE_SECONDS, signal.SIGTERM),
        (_PATIENCE_SECONDS, signal.SIGKILL),
    )
    for wait_seconds, number in waits:
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(wait_seconds)
            return
        process.send_signal(number)
    process.wait()
