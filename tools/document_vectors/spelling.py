"""How the vectors' documents are spelt and filed: canonical JSON of the standard library, and a scenario as a file.

A scenario is one thing that a reader must do: accept a document, or accept one and refuse its twin, which differs in
that one thing. It names the rule of the page that the twin breaks.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One file of vectors; `rule` and `reason` are of the refused document, where there is one."""

    name: str
    says: str
    accepted: bytes
    refused: bytes | None = None
    rule: str | None = None
    reason: str | None = None


def spelt(value: object) -> bytes:
    """Return the canonical bytes of a value and a line end: sorted keys, no blanks, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8") + b"\n"


def coded(raw: bytes) -> str:
    """Return base64 with its padding."""
    return base64.b64encode(raw).decode("ascii")


def file_of(scenario: Scenario, document: str, figures: Callable[[bytes], Json]) -> bytes:
    """Return a scenario as the JSON that is filed; `figures` counts what an accepted document holds."""
    accepted = scenario.accepted
    told: Json = {
        "format": "docket/vector/v1",
        "document": document,
        "says": scenario.says,
        "accepted": {
            **_bytes(accepted),
            "sha256": hashlib.sha256(accepted).hexdigest(),
            "figures": figures(accepted),
        },
    }
    if scenario.refused is not None:
        told["refused"] = {**_bytes(scenario.refused), "rule": scenario.rule, "reason": scenario.reason}
    return json.dumps(told, indent=1, ensure_ascii=False).encode("utf-8") + b"\n"


def _bytes(document: bytes) -> Json:
    try:
        return {"text": document.decode("utf-8")}
    except UnicodeDecodeError:
        return {"hex": document.hex()}
