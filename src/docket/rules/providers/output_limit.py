"""Lowering the output limit that a request states, in its own bytes.

Rules:
1. Only whole numbers at the top level of the body are changed, under the names of `NAMES`, and only downwards; every
   other byte stays.
2. A body that is not strict UTF-8, is no JSON object or names a limit twice is left alone.
"""

from __future__ import annotations

import json
import re

NAMES = frozenset(("max_tokens", "max_completion_tokens", "max_output_tokens", "max_tokens_to_sample"))
ALTERATION = "max_tokens"

_DECODER = json.JSONDecoder()
_OPENING = re.compile(r"\ufeff?[ \t\r\n]*\{[ \t\r\n]*")
_COLON = re.compile(r"[ \t\r\n]*:[ \t\r\n]*")
_MEMBER_END = re.compile(r"[ \t\r\n]*([,}])[ \t\r\n]*")
_WHOLE = re.compile(r"[0-9]+")


def lowered(body: bytes, most: int) -> bytes | None:
    """Return the body with every limit above `most` lowered to it; None where none stands above it, or none can be."""
    try:
        text = body.decode("utf-8")
        places = _limits(text)
    except (ValueError, RecursionError):
        return None
    cuts = [] if places is None else [place for place in places if int(text[slice(*place)]) > most]
    if not cuts:
        return None
    parts, at = [], 0
    for start, end in cuts:
        parts += [text[at:start], str(most)]
        at = end
    return "".join([*parts, text[at:]]).encode("utf-8")


def _limits(text: str) -> list[tuple[int, int]] | None:
    """Return where the limits stand; None where the body is no object, or names a limit twice or oddly."""
    opening = _OPENING.match(text)
    if opening is None:
        return None
    found: dict[str, tuple[int, int]] = {}
    at = opening.end()
    while True:
        name, at = _DECODER.raw_decode(text, at)
        colon = _COLON.match(text, at)
        if colon is None:
            return None
        start = colon.end()
        _, at = _DECODER.raw_decode(text, start)
        if name in NAMES:
            if name in found or _WHOLE.fullmatch(text, start, at) is None:
                return None
            found[name] = (start, at)
        end = _MEMBER_END.match(text, at)
        if end is None:
            return None
        at = end.end()
        if end[1] == "}":
            return sorted(found.values())
