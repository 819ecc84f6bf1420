"""How a reply ended, told from its head, its framing and what was read of it: whole, broken off, or not billed at all.

Rules:
1. A stream of events that ends with its connection and without its protocol's last event is broken; so is a JSON value
   that is not closed. One whose chunks end in order is broken where its events are known and the last one is missing: a
   gateway that lost its upstream may end them so.
2. An error is an end too: a reset could take it from the agent.
3. Nothing is billed for an error status, or for an error before any output, where no usage was reported.
"""

from __future__ import annotations

from docket.formats.reason import Reason
from docket.rules.boundary.billing import Seen
from docket.rules.boundary.http1 import UNTIL_CLOSE, Framing, ResponseHead, joined
from docket.rules.providers.interface import Reading

_STREAMS = ("text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream")


def is_stream(head: ResponseHead | None) -> bool:
    """Whether a head is that of a good reply of events."""
    if head is None or not 200 <= head.status < 300:
        return False
    return joined(head.headers, b"content-type").strip().lower().startswith(_STREAMS)


def lacks_its_end(head: ResponseHead | None, framing: Framing, reading: Reading) -> bool:
    """Whether a reply that is whole by its framing is broken by what it says."""
    if head is None or not 200 <= head.status < 300 or reading.error is not None:
        return False
    if framing == UNTIL_CLOSE:
        return reading.broken_off or (is_stream(head) and not reading.terminal)
    return framing.chunked and is_stream(head) and reading.broken_off


def refusal_of(head: ResponseHead | None, seen: Seen) -> tuple[Reason, str] | None:
    """Return why nothing is billed, in a reason and in words; None where something is."""
    error, used = seen.reading.error, seen.reading.usage
    if used is not None or head is None:
        return None
    if not 200 <= seen.status < 300:
        return Reason.UPSTREAM_STATUS, error.message if error else f"the upstream answered {seen.status}"
    if error is not None and not seen.visible_output_bytes:
        return Reason.UPSTREAM_ERROR_EVENT, error.message
    return None
