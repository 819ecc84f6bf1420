"""What a delta calls a content: git's name of a blob, or its plain SHA-256 (spec/windows.md, Deltas)."""

from __future__ import annotations

import hashlib

from docket.formats.windows.names import Hashes


def content_name(content: bytes, hashes: Hashes) -> str:
    """Return the name of a file's content, or of a link's target."""
    if hashes is Hashes.CONTENT_SHA256:
        return hashlib.sha256(content).hexdigest()
    head = b"blob %d\0" % len(content)
    if hashes is Hashes.SHA256:
        return hashlib.sha256(head + content).hexdigest()
    return hashlib.sha1(head + content, usedforsecurity=False).hexdigest()
