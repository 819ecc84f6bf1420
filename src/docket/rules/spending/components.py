"""How a usage falls into the components that are priced apart (spec/receipt.md, Component rows).

Rules:
1. Every token stands in exactly one component; the components' inputs and outputs add up to the usage's.
2. The base component holds the fresh and the cached input and the output; it is always there.
3. Input written to a cache stands in `+cache-write`, with its lifetime where the provider told it.
4. Audio stands in `+audio`, images in `+image`, only where they have prices of their own.
5. A fee per use counts uses, as the input of a component of its own; uses are no tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from docket.formats.dataclass import dataclass, field_names
from docket.formats.run.usage import Usage

BASE = ""
AUDIO = "+audio"
WEB_SEARCH = "+web-search"
FILE_SEARCH = "+file-search"
IMAGE = "+image"
CODE_INTERPRETER = "+code-interpreter"
AUDIO_SECONDS = "+audio-seconds"
FEES = {
    WEB_SEARCH: "web_searches",
    FILE_SEARCH: "file_searches",
    CODE_INTERPRETER: "code_sessions",
    AUDIO_SECONDS: "audio_seconds",
}
WRITES = {
    "+cache-write": "cache_write_tokens",
    "+cache-write-5m": "cache_write_5m_tokens",
    "+cache-write-30m": "cache_write_30m_tokens",
    "+cache-write-1h": "cache_write_1h_tokens",
    "+cache-write-12h": "cache_write_12h_tokens",
}


_IN_BASE = frozenset(("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens"))
_BESIDE_BASE = attrgetter(*(name for name in field_names(Usage) if name not in _IN_BASE))


@dataclass(frozen=True, slots=True)
class Share:
    """What one component counts; `suffix` is added to the name of the family that prices the base."""

    suffix: str
    input_tokens: int
    cached_input_tokens: int = 0
    output_tokens: int = 0


def split(usage: Usage, *, audio_apart: bool, image_apart: bool = False) -> tuple[Share, ...]:
    """Return the components of a usage that are not empty, the base last."""
    if not any(_BESIDE_BASE(usage)):
        return (Share(BASE, usage.input_tokens, usage.cached_input_tokens, usage.output_tokens),)
    return tuple(_shares(usage, audio_apart=audio_apart, image_apart=image_apart))


def _shares(usage: Usage, *, audio_apart: bool, image_apart: bool) -> Iterator[Share]:
    for suffix, member in WRITES.items():
        written: int = getattr(usage, member)
        if written:
            yield Share(suffix, written)
    rest_in, rest_cached = usage.input_tokens - usage.written_tokens, usage.cached_input_tokens
    rest_out = usage.output_tokens
    for suffix, apart, told, shown in (
        (AUDIO, audio_apart, usage.audio_input_tokens, usage.audio_output_tokens),
        (IMAGE, image_apart, usage.image_input_tokens, usage.image_output_tokens),
    ):
        given, made = (min(told, rest_in), min(shown, rest_out)) if apart else (0, 0)
        rest_in, rest_out = rest_in - given, rest_out - made
        # What was read from the cache is taken for text as far as there is text.
        cached = max(rest_cached - rest_in, 0)
        rest_cached -= cached
        if given or made:
            yield Share(suffix, given, cached, made)
    for suffix, member in FEES.items():
        uses: int = getattr(usage, member)
        if uses:
            yield Share(suffix, uses)
    yield Share(BASE, rest_in, rest_cached, rest_out)
