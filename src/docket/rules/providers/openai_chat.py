"""OpenAI Chat Completions: `POST /chat/completions`, and the many servers that speak it (platform.openai.com).

Rules:
1. The totals hold their parts: cached and written tokens are inside the prompt, reasoning inside the completion.
   A server whose `total_tokens` says otherwise is believed.
2. A stream's usage comes in a chunk of its own at the end, or on every chunk and cumulative: the last one counts.
3. `[DONE]` ends a stream. An explicit zero is a zero.
"""

from __future__ import annotations

from docket.formats.run.usage import Usage
from docket.rules.providers.body import BodyMeter, OpaqueMeter, copied, is_opaque
from docket.rules.providers.counts import Counts, unreadable_note, upstream_cost
from docket.rules.providers.interface import (
    NO_TARGET,
    Fields,
    Meter,
    Reading,
    Refusal,
    RefusalReply,
    RequestFacts,
    RequestTarget,
)
from docket.rules.providers.json_scan import JsonMap, as_items, as_map
from docket.rules.providers.openai_request import of_deployment, read_chat_request
from docket.rules.providers.refusal import openai_refusal
from docket.rules.providers.text import text_bytes
from docket.rules.providers.told import ToldState, place_of

MEMBERS = (("id",), ("model",), ("service_tier",), ("usage",), ("error",), ("x_groq",))
_TOP = ("prompt_tokens", "completion_tokens", "total_tokens", "prompt_cache_hit_tokens", "cached_tokens")
_INPUT = ("cached_tokens", "cache_write_tokens", "audio_tokens", "image_tokens")
_OUTPUT = ("reasoning_tokens", "audio_tokens", "image_tokens")
_SHOWN = ("content", "reasoning_content", "reasoning", "refusal", "text")


class OpenAiChat:
    """The Chat Completions wire format."""

    name = "openai-chat"

    def read_request(self, body: bytes, target: RequestTarget = NO_TARGET) -> RequestFacts:
        """Read a decoded request body, and the deployment in the path where Azure has it."""
        return of_deployment(read_chat_request(body), target)

    def meter(self, content_type: str, *, streaming: bool, headers: Fields = ()) -> Meter:  # noqa: ARG002 - the first byte tells
        """Return a meter for one reply."""
        return OpaqueMeter() if is_opaque(content_type) else BodyMeter(ChatState(), events=MEMBERS, body=MEMBERS)

    def refusal(self, refusal: Refusal) -> RefusalReply:
        """Return an error object as the API sends it."""
        return openai_refusal(refusal)


class ChatState(ToldState):
    """What a Chat Completions reply has said so far."""

    __slots__ = ("_usage",)

    def __init__(self) -> None:
        super().__init__()
        self._usage = ChatUsage()

    def event(self, event: JsonMap) -> None:
        """Take one chunk."""
        self._common(event)
        for choice in as_items(event.get("choices")):
            members = as_map(choice)
            self._show(as_map(members.get("delta")) or members)
            self._usage.merge(as_map(members.get("usage")))
            self._answers = self._answers.after(place_of(members), finished=bool(members.get("finish_reason")))

    def body(self, body: JsonMap) -> None:
        """Take a whole reply."""
        self._common(body)
        for choice in as_items(body.get("choices")):
            members = as_map(choice)
            self._show(as_map(members.get("message")) or members)
        self._terminal = True

    def reading(self) -> Reading:
        """Return what has been understood."""
        usage = self._usage
        return self._reading(usage.total(), usage.note(), upstream_cost_usd=usage.upstream_cost_usd)

    def _common(self, event: JsonMap) -> None:
        self._take_told(event)
        self._usage.merge(as_map(event.get("usage")))
        self._usage.merge(as_map(as_map(event.get("x_groq")).get("usage")))

    def _show(self, delta: JsonMap) -> None:
        for name in _SHOWN:
            shown = delta.get(name)
            if shown:
                self.visible_output_bytes += text_bytes(shown)
        calls = [as_map(call) for call in as_items(delta.get("tool_calls"))]
        for call in calls:
            self._asks_for(call.get("id"))
        for function in (*(call.get("function") for call in calls), delta.get("function_call")):
            members = as_map(function)
            self.visible_output_bytes += text_bytes(members.get("name")) + text_bytes(members.get("arguments"))


class ChatUsage:
    """Usage objects of one reply, the last one counting."""

    __slots__ = ("_input", "_output", "_top", "upstream_cost_usd")

    def __init__(self) -> None:
        self._top, self._input, self._output = Counts(), Counts(), Counts()
        self.upstream_cost_usd: str | None = None

    def copy(self) -> ChatUsage:
        """Return an independent copy."""
        return copied(self, "_input", "_output", "_top")

    def merge(self, usage: JsonMap) -> None:
        """Take a usage object."""
        if not usage:
            return
        self.upstream_cost_usd = upstream_cost(usage) or self.upstream_cost_usd
        self._top.merge(usage, _TOP)
        self._input.merge(as_map(usage.get("prompt_tokens_details")), _INPUT)
        self._output.merge(as_map(usage.get("completion_tokens_details")), _OUTPUT)

    def total(self) -> Usage | None:
        """Return the usage, None while the prompt's tokens are not known."""
        top = self._top
        if "prompt_tokens" not in top.known or top.unreadable & {"prompt_tokens", "completion_tokens"}:
            return None
        cached = max(self._input.get("cached_tokens"), top.get("prompt_cache_hit_tokens"), top.get("cached_tokens"))
        written, reasoning = self._input.get("cache_write_tokens"), self._output.get("reasoning_tokens")
        prompt, completion = top.get("prompt_tokens"), top.get("completion_tokens")
        beyond = top.get("total_tokens") - prompt - completion
        if beyond > 0 and beyond == reasoning:
            completion += reasoning
        elif beyond > 0 and beyond == cached + written:
            prompt += cached + written
        return Usage(
            input_tokens=max(prompt, cached + written),
            cached_input_tokens=cached,
            cache_write_tokens=written,
            output_tokens=completion,
            reasoning_tokens=min(reasoning, completion),
            audio_input_tokens=self._input.get("audio_tokens"),
            audio_output_tokens=self._output.get("audio_tokens"),
            image_input_tokens=self._input.get("image_tokens"),
            image_output_tokens=self._output.get("image_tokens"),
        )

    def note(self) -> str | None:
        """Return what could not be read, in words."""
        return unreadable_note(self._top, self._input, self._output)
