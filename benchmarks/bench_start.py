"""Rows 14 and 15: how long docket takes to say its version, to hear a hook, and to run a program that does nothing.

The hook is one that nothing is done about: what a hook of a tool does with its tree is row 13.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

NUMBERS = (14, 15)
RUNS = 11
EVENT = "Notification"
HOOK = json.dumps({"session_id": "s", "hook_event_name": EVENT, "message": "waiting"}).encode()


def wall_ms(command: list[str], cwd: Path, environment: dict[str, str], given: bytes = b"") -> float:
    began = time.perf_counter()
    subprocess.run(command, cwd=cwd, env=environment, input=given, capture_output=True, check=False)
    return (time.perf_counter() - began) * 1000


def interleaved(*measures: Callable[[], float]) -> list[float]:
    """Return each measure's median over RUNS rounds, after one round that does not count."""
    rounds = [[measure() for measure in measures] for _ in range(RUNS + 1)][1:]
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


def rows() -> Iterator[dict[str, object]]:
    docket = str(Path(sys.executable).with_name("docket"))
    peer = os.environ.get("DOCKET_AI")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        tree = root / "tree"
        tree.mkdir()
        environment = {**os.environ, "DOCKET_STATE_DIR": str(root / "state"), "HOME": str(root)}
        nothing, version, hook = interleaved(
            lambda: wall_ms([sys.executable, "-c", "pass"], tree, environment),
            lambda: wall_ms([docket, "--version"], tree, environment),
            lambda: wall_ms([docket, "hook", "claude", EVENT], tree, environment, HOOK),
        )
        for what, ours, goal in (("docket --version, ms", version, 2), ("docket hook, ms", hook, 3)):
            yield {
                "row": 14,
                "what": what,
                "ours": ours,
                "peer": f"python -c pass {nothing:.3g}",
                "ratio": ours / nothing,
                "goal": f"<= {goal}",
                "holds": ours <= goal * nothing,
            }
        runs = [lambda: wall_ms([docket, "run", "--report", "none", "--", "true"], tree, environment)]
        if peer:
            runs.append(lambda: wall_ms([peer, "run", "--", "true"], tree, environment))
        measured = interleaved(*runs)
        theirs = measured[1] if peer else None
        yield {
            "row": 15,
            "what": "docket run -- true, empty tree, s",
            "ours": measured[0] / 1000,
            "peer": f"docket-ai {theirs / 1000:.3g}" if theirs else "docket-ai not installed (DOCKET_AI)",
            "ratio": measured[0] / theirs if theirs else None,
            "goal": "<= 0.3 s",
            "holds": measured[0] <= 300,
        }
