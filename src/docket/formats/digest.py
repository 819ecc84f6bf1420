"""SHA-256 digests as 64 lower-case hexadecimal digits."""

from __future__ import annotations

import hashlib
import re
from typing import NewType

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue, encode
from docket.formats.reason import Reason

Digest = NewType("Digest", str)

_FORM = re.compile(r"[0-9a-f]{64}")


def sha256(data: bytes) -> Digest:
    """Return the SHA-256 of `data`."""
    return Digest(hashlib.sha256(data).hexdigest())


def digest_of(value: JsonValue) -> Digest:
    """Return the SHA-256 of the canonical bytes of `value`."""
    return sha256(encode(value))


def is_digest(text: str) -> bool:
    """Whether `text` is spelled as a SHA-256."""
    return _FORM.fullmatch(text) is not None


def parse_digest(text: object) -> Digest:
    """Return `text` as a digest; anything but 64 lower-case hexadecimal digits is refused."""
    if not isinstance(text, str) or not _FORM.fullmatch(text):
        raise InvalidDocumentError(Reason.NOT_A_DIGEST, "a SHA-256 is 64 lower-case hexadecimal digits")
    return Digest(text)
