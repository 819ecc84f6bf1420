"""Which process of which boot: as documents name whoever works on something of docket's."""

from __future__ import annotations

from docket.formats.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """One process of one boot; `started` and `boot_id` are empty where they cannot be told."""

    pid: int
    started: str
    boot_id: str
