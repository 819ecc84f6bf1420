"""`docket hook AGENT EVENT`: a hook of an agent from a process of its own, which must neither fail nor delay a tool.

Rules:
1. It ends with 0, whatever it is given and whatever happens, within BUDGET_SECONDS: an alarm ends it where it stands,
   which is what every step of a window is made for.
2. It says nothing on standard output, for agents read that; with DOCKET_DEBUG it says on standard error what it did.
3. It starts light: neither click nor the boundary is loaded.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

BUDGET_SECONDS = 1.95
MAX_PAYLOAD_BYTES = 64 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
_PROJECT_VARIABLES = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR")


def run(arguments: Sequence[str]) -> int:
    """Handle one hook; always 0."""
    signal.signal(signal.SIGALRM, _out_of_time)
    signal.setitimer(signal.ITIMER_REAL, BUDGET_SECONDS)
    try:
        _handled(arguments[0], arguments[1], _payload())
    except Exception as error:  # noqa: BLE001 - no fault of docket's fails an agent's tool
        _tell(f"{type(error).__name__}: {error}")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return 0


def _out_of_time(_number: int, _frame: object) -> NoReturn:
    os._exit(0)


def _payload() -> dict[str, object]:
    pieces, size = [], 0
    while piece := os.read(0, _CHUNK_BYTES):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_PAYLOAD_BYTES:
            raise ValueError(f"the payload has more than {MAX_PAYLOAD_BYTES} bytes")
    value = json.loads(b"".join(pieces).decode("utf-8", "backslashreplace"))
    if not isinstance(value, dict):
        raise TypeError("the payload is no JSON object")
    return value


def _handled(agent: str, event: str, payload: dict[str, object]) -> None:
    from docket.rules.agents.hooks import HOOK_READERS  # noqa: PLC0415 - after the alarm is set
    from docket.rules.windows.tool_event import OtherEvent, ToolEvent  # noqa: PLC0415

    reader = HOOK_READERS.get(agent)
    if reader is None:
        raise ValueError(f"no agent is called {agent}")
    said = reader(event, payload)  # type: ignore[arg-type] # what json gives is a JSON value
    if isinstance(said, OtherEvent):
        return
    folder = _folder(said.folder if isinstance(said, ToolEvent) else None)
    from docket.surfaces.hooks.windows import note_unknown, tell  # noqa: PLC0415 - what a tool's event alone needs

    if isinstance(said, ToolEvent):
        outcome = tell(said, folder)
        _tell(f"{outcome.said} {outcome.reason or ''} {outcome.detail or ''}")
    else:
        note_unknown(agent, event, sorted(payload), folder)
        _tell(said.detail)


def _folder(told: str | None) -> Path:
    """Return the folder that an agent works in: its project's, which stays while its current folder moves about."""
    named = (os.environ.get(name) for name in _PROJECT_VARIABLES)
    return Path(next((name for name in (*named, told) if name), "."))


def _tell(text: str) -> None:
    if os.environ.get("DOCKET_DEBUG"):
        sys.stderr.write(f"docket hook: {text}\n")
