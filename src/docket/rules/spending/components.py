"""How a usage falls into the components that are priced apart (spec/receipt.md, Component rows).

Rules:
1. Every token stands in exactly one component; the components' inputs and outputs add up to the usage's.
2. The base component holds the fresh and the cached input and the output; it is always there.
3. Input written to a cache stands in `+cache-write`, with its lifetime where the provider told it.
4. Audio stands in `+audio` only where it has prices of its own.
5. A fee per use counts uses, as the input of a component of its own; uses are no tokens.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from docket.formats.run.usage import Usage

BASE = ""
AUDIO = "+audio"
WEB_SEARCH = "+web-search"
FILE_SEARCH = "+file-search"
FEES = (WEB_SEARCH, FILE_SEARCH)
WRITES = {
    "+cache-write": "cache_write_tokens",
    "+cache-write-5m": "cache_write_5m_tokens",
    "+cache-write-30m": "cache_write_30m_tokens",
    "+cache-write-1h": "cache_write_1h_tokens",
    "+cache-write-12h": "cache_write_12h_tokens",
}


@dataclass(frozen=True, slots=True)
class Share:
    """What one component counts; `suffix` is added to the name of the family that prices the base."""

    suffix: str
    input_tokens: int
    cached_input_tokens: int = 0
    output_tokens: int = 0


def split(usage: Usage, *, audio_apart: bool) -> tuple[Share, ...]:
    """Return the components of a usage that are not empty, the base last."""
    return tuple(_shares(usage, audio_apart=audio_apart))


def _shares(usage: Usage, *, audio_apart: bool) -> Iterator[Share]:
    for suffix, member in WRITES.items():
        written: int = getattr(usage, member)
        if written:
            yield Share(suffix, written)
    read_or_fresh = usage.input_tokens - usage.written_tokens
    audio_in = min(usage.audio_input_tokens, read_or_fresh) if audio_apart else 0
    audio_out = min(usage.audio_output_tokens, usage.output_tokens) if audio_apart else 0
    cached = min(usage.cached_input_tokens, read_or_fresh - audio_in)
    if audio_in or audio_out:
        yield Share(AUDIO, audio_in, usage.cached_input_tokens - cached, audio_out)
    if usage.web_searches:
        yield Share(WEB_SEARCH, usage.web_searches)
    if usage.file_searches:
        yield Share(FILE_SEARCH, usage.file_searches)
    yield Share(BASE, read_or_fresh - audio_in, cached, usage.output_tokens - audio_out)
