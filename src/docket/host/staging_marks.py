"""By what docket knows a staging directory of its own (host.staging) in a tree that it looks at.

Rules:
1. The name alone makes nothing docket's: a person's folder of that name is looked at like any other.
2. Docket's is private to the user who reads, holds a plan, and holds nothing but names that docket gives.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from stat import S_IMODE, S_ISREG

from docket.host.reaching import STAGING_PREFIX
from docket.host.staging import PLAN
from docket.host.tree import Row, Status

_NAME = re.compile(re.escape(STAGING_PREFIX) + rb"[0-9a-f]{16}")
_INSIDE = re.compile(rb"plan|kept|journal|opened\.[0-9]+\.[0-9a-f]{8}|[0-9]+\.(?:new|[0-9]+(?:\.aside)?)")


def is_staging(name: bytes, status: Status, rows: Iterable[Row]) -> bool:
    """Whether the directory `name` of a tree's root, with these rows in it, is a staging directory of docket's."""
    if not _NAME.fullmatch(name) or S_IMODE(status.st_mode) != 0o700 or status.st_uid != os.geteuid():
        return False
    inside = {raw: row_status.st_mode for raw, _, row_status in rows}
    return S_ISREG(inside.get(PLAN, 0)) and all(_INSIDE.fullmatch(raw) for raw in inside)
