"""What a manifest names: the contents that a sweep must leave, read fast and never too few.

Rules:
1. A document that a decoder of manifests would refuse may be taken for one here, and then only more is left. What is
   no JSON, of another format, or lacks an entry's address is refused: a sweep that cannot tell does nothing.

The decoder of manifests is `formats.tree.manifest`.
"""

from __future__ import annotations

import json
import re

from docket.errors import InvalidDocumentError
from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason
from docket.formats.tree.manifest import FORMAT

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The contents a manifest names, each once: their sizes in bytes by their digests (32 bytes)."""

    sizes: dict[bytes, int]


def named_contents(document: bytes) -> Named:
    """Return what a manifest names; InvalidDocumentError where that cannot be told."""
    try:
        found = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise InvalidDocumentError(Reason.NOT_JSON, "the manifest is no JSON document") from error
    entries = found.get("entries") if isinstance(found, dict) and found.get("format") == FORMAT else None
    if not isinstance(entries, list):
        raise InvalidDocumentError(Reason.MISSING_MEMBER, f"the manifest is not of the format {FORMAT}")
    return Named(sizes=dict(_address(entry) for entry in entries))


def _address(entry: object) -> tuple[bytes, int]:
    digest = entry.get("sha256") if isinstance(entry, dict) else None
    size = entry.get("size") if isinstance(entry, dict) else None
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest) or not isinstance(size, int):
        raise InvalidDocumentError(Reason.MISSING_MEMBER, "an entry of the manifest names no content")
    return bytes.fromhex(digest), size
