"""What each way of ending means: docket's exit code, whose number it is, and the event of the agent's end."""

from __future__ import annotations

import pytest

from docket.engines.supervise.ending import Ending, ending_of, exit_payload, vouched
from docket.engines.supervise.watch import Breached, Cause, Watched
from docket.formats.ledger.session_events import ExitSource
from docket.formats.reason import Reason
from docket.formats.run.policy import OnBreach
from docket.host.process import AgentExit
from docket.rules.boundary.protocol import Breach
from docket.rules.proof.vouching import NO_VOUCHER, Voucher


def left(code=None, number=None, failure=None):
    return AgentExit(exit_code=code, signal=number, failure=failure, leftover_processes=0)


def nothing():
    return Breached(lambda: None)


AGENT, CAP, SIGNAL, DOCKET = ExitSource.AGENT, ExitSource.CAP, ExitSource.SIGNAL, ExitSource.DOCKET


@pytest.mark.parametrize(
    ("watched", "code", "source", "breached", "interrupted"),
    [
        (Watched(cause=Cause.AGENT, exit=left(code=0)), 0, AGENT, None, False),
        (Watched(cause=Cause.AGENT, exit=left(code=7)), 7, AGENT, None, False),
        (Watched(cause=Cause.AGENT, exit=left(number=11)), 139, SIGNAL, None, False),
        (Watched(cause=Cause.AGENT, exit=left(code=127, failure=Reason.PROGRAM_MISSING)), 127, DOCKET, None, False),
        (
            Watched(cause=Cause.AGENT, exit=left(code=126, failure=Reason.PROGRAM_NOT_RUNNABLE)),
            126,
            DOCKET,
            None,
            False,
        ),
        (Watched(cause=Cause.AGENT, exit=left()), 70, DOCKET, None, False),
        (Watched(cause=Cause.CAP, exit=left(code=0), cap=Reason.MAX_USD), 42, CAP, "max_usd", False),
        (Watched(cause=Cause.SIGNAL, exit=left(number=2), signal=2), 130, SIGNAL, None, True),
        (Watched(cause=Cause.SIGNAL, exit=left(number=15), signal=15), 143, SIGNAL, None, True),
        (Watched(cause=Cause.EVIDENCE, exit=left(number=9)), 75, DOCKET, None, False),
    ],
)
def test_ending(watched, code, source, breached, interrupted):
    ending = Ending(exit_code=code, exit_source=source, breached=breached, interrupted=interrupted)
    assert ending_of(watched, nothing()) == ending


def test_a_cap_decides_even_where_the_agent_ended_by_itself_with_success():
    breached = nothing()
    breached.report(Breach(cap=Reason.MAX_USD, detail="d", action=OnBreach.DENY))
    watched = Watched(cause=Cause.AGENT, exit=left(code=0))
    assert ending_of(watched, breached) == Ending(exit_code=42, exit_source=CAP, breached="max_usd")


def test_the_first_breach_counts_but_one_that_kills_counts_over_one_that_denies():
    woken = []
    breached = Breached(lambda: woken.append(1))
    breached.report(Breach(cap=Reason.MAX_TOKENS, detail="a", action=OnBreach.DENY))
    breached.report(Breach(cap=Reason.MAX_USD, detail="b", action=OnBreach.KILL))
    breached.report(Breach(cap=Reason.MAX_MODEL_CALLS, detail="c", action=OnBreach.KILL))
    assert (breached.cap, breached.detail, breached.stops) == (Reason.MAX_USD, "b", True)
    assert len(woken) == 3


@pytest.mark.parametrize(
    ("watched", "code", "name", "by"),
    [
        (Watched(cause=Cause.AGENT, exit=left(code=3)), 3, None, None),
        (Watched(cause=Cause.CAP, exit=left(number=9), cap=Reason.MAX_USD, stopped=True), 137, "SIGKILL", "max_usd"),
        (Watched(cause=Cause.CAP, exit=left(code=1), cap=Reason.MAX_USD), 1, None, None),
        (Watched(cause=Cause.SIGNAL, exit=left(number=15), signal=15, stopped=True), 143, "SIGTERM", "SIGTERM"),
        (Watched(cause=Cause.EVIDENCE, exit=left(number=9), stopped=True), 137, "SIGKILL", "evidence_failed"),
    ],
)
def test_exit_payload(watched, code, name, by):
    payload = exit_payload(watched)
    assert (payload.exit_code, payload.signal, payload.terminated_by) == (code, name, by)


SEALING = Voucher(seal_key=b"\x0b" * 32)


def test_a_key_that_fails_at_the_end_loses_no_receipt():
    receipt, problems = {"ledger": {"events": 2, "head": "b"}, "seal": None, "signature": None}, []
    assert vouched(receipt, SEALING, ["a", "b"], problems)["seal"] is not None
    assert vouched(receipt, NO_VOUCHER, [], problems) == receipt
    assert problems == []
    assert vouched(receipt, Voucher(seal_key="no bytes"), ["a", "b"], problems) == receipt
    (problem,) = problems
    assert problem.reason is Reason.KEY_UNUSABLE
    assert problem.detail.startswith("the receipt is not signed, though it was to be: ")


@pytest.mark.parametrize("written", [[], ["a"], ["a", "c"], ["a", "b", "c"]])
def test_nothing_is_signed_that_was_not_written(written):
    receipt, problems = {"ledger": {"events": 2, "head": "b"}, "seal": None, "signature": None}, []
    assert vouched(receipt, SEALING, written, problems) == receipt
    assert [problem.reason for problem in problems] == [Reason.LEDGER_DAMAGED, Reason.KEY_UNUSABLE]
