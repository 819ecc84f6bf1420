"""What a call used when the upstream does not say, or does not say to the end.

Rules:
1. Four bytes are a token, rounded up: of the request's body for the input, of the shown output for the output.
2. What was reported is never replaced: a known input stays exact, a reported zero stays zero, and of output the
   larger of what was reported and what was seen counts while the report is not the last one.
3. An error that came instead of any output is not billed.
4. An estimate is marked as one, with the reason.
"""

from __future__ import annotations

from typing import NamedTuple

from docket.formats.dataclass import replace
from docket.formats.run.usage import Usage, UsagePart, UsageSource
from docket.rules.providers.interface import Reading

BYTES_PER_TOKEN = 4


class Settled(NamedTuple):
    """The usage to book for a call, who counted it, and why where docket did."""

    usage: Usage
    source: UsageSource
    parts: tuple[UsagePart, ...] = ()
    note: str | None = None


def tokens_of_bytes(size_bytes: int) -> int:
    """Return the estimate for text that nobody has counted."""
    return -(-size_bytes // BYTES_PER_TOKEN)


def estimate(request_body_bytes: int, visible_output_bytes: int) -> Usage:
    """Return the usage estimated from sizes."""
    return Usage(input_tokens=tokens_of_bytes(request_body_bytes), output_tokens=tokens_of_bytes(visible_output_bytes))


def settle(reading: Reading, request_body_bytes: int, visible_output_bytes: int) -> Settled:
    """Return what to book for a reply that ended, or was ended, with this reading."""
    usage = reading.usage
    if usage is None and reading.error is not None and not visible_output_bytes:
        note = "the upstream reported an error before any output"
        return Settled(usage=Usage(), source=UsageSource.ESTIMATED, note=note)
    if usage is None:
        note = reading.note or "the reply carried no usage"
        return Settled(
            usage=estimate(request_body_bytes, visible_output_bytes), source=UsageSource.ESTIMATED, note=note
        )
    if reading.usage_final:
        return Settled(usage=usage, source=UsageSource.REPORTED, parts=reading.parts, note=reading.note)
    seen = max(usage.output_tokens, tokens_of_bytes(visible_output_bytes))
    note = "the reply ended before its last usage; the output is estimated"
    return Settled(usage=replace(usage, output_tokens=seen), source=UsageSource.ESTIMATED, note=note)
