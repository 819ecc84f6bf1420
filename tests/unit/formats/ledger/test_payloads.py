"""Payloads docket writes, each beside the data it must become."""

from __future__ import annotations

import pytest

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import encode
from docket.formats.digest import Digest
from docket.formats.ledger.event import GENESIS, draft, seal
from docket.formats.ledger.model_events import Component, ModelRequest, ModelResponse, Outcome
from docket.formats.ledger.session_events import EvidenceGap, ExitSource, Note, ProcExit, SessionEnd
from docket.formats.ledger.tree_events import Change, EntryState, FsChange, Omissions, OmittedPath, Phase
from docket.formats.ledger.vocabulary import PAYLOADS, read_payload  # fmt: skip
from docket.formats.reason import Reason
from docket.formats.relpath import RelPath
from docket.formats.run.usage import Usage, UsageSource

DIGEST = Digest("0" * 64)

PAIRS = [
    (Note(code="clock", message="stepped"), "note", {"code": "clock", "message": "stepped"}),
    (
        FsChange(
            path=RelPath(b"a\xff"),
            change=Change.RETYPED,
            before=EntryState(kind="file", mode=0o644, size=0, sha256=DIGEST),
            after=EntryState(kind="symlink", mode=0o777, target="x"),
        ),
        "fs.change",
        {
            "path_b64": "Yf8=",
            "change": "retyped",
            "before": {"kind": "file", "mode": 420, "size": 0, "sha256": DIGEST},
            "after": {"kind": "symlink", "mode": 511, "target": "x"},
        },
    ),
    (
        Omissions(phase=Phase.AFTER, omissions=(OmittedPath(path=RelPath(b"fifo"), reason="special-file"),)),
        "x-docket.omissions",
        {"phase": "after", "omissions": [{"path": "fifo", "reason": "special-file"}]},
    ),
    (ProcExit(exit_code=137, signal="SIGKILL", leftover_processes=0), "proc.exit",
     {"exit_code": 137, "signal": "SIGKILL", "leftover_processes": 0}),
    (
        ModelRequest(
            call=1, provider="anthropic", wire="anthropic-messages", model="m\\xff", model_b64="bf8=", method="POST",
            path="/v1/messages", streaming=False, fingerprint="00ff", request_sha256=DIGEST, body_bytes=10,
            altered=("include_usage",), held_usd=Usd(1),
        ),
        "model.request",
        {
            "call": 1, "provider": "anthropic", "wire": "anthropic-messages", "model": "m\\xff", "model_b64": "bf8=",
            "method": "POST", "path": "/v1/messages", "streaming": False, "fingerprint": "00ff",
            "request_sha256": DIGEST, "body_bytes": 10, "altered": ["include_usage"], "held_usd": "0.000001",
        },
    ),
    (
        ModelResponse(
            call=1, provider="openai", model="gpt-5", status=200, outcome=Outcome.COMPLETE, latency_ms=5,
            usage=Usage(input_tokens=3, output_tokens=4), usage_source=UsageSource.REPORTED,
            components=(Component(model="gpt-5", input_tokens=3, cached_input_tokens=0, output_tokens=4,
                                  cost_usd=Usd(7)),),
            cost_usd=Usd(7), cumulative_cost_usd=Usd(10_000), assumed_price=False, streaming=True, response_bytes=9,
            response_sha256=DIGEST,
        ),
        "model.response",
        {
            "call": 1, "provider": "openai", "model": "gpt-5", "status": 200, "outcome": "complete", "latency_ms": 5,
            "usage": {"input_tokens": 3, "cached_input_tokens": 0, "output_tokens": 4}, "usage_source": "reported",
            "components": [{"model": "gpt-5", "input_tokens": 3, "cached_input_tokens": 0, "output_tokens": 4,
                            "cost_usd": "0.000007"}],
            "cost_usd": "0.000007", "cumulative_cost_usd": "0.01", "assumed_price": False, "streaming": True,
            "response_bytes": 9, "response_sha256": DIGEST,
        },
    ),
    (EvidenceGap(first_failing_seq=4, unwritten_events=2, detail="disk full"), "x-docket.evidence-gap",
     {"first_failing_seq": 4, "unwritten_events": 2, "detail": "disk full"}),
    (
        SessionEnd(exit_code=0, exit_source=ExitSource.AGENT, duration_seconds="1.500", interrupted=False,
                   cost_usd=Usd(0)),
        "session.end",
        {"exit_code": 0, "exit_source": "agent", "duration_seconds": "1.500", "interrupted": False,
         "cost_usd": "0.00"},
    ),
]  # fmt: skip


def event(type_, data):
    return seal(draft(type_, data), seq=0, ts="2026-01-31T09:00:00.000Z", prev=GENESIS)


@pytest.mark.parametrize(("payload", "type_", "data"), PAIRS, ids=[pair[1] for pair in PAIRS])
def test_a_payload_and_its_data(payload, type_, data):
    assert type_ == payload.TYPE
    assert payload.to_data() == data
    assert payload.draft() == (type_, encode(data))
    assert read_payload(event(type_, data)) == payload


@pytest.mark.parametrize("type_", sorted(PAYLOADS))
def test_an_unknown_or_missing_member_is_refused_in_every_type(type_):
    assert type_ == PAYLOADS[type_].TYPE
    with pytest.raises(InvalidDocumentError) as caught:
        read_payload(event(type_, {"no-such-member": 1}))
    assert caught.value.reason in (Reason.UNKNOWN_MEMBER, Reason.MISSING_MEMBER, Reason.NOT_A_PATH)
    assert caught.value.detail.startswith(type_) or caught.value.reason == Reason.NOT_A_PATH


def test_an_unknown_type_is_no_payload_and_no_error():
    assert read_payload(event("x-other.thing", {"any": [1]})) is None
