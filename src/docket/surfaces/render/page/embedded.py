"""What a page carries beside what it shows: bytes and JSON in blocks that no browser runs.

Rules:
1. JSON has none of `<`, `>`, `&` and nothing beyond ASCII as it is: no text of a record can end the block or begin
   another.
2. Bytes are gzip in base64, as they were packed.
"""

from __future__ import annotations

import json

from docket.surfaces.render.page.html import Html, element

_JSON_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\x7f": "\\u007f"})


def json_text(value: object) -> Html:
    """Return `value` as JSON for a block."""
    return Html(json.dumps(value, separators=(",", ":")).translate(_JSON_ESCAPES))


def json_block(name: str, value: object) -> Html:
    """Return a block that the page's script finds by its id."""
    return element("script", json_text(value), type="application/json", id=name)


def bytes_block(name: str, coded: str) -> Html:
    """Return a block of packed bytes."""
    return element("script", Html(coded), type="text/plain", id=name, data_coding="gzip base64")


__all__ = ["bytes_block", "json_block", "json_text"]
