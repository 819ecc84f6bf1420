"""The verdict on a phase, and the post-mortem that tells it."""

import json

import pytest

from docket.errors import UsageError
from docket.formats.canonical import encode_document
from docket.formats.run.policy_toml import parse_policy
from docket.rules.drills.facts import PhaseFacts
from docket.rules.drills.faults import parse_faults
from docket.rules.drills.judging import FINE, Served, Word, judge
from docket.rules.drills.phases import PHASES, Kind, chosen
from docket.rules.drills.post_mortem import GameDay, PhaseReport, markdown

NOTHING = PhaseFacts(
    exit_code=0, agent_exit=0, breached=None, attempts=1, admitted=1, billed=1, failed=0, refused=0, injected=0,
    after_fault=0, answered_after=0, after_final=0, refusals=(), openings=0, gaps_ms=(), wall_ms=1500,
    input_tokens=10, output_tokens=5, estimated=0, cost_usd="0.10",
)  # fmt: skip
RIGHT = Served(verdict="consistent", input_tokens=10, output_tokens=5)


def facts(**changes):
    members = {name: getattr(NOTHING, name) for name in PhaseFacts.__slots__}
    return PhaseFacts(**{**members, **changes})


def phase(name):
    return next(item for item in PHASES if item.name == name)


def test_every_phase_can_be_run_and_the_first_is_without_a_fault():
    assert [item.kind for item in PHASES if not item.faults] == [Kind.BASELINE, Kind.STOP, Kind.RECORD_FULL]
    assert PHASES[0].kind is Kind.BASELINE
    for item in PHASES:
        if item.faults:
            parse_faults(item.faults, 0)
        parse_policy(item.policy.encode(), item.name)
    assert len({item.name for item in PHASES}) == len(PHASES)


def test_phases_are_chosen_by_name_and_the_baseline_is_always_there():
    assert chosen(()) == PHASES
    assert [item.name for item in chosen(("budget", "reset"))] == ["baseline", "reset", "budget"]
    with pytest.raises(UsageError, match="no phase is called 'rest'"):
        chosen(("rest",))


SEVEN_TIMES = (
    "The agent went on and finished; it came back 7 times (after 1 ms, 1 ms, 1 ms, 1 ms, 1 ms, 1 ms, …). "
    "The breaker opened 2 times."
)
CAME_BACK = {"injected": 1, "failed": 1, "after_fault": 1, "answered_after": 1, "gaps_ms": (250,)}


@pytest.mark.parametrize(
    ("name", "changes", "word", "seen"),
    [
        ("baseline", {}, Word.WORKED, "1 call, exit 0, 1.5 s."),
        ("baseline", {"agent_exit": 3}, Word.GAVE_UP, "1 call, exit 3, 1.5 s."),
        (
            "baseline",
            {"billed": 0, "agent_exit": 1, "refusals": ("unknown_model",), "wall_ms": 20},
            Word.GAVE_UP,
            "0 calls, refused for unknown_model, exit 1, 20 ms.",
        ),
        ("baseline", {"attempts": 0}, Word.NO_CALLS, "No model call of the agent arrived."),
        (
            "baseline",
            {"attempts": 0, "agent_exit": 127},
            Word.NO_CALLS,
            "The agent did not start: its program was not found (exit 127).",
        ),
        (
            "baseline",
            {"attempts": 0, "agent_exit": 1},
            Word.NO_CALLS,
            "The agent ended with 1, and no model call of it arrived.",
        ),
        ("reset", {}, Word.NOT_TRIED, "The fault never struck: the agent made too few calls."),
        ("reset", CAME_BACK, Word.RECOVERED, "The agent went on and finished; it came back once (after 0.2 s)."),
        ("reset", {"injected": 1}, Word.DECEIVED, "The agent took the broken answer for a whole one and ended with 0."),
        (
            "hang",
            {"injected": 1, "failed": 1, "agent_exit": 1},
            Word.GAVE_UP,
            "The agent ended with 1; it did not come back.",
        ),
        (
            "outage",
            {**CAME_BACK, "openings": 2, "gaps_ms": (1,) * 7},
            Word.RECOVERED,
            SEVEN_TIMES,
        ),
        (
            "rate-limit",
            {**CAME_BACK, "gaps_ms": (2000, 700)},
            Word.IMPATIENT,
            "The agent went on, though it came back after 700 ms when it was told to wait 2 s.",
        ),
        (
            "rate-limit",
            {**CAME_BACK, "gaps_ms": (1950,)},
            Word.RECOVERED,
            "The agent went on and finished; it came back once (after 1.9 s).",
        ),
        (
            "rate-limit",
            {"breached": "max_wall_seconds", "attempts": 40, "wall_ms": 180_000},
            Word.NEVER_ENDED,
            "The agent was still running after 180.0 s and 40 attempts.",
        ),
        ("slow-stream", {"injected": 1}, Word.PATIENT, "The agent waited for the whole reply; all took 1.5 s."),
        (
            "slow-stream",
            {"injected": 1, "gaps_ms": (100,)},
            Word.RECOVERED,
            "The agent broke off the slow reply and finished; it came back once (after 0.1 s).",
        ),
        (
            "slow-stream",
            {"injected": 1, "agent_exit": 2},
            Word.GAVE_UP,
            "The agent ended with 2; it did not come back.",
        ),
        (
            "budget",
            {"admitted": 0, "exit_code": 42, "breached": "max_model_calls"},
            Word.STOPPED,
            "The agent was told why and ended; exit 42 says that a cap did it.",
        ),
        (
            "budget",
            {"admitted": 0, "breached": "max_model_calls", "after_final": 3},
            Word.WENT_ON,
            "The agent tried 3 times more after it had been refused for good.",
        ),
        (
            "budget",
            {"admitted": 0, "refusals": ("unknown_model",)},
            Word.NOT_TRIED,
            "The cap was never reached: its calls were refused for unknown_model",
        ),
        ("budget", {"admitted": 0}, Word.NOT_TRIED, "The cap was never reached."),
        ("budget", {"breached": "x"}, Word.RECORD_WRONG, "1 call went through under a cap of 0"),
    ],
)  # fmt: skip
def test_what_the_agent_did(name, changes, word, seen):
    judgement = judge(phase(name), facts(**changes), RIGHT)
    assert (judgement.word, judgement.seen) == (word, seen)
    assert judgement.fine == (word in FINE)
    # Whatever is not fine says what can be done, whatever is says nothing.
    assert bool(judgement.advice) != judgement.fine


@pytest.mark.parametrize(
    ("served", "changes", "seen"),
    [
        (Served(verdict="failed"), {}, "the receipt's verdict is failed, not consistent"),
        (Served(verdict="incomplete"), {}, "the receipt's verdict is incomplete, not consistent"),
        (
            Served(verdict="consistent", input_tokens=11, output_tokens=5),
            {},
            "10 and 5 tokens were billed, the provider served 11 and 5",
        ),
    ],
)
def test_dockets_own_part_comes_first(served, changes, seen):
    judgement = judge(phase("reset"), facts(**changes), served)
    assert (judgement.word, judgement.seen) == (Word.RECORD_WRONG, seen)
    assert "docket's own fault" in judgement.advice


@pytest.mark.parametrize(
    ("served", "changes", "cost"),
    [
        (RIGHT, {}, "$0.10, exactly what the provider served"),
        (Served(verdict="verified"), {}, "$0.10, by the provider's own counts"),
        (
            Served(verdict="consistent", input_tokens=99, output_tokens=5),
            {"estimated": 2},
            "$0.10, 2 calls estimated: the reply did not get to its usage",
        ),
        (Served(verdict="consistent", input_tokens=99, output_tokens=5), {}, "$0.10"),
    ],
)
def test_how_well_the_cost_is_known(served, changes, cost):
    assert judge(phase("reset"), facts(**changes), served).cost == cost


@pytest.mark.parametrize(
    ("name", "changes", "word", "seen"),
    [
        (
            "record-full",
            {"attempts": 0, "exit_code": 75},
            Word.STOPPED,
            "The run was ended, and the receipt says that its record is incomplete.",
        ),
        ("record-full", {}, Word.NOT_TRIED, "The record was never full: the agent made too few calls."),
        (
            "killed",
            {"exit_code": None, "agent_exit": None},
            Word.STOPPED,
            "The receipt was recovered from the ledger, and says that the record has no end.",
        ),
        ("killed", {}, Word.NOT_TRIED, "The run ended before docket could be killed."),
        ("killed", {"attempts": 0}, Word.NO_CALLS, "No model call of the agent arrived."),
    ],
)
def test_a_record_that_cannot_be_whole_says_so(name, changes, word, seen):
    served = Served(verdict="incomplete", input_tokens=99, output_tokens=5)
    judgement = judge(phase(name), facts(**changes), served)
    assert (judgement.word, judgement.seen) == (word, seen)
    assert judge(phase(name), facts(**changes), RIGHT).word is Word.RECORD_WRONG


def report(name, **changes):
    shown = facts(**changes)
    return PhaseReport(
        phase=phase(name),
        facts=shown,
        judgement=judge(phase(name), shown, RIGHT),
        docket_number="DKT-20261130-ABCDEF",
        verdict="consistent",
        folder="/out/`odd`",
    )


def day(*reports, missing=()):
    return GameDay(
        began_at="2026-11-30T12:00:00.000Z",
        tool="docket 1",
        command=("my|agent", "--go"),
        upstream="a scripted provider",
        seed=4,
        reports=reports,
        missing=missing,
    )


def test_the_post_mortem_for_people_tells_all_of_it():
    text = markdown(day(report("baseline"), report("reset", injected=1), report("budget", admitted=0, breached="x")))
    assert text.startswith("# Game day\n\n- agent: `my|agent --go`\n")
    assert "- outcome: 1 of 3 phases need attention" in text
    assert "| baseline | no fault | worked | 1 | 1 | $0.10 | 1.5 s | consistent |" in text
    assert "| reset | reset=300@calls=1 | **deceived** | 1 |" in text
    assert "| budget | a cap of 0 calls | stopped |" in text
    assert "**deceived.** The agent took the broken answer for a whole one" in text
    assert "What to do: Do not trust its exit code" in text
    assert "- 1 fault injected; waits before the agent came back: none" in text
    assert "in `/out/'odd'`" in text
    assert "| record-full | room for six events |" in markdown(day(report("record-full")))
    assert "| killed | hang=60@calls=1, docket killed |" in markdown(day(report("killed")))
    assert text.endswith("got a reply with a cost.\n")


def test_waits_and_missing_phases_are_told():
    text = markdown(day(report("reset", **CAME_BACK), missing=(("hang", "a|b"),)))
    assert "- outcome: incomplete: 1 of 2 phases were not run" in text
    assert "| hang | | not run: a\\|b | | | | | |" in text
    assert "waits before the agent came back: 250 ms" in text
    assert "- outcome: nothing to do" in markdown(day(report("baseline")))


def test_the_post_mortem_for_programs_says_the_same():
    document = json.loads(encode_document(day(report("reset", injected=1), missing=(("hang", "why"),)).to_json()))
    assert (document["format"], document["findings"], document["seed"]) == ("docket/game-day/v1", 1, 4)
    assert document["not_run"] == [{"phase": "hang", "why": "why"}]
    (told,) = document["phases"]
    assert (told["phase"], told["faults"], told["verdict"]) == ("reset", "reset=300@calls=1", "consistent")
    assert (told["judgement"]["word"], told["judgement"]["fine"]) == ("deceived", False)
    assert told["facts"]["injected"] == 1
