"""What a phase's ledger says the agent did, counted by hand."""

from docket.formats.amount import Usd
from docket.formats.ledger.model_events import ModelDenied, ModelError, Outcome
from docket.formats.ledger.resilience_events import BreakerChange, BreakerState, FaultInjected
from docket.formats.ledger.session_events import ExitSource
from docket.formats.ledger.spending_events import CapExceeded
from docket.formats.run.usage import Usage, UsageSource
from docket.rules.drills.facts import facts_of
from golden_ledgers.build import LedgerBuilder, component, end, exited, opened, request, response


def asked(ledger: LedgerBuilder, call: int) -> None:
    ledger.add(request(call, "openai", "gpt-5", "openai-chat"))


def answered(ledger: LedgerBuilder, call: int, **changes: object) -> None:
    ledger.add(
        response(
            call,
            "openai",
            "gpt-5",
            usage=Usage(input_tokens=400, output_tokens=100),
            components=(component("gpt-5", 400, 0, 100, "0.001500"),),
            cost="0.001500",
            cumulative="0.001500",
            **changes,
        )
    )


def failed(ledger: LedgerBuilder, call: int, status: int = 529) -> None:
    ledger.add(
        ModelError(
            call=call, provider="openai", model="gpt-5", status=status, latency_ms=0, reason="upstream_status",
            error="", response_bytes=0,
        )
    )  # fmt: skip


def denied(ledger: LedgerBuilder, reason: str, status: int) -> None:
    ledger.add(ModelDenied(provider="openai", model="gpt-5", reason=reason, detail="", status=status, path="/"))


def struck(ledger: LedgerBuilder, call: int, kind: str, *, upstream_asked: bool) -> None:
    ledger.add(FaultInjected(call=call, kind=kind, detail="", asked=upstream_asked))


def test_an_outage_that_the_agent_lives_through():
    ledger = opened()  # four events, a second apart
    asked(ledger, 1)  # 4
    struck(ledger, 1, "status", upstream_asked=False)
    failed(ledger, 1)  # 6
    change = BreakerChange(provider="openai", upstream="u", state=BreakerState.OPEN, failures=1, cooldown_ms=1000)
    ledger.add(change)
    denied(ledger, "circuit_open", 503)  # 8
    ledger.add_raw("note", {"code": "x", "message": "y"})
    asked(ledger, 2)  # 10
    answered(ledger, 2)
    asked(ledger, 3)
    answered(ledger, 3)
    ledger.add(exited(0))
    ledger.add(end("0.003000"))  # 15
    facts = facts_of(ledger.events)
    assert facts.to_json() == {
        "exit_code": 0,
        "agent_exit": 0,
        "breached": None,
        "attempts": 4,
        "admitted": 3,
        "billed": 2,
        "failed": 1,
        "refused": 1,
        "injected": 1,
        "after_fault": 3,
        "answered_after": 2,
        "after_final": 0,
        "refusals": ["circuit_open"],
        "openings": 1,
        "gaps_ms": [2000, 2000],
        "wall_ms": 15_000,
        "input_tokens": 800,
        "output_tokens": 200,
        "estimated": 0,
        "cost_usd": "0.003000",
    }


def test_a_spoiled_answer_counts_as_no_answer_and_a_slow_one_as_one():
    for kind, gaps, after in (("truncate", (1000,), 1), ("slow", (), 0)):
        ledger = opened()
        asked(ledger, 1)
        struck(ledger, 1, kind, upstream_asked=True)
        answered(ledger, 1)
        asked(ledger, 2)
        answered(ledger, 2)
        facts = facts_of(ledger.events)
        assert (facts.gaps_ms, facts.after_fault, facts.answered_after) == (gaps, after, after)
        assert (facts.exit_code, facts.agent_exit, facts.cost_usd) == (None, None, "0.00")


def test_a_reply_that_was_cut_or_left_is_no_whole_one():
    ledger = opened()
    asked(ledger, 1)
    struck(ledger, 1, "drop", upstream_asked=False)
    failed(ledger, 1)
    asked(ledger, 2)
    answered(ledger, 2, outcome=Outcome.CLIENT_GONE, usage_source=UsageSource.ESTIMATED)
    asked(ledger, 3)
    facts = facts_of(ledger.events)
    assert (facts.answered_after, facts.estimated, len(facts.gaps_ms)) == (0, 1, 2)


def test_attempts_after_the_final_word():
    ledger = opened()
    denied(ledger, "max_model_calls", 400)
    ledger.add(
        CapExceeded(
            cap="max_model_calls", limit="0", used="0", cost_usd=Usd(0), tokens=0, calls=0, action="kill", detail=""
        )
    )
    denied(ledger, "max_model_calls", 400)
    denied(ledger, "max_model_calls", 400)
    ledger.add(exited(1))
    ledger.add(end("0.00", 42, exit_source=ExitSource.CAP, breached="max_model_calls"))
    facts = facts_of(ledger.events)
    assert (facts.refused, facts.after_final, facts.breached) == (3, 2, "max_model_calls")
    assert (facts.gaps_ms, facts.refusals, facts.exit_code) == ((), ("max_model_calls",), 42)


def test_an_empty_ledger_says_nothing():
    facts = facts_of(())
    assert (facts.attempts, facts.wall_ms, facts.exit_code) == (0, 0, None)
