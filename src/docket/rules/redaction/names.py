"""What stands in a copy for what is hidden: the same for equal values, and nothing by which a value could be guessed.

Rules:
1. Paths and hosts are numbered in the order of their bytes, so that what was sorted stays sorted.
2. Digests become HMACs under a key that is made for one copy and kept by nobody.
3. In texts that stay, what is hidden elsewhere is hidden too: whole values, and their parts of MIN_PART characters.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from typing import TypeVar

REDACTED = "[redacted]"
MIN_PART = 4
_PARTS = re.compile(r"[/\\=\s,;:@\"']+")


class Names:
    """The names of one copy; `hidden` are the texts that must stand nowhere, `key` is 32 bytes by chance."""

    def __init__(self, *, key: bytes, paths: Iterable[bytes], hosts: Iterable[str], hidden: Iterable[str]) -> None:
        self._key = key
        self._paths = {raw: f"[path-{at}]" for at, raw in _numbered(set(paths))}
        self._hosts = {text: f"[host-{at}]" for at, text in _numbered(set(hosts))}
        self._parts = _parts_by_beginning(hidden)

    def path(self, raw: bytes) -> str:
        """Return the name of a path."""
        return self._paths[raw]

    def host(self, text: str) -> str:
        """Return the name of a host, an address or a URL."""
        return self._hosts[text]

    def digest(self, text: str) -> str:
        """Return as many hexadecimal digits as `text` has, up to 64."""
        return hmac.new(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[: len(text)]

    def swept(self, text: str) -> str:
        """Return a text with REDACTED in place of what is hidden elsewhere."""
        if not self._parts:
            return text
        pieces, at = [], 0
        while at < len(text):
            part = next(
                (part for part in self._parts.get(text[at : at + MIN_PART], ()) if text.startswith(part, at)), ""
            )
            pieces.append(REDACTED if part else text[at])
            at += len(part) or 1
        return "".join(pieces)


_Value = TypeVar("_Value", bytes, str)


def _numbered(values: set[_Value]) -> list[tuple[str, _Value]]:
    """Return the values in order, each with its number in as many digits as the last one has."""
    digits = len(str(len(values)))
    return [(f"{at:0{digits}}", value) for at, value in enumerate(sorted(values), 1)]


def _parts_by_beginning(hidden: Iterable[str]) -> dict[str, list[str]]:
    """Return hidden texts and their parts, the longest first, by their first MIN_PART characters."""
    parts = {part for text in hidden for part in (text, *_PARTS.split(text)) if len(part) >= MIN_PART}
    found: dict[str, list[str]] = {}
    for part in sorted(parts, key=lambda part: (-len(part), part)):
        found.setdefault(part[:MIN_PART], []).append(part)
    return found
