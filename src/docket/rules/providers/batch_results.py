"""The results of a batch, fetched: `GET /v1/messages/batches/{id}/results`, `GET /v1/files/{id}/content`.

Rules:
1. One result a line, each with a reply of its own; their usages are added up, model by model, at the tier for batches.
2. A step for long inputs is a single request's: what is added up stays below every step, and a long request stands
   by itself.
3. The results are booked once, under the id of the first one. A file that holds one reply in place of results is that
   reply; any other is no call.
"""

from __future__ import annotations

from docket.formats.run.usage import Usage, UsagePart
from docket.rules.providers.body import BodyMeter, copied
from docket.rules.providers.generic import AnyState
from docket.rules.providers.interface import Fields, Meter, Reading, model_members
from docket.rules.providers.json_scan import JsonMap, as_map, as_text
from docket.rules.providers.openai_chat import OpenAiChat

_REPLIES = (("result", "message"), ("response", "body"))
_MEMBERS = tuple((*place, name) for place in _REPLIES for name in ("id", "model", "usage", "type", "tool_usage"))
_WANTED = (("custom_id",), ("id",), *_MEMBERS)
# No provider's price steps for an input as short as this.
SHORT_TOKENS = 32_000
MAX_PARTS = 512
_MANY = "the batch has too many requests to be kept apart; a step for long inputs may count for more of them"


class BatchResults(OpenAiChat):
    """The wire format of fetched results."""

    name = "batch-results"

    def meter(self, content_type: str, *, streaming: bool, headers: Fields = ()) -> Meter:  # noqa: ARG002 - lines, whatever the type
        """Return a meter for one reply."""
        return BodyMeter(BatchState(), events=_WANTED, values=b"{")


class BatchState:
    """What fetched results have said."""

    __slots__ = ("_id", "_many", "_parts", "_plain")

    visible_output_bytes = 0

    def __init__(self) -> None:
        self._parts: list[UsagePart] = []
        self._id: object = None
        self._many = False
        self._plain: AnyState | None = None

    def event(self, event: JsonMap) -> None:
        """Take one line."""
        if "custom_id" not in event:
            self.body(event)
            return
        for outer, inner in _REPLIES:
            reply = as_map(as_map(event.get(outer)).get(inner))
            state = AnyState()
            state.body(reply)
            reading = state.reading()
            if reading.usage is not None:
                self._id = self._id or reply.get("id") or event.get("id")
                model = reading.model or "unknown"
                for part in reading.parts or (UsagePart(model=model, usage=reading.usage),):
                    self._add(part)

    def done(self) -> None:
        """Take a mark that says nothing here."""

    def body(self, body: JsonMap) -> None:
        """Take a reply that is no list of results."""
        if self._plain is None:
            self._plain = AnyState()
            self._plain.body(body)

    def reading(self) -> Reading:
        """Return what has been understood."""
        if not self._parts:
            return Reading(terminal=True) if self._plain is None else self._plain.reading()
        total = Usage()
        for part in self._parts:
            total += part.usage
        model, raw = model_members(self._parts[0].model)
        return Reading(
            usage=total,
            usage_final=True,
            parts=tuple(self._parts) if len(self._parts) > 1 else (),
            model=model,
            model_raw=raw,
            service_tier="batch",
            response_id=as_text(self._id),
            note=_MANY if self._many else None,
            terminal=True,
        )

    def copy(self) -> BatchState:
        """Return an independent copy."""
        return copied(self, "_parts")

    def _add(self, part: UsagePart) -> None:
        full = len(self._parts) >= MAX_PARTS
        for at in range(len(self._parts) - 1, -1, -1):
            known = self._parts[at]
            if known.model != part.model:
                continue
            fits = known.usage.input_tokens + part.usage.input_tokens <= SHORT_TOKENS
            if fits or full:
                self._parts[at] = UsagePart(model=part.model, usage=known.usage + part.usage)
                self._many = self._many or not fits
                return
        self._parts.append(part)
