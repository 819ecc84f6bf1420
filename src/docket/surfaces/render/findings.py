"""What was found in a run, for a terminal and as a document."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import click

from docket.formats import lenient
from docket.formats.canonical import JsonObject, JsonValue
from docket.rules.analysis.finding import Confidence, Finding, Severity
from docket.surfaces.cli.console import plain
from docket.surfaces.render import figures

_WIDTH = 100
_MARGIN = "   "
_COLOURS = {Severity.HIGH: "red", Severity.MEDIUM: "yellow", Severity.LOW: "cyan", Severity.INFO: None}
_SURE = {
    Confidence.HIGH: "on the record",
    Confidence.MEDIUM: "concluded from the record",
    Confidence.LOW: "a heuristic, look for yourself",
}
_EVENTS_SHOWN = 8


def as_document(document: JsonObject, findings: Sequence[Finding]) -> dict[str, JsonValue]:
    """Return what `docket explain --json` prints."""
    return {
        "docket_number": lenient.part(document, "docket_number"),
        "cost_usd": lenient.part(document, "totals", "cost_usd"),
        "findings": [finding.to_json() for finding in findings],
    }


def lines(document: JsonObject, findings: Sequence[Finding]) -> Iterator[str]:
    """Yield the lines for a person, styled."""
    number = plain(figures.text(document, "docket_number"))
    yield f"{click.style(number, bold=True)}  {plain(figures.ending(document))}"
    spent = f"spent {figures.spend(document)} in {figures.calls(document)}; {figures.files(document)}"
    yield plain(spent)
    if not findings:
        yield "\nNothing was found: no rule's threshold was reached."
        return
    for at, finding in enumerate(findings, 1):
        yield ""
        yield from _finding(at, finding)
    yield ""
    if any(finding.usd_impact is not None for finding in findings[1:]):
        yield click.style("Impacts may be of the same calls, so they do not add up.", dim=True)
    yield click.style(
        "Events: docket watch --lines, or the ledger's lines by seq. Whether the record holds: docket verify.", dim=True
    )


def _finding(at: int, finding: Finding) -> Iterator[str]:
    money = "" if finding.usd_impact is None else f"  ${finding.usd_impact}"
    severity = click.style(str(finding.severity), fg=_COLOURS[finding.severity], bold=True)
    yield f"{at}. {click.style(finding.title, bold=True)}{money}  [{severity}, {finding.rule}]"
    yield from _wrapped(_MARGIN, f"{finding.detail}.")
    yield from _wrapped(f"{_MARGIN}Next: ", finding.remedy)
    seen = ", ".join(map(str, finding.evidence[:_EVENTS_SHOWN]))
    more = "…" if len(finding.evidence) > _EVENTS_SHOWN else ""
    known = f"{_MARGIN}{'event' if len(finding.evidence) == 1 else 'events'} {seen}{more}; {_SURE[finding.confidence]}"
    yield click.style(known, dim=True)


def _wrapped(lead: str, text: str) -> list[str]:
    return textwrap.wrap(
        plain(text), _WIDTH, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False
    )
