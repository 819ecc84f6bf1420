"""What stands beside a ledger and goes into a page with it: deltas of tool windows, checkpoints, kept replies.

Rules:
1. No other file gets into a page by the name of one of these: what is none goes in as an empty one, which the page's
   verifier then refuses as any verifier would.
2. Kept replies go in where all of them are MOST_RESPONSE_BYTES at most; else none does, and why is said.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from docket.engines.run_page.packing import Packed, packed
from docket.engines.verify_deltas import DELTAS, WINDOWS
from docket.errors import DocketError
from docket.formats.canonical import JsonObject
from docket.formats.digest import is_digest, sha256
from docket.formats.lenient import rows_at, text_at
from docket.formats.proof.checkpoint import MAX_CHECKPOINTS_BYTES, read_checkpoints
from docket.formats.windows.delta import MAX_DELTA_BYTES, Delta, decode_delta
from docket.host.disk import SYSTEM_DISK
from docket.host.regular_file import read_regular_file
from docket.stores.checkpoint_file import checkpoints_path

MOST_RESPONSE_BYTES = 4 * 1024 * 1024
_BODY = re.compile(r"responses/[0-9A-Za-z_-]{1,64}/([0-9a-f]{64})\.bin")


def deltas_of(receipt: JsonObject, ledger: Path) -> tuple[dict[str, Delta], dict[str, str]]:
    """Return the deltas that the receipt names, and their documents, by their digests; what is none is left out."""
    folder = ledger.parent.parent / WINDOWS / DELTAS
    found, documents = dict[str, Delta](), dict[str, str]()
    for tool in rows_at(receipt, "windows", "tools"):
        digest = text_at(tool, "delta", "delta_sha256")
        if not is_digest(digest) or digest in documents:
            continue
        with suppress(DocketError):
            document = read_regular_file(folder / f"{digest}.json", MAX_DELTA_BYTES)
            if sha256(document) == digest:
                found[digest] = decode_delta(document)
                documents[digest] = document.decode("utf-8")
    return found, documents


def checkpoints_beside(ledger: Path) -> Packed | None:
    """Return the file of checkpoints, an empty one for what is none; None where there is no such file."""
    path = checkpoints_path(ledger)
    if not os.path.lexists(path):
        return None
    with suppress(DocketError), SYSTEM_DISK.folder(path.parent) as folder, folder.open(path.name) as file:
        size = file.size()
        data = file.read(0, size) if size <= MAX_CHECKPOINTS_BYTES else b""
        read_checkpoints(data)
        return packed(data)
    return packed(b"")


def responses_beside(kept: Mapping[str, int], left_out: int, ledger: Path) -> tuple[Packed | None, str]:
    """Return the kept replies that events name, as a JSON object of base64 by path, or None and why there are none.

    `kept` is the stated size of each by its path, `left_out` how many more there are.
    """
    if not kept:
        return None, ""
    total = sum(kept.values())
    if left_out or total > MOST_RESPONSE_BYTES:
        return None, f"they are {total:,} bytes, and a page carries {MOST_RESPONSE_BYTES:,} of them at most"
    bodies = {path: _body(path, size, ledger) for path, size in kept.items()}
    if all(body is None for body in bodies.values()):
        return None, "they are not beside the ledger"
    coded = {path: base64.b64encode(body).decode("ascii") for path, body in bodies.items() if body is not None}
    return packed(json.dumps(coded).encode("ascii")), ""


def _body(path: str, size_bytes: int, ledger: Path) -> bytes | None:
    """Return a kept reply, an empty one for another file; None where there is none."""
    match = _BODY.fullmatch(path)
    if match is None or not os.path.lexists(place := ledger.parent.parent / path):
        return None
    with suppress(DocketError):
        data = read_regular_file(place, size_bytes)
        return data if sha256(data) == match[1] else b""
    return b""


__all__ = ["MOST_RESPONSE_BYTES", "checkpoints_beside", "deltas_of", "responses_beside"]
