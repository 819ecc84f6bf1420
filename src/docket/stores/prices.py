"""The price book of a run: the file a person names, else the table they imported, else the one that ships with docket.

Rules:
1. An imported table that cannot be read is never passed over: another table would give other prices.
2. Importing replaces the whole file at once; a reader sees the old table or the new one.
"""

from __future__ import annotations

from pathlib import Path

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.host.durable import publish_public
from docket.host.regular_file import read_regular_file

SHIPPED = Path(__file__).resolve().parent.parent / "data" / "prices.json"
IMPORTED_NAME = "prices.json"
MAX_BYTES = 16 * 1024 * 1024


def read_prices(path: Path | None) -> bytes:
    """Return the bytes of the price book at `path`, or of the one that ships with docket.

    UnavailableError where it cannot be read, is no regular file, or is larger than a price book can be.
    """
    return read_regular_file(SHIPPED if path is None else path, MAX_BYTES)


def read_imported(folder: Path) -> bytes | None:
    """Return the imported table of a configuration folder, None where there is none; UnavailableError as above."""
    try:
        return read_regular_file(folder / IMPORTED_NAME, MAX_BYTES)
    except UnavailableError as error:
        if error.reason == Reason.NOT_FOUND:
            return None
        raise


def keep_prices(folder: Path, data: bytes) -> Path:
    """Make `data` the imported table of a configuration folder, durably and at once; return its place."""
    path = folder / IMPORTED_NAME
    publish_public(path, data, overwrite=True)
    return path


def forget_prices(folder: Path) -> bool:
    """Remove the imported table; whether there was one."""
    try:
        (folder / IMPORTED_NAME).unlink()
    except FileNotFoundError:
        return False
    except OSError as error:
        detail = f"{folder / IMPORTED_NAME} cannot be removed: {error.strerror}"
        raise UnavailableError(Reason.NOT_PERMITTED, detail) from error
    return True
