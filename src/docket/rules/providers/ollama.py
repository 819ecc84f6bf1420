"""Ollama: `POST /api/chat`, `/api/generate` and `/api/embed` (its API reference), at a local host or a hosted one.

Rules:
1. A reply is one JSON object a line, or a single one where streaming is off; the last has `done` and the counts.
2. A request streams unless it says that it does not.
3. The prompt's count is left out where the prompt was in the server's cache: it is estimated then, and the output's
   count stands for what was seen. A model that was only loaded or unloaded has used nothing.
"""

from __future__ import annotations

from docket.formats.dataclass import replace
from docket.formats.run.usage import Usage
from docket.rules.providers.body import BodyMeter, OpaqueMeter, copied, is_opaque
from docket.rules.providers.counts import Counts, count
from docket.rules.providers.estimate import BYTES_PER_TOKEN
from docket.rules.providers.interface import (
    NO_TARGET,
    Fields,
    Hidden,
    Meter,
    Reading,
    Refusal,
    RefusalReply,
    RequestFacts,
    RequestTarget,
    StreamError,
    model_members,
)
from docket.rules.providers.json_scan import JsonMap, as_items, as_map
from docket.rules.providers.refusal import plain_refusal
from docket.rules.providers.request import fingerprint, parse_request, unreadable_request
from docket.rules.providers.text import error_of, text_bytes

_COUNTS = ("prompt_eval_count", "eval_count")
_MEMBERS = (("model",), ("done",), ("done_reason",), ("error",), *((name,) for name in _COUNTS))
_KEPT = (("model",), ("stream",), ("options",))
_VALUES = b"{["
_NOT_RUN = ("load", "unload")
_CACHED = "the reply left out the prompt's count, for the server had it cached"


class Ollama:
    """The wire format of Ollama's own endpoints."""

    name = "ollama"

    def read_request(self, body: bytes, target: RequestTarget = NO_TARGET) -> RequestFacts:
        """Read a decoded request body; of the path whether it is one for embeddings."""
        request = parse_request(body, kept=_KEPT)
        if request is None:
            return unreadable_request(body)
        parsed = request.members
        model, raw = model_members(parsed.get("model"))
        embeds = target.bare_path.rstrip("/").endswith(("/embed", "/embeddings"))
        streaming = not embeds and parsed.get("stream") is not False
        most = count(as_map(parsed.get("options")).get("num_predict"))
        return RequestFacts(
            model=model,
            model_raw=raw,
            streaming=streaming,
            max_output_tokens=0 if embeds else most,
            hidden=() if streaming else (Hidden.NON_STREAMING,),
            fingerprint=fingerprint(body, parsed),
            ambiguous=request.ambiguous,
        )

    def meter(self, content_type: str, *, streaming: bool, headers: Fields = ()) -> Meter:  # noqa: ARG002 - the first byte tells
        """Return a meter for one reply."""
        return OpaqueMeter() if is_opaque(content_type) else BodyMeter(OllamaState(), events=_MEMBERS, values=_VALUES)

    def refusal(self, refusal: Refusal) -> RefusalReply:
        """Return an error as the server sends it."""
        return plain_refusal(refusal)


class OllamaState:
    """What a reply has said so far."""

    __slots__ = ("_counts", "_embeds", "_error", "_model", "_not_run", "_seen_bytes", "_terminal")

    def __init__(self) -> None:
        self._counts = Counts()
        self._seen_bytes = 0
        self._model: object = None
        self._embeds = False
        self._not_run = False
        self._terminal = False
        self._error: StreamError | None = None

    @property
    def visible_output_bytes(self) -> int:
        """What was shown, once the output's count is known the bytes that stand for it."""
        if self._terminal and "eval_count" in self._counts.known:
            return self._counts.get("eval_count") * BYTES_PER_TOKEN
        return self._seen_bytes

    def event(self, event: JsonMap) -> None:
        """Take one object of a stream, or a whole reply."""
        self._model = event.get("model") or self._model
        self._counts.merge(event, _COUNTS)
        message = as_map(event.get("message"))
        for part in (event, message):
            for name in ("response", "content", "thinking"):
                self._seen_bytes += text_bytes(part.get(name))
        for call in as_items(message.get("tool_calls")):
            function = as_map(as_map(call).get("function"))
            self._seen_bytes += text_bytes(function.get("name")) + text_bytes(function.get("arguments"))
        self._embeds = self._embeds or "embeddings" in event or "embedding" in event
        if event.get("done") is True:
            self._terminal = True
            self._not_run = event.get("done_reason") in _NOT_RUN
        if event.get("error"):
            self._error = error_of(event["error"])

    def done(self) -> None:
        """Take the mark that only compatible servers send."""
        self._terminal = True

    def body(self, body: JsonMap) -> None:
        """Take a whole reply."""
        self.event(body)

    def reading(self) -> Reading:
        """Return what has been understood."""
        model, raw = model_members(self._model)
        usage = self._total()
        terminal = self._terminal or self._embeds or "prompt_eval_count" in self._counts.known
        reading = Reading(
            usage=usage, usage_final=usage is not None, model=model, model_raw=raw, terminal=terminal, error=self._error
        )
        if self._counts.unreadable:
            return replace(reading, note=f"{min(self._counts.unreadable)} is not a count")
        return replace(reading, note=_CACHED) if usage is None and self._terminal else reading

    def copy(self) -> OllamaState:
        """Return an independent copy."""
        return copied(self, "_counts")

    def _total(self) -> Usage | None:
        if self._not_run:
            return Usage()
        if "prompt_eval_count" not in self._counts.known or self._counts.unreadable:
            return None
        return Usage(input_tokens=self._counts.get("prompt_eval_count"), output_tokens=self._counts.get("eval_count"))
