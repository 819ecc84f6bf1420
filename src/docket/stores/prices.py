"""The price book that ships with docket, or the file a person names in its place."""

from __future__ import annotations

from pathlib import Path

from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.reason import Reason

SHIPPED = Path(__file__).resolve().parent.parent / "data" / "prices.json"
MAX_BYTES = 16 * 1024 * 1024


def read_prices(path: Path | None) -> bytes:
    """Return the bytes of the price book at `path`, or of the one that ships with docket.

    UnavailableError where it cannot be read, InvalidDocumentError where it is larger than a price book can be.
    """
    chosen = SHIPPED if path is None else path
    try:
        with chosen.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UnavailableError(Reason.NOT_FOUND, f"the price file {chosen} cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise InvalidDocumentError(Reason.TOO_LARGE, f"the price file {chosen} is larger than {MAX_BYTES} bytes")
    return data
