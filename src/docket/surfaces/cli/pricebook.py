"""Which price book holds on this machine: the file a person names, else the table they imported, else docket's own."""

from __future__ import annotations

from pathlib import Path

from docket.errors import DocketError, InvalidDocumentError
from docket.formats.reason import Reason
from docket.rules.spending.price_book import PriceBook
from docket.stores.prices import IMPORTED_NAME, read_imported, read_prices
from docket.surfaces.cli.project import config_folder

_HINT = "docket prices import FILE replaces it, docket prices reset removes it, --prices FILE uses another for once"


def book_in_force(path: Path | None) -> PriceBook:
    """Return the book that runs are billed by.

    UnavailableError or InvalidDocumentError where it cannot be read; a damaged imported table is never passed over.
    """
    folder = None if path is not None else config_folder()
    if folder is not None:
        try:
            kept = read_imported(folder)
            if kept is not None:
                return _kept(kept)
        except DocketError as error:
            detail = f"the imported price table {folder / IMPORTED_NAME} cannot be used: {error.detail}"
            raise type(error)(error.reason, detail, hint=_HINT) from error
    return PriceBook.parse(read_prices(path))


def _kept(data: bytes) -> PriceBook:
    from docket.rules.spending.price_import import is_whole  # noqa: PLC0415 - few people import a table

    if not is_whole(data):
        raise InvalidDocumentError(Reason.WRONG_VALUE, "it is not as docket wrote it")
    return PriceBook.parse(data)
