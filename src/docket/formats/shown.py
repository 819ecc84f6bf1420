"""Values of a document as they stand in a sentence: short, on one line, in ASCII quotes."""

from __future__ import annotations

import json

from docket.formats.canonical import JsonValue

MAX_SHOWN = 72


def shown(value: JsonValue) -> str:
    """Return `value` as JSON in ASCII, cut at MAX_SHOWN characters."""
    if isinstance(value, str):
        value = value[: 2 * MAX_SHOWN]
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
