"""Gathers what a page of a run is made of, from the receipt's evidence and from where contents are still held.

Rules:
1. Ledger, deltas, checkpoints and kept replies are those that stand beside the receipt. A fault of one of them leaves
   it out and is said in the page; only a receipt that is none makes no page.
2. For a copy that hides something no contents are looked for: what it hides may still be held here.
3. The ledger is read once, in pieces, and packed on its way; the paths of the receipt's rows are not read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from docket.engines.held_contents import Places, held_contents
from docket.engines.receipt_document import shown_document
from docket.engines.run_page.beside import checkpoints_beside, deltas_of, responses_beside
from docket.engines.run_page.contents import comparison, places_of
from docket.engines.run_page.gathered import Evidence, Gathered, PageRequest
from docket.engines.run_page.packing import Packed, Packer, packed
from docket.engines.verify import read_receipt
from docket.errors import DocketError, InvalidDocumentError, UnavailableError
from docket.formats.ledger.event import Event, known_event
from docket.formats.ledger.line_shape import LineShapes
from docket.formats.ledger.lines import follow
from docket.formats.ledger.tree_events import FsChange
from docket.formats.ledger.vocabulary import PAYLOADS
from docket.formats.reason import Reason
from docket.formats.windows.delta import Delta
from docket.host.regular_file import regular_file_chunks
from docket.rules.analysis.finding import Finding
from docket.rules.analysis.record import READ
from docket.rules.analysis.registry import findings_of
from docket.rules.analysis.told import MOST_LISTED, TOLD, Reading, Recorded, from_rows
from docket.stores.receipts import ledger_of

MOST_LEDGER_BYTES = 512 * 1024 * 1024
MOST_COMPARED = 300
# Where no place is at hand only links have contents, which the record holds itself.
MOST_UNHELD = 25
LOOKED_AT = TOLD | READ
_SHIPPED = Path(__file__).resolve().parents[2] / "data" / "docket-verify.mjs"
# In a checkout the module stands where it is made.
_MADE = Path(__file__).resolve().parents[4] / "verify-js" / "docket-verify.mjs"


@contextmanager
def gathered(request: PageRequest) -> Iterator[Gathered]:
    """Give what the page of a receipt is made of, for as long as its comparisons are read.

    InvalidDocumentError where the receipt is none, UnavailableError where the verifier's module cannot be read.
    """
    found = _Gathering(request)
    found.read()
    with held_contents(places_of(found.receipt, request.layout) if found.shows_contents else Places()) as held:
        most = MOST_COMPARED if held.places else MOST_UNHELD
        changes = islice(found.told.changes, most if found.shows_contents else 0)
        yield Gathered(
            receipt=found.receipt,
            evidence=found.evidence,
            told=found.told,
            verifier=_verifier(),
            damage=found.damage,
            comparisons=(comparison(changed, held) for changed in changes),
            places=held.places,
            deltas=found.deltas,
            findings=found.findings,
        )


class _Gathering:
    """Reads a receipt at once, and on `read` what stands beside it."""

    def __init__(self, request: PageRequest) -> None:
        data = read_receipt(request.path)
        self.receipt, self._carried = shown_document(data, request.path), packed(data)
        self._path = request.path
        self.shows_contents = request.contents and self.receipt.get("redaction") is None
        self.evidence = Evidence(receipt=self._carried)
        self.told = Recorded()
        self.damage = ""
        self.deltas: dict[str, Delta] = {}
        self.findings: tuple[Finding, ...] = ()

    def read(self) -> None:
        """Read the ledger and what stands beside it; without one, the receipt's own rows."""
        try:
            path = ledger_of(self._path, self.receipt)
        except DocketError as error:
            self._alone(error.detail)
            return
        if path is None:
            self._alone("it does not stand beside the receipt")
            return
        reading, packer = Reading(), Packer(_size_of(path))
        try:
            self.findings = findings_of(self.receipt, reading.through(self._events(path, packer)))
        except UnavailableError as error:
            self._alone(error.detail)
            return
        self.told = reading.finish()
        self.evidence = self._evidence(path, packer.finish())

    def _alone(self, why: str) -> None:
        self.evidence = Evidence(receipt=self._carried, why_no_ledger=why)
        self.told, self.findings = from_rows(self.receipt), findings_of(self.receipt)

    def _events(self, path: Path, packer: Packer) -> Iterator[Event]:
        """Yield the events up to where the ledger is damaged; the file is read to its end."""
        chunks, told = packer.through(_bounded(path)), _Told()
        try:
            for item in follow(chunks, LineShapes(PAYLOADS)):
                if isinstance(item, Event):
                    yield told.event(item)
                else:
                    self.damage = "its last line is torn"
        except InvalidDocumentError as error:
            self.damage = error.detail
        for _ in chunks:
            pass

    def _evidence(self, path: Path, ledger: Packed) -> Evidence:
        documents, responses, why = dict[str, str](), None, ""
        if self.shows_contents:
            self.deltas, documents = deltas_of(self.receipt, path)
            responses, why = responses_beside(self.told.kept, self.told.left_out["kept"], path)
        elif self.told.kept:
            why = "no contents are shown in it"
        fits = ledger.coded is not None
        large = f"it is too large for a page: {ledger.size_bytes:,} bytes; docket verify reads it where it stands"
        deltas = packed(json.dumps(documents).encode("utf-8")) if documents else None
        return Evidence(
            receipt=self._carried,
            ledger=ledger if fits else None,
            why_no_ledger="" if fits else large,
            deltas=deltas if deltas is not None and deltas.coded is not None else None,
            delta_count=len(documents),
            checkpoints=checkpoints_beside(path),
            responses=responses if fits else None,
            response_count=len(self.told.kept),
            why_no_responses=why,
        )


class _Told:
    """Gives events the data that is looked at: of a change beyond those that are listed, its path alone."""

    def __init__(self) -> None:
        self._changes = 0

    def event(self, event: Event) -> Event:
        """Return an event whose data need not be read from its line again."""
        payload = event.payload
        if payload is None or event.type not in LOOKED_AT:
            return event
        if isinstance(payload, FsChange):
            self._changes += 1
            if self._changes > MOST_LISTED:
                return event._replace(read_data=payload.path.members())
        return known_event(event.line)


def _size_of(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


def _bounded(path: Path) -> Iterator[bytes]:
    left = MOST_LEDGER_BYTES
    for chunk in regular_file_chunks(path):
        left -= len(chunk)
        if left < 0:
            raise UnavailableError(Reason.TOO_LARGE, f"{path} is larger than {MOST_LEDGER_BYTES:,} bytes")
        yield chunk


def _verifier() -> str:
    for path in (_SHIPPED, _MADE):
        with suppress(OSError):
            return path.read_text("utf-8")
    detail = f"the verifier's module is not there: {_SHIPPED}"
    raise UnavailableError(Reason.NOT_FOUND, detail, hint="install docket again")


__all__ = ["MOST_COMPARED", "gathered"]
