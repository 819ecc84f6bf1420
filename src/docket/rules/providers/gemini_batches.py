"""Gemini's batches, fetched: `GET /v1beta/batches/{id}` (ai.google.dev, Batch API).

Rules:
1. A batch is billed for its responses, each with counts of its own: they are added up, at the tier for batches.
2. It is booked once, by its name, when it is done. Results that stand in a file of their own are not in the reply.
"""

from __future__ import annotations

from docket.formats.run.usage import Usage
from docket.rules.providers.body import BodyMeter, OpaqueMeter, copied, is_opaque
from docket.rules.providers.gemini import Gemini
from docket.rules.providers.gemini_request import bare_model
from docket.rules.providers.gemini_usage import GENERATE, GoogleUsage
from docket.rules.providers.interface import Fields, Meter, Reading, StreamError, model_members
from docket.rules.providers.json_scan import JsonMap, as_items, as_map, as_text
from docket.rules.providers.text import error_of

_MEMBERS = (("name",), ("done",), ("error",), ("metadata", "model"))
_IN_A_FILE = "the batch's results stand in a file, whose counts are not read here"
MAX_RESPONSES = 65_536


class GeminiBatches(Gemini):
    """The wire format of a fetched batch."""

    name = "gemini-batches"

    def meter(self, content_type: str, *, streaming: bool, headers: Fields = ()) -> Meter:  # noqa: ARG002 - never a stream
        """Return a meter for one reply."""
        return OpaqueMeter() if is_opaque(content_type) else BodyMeter(BatchState(), events=_MEMBERS, body=_MEMBERS)


class BatchState:
    """What a fetched batch has said."""

    __slots__ = ("_error", "_is_done", "_model", "_name", "_note", "_usage")

    visible_output_bytes = 0

    def __init__(self) -> None:
        self._usage: Usage | None = None
        self._model: object = None
        self._name: object = None
        self._is_done = False
        self._note: str | None = None
        self._error: StreamError | None = None

    def event(self, event: JsonMap) -> None:
        """Take a reply that came as an event."""
        self.body(event)

    def done(self) -> None:
        """Take a mark that says nothing here."""

    def body(self, body: JsonMap) -> None:
        """Take the whole reply."""
        metadata = as_map(body.get("metadata"))
        output = as_map(body.get("response")) or as_map(metadata.get("output"))
        self._name, self._is_done = body.get("name"), body.get("done") is True
        self._model = bare_model(metadata.get("model"))
        if body.get("error"):
            self._error = error_of(body["error"])
        for item in as_items(as_map(output.get("inlinedResponses")).get("inlinedResponses"))[:MAX_RESPONSES]:
            self._add(as_map(as_map(item).get("response")))
        if self._is_done and output.get("responsesFile"):
            self._note = _IN_A_FILE

    def reading(self) -> Reading:
        """Return what has been understood; of a batch that is not done nothing is used yet."""
        model, raw = model_members(self._model)
        return Reading(
            usage=self._usage if self._is_done else None,
            usage_final=self._is_done and self._usage is not None,
            model=model,
            model_raw=raw,
            service_tier="batch",
            response_id=as_text(self._name),
            note=self._note,
            terminal=True,
            error=self._error,
        )

    def copy(self) -> BatchState:
        """Return an independent copy."""
        return copied(self)

    def _add(self, response: JsonMap) -> None:
        counts = GoogleUsage(GENERATE)
        counts.merge(as_map(response.get("usageMetadata")))
        usage = counts.total()
        if usage is not None:
            self._usage = usage if self._usage is None else self._usage + usage
