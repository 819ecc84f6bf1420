"""The payload of a hook as it came: bytes from an agent, which may hold anything.

Rules:
1. Up to SMALL_BYTES it is read whole. Of a longer one the members that say whose tool it is are read alone, a piece at
   a time, and no further than `is_late` allows: what was asked for and what came of it are left out.
2. Nothing here raises on what a payload holds; what is none is told in a word.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from docket.formats.canonical import JsonObject
from docket.formats.dataclass import field_names
from docket.rules.agents.hook_shape import Names
from docket.rules.agents.hook_shapes import SHAPES

SMALL_BYTES = 1024 * 1024
PIECE_BYTES = 64 * 1024
NOT_JSON, TOO_DEEP, NO_OBJECT, TOO_LATE = "not-json", "too-deep", "no-object", "too-late"
_OUTCOMES = ("is_interrupt", "is_error", "failure_type")


def never() -> bool:
    """There is time for all of it."""
    return False


def read_body(body: bytes, is_late: Callable[[], bool] = never) -> JsonObject | str:
    """Return the payload, or what is wrong with it: NOT_JSON, TOO_DEEP, NO_OBJECT or TOO_LATE."""
    if len(body) > SMALL_BYTES:
        return _short_members(body, is_late)
    try:
        # A byte that is no UTF-8 is a half of a surrogate pair from here on, and is recorded spelled out.
        value = json.loads(body.decode("utf-8", "surrogateescape"))
    except RecursionError:
        return TOO_DEEP
    except ValueError:
        return NOT_JSON
    return value if isinstance(value, dict) else NO_OBJECT


def _short_members(body: bytes, is_late: Callable[[], bool]) -> JsonObject | str:
    from docket.rules.providers.json_scan import MemberScan  # noqa: PLC0415 - what a large payload alone needs

    scan = MemberScan((name,) for name in _short_names())
    for at in range(0, len(body), PIECE_BYTES):
        if is_late():
            return TOO_LATE
        scan.feed(body[at : at + PIECE_BYTES])
    return scan.result() if scan.ended else NOT_JSON


def _short_names() -> tuple[str, ...]:
    """Return every name under which an agent says whose tool an event is about."""
    names = {name for shape in SHAPES for one in field_names(Names) for name in getattr(shape.names, one)}
    return tuple(sorted(names.union(_OUTCOMES)))
