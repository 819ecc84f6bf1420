"""Reading the JSON configuration files of agents: objects alone, with the comments and commas many of them allow.

Rules:
1. What cannot be read as an object is None: the agent itself will complain about it, or its recipe does.
2. Text in strings stays as it is; only comments and a comma before a closing bracket are taken out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'"(?:\\.|[^"\\])*"|,(?=\s*[}\]])')


def read_object(data: bytes | str | None, *, strict: bool = False) -> dict[str, object] | None:
    """Return the object a file holds, None for anything else; `strict`: nothing but JSON is allowed in it."""
    if data is None:
        return None
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
        value = json.loads(text if strict else _plain(text))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _plain(text: str) -> str:
    bare = _STRING_OR_COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    return _STRING_OR_COMMA.sub(lambda found: found[0] if found[0].startswith('"') else "", bare)


def table(value: object, *path: str) -> Mapping[str, object]:
    """Return the object below `value` at this path, empty where there is none."""
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def text_at(value: object, *path: str) -> str | None:
    """Return the text below `value` at this path, None where there is none or it is empty."""
    found = table(value, *path[:-1]).get(path[-1])
    return found if isinstance(found, str) and found else None


def merged(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    """Return `above` put over `below`, objects member by member."""
    result = dict(below)
    for name, value in above.items():
        old = result.get(name)
        result[name] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return result


def encoded(value: Mapping[str, object]) -> bytes:
    """Return an object as the bytes of a file."""
    return json.dumps(value, indent=2).encode("utf-8", "backslashreplace")


def names_in(data: bytes | None) -> tuple[str, ...]:
    """Return the names in a folder as `request.inputs` lists them."""
    return tuple((data or b"").decode("utf-8", "surrogateescape").splitlines())
