"""Fresh identifiers. The port is `Ids`; tests pass fixed ones."""

from __future__ import annotations

import secrets
from typing import Protocol


class Ids(Protocol):
    """What docket asks of chance."""

    def session_id(self) -> str:
        """Twelve lower-case hexadecimal digits, new for each run."""
        ...

    def docket_number(self, now: str) -> str:
        """`DKT-YYYYMMDD-XXXXXX` for a run that starts at the RFC 3339 instant `now`."""
        ...

    def token(self) -> str:
        """A secret of 192 bits, safe in a URL path."""
        ...


class SystemIds:
    """Identifiers from the operating system's randomness."""

    def session_id(self) -> str:
        """Twelve hexadecimal digits."""
        return secrets.token_hex(6)

    def docket_number(self, now: str) -> str:
        """The date of `now` and six upper-case hexadecimal digits."""
        return f"DKT-{now[:10].replace('-', '')}-{secrets.token_hex(3).upper()}"

    def token(self) -> str:
        """Thirty-two URL-safe characters."""
        return secrets.token_urlsafe(24)
