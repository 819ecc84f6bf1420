"""What a Bedrock reply used, in the spellings of Converse, of the models behind InvokeModel, and of the service itself.

Rules:
1. The buckets are disjoint: fresh input, read from the cache, written to it; the input is their sum. Where the total
   is the sum of input and output alone, and the input has room for them, the cached tokens are inside it.
2. `cacheDetails` splits what was written by lifetime; what it leaves over lives as long as it says where it names one
   lifetime only.
3. What the service counts beside the model's own reply (`amazon-bedrock-invocationMetrics`, the headers of a reply
   that is no stream) stands in where the reply says nothing.
"""

from __future__ import annotations

from docket.formats.run.usage import Usage
from docket.rules.providers.body import copied
from docket.rules.providers.counts import Counts, count
from docket.rules.providers.interface import Fields, field_of
from docket.rules.providers.json_scan import JsonMap, as_items, as_map

METRICS = "amazon-bedrock-invocationMetrics"
_INPUT, _OUTPUT, _READ, _WRITTEN, _TOTAL = "input", "output", "read", "written", "total"
_CONVERSE = {
    "inputTokens": _INPUT,
    "outputTokens": _OUTPUT,
    "totalTokens": _TOTAL,
    "cacheReadInputTokens": _READ,
    "cacheWriteInputTokens": _WRITTEN,
    "cacheReadInputTokenCount": _READ,
    "cacheWriteInputTokenCount": _WRITTEN,
}
_SERVICE = {
    "inputTokenCount": _INPUT,
    "outputTokenCount": _OUTPUT,
    "cacheReadInputTokenCount": _READ,
    "cacheWriteInputTokenCount": _WRITTEN,
}
# Models with formats of their own: Llama, Titan.
_NATIVE = {
    "prompt_token_count": _INPUT,
    "generation_token_count": _OUTPUT,
    "inputTextTokenCount": _INPUT,
    "totalOutputTextTokenCount": _OUTPUT,
}
_HEADERS = {
    b"x-amzn-bedrock-input-token-count": _INPUT,
    b"x-amzn-bedrock-output-token-count": _OUTPUT,
    b"x-amzn-bedrock-cache-read-input-token-count": _READ,
    b"x-amzn-bedrock-cache-write-input-token-count": _WRITTEN,
}
_LIFETIMES = {"5m": "cache_write_5m_tokens", "1h": "cache_write_1h_tokens"}


class BedrockUsage:
    """Counts of one reply, and the lifetimes of what it wrote."""

    __slots__ = ("_counts", "_lifetimes")

    def __init__(self) -> None:
        self._counts = Counts()
        self._lifetimes: dict[str, int] = {}

    def copy(self) -> BedrockUsage:
        """Return an independent copy."""
        return copied(self, "_counts", "_lifetimes")

    @property
    def is_known(self) -> bool:
        """Whether the input was reported."""
        return _INPUT in self._counts.known and not self._counts.unreadable & {_INPUT, _OUTPUT}

    @property
    def output_tokens(self) -> int | None:
        """The reported output, None where none was."""
        return self._counts.known.get(_OUTPUT)

    def converse(self, usage: JsonMap) -> None:
        """Take a `usage` object of Converse, or of a model that spells it alike."""
        _merge(self._counts, usage, _CONVERSE)
        details = [as_map(item) for item in as_items(usage.get("cacheDetails"))]
        if details:
            self._lifetimes = {}
        for item in details:
            member, written = _LIFETIMES.get(str(item.get("ttl"))), count(item.get("inputTokens"))
            if member and written:
                self._lifetimes[member] = self._lifetimes.get(member, 0) + written

    def metrics(self, value: JsonMap) -> None:
        """Take the service's own counts at the end of an InvokeModel stream."""
        _merge(self._counts, value, _SERVICE)

    def native(self, value: JsonMap) -> None:
        """Take the counts that stand in a model's own reply."""
        _merge(self._counts, value, _NATIVE)
        if "inputTextTokenCount" in value and ("embedding" in value or "embeddingsByType" in value):
            # An embedding gives nothing out that is counted.
            self._counts.merge({_OUTPUT: 0}, (_OUTPUT,))
        for result in as_items(value.get("results")):
            # Titan counts each of its answers; there is one unless more were asked for.
            _merge(self._counts, as_map(result), {"tokenCount": _OUTPUT})

    def headers(self, fields: Fields) -> None:
        """Take the counts that stand in a reply's head."""
        for name, member in _HEADERS.items():
            text = field_of(fields, name).strip()
            if text:
                self._counts.merge({member: int(text) if text.isdecimal() and text.isascii() else text}, (member,))

    def total(self) -> Usage | None:
        """Return the usage, None while the input is not known."""
        if not self.is_known:
            return None
        counts = self._counts
        given, output, read = counts.get(_INPUT), counts.get(_OUTPUT), counts.get(_READ)
        written = max(counts.get(_WRITTEN), sum(self._lifetimes.values()))
        inside = counts.get(_TOTAL) == given + output and given >= read + written
        members = dict(self._lifetimes)
        left = written - sum(members.values())
        only = next(iter(members)) if len(members) == 1 else "cache_write_tokens"
        members[only] = members.get(only, 0) + left
        return Usage(
            input_tokens=given if inside else given + read + written,
            cached_input_tokens=read,
            output_tokens=output,
            **members,
        )

    def note(self) -> str | None:
        """Return what could not be read, in words."""
        return f"usage: the {min(self._counts.unreadable)} is not a count" if self._counts.unreadable else None


def _merge(counts: Counts, value: JsonMap, names: dict[str, str]) -> None:
    for spelled, member in names.items():
        if spelled in value:
            counts.merge({member: value[spelled]}, (member,))
