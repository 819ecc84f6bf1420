"""The check of kept responses: what a ledger says was kept, and what stands in the folder beside it.

Rules (spec/receipt.md, Kept responses):
1. A body is named by its path from the folder above the ledger's, with the digest of what was stored; the file's own
   digest and size are taken anew.
2. One that is missing, altered or longer is a failure, and so is a file in the run's folder that no event names.
3. Where the whole folder is not there the check is skipped: a receipt and its ledger may travel without it.
"""

from __future__ import annotations

from collections.abc import Mapping

from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.ledger.event import Event
from docket.formats.ledger.model_events import ModelResponse
from docket.formats.shown import shown
from docket.rules.checks.case import DAMAGED, NO_LEDGER, Answer, Case, broken, held, skipped
from docket.rules.wording import count_of


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptBody:
    """What one reply's event says of its kept body; members as they stand there."""

    seq: int
    path: JsonValue
    sha256: JsonValue
    size_bytes: JsonValue
    truncated: bool
    response_sha256: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBodies:
    """What stands beside the ledger.

    `digests` gives (SHA-256, size) by path, None for a file that cannot be read and says why in `faults`; `others` are
    files in the run's own folder that no event names; `folder` says whether any folder of kept responses is there.
    """

    digests: Mapping[str, tuple[str, int]]
    faults: Mapping[str, str]
    others: tuple[str, ...]
    folder: bool


def kept_body(event: Event) -> KeptBody | None:
    """Return what an event says of a kept body, None where it says that there is none."""
    data = event.data
    if event.type != ModelResponse.TYPE or data.get("response_retained") is not True:
        return None
    return KeptBody(
        seq=event.seq,
        path=data.get("response_path"),
        sha256=data.get("response_stored_sha256"),
        size_bytes=data.get("response_stored_bytes"),
        truncated=data.get("response_truncated") is True,
        response_sha256=data.get("response_sha256"),
    )


def retained_responses(case: Case) -> Answer:
    """Every body that the ledger says was kept is there as it was, and no other."""
    ledger, found = case.ledger, case.bodies
    if ledger is None:
        return skipped(NO_LEDGER)
    if not ledger.sound:
        return skipped(DAMAGED)
    claimed = ledger.faults.get("retained-responses")
    if claimed is not None:
        return broken(claimed)
    for body in ledger.kept:
        fault = _said(body)
        if fault is not None:
            return broken(f"event {body.seq}: {fault}")
    if not ledger.kept and (found is None or not found.others):
        return skipped("no responses were kept in this run")
    if found is None or not (found.folder or found.others):
        return skipped("the responses that were kept are not beside the ledger")
    return _compared(ledger.kept, found)


def _said(body: KeptBody) -> str | None:
    if not isinstance(body.path, str) or not body.path:
        return "it says that a response was kept and names no path"
    if not isinstance(body.sha256, str):
        return f"{shown(body.path)} was kept and has no digest to be checked by"
    if not body.truncated and body.sha256 != body.response_sha256:
        return f"{shown(body.path)} was kept whole and has another digest than the response"
    return None


def _compared(kept: tuple[KeptBody, ...], found: FoundBodies) -> Answer:
    for body in kept:
        path = str(body.path)
        digest = found.digests.get(path)
        if digest is None:
            return broken(f"event {body.seq}: {found.faults.get(path, f'{shown(path)} is not there')}")
        # What another writer states may be no number: true is none either.
        stated = body.size_bytes
        if digest[0] != body.sha256 or (stated is not None and (type(stated) is not int or stated != digest[1])):
            return broken(f"event {body.seq}: {shown(path)} is not the {body.size_bytes} bytes that were kept")
    if found.others:
        return broken(f"{shown(found.others[0])} is named by no event of the ledger")
    prefixes = sum(body.truncated for body in kept)
    beginnings = f", {prefixes} of them a beginning" if prefixes else ""
    return held(f"{count_of(len(kept), 'response')} hashed, as kept{beginnings}")
