"""What a gate is asked and told, in every way a call can go."""

import pytest

from boundary_rig.playbook import Stage, names
from boundary_rig.replies import messages_json, messages_request
from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelDenied, ModelRequest, Outcome
from docket.formats.ledger.session_events import Note
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import CapsPolicy
from docket.rules.boundary.admission import Refused
from docket.rules.boundary.gates import Answer, Ended, Go, Pause
from docket.rules.boundary.protocol import (
    ClientGone,
    EvidenceFailed,
    Finish,
    Released,
    Reset,
    Retry,
    Tick,
    UpstreamChunk,
    UpstreamEnded,
    UpstreamFailed,
)

BODY = messages_request()


class Scripted:
    """A gate that answers from a list, and notes what it is told."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.told = []
        self.heads = []

    def ask(self, weighed, now_ns):
        self.told.append(("asked", weighed.facts.model))
        return self.answers.pop(0) if self.answers else Go()

    def begun(self, weighed, status, now_ns):
        self.heads.append(status)
        return ()

    def withdrawn(self, weighed, now_ns):
        self.told.append("withdrawn")
        return ()

    def ended(self, weighed, ended, now_ns):
        self.told.append(ended)
        return (Note(code="gate", message="told"),)

    @property
    def news(self):
        return [item for item in self.told if not isinstance(item, tuple)]


def test_gates_are_asked_in_order_and_told_once_how_the_call_ended():
    first, second = Scripted(), Scripted()
    play = Stage(gates=(first, second)).play()
    play.post(BODY)
    body = messages_json()
    play.reply(200, (b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()))
    play.feed(UpstreamChunk(body))
    commands = names(play.feed(UpstreamEnded()))
    assert first.news == second.news == [Ended(status=200, outcome=Outcome.COMPLETE)]
    # What a gate wants recorded is durable before the last byte of the reply passes.
    assert commands.index("Record(note)") < commands.index("Await(DURABLE)")
    assert [note.code for note in play.payloads(Note)] == ["gate", "gate"]


def test_a_refusal_reaches_only_the_gates_that_had_let_the_call_go():
    first, last = Scripted(), Scripted()
    refusing = Scripted(Refused(reason=Reason.MODEL_POLICY, detail="not now"))
    play = Stage(gates=(first, refusing, last)).play()
    play.post(BODY)
    assert (first.news, refusing.news, last.told) == (["withdrawn"], [], [])
    assert [event.detail for event in play.payloads(ModelDenied)] == ["not now"]
    assert play.exchange.done


def test_a_cap_that_refuses_takes_the_call_back_from_the_gates():
    gate = Scripted()
    play = Stage(Policy(caps=CapsPolicy(max_usd=Usd.parse("0.00"), admission_wait_ms=0)), gates=(gate,)).play()
    play.post(BODY)
    assert gate.news == ["withdrawn"]
    assert [event.reason for event in play.payloads(ModelDenied)] == [Reason.MAX_USD]


def test_a_pause_ends_with_its_tick_and_not_with_somebodys_release():
    gate = Scripted(Pause(5_000_000), Pause(9_000_000))
    play = Stage(gates=(gate,)).play()
    assert play.post(BODY) == []
    assert (play.exchange.needs.release, play.exchange.deadline_ns) == (True, 5_000_000)
    assert play.feed(Retry()) == []
    play.clock = 5
    assert play.feed(Tick()) == []
    assert play.exchange.deadline_ns == 9_000_000
    play.clock = 9
    play.feed(Tick())
    assert len(play.payloads(ModelRequest)) == 1
    assert len(gate.told) == 3


def test_admission_that_closes_during_a_pause_refuses_at_once():
    stage = Stage(gates=(Scripted(Pause(10**12)),))
    play = stage.play()
    play.post(BODY)
    stage.desk.close(Reason.RUN_ENDING, "the run is ending")
    play.feed(Retry())
    assert [event.reason for event in play.payloads(ModelDenied)] == [Reason.RUN_ENDING]


def test_an_answer_of_a_gate_ends_the_exchange_and_nothing_is_sent():
    first, answering = Scripted(), Scripted(Answer((Finish(),)))
    play = Stage(gates=(first, answering)).play()
    assert play.post(BODY) == [Released(), Finish()]
    assert (first.news, answering.news) == (["withdrawn"], [])
    assert play.payloads(ModelRequest) == []
    assert play.exchange.done


@pytest.mark.parametrize("event", [ClientGone(), EvidenceFailed("full")])
def test_a_call_that_is_given_up_during_a_pause_is_taken_back(event):
    first = Scripted()
    play = Stage(gates=(first, Scripted(Pause(10**12)))).play()
    play.post(BODY)
    play.feed(event)
    assert first.news == ["withdrawn"]
    assert play.exchange.done


@pytest.mark.parametrize("sent", [True, False])
def test_an_upstream_that_never_answers_is_told_as_its_fault(sent):
    gate = Scripted()
    play = Stage(gates=(gate,)).play()
    play.post(BODY)
    play.feed(UpstreamFailed(Reason.UPSTREAM_UNREACHABLE, "refused", sent=sent))
    assert gate.news == [Ended(status=None, outcome=None, reason=Reason.UPSTREAM_UNREACHABLE, sent=sent)]


def test_a_reply_that_breaks_off_is_told_with_its_status_and_the_fault():
    gate = Scripted()
    play = Stage(gates=(gate,)).play()
    play.post(BODY)
    play.reply(200, (b"content-type", b"application/json"), (b"content-length", b"100"))
    play.feed(UpstreamChunk(b"{"))
    assert Reset() in play.feed(UpstreamFailed(Reason.UPSTREAM_BROKEN, "reset", sent=True))
    assert gate.news == [Ended(status=200, outcome=Outcome.UPSTREAM_BROKEN, reason=Reason.UPSTREAM_BROKEN)]


def test_a_record_that_fails_after_the_call_was_admitted_is_an_end_too():
    gate = Scripted()
    play = Stage(gates=(gate,)).play()
    play.post(BODY)
    play.feed(EvidenceFailed("full"))
    assert gate.news == [Ended(status=None, outcome=None, reason=Reason.EVIDENCE_FAILED)]
