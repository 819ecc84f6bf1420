"""The payloads of model calls and of what they are priced by (spec/ledger.md, Vocabulary)."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from docket.formats.amount import Usd
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.cache_events import CacheMark
from docket.formats.ledger.payload_codec import Payload
from docket.formats.run.usage import Usage, UsagePart, UsageSource


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest(Payload):
    """A model call that was admitted; written before it is sent. `call` is docket's own number, from 1."""

    TYPE: ClassVar[str] = "model.request"
    call: int
    provider: str
    wire: str
    model: str
    model_b64: str | None = None
    method: str
    path: str
    streaming: bool
    fingerprint: str
    request_sha256: Digest
    body_bytes: int
    forwarded_sha256: Digest | None = None
    altered: tuple[str, ...] | None = None
    held_usd: Usd | None = None
    agent_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One priced part of a call; `model` names a family of the embedded price table."""

    model: str
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    cost_usd: Usd


class Outcome(StrEnum):
    """How the passing of a reply ended."""

    COMPLETE = "complete"
    CUT = "cut"
    CLIENT_GONE = "client_gone"
    UPSTREAM_BROKEN = "upstream_broken"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResponse(Payload):
    """A reply that was billed; components sum to `cost_usd`, the base component stands last.

    The `response_` members from `response_retained` on stand where the policy asks for bodies to be kept: the path is
    relative to the folder above the ledger's, `response_note` is why a body was not kept. `tool_use_ids` are those of
    the tools that the reply asks the agent for.
    """

    TYPE: ClassVar[str] = "model.response"
    call: int
    provider: str
    model: str
    model_b64: str | None = None
    requested_model: str | None = None
    status: int
    outcome: Outcome
    latency_ms: int
    first_byte_ms: int | None = None
    usage: Usage
    usage_source: UsageSource
    usage_note: str | None = None
    usage_parts: tuple[UsagePart, ...] | None = None
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    components: tuple[Component, ...]
    cost_usd: Usd
    cumulative_cost_usd: Usd
    assumed_price: bool
    upstream_cost_usd: str | None = None  # what the provider says it charged, a decimal; it enters no total
    streaming: bool
    response_bytes: int
    response_sha256: Digest
    provider_request_id: str | None = None
    cache: CacheMark | None = None
    response_retained: bool | None = None
    response_path: str | None = None
    response_stored_bytes: int | None = None
    response_stored_sha256: Digest | None = None
    response_truncated: bool | None = None
    response_note: str | None = None
    tool_use_ids: tuple[str, ...] | None = None

    @property
    def is_one_row(self) -> bool:
        """Whether one row of three token counts says all of the usage that is priced."""
        base, usage = self.components[-1], self.usage
        tokens = (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens)
        return len(self.components) == 1 and tokens == (
            base.input_tokens,
            base.cached_input_tokens,
            base.output_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelError(Payload):
    """A call that ended without a billable reply: the upstream's error status, or none could be reached."""

    TYPE: ClassVar[str] = "model.error"
    call: int
    provider: str
    model: str
    status: int
    latency_ms: int
    reason: str
    error: str
    response_bytes: int
    response_sha256: Digest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDenied(Payload):
    """A call that docket refused; `cap` repeats the reason where a cap was it."""

    TYPE: ClassVar[str] = "model.denied"
    provider: str
    model: str
    reason: str
    cap: str | None = None
    detail: str
    status: int
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceRow(Payload):
    """A family of the embedded price table, written once, before the first response priced by it."""

    TYPE: ClassVar[str] = "x-docket.price"
    pattern: str
    input: str
    cached_input: str | None = None
    output: str
    source: str
