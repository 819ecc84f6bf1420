"""Gemini: `POST .../models/{model}:generateContent` and `:streamGenerateContent` (ai.google.dev, Vertex AI).

Rules:
1. A stream is events with `alt=sse`, else one array in pieces; each of its objects is a whole response whose counts
   are cumulative. Code Assist puts each into a member of its own.
2. A reply is whole once every candidate has its `finishReason`, or the prompt was blocked. Until then the counts
   are what had been used so far.
3. Grounding is billed by the prompt, from the third generation on by the query, beyond a free daily quota that no
   reply tells: what is counted is the most it can be.
"""

from __future__ import annotations

import re

from docket.rules.providers.body import BodyMeter, OpaqueMeter, copied, is_opaque
from docket.rules.providers.gemini_request import bare_model, read_gemini_request
from docket.rules.providers.gemini_usage import GENERATE, GoogleUsage
from docket.rules.providers.interface import (
    NO_TARGET,
    Fields,
    Meter,
    Reading,
    Refusal,
    RefusalReply,
    RequestFacts,
    RequestTarget,
    model_members,
)
from docket.rules.providers.json_scan import JsonMap, as_items, as_map, as_text
from docket.rules.providers.refusal import google_refusal
from docket.rules.providers.text import error_of, text_bytes
from docket.rules.providers.told import Answers, ToldState, place_of

_READ = ("usageMetadata", "modelVersion", "model", "responseId", "error")
MEMBERS = (*((name,) for name in _READ), *(("response", name) for name in _READ))
_ARRAY = b"["
_BILLED_BY_THE_QUERY = re.compile(r"gemini-([3-9]|\d\d)")
_GROUNDED = "searches are counted without the provider's free daily quota"
_STORED = "what was stored is billed by the hour, which is not counted here"
_TRAFFIC = re.compile(r"on_demand_?")
_UNSPECIFIED = "unspecified"
# What an image is billed as, in the measure of visible bytes; audio is 25 tokens a second of 16-bit sound at 24 kHz.
_IMAGE_BYTES = 4 * 1290
_AUDIO_CHARACTERS_A_BYTE = 640


class Gemini:
    """The wire format of the generateContent family."""

    name = "gemini"

    def read_request(self, body: bytes, target: RequestTarget = NO_TARGET) -> RequestFacts:
        """Read a decoded request body and its path."""
        return read_gemini_request(body, target)

    def meter(self, content_type: str, *, streaming: bool, headers: Fields = ()) -> Meter:  # noqa: ARG002 - the first byte tells
        """Return a meter for one reply."""
        if is_opaque(content_type):
            return OpaqueMeter()
        return BodyMeter(GeminiState(), events=MEMBERS, body=MEMBERS, values=_ARRAY)

    def refusal(self, refusal: Refusal) -> RefusalReply:
        """Return an error object as the API sends it."""
        return google_refusal(refusal)


class GeminiState(ToldState):
    """What a reply has said so far."""

    __slots__ = ("_searches", "_stored", "_usage", "_usage_is_last")

    def __init__(self) -> None:
        super().__init__()
        self._usage = GoogleUsage(GENERATE)
        self._usage_is_last = False
        self._searches: dict[int, int] = {}
        self._stored = False

    def event(self, event: JsonMap) -> None:
        """Take one response of a stream."""
        inner = event.get("response")
        response = inner if isinstance(inner, dict) else event
        before = self.visible_output_bytes
        for candidate in as_items(response.get("candidates")):
            self._candidate(as_map(candidate))
        if as_map(response.get("promptFeedback")).get("blockReason"):
            self._answers = self._answers.after("prompt", finished=True)
        usage = as_map(response.get("usageMetadata"))
        self._usage.merge(usage)
        self._tier = _tier_of(usage) or self._tier
        if usage or self.visible_output_bytes > before:
            self._usage_is_last = bool(usage)
        self._model = bare_model(response.get("modelVersion")) or self._model
        self._id = response.get("responseId") or self._id
        if response.get("error") or event.get("error"):
            self._error = error_of(response.get("error") or event.get("error"))

    def done(self) -> None:
        """Take the mark that only compatible servers send."""
        met = self._answers.met | {"mark"}
        self._answers = Answers(met, met)

    def body(self, body: JsonMap) -> None:
        """Take a whole reply: a response, or the description of stored content, which names its model otherwise."""
        self.event(body)
        self._terminal = True
        if "usageMetadata" in body and "candidates" not in body and isinstance(body.get("model"), str):
            self._model = self._model or bare_model(body["model"])
            self._stored = str(body.get("name")).startswith("cachedContents/")

    def reading(self) -> Reading:
        """Return what has been understood."""
        model, _ = model_members(self._model)
        note = self._usage.note() or (_GROUNDED if self._searches else None) or (_STORED if self._stored else None)
        usage = self._usage.total(self._web_searches(model or ""))
        return self._reading(usage, note, final=self._is_terminal and self._usage_is_last)

    def copy(self) -> GeminiState:
        """Return an independent copy."""
        return copied(self, "_usage", "_searches")

    def _candidate(self, candidate: JsonMap) -> None:
        place = place_of(candidate)
        self._answers = self._answers.after(place, finished=bool(candidate.get("finishReason")))
        for part in as_items(as_map(candidate.get("content")).get("parts")):
            self._asks_for(as_map(as_map(part).get("functionCall")).get("id"))
            self.visible_output_bytes += _shown_bytes(as_map(part))
        queries = as_items(as_map(candidate.get("groundingMetadata")).get("webSearchQueries"))
        if queries:
            self._searches[place] = max(len(queries), self._searches.get(place, 0))

    def _web_searches(self, model: str) -> int:
        if _BILLED_BY_THE_QUERY.search(model.lower()):
            return sum(self._searches.values())
        return 1 if self._searches else 0


def _shown_bytes(part: JsonMap) -> int:
    call, code, result = (as_map(part.get(name)) for name in ("functionCall", "executableCode", "codeExecutionResult"))
    shown = text_bytes(part.get("text")) + text_bytes(call.get("name")) + text_bytes(call.get("args"))
    shown += text_bytes(code.get("code")) + text_bytes(result.get("output"))
    inline = as_map(part.get("inlineData"))
    if inline:
        is_audio = str(inline.get("mimeType")).startswith("audio/")
        shown += text_bytes(inline.get("data")) // _AUDIO_CHARACTERS_A_BYTE * 4 if is_audio else _IMAGE_BYTES
    return shown


def _tier_of(usage: JsonMap) -> str | None:
    """Return the tier that was served: Vertex names the traffic, the Gemini API the tier."""
    traffic, tier = usage.get("trafficType"), as_text(usage.get("serviceTier"))
    if isinstance(traffic, str) and 0 < len(traffic) <= 64:
        named = _TRAFFIC.sub("", traffic.lower())
        tier = "standard" if not named else None if _UNSPECIFIED in named else named
    if tier is None or _UNSPECIFIED in tier.lower():
        return None
    return as_text(tier.lower())
