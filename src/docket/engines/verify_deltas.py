"""Reads the deltas of tool windows that stand beside a ledger, for the verifier (spec/receipt.md, Tool windows).

Rules: only files that a receipt names by a digest are read, regular ones, bounded; what they hold is decoded as
strictly as docket writes it. Whatever the bytes are, the outcome is a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.canonical import JsonObject, object_at
from docket.formats.digest import Digest, is_digest, sha256
from docket.formats.reason import Reason
from docket.formats.windows.delta import MAX_DELTA_BYTES, decode_delta
from docket.host.regular_file import read_regular_file
from docket.rules.checks.windows import FoundDelta

WINDOWS, DELTAS = "windows", "deltas"


def deltas_beside(ledger_path: Path, receipt: JsonObject) -> dict[Digest, FoundDelta]:
    """Return what stands beside a ledger of the deltas that a receipt names, up to the first that is none."""
    folder = ledger_path.parent.parent / WINDOWS / DELTAS
    found: dict[Digest, FoundDelta] = {}
    for digest in dict.fromkeys(_named(receipt)):
        delta = _read(folder / f"{digest}.json", digest)
        if delta is not None:
            found[digest] = delta
            if delta.fault is not None:
                break  # the record fails by it, and each of the others may be as large as a delta can be
    return found


def _named(receipt: JsonObject) -> Iterator[Digest]:
    tools = object_at(receipt, "windows").get("tools")
    for tool in tools if isinstance(tools, (list, tuple)) else ():
        delta = tool.get("delta") if isinstance(tool, Mapping) else None
        digest = delta.get("delta_sha256") if isinstance(delta, Mapping) else None
        if isinstance(digest, str) and is_digest(digest):
            yield Digest(digest)


def _read(path: Path, digest: Digest) -> FoundDelta | None:
    try:
        document = read_regular_file(path, MAX_DELTA_BYTES)
    except UnavailableError as error:
        return None if error.reason == Reason.NOT_FOUND else FoundDelta(fault=f"the delta {error.detail}")
    if sha256(document) != digest:
        return FoundDelta(fault=f"what stands beside the ledger is not the delta {digest}")
    try:
        delta = decode_delta(document)
    except InvalidDocumentError as error:
        return FoundDelta(fault=f"the delta is none: {error.detail}")
    return FoundDelta(
        status=str(delta.status),
        scope=str(delta.scope),
        reason=delta.reason,
        files=len(delta.files),
        tool_use_ids=tuple(use.tool_use_id for use in delta.tool_uses),
    )
