"""A provider's words about a request, without the credentials that the request came with.

Rules:
1. Some providers and gateways repeat a key in the error that refuses it. What may be a credential is the value of a
   header or a query's member whose name says so, and each part of it between blanks and separators.
2. What is shorter than `LEAST_CHARACTERS` is none: a word of the sentence could be taken for it.
3. A text that was cut inside a credential ends in front of it.

The agent gets the provider's own bytes; this is for what is recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote, unquote_plus

from docket.rules.boundary.http1 import RequestHead

LEAST_CHARACTERS = 8
LEFT_OUT = "…"
_TELLING = re.compile(r"auth|key|token|secret|cookie|credential|passw|pwd|signature|session|\bsig\b", re.IGNORECASE)
_PARTS = re.compile(r"[\s,;=/\"']+")
_MAX_CUTS = 4096


def credentials_of(head: RequestHead) -> tuple[str, ...]:
    """Return the texts of a request's head that may be credentials, the longest first."""
    found: set[str] = set()
    for name, value in head.headers:
        if _TELLING.search(name.decode("latin-1")):
            found.update(_texts(value.decode("latin-1").strip()))
    for member in head.target.partition("?")[2].split("&"):
        key, _, spelt = member.partition("=")
        if _TELLING.search(unquote_plus(key)):
            found.update(text for way in (spelt, unquote(spelt), unquote_plus(spelt)) for text in _texts(way))
    return tuple(sorted((text for text in found if len(text) >= LEAST_CHARACTERS), key=lambda text: (-len(text), text)))


def without_credentials(text: str, head: RequestHead | None) -> str:
    """Return `text` with every credential of the request's head, whole or cut off at the end, left out."""
    if head is None:
        return text
    for secret in credentials_of(head):
        text = text.replace(secret, LEFT_OUT)
        most = min(len(secret) - 1, len(text), _MAX_CUTS)
        cut = next((n for n in range(most, LEAST_CHARACTERS - 1, -1) if text.endswith(secret[:n])), 0)
        if cut:
            text = text[:-cut] + LEFT_OUT
    return text


def _texts(value: str) -> Iterator[str]:
    yield value
    yield value.partition(" ")[2]
    yield from _PARTS.split(value)
