"""Strict reading of an event of a ledger of docket's own."""

from __future__ import annotations

from docket.errors import InvalidDocumentError
from docket.formats.ledger.event import Event
from docket.formats.ledger.payload_codec import Payload
from docket.formats.shape import instant
from docket.rules.receipt.fold import read_payload_at


def typed(event: Event) -> Payload | None:
    """Return the payload of a known type, None for others; InvalidDocumentError names event and member."""
    known: Payload | None = event.payload
    if known is not None:
        return known
    try:
        instant(event.ts, "ts")
    except InvalidDocumentError as error:
        raise InvalidDocumentError(error.reason, f"event {event.seq}: {error.detail}") from error
    return read_payload_at(event)
