"""What was found in a run, for a terminal and as a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from docket.formats import lenient
from docket.formats.canonical import JsonObject, JsonValue
from docket.rules.analysis.finding import Confidence, Finding, Severity
from docket.surfaces.cli.console import plain
from docket.surfaces.render import figures
from docket.surfaces.render.wrapping import wrapped

_WIDTH = 100  # of what is read, on no terminal or on a wide one
_MARGIN = "   "
_COLOURS = {Severity.HIGH: "red", Severity.MEDIUM: "yellow", Severity.LOW: "cyan", Severity.INFO: None}
_SURE = {
    Confidence.HIGH: "on the record",
    Confidence.MEDIUM: "concluded from the record",
    Confidence.LOW: "a heuristic, look for yourself",
}
_EVENTS_SHOWN = 8
_OVERLAP = "Impacts may be of the same calls, so they do not add up."
_WHERE = "Events: docket watch --lines, or the ledger's lines by seq. Whether the record holds: docket verify."


def as_document(document: JsonObject, findings: Sequence[Finding]) -> dict[str, JsonValue]:
    """Return what `docket explain --json` prints."""
    return {
        "docket_number": lenient.part(document, "docket_number"),
        "cost_usd": lenient.part(document, "totals", "cost_usd"),
        "findings": [finding.to_json() for finding in findings],
    }


def lines(document: JsonObject, findings: Sequence[Finding], width: int | None = None) -> Iterator[str]:
    """Yield the lines for a person, styled; `width` is the terminal's."""
    yield from head(document, width)
    spent = f"spent {figures.spend(document)} in {figures.calls(document)}; {figures.files(document)}"
    yield from wrapped(plain(spent), width)
    if not findings:
        yield "\nNothing was found: no rule's threshold was reached."
        return
    for at, finding in enumerate(findings, 1):
        yield ""
        yield from _finding(at, finding, width)
    yield ""
    closing = [_OVERLAP] if any(finding.usd_impact is not None for finding in findings[1:]) else []
    for sentence in (*closing, _WHERE):
        yield from (click.style(line, dim=True) for line in wrapped(sentence, width))


def head(document: JsonObject, width: int | None, lead: str = "") -> Iterator[str]:
    """Yield the number of a run, styled, and how it ended, behind `lead`."""
    number = plain(figures.text(document, "docket_number"))
    first, *more = wrapped(plain(figures.ending(document)), width, lead=f"{lead}{number}  ")
    yield f"{lead}{click.style(number, bold=True)}{first[len(lead) + len(number) :]}"
    yield from more


def _finding(at: int, finding: Finding, width: int | None) -> Iterator[str]:
    yield from _title(at, finding, width)
    within = min(width or _WIDTH, _WIDTH)
    yield from wrapped(plain(f"{finding.detail}."), within, lead=_MARGIN)
    yield from wrapped(plain(finding.remedy), within, lead=f"{_MARGIN}Next: ")
    seen = ", ".join(map(str, finding.evidence[:_EVENTS_SHOWN]))
    more = "…" if len(finding.evidence) > _EVENTS_SHOWN else ""
    known = f"{'event' if len(finding.evidence) == 1 else 'events'} {seen}{more}; {_SURE[finding.confidence]}"
    yield from (click.style(line, dim=True) for line in wrapped(known, within, lead=_MARGIN))


def _title(at: int, finding: Finding, width: int | None) -> Iterator[str]:
    """Yield the title with its money and what it is, which goes to a line of its own where there is no room."""
    lead = f"{at}. "
    money = "" if finding.usd_impact is None else f"  ${finding.usd_impact}"
    severity = click.style(str(finding.severity), fg=_COLOURS[finding.severity], bold=True)
    kind = f"[{severity}, {finding.rule}]"
    title, *more = wrapped(finding.title, width, lead=lead)
    styled = [f"{lead}{click.style(title[len(lead) :], bold=True)}", *(click.style(line, bold=True) for line in more)]
    taken = len((title, *more)[-1] + money)
    if width is None or taken + 2 + len(click.unstyle(kind)) <= width:
        styled[-1] += f"{money}  {kind}"
    else:
        styled[-1] += money
        styled.append(_MARGIN + kind)
    yield from styled
