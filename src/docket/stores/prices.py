"""The price book that ships with docket, or the file a person names in its place."""

from __future__ import annotations

from pathlib import Path

from docket.host.regular_file import read_regular_file

SHIPPED = Path(__file__).resolve().parent.parent / "data" / "prices.json"
MAX_BYTES = 16 * 1024 * 1024


def read_prices(path: Path | None) -> bytes:
    """Return the bytes of the price book at `path`, or of the one that ships with docket.

    UnavailableError where it cannot be read, is no regular file, or is larger than a price book can be.
    """
    return read_regular_file(SHIPPED if path is None else path, MAX_BYTES)
