"""The post-mortem of a game day: for people as Markdown, for programs as JSON.

Rules: both say the same; nothing of the agent's own output stands in them, only where it is kept.
"""

from __future__ import annotations

from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.rules.drills.facts import PhaseFacts
from docket.rules.drills.judging import Judgement
from docket.rules.drills.phases import Kind, Phase
from docket.rules.wording import count_of

FORMAT = "docket/game-day/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseReport:
    """One phase as it went; `folder` holds its receipt and ledger, `folder`.log the output."""

    phase: Phase
    facts: PhaseFacts
    judgement: Judgement
    docket_number: str
    verdict: str
    folder: str

    def to_json(self) -> dict[str, JsonValue]:
        """Return the members by their names."""
        return {
            "phase": self.phase.name,
            "title": self.phase.title,
            "asks": self.phase.asks,
            "faults": self.phase.faults,
            "docket_number": self.docket_number,
            "verdict": self.verdict,
            "folder": self.folder,
            "facts": self.facts.to_json(),
            "judgement": self.judgement.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class GameDay:
    """All of it. `command` is the agent, `upstream` who answered; `missing` are phases that were not run, and why."""

    began_at: str
    tool: str
    command: tuple[str, ...]
    upstream: str
    seed: int
    reports: tuple[PhaseReport, ...]
    missing: tuple[tuple[str, str], ...] = ()

    @property
    def findings(self) -> tuple[PhaseReport, ...]:
        """The phases with something to do about."""
        return tuple(report for report in self.reports if not report.judgement.fine)

    def to_json(self) -> dict[str, JsonValue]:
        """Return the document."""
        return {
            "format": FORMAT,
            "began_at": self.began_at,
            "tool": self.tool,
            "command": list(self.command),
            "upstream": self.upstream,
            "seed": self.seed,
            "findings": len(self.findings),
            "phases": [report.to_json() for report in self.reports],
            "not_run": [{"phase": name, "why": why} for name, why in self.missing],
        }


def markdown(day: GameDay) -> str:
    """Return the post-mortem for people."""
    lines = [
        "# Game day",
        "",
        f"- agent: `{_code(' '.join(day.command))}`",
        f"- answered by: {day.upstream}",
        f"- began: {day.began_at}, {day.tool}, seed {day.seed}",
        f"- outcome: {_outcome(day)}",
        "",
        "| phase | what was done to it | verdict | attempts | billed | cost | time | record |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [_row(report) for report in day.reports]
    lines += [f"| {name} | | not run: {_cell(why)} | | | | | |" for name, why in day.missing]
    for report in day.reports:
        lines += ["", *_section(report)]
    lines += ["", *_CLOSING, ""]
    return "\n".join(lines)


_CLOSING = (
    "## How to read this",
    "",
    "Each phase is a run of its own under `docket run`, with the faults named above. Its folder holds the receipt and",
    "the ledger, the file beside it what docket and the agent printed; `docket verify RECEIPT` checks them. Such a",
    "receipt names itself a drill (`ops.chaos_run`). An attempt is a call that was let go, or told to wait; a billed",
    "one got a reply with a cost.",
)


_SPECIAL = {Kind.RECORD_FULL: "room for six events"}


def _outcome(day: GameDay) -> str:
    found = len(day.findings)
    if day.missing:
        return f"incomplete: {len(day.missing)} of {len(day.reports) + len(day.missing)} phases were not run"
    return "nothing to do" if not found else f"{found} of {len(day.reports)} phases need attention"


def _row(report: PhaseReport) -> str:
    facts, phase = report.facts, report.phase
    capped = None if phase.max_calls is None else f"a cap of {phase.max_calls} calls"
    done = phase.faults or capped or _SPECIAL.get(phase.kind, "no fault")
    done += ", docket killed" if phase.kind is Kind.KILLED else ""
    verdict = report.judgement.word if report.judgement.fine else f"**{report.judgement.word}**"
    return (
        f"| {phase.name} | {_cell(done)} | {verdict} | {facts.attempts} | {facts.billed} | ${facts.cost_usd} "
        f"| {facts.wall_ms / 1000:.1f} s | {report.verdict} |"
    )


def _section(report: PhaseReport) -> list[str]:
    facts, judgement = report.facts, report.judgement
    gaps = ", ".join(f"{gap} ms" for gap in facts.gaps_ms) or "none"
    lines = [
        f"## {report.phase.name}: {report.phase.title}",
        "",
        report.phase.asks,
        "",
        f"**{judgement.word}.** {judgement.seen}",
    ]
    lines += ["", f"What to do: {judgement.advice}"] if judgement.advice else []
    went = f"{facts.admitted} let go ({facts.billed} billed, {facts.failed} failed), {facts.refused} refused by docket"
    return [
        *lines,
        "",
        f"- exit code of the agent {facts.agent_exit}, of docket {facts.exit_code}",
        f"- {count_of(facts.attempts, 'attempt')}: {went}",
        f"- {count_of(facts.injected, 'fault')} injected; waits before the agent came back: {gaps}",
        f"- cost: {judgement.cost}",
        f"- record: {report.docket_number}, {report.verdict}, in `{_code(report.folder)}`",
    ]


def _cell(text: str) -> str:
    return _code(text).replace("|", "\\|")


def _code(text: str) -> str:
    line = text.replace("`", "'").replace("\n", " ")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in line)
