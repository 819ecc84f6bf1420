"""Text that is not Unicode, made visible without losing a byte.

Rules (spec/canonical.md, Text that is not Unicode): valid UTF-8 stands as it is. Anything else stands in its
member with each foreign byte as the literal text `\\xNN` (a lone surrogate as `\\uD800`), and the exact bytes
stand in base64 in the member of the same name with `_b64` added.
"""

from __future__ import annotations

import base64

from docket.formats.canonical import JsonValue


def visible(raw: bytes) -> str:
    """Return `raw` as text, foreign bytes escaped; not reversible on its own."""
    return raw.decode("utf-8", "backslashreplace")


def text_members(name: str, raw: bytes) -> dict[str, JsonValue]:
    """Return {name: text} for valid UTF-8, else {name: escaped text, name_b64: base64 of the bytes}."""
    try:
        return {name: raw.decode("utf-8")}
    except UnicodeDecodeError:
        return {name: visible(raw), f"{name}_b64": base64.b64encode(raw).decode("ascii")}


def clean_text(text: str) -> str:
    """Return `text` with lone surrogates as literal `\\uXXXX`, so that it has a UTF-8 form."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
