"""How long shown output is, and how an upstream's error reads."""

from __future__ import annotations

import json

from docket.rules.providers.interface import StreamError, model_text
from docket.rules.providers.json_scan import as_map

MAX_MESSAGE_CHARACTERS = 600


def text_bytes(value: object) -> int:
    """Return the UTF-8 length of a text, of any other value that of its JSON; 0 for null and empty ones."""
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))
    if not value:
        return 0
    try:
        return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    except (RecursionError, ValueError):
        return 0


def error_of(value: object) -> StreamError:
    """Return an upstream's error object (or text) with its message cut at 600 characters."""
    if isinstance(value, str):
        return StreamError(type="error", message=model_text(value[:MAX_MESSAGE_CHARACTERS]))
    members = as_map(value)
    kind = next((members[name] for name in ("code", "type", "status") if isinstance(members.get(name), str)), "error")
    message = members.get("message")
    text = message if isinstance(message, str) else ""
    return StreamError(type=model_text(kind[:64]), message=model_text(text[:MAX_MESSAGE_CHARACTERS]))
