"""The payloads of what an agent says of itself: tool uses, and calls that docket did not see (spec/ledger.md).

Rules:
1. `reported_by` says who asserted an event; it is `agent` where it came through the session's own door. Nothing here
   enters a total, a cap or a usage row.
2. A tool's input and result stand as size and digest alone: what they hold may be secret.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.window_events import WindowBegun


class Reporter(StrEnum):
    """Whose word an event is, where it is not docket's own observation."""

    AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall(Payload):
    """A tool is used; `id` joins it to its result. `window` is what docket saw before it, never an agent's to say."""

    TYPE: ClassVar[str] = "tool.call"
    name: str
    id: str | None = None
    input_bytes: int | None = None
    input_sha256: Digest | None = None
    reported_by: Reporter | None = None
    window: WindowBegun | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult(Payload):
    """A tool has ended; `error` is what went wrong where `ok` is false, `window_id` the window that it closed."""

    TYPE: ClassVar[str] = "tool.result"
    name: str
    ok: bool
    id: str | None = None
    result_bytes: int | None = None
    result_sha256: Digest | None = None
    duration_ms: int | None = None
    error: str | None = None
    reported_by: Reporter | None = None
    window_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssertedCall(Payload):
    """A model call that the agent says it made past the boundary. It names no cost: nobody here can know it."""

    TYPE: ClassVar[str] = "x-docket.asserted-call"
    provider: str
    model: str
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    latency_ms: int | None = None
    reported_by: Reporter
