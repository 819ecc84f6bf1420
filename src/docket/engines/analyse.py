"""Reads a ledger beside its receipt and gives what is found in the two (docs/reference/findings.md).

Rules: the ledger is streamed, its chain is followed; nothing else is verified, and whether the ledger is the one that
the receipt names is said beside the findings. It writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.canonical import JsonObject, object_at
from docket.formats.dataclass import dataclass
from docket.formats.ledger.event import Event
from docket.formats.ledger.lines import TornTail, follow
from docket.host.regular_file import regular_file_chunks
from docket.rules.analysis.finding import Finding
from docket.rules.analysis.registry import findings_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What was found; `is_its_ledger`: whether the ledger is the one the receipt names, None where none was read."""

    findings: tuple[Finding, ...]
    is_its_ledger: bool | None


def analyse(document: JsonObject, ledger_path: Path | None) -> Analysis:
    """Return what is found in a receipt, with its ledger where there is one.

    InvalidDocumentError where the ledger's chain is broken, UnavailableError where it cannot be read.
    """
    if ledger_path is None:
        return Analysis(findings=findings_of(document), is_its_ledger=None)
    last: list[Event] = []
    findings = findings_of(document, _noting_last(events_at(ledger_path), last))
    head = object_at(document, "ledger").get("head")
    return Analysis(findings=findings, is_its_ledger=bool(last) and last[0].hash == head)


def events_at(path: Path) -> Iterator[Event]:
    """Yield the events of a ledger file; a torn tail is left out. Raises as `analyse` does."""
    try:
        for item in follow(regular_file_chunks(path)):
            if not isinstance(item, TornTail):
                yield item
    except InvalidDocumentError as error:
        raise InvalidDocumentError(error.reason, f"{path}: {error.detail}", hint="docket verify says more") from error
    except UnavailableError as error:
        raise UnavailableError(error.reason, f"the ledger {error.detail}", hint=error.hint) from error


def _noting_last(events: Iterator[Event], last: list[Event]) -> Iterator[Event]:
    for event in events:
        last[:] = [event]
        yield event
