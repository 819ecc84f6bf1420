"""Anthropic's usage objects, added up.

A usage object's `input_tokens` is the fresh input alone; what was written to the cache and read from it stands
beside it. `cache_creation` splits the writes by lifetime; what the split leaves over lives as long as the split
says where it names one lifetime only, else as long as the default, five minutes.
"""

from __future__ import annotations

from docket.formats.dataclass import dataclass
from docket.formats.run.usage import Usage, UsagePart
from docket.rules.providers.body import copied
from docket.rules.providers.counts import Counts, unreadable_note, upstream_cost
from docket.rules.providers.interface import model_members
from docket.rules.providers.json_scan import JsonMap, as_items, as_map, as_text

_TOP = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_SPLIT = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
_DETAILS = ("thinking_tokens",)
_SERVER_TOOLS = ("web_search_requests",)
_ATTEMPTS = ("message", "fallback_message")
MAX_ITERATIONS = 1024


@dataclass(frozen=True, slots=True)
class _Iteration:
    kind: str
    model: str | None
    usage: Usage


class AnthropicUsage:
    """Usage merged over the events of one reply."""

    __slots__ = ("_billed", "_counts", "_iterations", "inference_geo", "service_tier", "speed", "upstream_cost_usd")

    def __init__(self) -> None:
        self._counts = Counts()
        self._iterations: tuple[JsonMap, ...] = ()
        self._billed: tuple[_Iteration, ...] | None = None
        self.service_tier: str | None = None
        self.speed: str | None = None
        self.inference_geo: str | None = None
        self.upstream_cost_usd: str | None = None

    def copy(self) -> AnthropicUsage:
        """Return an independent copy."""
        return copied(self, "_counts")

    def start(self, usage: JsonMap) -> None:
        """Take the usage of `message_start` or of a whole reply."""
        self.service_tier = as_text(usage.get("service_tier"))
        self.speed = as_text(usage.get("speed"))
        self.inference_geo = as_text(usage.get("inference_geo"))
        self.merge(usage)

    def merge(self, usage: JsonMap) -> None:
        """Take a cumulative usage object."""
        self._billed = None
        self.upstream_cost_usd = upstream_cost(usage) or self.upstream_cost_usd
        _merge(self._counts, usage)
        iterations = as_items(usage.get("iterations"))
        if iterations:
            self._iterations = tuple(as_map(item) for item in iterations[:MAX_ITERATIONS])

    def total(self) -> Usage | None:
        """Return the whole call's usage, None while the input is not known."""
        parts = self._parts()
        if parts is None:
            return None
        total = parts[0].usage
        for part in parts[1:]:
            total += part.usage
        return total + self._searches() if self._counts.get("web_search_requests") else total

    def parts(self, model: str | None) -> tuple[UsagePart, ...]:
        """Return what each sampling used, where there was more than one; searches stand with the last."""
        parts = self._parts() or ()
        own = model or ""
        if len(parts) < 2 and all(part.model in (None, own) for part in parts):
            return ()
        split = [UsagePart(model=part.model or own, usage=part.usage) for part in parts]
        split[-1] = UsagePart(model=split[-1].model, usage=split[-1].usage + self._searches())
        return tuple(split)

    def note(self) -> str | None:
        """Return what could not be read, in words."""
        return unreadable_note(self._counts)

    def _searches(self) -> Usage:
        return Usage(web_searches=self._counts.get("web_search_requests"))

    def _parts(self) -> tuple[_Iteration, ...] | None:
        """Return what is billed apart, the top level alone where nothing is; None while the input is not known."""
        if self._billed is None:
            billed = self._split()
            self._billed = None if billed is None else tuple(billed)
        return self._billed

    def _split(self) -> list[_Iteration] | None:
        if "input_tokens" not in self._counts.known or self._counts.unreadable & set(_TOP):
            return None
        top = _Iteration("message", None, _usage(self._counts, self._counts))
        parts = [part for part in map(self._iteration, self._iterations) if part is not None]
        if not parts:
            return [top]
        billed = [part for at, part in enumerate(parts) if not _declined(part, parts[at + 1 :])]
        inside = Usage()
        for part in parts:
            if part.kind in _ATTEMPTS:
                inside += part.usage
        if inside.total_tokens < top.usage.total_tokens:
            # The list is not whole: the top level stands for the attempts, and the list adds what it lacks.
            return [top, *(part for part in billed if part.kind not in _ATTEMPTS)]
        return billed

    def _iteration(self, item: JsonMap) -> _Iteration | None:
        counts = Counts()
        _merge(counts, item)
        if counts.unreadable or not counts.known:
            return None
        kind = item.get("type")
        return _Iteration(
            kind if isinstance(kind, str) else "message",
            model_members(item.get("model"))[0],
            _usage(counts, self._counts),
        )


def _declined(part: _Iteration, later: list[_Iteration]) -> bool:
    followed = any(other.kind == "fallback_message" for other in later)
    return part.kind in _ATTEMPTS and part.usage.output_tokens == 0 and followed


def _merge(counts: Counts, usage: JsonMap) -> None:
    counts.merge(usage, _TOP)
    counts.merge(as_map(usage.get("cache_creation")), _SPLIT)
    counts.merge(as_map(usage.get("output_tokens_details")), _DETAILS)
    counts.merge(as_map(usage.get("server_tool_use")), _SERVER_TOOLS)


def _usage(counts: Counts, lifetimes: Counts) -> Usage:
    written = counts.get("cache_creation_input_tokens")
    five, hour = counts.get(_SPLIT[0]), counts.get(_SPLIT[1])
    left = max(written - five - hour, 0)
    if lifetimes.get(_SPLIT[1]) and not lifetimes.get(_SPLIT[0]):
        hour, left = hour + left, 0
    elif lifetimes.get(_SPLIT[0]):
        five, left = five + left, 0
    read = counts.get("cache_read_input_tokens")
    return Usage(
        input_tokens=counts.get("input_tokens") + five + hour + left + read,
        cached_input_tokens=read,
        cache_write_tokens=left,
        cache_write_5m_tokens=five,
        cache_write_1h_tokens=hour,
        output_tokens=counts.get("output_tokens"),
        reasoning_tokens=counts.get("thinking_tokens"),
    )
