"""Size and digest of what a tool was given or gave: bytes as they are, text as UTF-8, anything else as JSON."""

from __future__ import annotations

import hashlib
import json

from docket.formats.digest import Digest


def size_and_digest(value: object) -> tuple[int, Digest]:
    """Return how many bytes `value` has and their SHA-256; what JSON does not know stands as its `repr`.

    It raises nothing: a value whose `repr` fails stands as its type and place.
    """
    data = _bytes(value)
    return len(data), Digest(hashlib.sha256(data).hexdigest())


def _bytes(value: object) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=_shown)
    except (TypeError, ValueError, RecursionError):  # keys that are no texts, a circle
        text = _shown(value)
    return text.encode("utf-8", "surrogatepass")


def _shown(value: object) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 - the value's own code; what is said of a tool never breaks the tool
        return object.__repr__(value)
