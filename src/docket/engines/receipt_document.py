"""Reads a receipt for who shows it or works on it; whether it may be believed is `engines.verify`'s to say."""

from __future__ import annotations

from pathlib import Path

from docket.engines.verify import decode_receipt, read_receipt
from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject
from docket.formats.reason import Reason
from docket.formats.run.pathless import without_paths
from docket.formats.run.receipt import FORMAT
from docket.formats.run.receipt_shape import check_shape
from docket.formats.run.receipt_view import is_ours


def receipt_document(path: Path) -> JsonObject:
    """Return the receipt at a path; InvalidDocumentError names the file."""
    return document_of(read_receipt(path), path)


def shown_document(data: bytes, path: Path) -> JsonObject:
    """Return the receipt that these bytes of the file at `path` hold, without the paths of its rows."""
    return document_of(without_paths(data), path)


def document_of(data: bytes, path: Path) -> JsonObject:
    """Return the receipt that bytes hold; InvalidDocumentError names the file that they are from."""
    try:
        value = decode_receipt(data)
        if value.get("format") != FORMAT:
            raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"it is no {FORMAT} document")
        # A figure that is missing must not be shown as nothing spent.
        check_shape(value, ours=is_ours(value))
    except InvalidDocumentError as error:
        raise InvalidDocumentError(error.reason, f"{path} is not a receipt: {error.detail}") from error
    return value


__all__ = ["document_of", "receipt_document", "shown_document"]
