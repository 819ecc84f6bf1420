"""Text that is not Unicode, made visible without losing a byte.

Rules (spec/canonical.md, Text that is not Unicode): valid UTF-8 stands as it is. Anything else stands in its
member with each foreign byte as the literal text `\\xNN` (a lone surrogate as `\\uD800`), and the exact bytes
stand in base64 in the member of the same name with `_b64` added.
"""

from __future__ import annotations

import base64
from enum import StrEnum

from docket.formats.canonical import JsonObject, JsonValue


def visible(raw: bytes) -> str:
    """Return `raw` as text, foreign bytes escaped; not reversible on its own."""
    return raw.decode("utf-8", "backslashreplace")


def text_members(name: str, raw: bytes) -> dict[str, JsonValue]:
    """Return {name: text} for valid UTF-8, else {name: escaped text, name_b64: base64 of the bytes}."""
    text, coded = shown_and_coded(raw)
    return {name: text} if coded is None else {name: text, f"{name}_b64": coded}


def shown_and_coded(raw: bytes) -> tuple[str, str | None]:
    """Return (text, None) for valid UTF-8, else (escaped text, base64 of the bytes)."""
    try:
        return raw.decode("utf-8"), None
    except UnicodeDecodeError:
        return visible(raw), base64_text(raw)


def raw_of(name: str, members: JsonObject) -> bytes | None:
    """Return the bytes that `text_members` wrote, None where the members are not its own."""
    text, coded = members.get(name), members.get(f"{name}_b64")
    try:
        if isinstance(coded, str):
            return base64.b64decode(coded, validate=True)
        return text.encode("utf-8") if isinstance(text, str) else None
    except ValueError:  # no base64, or half of a surrogate pair
        return None


def base64_text(raw: bytes) -> str:
    """Return the base64 of `raw` as every document spells it (RFC 4648, section 4, padded)."""
    return base64.b64encode(raw).decode("ascii")


class Base64Fault(StrEnum):
    """Why a text is no base64 as `base64_text` spells it."""

    UNREADABLE = "unreadable"
    RESPELLED = "respelled"


def base64_bytes(text: str) -> bytes | Base64Fault:
    """Return the bytes of base64 in its one spelling, so that no two texts stand for the same bytes."""
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        return Base64Fault.UNREADABLE
    return raw if base64_text(raw) == text else Base64Fault.RESPELLED
