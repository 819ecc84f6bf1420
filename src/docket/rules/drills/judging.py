"""What a phase shows, in words: what the agent did, whether that is well, and what to do about it.

Rules:
1. docket's own part comes first: a record that does not verify, a cost that is not the provider's count, a cap that did
   not hold, are findings whatever the agent did.
2. An agent is judged by what it did after the fault, never by its exit code alone: some end well on every error.
"""

from __future__ import annotations

from enum import StrEnum

from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.rules.drills.facts import PhaseFacts
from docket.rules.drills.phases import Kind, Phase
from docket.rules.wording import count_of, times

WALL_CAP = "max_wall_seconds"
_EARLY_MS = 100
_UNAVAILABLE = 75
_NOT_STARTED = {126: "cannot be run", 127: "was not found"}


class Word(StrEnum):
    """The verdict on a phase."""

    WORKED = "worked"
    RECOVERED = "recovered"
    PATIENT = "patient"
    STOPPED = "stopped"
    IMPATIENT = "impatient"
    GAVE_UP = "gave up"
    DECEIVED = "deceived"
    WENT_ON = "went on"
    NEVER_ENDED = "never ended"
    NO_CALLS = "no calls"
    NOT_TRIED = "not tried"
    RECORD_WRONG = "record wrong"


FINE = frozenset((Word.WORKED, Word.RECOVERED, Word.PATIENT, Word.STOPPED))


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What the scripted provider says it served, None where a real one was asked; `verdict` is the receipt's."""

    verdict: str
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict on a phase: a word, what was seen, and what to do; `cost` says how well the cost is known."""

    word: Word
    seen: str
    advice: str
    cost: str

    @property
    def fine(self) -> bool:
        """Whether nothing needs doing."""
        return self.word in FINE

    def to_json(self) -> dict[str, JsonValue]:
        """Return the members by their names."""
        return {"word": str(self.word), "fine": self.fine, "seen": self.seen, "advice": self.advice, "cost": self.cost}


def judge(phase: Phase, facts: PhaseFacts, served: Served) -> Judgement:
    """Return the verdict on a phase."""
    cost = cost_in_words(facts, served)
    wrong = _record_fault(phase, facts, served)
    if wrong is not None:
        advice = "This is docket's own fault, not the agent's: please report it with the phase's folder."
        return Judgement(word=Word.RECORD_WRONG, seen=wrong, advice=advice, cost=cost)
    word, seen, advice = _agent(phase, facts)
    return Judgement(word=word, seen=seen, advice=advice, cost=cost)


def cost_in_words(facts: PhaseFacts, served: Served) -> str:
    """Return how well the cost is known."""
    if facts.estimated:
        return f"${facts.cost_usd}, {count_of(facts.estimated, 'call')} estimated: the reply did not get to its usage"
    if served.input_tokens is None:
        return f"${facts.cost_usd}, by the provider's own counts"
    return f"${facts.cost_usd}, exactly what the provider served" if _agrees(facts, served) else f"${facts.cost_usd}"


def _agrees(facts: PhaseFacts, served: Served) -> bool:
    return (facts.input_tokens, facts.output_tokens) == (served.input_tokens, served.output_tokens)


def _record_fault(phase: Phase, facts: PhaseFacts, served: Served) -> str | None:
    if served.verdict not in (phase.verdict, "verified"):
        return f"the receipt's verdict is {served.verdict}, not {phase.verdict}"
    whole = phase.verdict != "incomplete"
    if whole and served.input_tokens is not None and not facts.estimated and not _agrees(facts, served):
        return (
            f"{facts.input_tokens} and {facts.output_tokens} tokens were billed, the provider served "
            f"{served.input_tokens} and {served.output_tokens}"
        )
    if phase.max_calls is not None and facts.admitted > phase.max_calls:
        return f"{count_of(facts.admitted, 'call')} went through under a cap of {phase.max_calls}"
    return None


def _agent(phase: Phase, facts: PhaseFacts) -> tuple[Word, str, str]:
    if not facts.attempts and phase.kind is not Kind.RECORD_FULL:
        return Word.NO_CALLS, *_unheard(phase, facts)
    if phase.kind is Kind.STOP:
        return _stop(facts)
    if phase.kind in (Kind.RECORD_FULL, Kind.KILLED):
        return _cut_short(phase, facts)
    if facts.breached == WALL_CAP:
        return (
            Word.NEVER_ENDED,
            f"The agent was still running after {_seconds(facts.wall_ms)} and {count_of(facts.attempts, 'attempt')}.",
            "Set a wall clock (--max-minutes) on every run, and a timeout or a limit of retries in the agent.",
        )
    if phase.kind is Kind.BASELINE:
        return _baseline(facts)
    if not facts.injected:
        return Word.NOT_TRIED, "The fault never struck: the agent made too few calls.", "Give it a longer task."
    return _after_fault(phase, facts)


def _unheard(phase: Phase, facts: PhaseFacts) -> tuple[str, str]:
    if facts.agent_exit in _NOT_STARTED:
        why = _NOT_STARTED[facts.agent_exit]
        return f"The agent did not start: its program {why} (exit {facts.agent_exit}).", "Check the command after --."
    if facts.agent_exit:
        return (
            f"The agent ended with {facts.agent_exit}, and no model call of it arrived.",
            f"See {phase.name}.log beside the phase's folder, and docket agents for how it is pointed at docket.",
        )
    return (
        "No model call of the agent arrived.",
        "The agent does not reach docket: docket agents tells how it is pointed at it.",
    )


def _baseline(facts: PhaseFacts) -> tuple[Word, str, str]:
    refused = f", refused for {', '.join(facts.refusals)}" if facts.refusals else ""
    done = f"{count_of(facts.billed, 'call')}{refused}, exit {facts.agent_exit}, {_seconds(facts.wall_ms)}."
    if facts.agent_exit == 0 and facts.billed:
        return Word.WORKED, done, ""
    return (
        Word.GAVE_UP,
        done,
        "The agent fails without any fault, so there is nothing to drill: see baseline.log beside the phase's folder.",
    )


def _stop(facts: PhaseFacts) -> tuple[Word, str, str]:
    more = facts.after_final
    if facts.breached is None:
        why = f": its calls were refused for {', '.join(facts.refusals)}" if facts.refusals else "."
        return Word.NOT_TRIED, f"The cap was never reached{why}", "See the phase's log."
    if more:
        return (
            Word.WENT_ON,
            f"The agent tried {times(more)} more after it had been refused for good.",
            "The cap held all the same. Turn the agent's retries down where it has a knob.",
        )
    return Word.STOPPED, f"The agent was told why and ended; exit {facts.exit_code} says that a cap did it.", ""


def _cut_short(phase: Phase, facts: PhaseFacts) -> tuple[Word, str, str]:
    if phase.kind is Kind.KILLED:
        if facts.exit_code is not None:
            return Word.NOT_TRIED, "The run ended before docket could be killed.", "Give the agent a longer task."
        return Word.STOPPED, "The receipt was recovered from the ledger, and says that the record has no end.", ""
    if facts.exit_code != _UNAVAILABLE:
        return Word.NOT_TRIED, "The record was never full: the agent made too few calls.", "Give it a longer task."
    return Word.STOPPED, "The run was ended, and the receipt says that its record is incomplete.", ""


def _after_fault(phase: Phase, facts: PhaseFacts) -> tuple[Word, str, str]:
    back = _came_back(facts)
    if phase.kind is Kind.BE_PATIENT:
        if facts.agent_exit == 0 and not facts.gaps_ms and not facts.failed:
            return Word.PATIENT, f"The agent waited for the whole reply; all took {_seconds(facts.wall_ms)}.", ""
        if facts.agent_exit == 0:
            return Word.RECOVERED, f"The agent broke off the slow reply and finished; {back}.", ""
        return Word.GAVE_UP, f"The agent ended with {facts.agent_exit}; {back}.", "Raise the agent's stream timeout."
    if facts.answered_after and facts.agent_exit == 0:
        return _recovered(phase, facts, back)
    if facts.agent_exit == 0 and not facts.after_fault:
        return (
            Word.DECEIVED,
            "The agent took the broken answer for a whole one and ended with 0.",
            "Do not trust its exit code: check its work, and compare with the calls in the receipt.",
        )
    return (
        Word.GAVE_UP,
        f"The agent ended with {facts.agent_exit}; {back}.",
        "Let the agent retry where it has a knob for it, or run it again: nothing it had done is lost.",
    )


def _recovered(phase: Phase, facts: PhaseFacts, back: str) -> tuple[Word, str, str]:
    told = phase.retry_after_seconds
    early = [] if told is None else [gap for gap in facts.gaps_ms if gap < told * 1000 - _EARLY_MS]
    if early and phase.name == "rate-limit":
        return (
            Word.IMPATIENT,
            f"The agent went on, though it came back after {min(early)} ms when it was told to wait {told} s.",
            "Pace it with resilience.max_calls_per_minute: docket then holds its calls back itself.",
        )
    opened = f" The breaker opened {times(facts.openings)}." if facts.openings else ""
    return Word.RECOVERED, f"The agent went on and finished; {back}.{opened}", ""


def _came_back(facts: PhaseFacts) -> str:
    if not facts.gaps_ms:
        return "it did not come back"
    shown = ", ".join(_seconds(gap) for gap in facts.gaps_ms[:6]) + (", …" if len(facts.gaps_ms) > 6 else "")
    return f"it came back {times(len(facts.gaps_ms))} (after {shown})"


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.1f} s" if milliseconds >= 100 else f"{milliseconds} ms"
