"""Values of options that several commands take."""

from __future__ import annotations

from docket.errors import InvalidDocumentError, UsageError
from docket.formats.amount import Usd
from docket.formats.reason import Reason


def dollars(option: str, text: str) -> Usd:
    """Return the amount given with `option`; UsageError names the option."""
    try:
        return Usd.parse(text)
    except InvalidDocumentError as error:
        raise UsageError(Reason.USAGE, f"{option}: {error.detail}") from error
