"""`docket hook AGENT EVENT`: a hook of an agent from a process of its own, which must neither fail nor delay a tool.

Rules:
1. It ends with 0, whatever it is given and whatever happens, within two seconds, or as many as DOCKET_HOOK_SECONDS
   says: an alarm ends it where it stands, which is what every step of a window is made for. A first alarm, after
   seventeen twentieths of that time, lets it drop what it does and leave word of it.
2. It says nothing on standard output, for agents read that; with DOCKET_DEBUG it says on standard error what it did.
3. In a run whose boundary answers, the payload goes there; else the window is opened or closed from here.
4. What is no payload, or none that is known, is kept by its shape, none of its values.
5. It starts light: neither click nor the boundary is loaded. Outside a run it takes its turn before anything else is
   (`surfaces.hooks.turnstile`), and leaves word where its turn does not come in time.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from docket.surfaces.hooks.seconds import hook_seconds

if TYPE_CHECKING:
    from pathlib import Path

    from docket.rules.windows.tool_event import HookEvent

SOFT_SHARE, HARD_SHARE = 0.85, 0.975
MAX_PAYLOAD_BYTES = 64 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
_PROJECT_VARIABLES = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "QWEN_PROJECT_DIR")
_LEAST_SECONDS = 0.1
_WAIT_SHARE = 0.7
"""How much of its time a hook waits for its turn at most: with less than the rest it would not be done."""


class _OutOfTimeError(BaseException):
    """The first alarm; nothing between it and `run` may take it for a fault that it knows."""


class _Hook:
    """One hook: what the agent said, as far as it is known, and until when something can come of it."""

    def __init__(self, agent: str, event: str) -> None:
        self.agent, self.event = agent, event
        self.seconds = hook_seconds()
        self.began = time.monotonic()
        self.soft_at = self.began + self.seconds * SOFT_SHARE
        self.body: bytes | None = None
        self.said: HookEvent | None = None


def run(arguments: Sequence[str]) -> int:
    """Handle one hook; always 0."""
    hook = _Hook(arguments[0], arguments[1])
    signal.signal(signal.SIGALRM, _drop)
    signal.setitimer(signal.ITIMER_REAL, hook.seconds * SOFT_SHARE)
    try:
        _settled(hook)
    except (Exception, _OutOfTimeError) as error:  # noqa: BLE001 - no fault of docket's fails an agent's tool
        _tell(f"{type(error).__name__}: {error}")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return 0


def _settled(hook: _Hook) -> None:
    try:
        _handled(hook)
    except _OutOfTimeError:
        _leave_word(hook)


def _drop(_number: int, _frame: object) -> NoReturn:
    signal.signal(signal.SIGALRM, _out_of_time)
    signal.setitimer(signal.ITIMER_REAL, hook_seconds() * (HARD_SHARE - SOFT_SHARE))
    raise _OutOfTimeError


def _out_of_time(_number: int, _frame: object) -> NoReturn:
    os._exit(0)


def _leave_word(hook: _Hook) -> None:
    """Say that nothing will be known of a tool use for want of time; a run does that itself."""
    from docket.surfaces.hooks.left_word import forget, leave  # noqa: PLC0415 - for want of time alone

    project = next((name for name in map(os.environ.get, _PROJECT_VARIABLES) if name and os.path.isdir(name)), "")  # noqa: PTH112
    word = leave(hook.agent, hook.event, hook.body, project)
    _tell("there was no time left")
    if hook.said is None:
        return  # whoever comes next makes something of it
    from docket.surfaces.hooks.windows import leave_word  # noqa: PLC0415 - what an event of interest needs

    leave_word(hook.said, _folder(hook.said.folder))
    forget(word)


def _body() -> bytes | None:
    """Return what the agent gives, None where it is too large."""
    pieces, size = [], 0
    while piece := os.read(0, _CHUNK_BYTES):
        pieces.append(piece)
        size += len(piece)
        if size > MAX_PAYLOAD_BYTES:
            return None
    return b"".join(pieces)


def _handled(hook: _Hook) -> None:
    hook.body = body = _body()
    if _told_the_run(hook, body):
        return
    from docket.surfaces.hooks.turnstile import Turnstile  # noqa: PLC0415 - after the alarm is set

    turnstile = Turnstile()
    try:
        if not turnstile.is_passed(hook.began + hook.seconds * _WAIT_SHARE):
            raise _OutOfTimeError
        _worked(hook, body)
    finally:
        turnstile.close()


def _worked(hook: _Hook, body: bytes | None) -> None:
    from docket.rules.windows.tool_event import Moments, OtherEvent, UnknownPayload  # noqa: PLC0415 - as below

    said, shape = _heard(hook.agent, hook.event, body)
    hook.said = said
    if isinstance(said, OtherEvent) and said.moment is Moments.OTHER:
        return
    folder = _folder(said.folder)
    from docket.surfaces.hooks.windows import note_unknown, tell  # noqa: PLC0415 - what an event of interest needs

    if isinstance(said, UnknownPayload):
        note_unknown(hook.agent, hook.event, shape, folder)
        _tell(said.detail)
        return
    for outcome in tell(said, folder, max(hook.soft_at - time.monotonic() - _LEAST_SECONDS, _LEAST_SECONDS)):
        _tell(f"{outcome.said} {outcome.reason or ''} {outcome.detail or ''}")


def _told_the_run(hook: _Hook, body: bytes | None) -> bool:
    """Whether this is a hook of a run that lives, and the run has dealt with it."""
    from docket.rules.windows.hook_address import SESSION_URL_VARIABLE  # noqa: PLC0415 - after the alarm is set

    session_url = os.environ.get(SESSION_URL_VARIABLE)
    if not session_url:
        return False
    from docket.surfaces.hooks.live import post_hook  # noqa: PLC0415 - a run's alone

    # What is too large comes as nothing, and is told as malformed.
    took = post_hook(session_url, hook.agent, hook.event, body or b"", max(hook.soft_at - time.monotonic(), 0.0))
    _tell("the run took it" if took else "the run that the environment names did not take it")
    return took


def _heard(agent: str, event: str, body: bytes | None) -> tuple[HookEvent, list[str]]:
    """Return what the payload says, and its shape."""
    from docket.rules.agents.hook_body import read_body  # noqa: PLC0415 - after the alarm is set
    from docket.rules.agents.hooks import HOOK_READERS  # noqa: PLC0415
    from docket.rules.windows.tool_event import UnknownPayload  # noqa: PLC0415

    reader = HOOK_READERS.get(agent)
    if reader is None:
        raise ValueError(f"no agent is called {agent}")
    payload = "too-large" if body is None else read_body(body)
    if isinstance(payload, str):
        return UnknownPayload(detail=f"the payload is {payload}"), [payload]
    return reader(event, payload), sorted(payload)


def _folder(told: str | None) -> Path:
    """Return the folder that an agent works in: its project's, which stays while its current folder moves about."""
    from pathlib import Path  # noqa: PLC0415 - not light

    named = (os.environ.get(name) for name in _PROJECT_VARIABLES)
    return Path(next((name for name in (*named, told) if name and "\0" not in name and Path(name).is_dir()), "."))


def _tell(text: str) -> None:
    if os.environ.get("DOCKET_DEBUG"):
        sys.stderr.write(f"docket hook: {text}\n")
