"""Writes a redacted copy of a record: its ledger, and a receipt made anew from it (spec/ledger.md, Redacted copies).

Rules:
1. What is copied was verified before: a copy of a record that does not hold would hold.
2. The copy is verified before its receipt gets its name; one that does not hold is taken away again.
3. Nothing of the other record is changed, and nothing is copied that stands beside it.
4. The keys by which digests are named are made here and kept nowhere; the opening is the caller's.
"""

from __future__ import annotations

import os
from pathlib import Path

from docket.engines.analyse import events_at
from docket.engines.verify import VerifyRequest, read_receipt, verify_receipt
from docket.errors import InvalidDocumentError, UnavailableError, UsageError
from docket.formats.canonical import JsonObject, encode_document, object_at
from docket.formats.dataclass import dataclass
from docket.formats.ledger.event import Event
from docket.formats.ledger.redaction_facts import OPENING_BYTES, Profile
from docket.formats.reason import Reason
from docket.formats.run.verdict import Verdict, Word
from docket.host.disk import SYSTEM_DISK, is_component
from docket.host.durable import publish, publish_chunks
from docket.rules.proof.vouching import NO_VOUCHER, Voucher
from docket.rules.receipt.assemble import receipt_from_ledger
from docket.rules.redaction.copy import CopyAsked, redacted
from docket.rules.redaction.familiar import PublicPrices
from docket.rules.redaction.secrets import has_form
from docket.rules.spending.price_book import PriceBook
from docket.stores.layout import RUNS, ledger_name, receipt_name
from docket.stores.prices import read_prices

_HOLDS = (Word.VERIFIED, Word.CONSISTENT, Word.INCOMPLETE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRequest:
    """The record, what its copy hides, the keys that vouch for the copy, and the folder it goes to."""

    receipt: Path
    ledger: Path
    profiles: frozenset[Profile]
    out: Path
    voucher: Voucher = NO_VOUCHER


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """Where the copy stands; `opening` shows, with the other record, which one it was made from."""

    receipt: Path
    ledger: Path
    document: JsonObject
    word: Word
    opening: bytes


def write_copy(request: CopyRequest) -> Copied:
    """Write the copy into an empty or a new folder, as `runs/SESSION.jsonl` and `NUMBER.receipt.json`.

    InvalidDocumentError where the record or its copy does not hold, or cannot be copied; UsageError where the folder is
    not empty.
    """
    _refuse_filled(request.out)
    data = read_receipt(request.receipt)
    _refuse_failed(verify_receipt(VerifyRequest(receipt=data, ledger_path=request.ledger)), request.receipt)
    opening = os.urandom(OPENING_BYTES)
    asked = CopyAsked(
        profiles=request.profiles,
        key=os.urandom(OPENING_BYTES),
        opening=opening,
        public_key=request.voucher.public_key,
        public=_public_prices(),
    )
    events = redacted(list(events_at(request.ledger)), asked)
    if Profile.SECRETS in request.profiles:
        _refuse_secrets(events)
    return _written(request, events, opening)


def _public_prices() -> PublicPrices:
    book = PriceBook.parse(read_prices(None))
    entries = (entry for name in book.providers() for entry in book.section(name).get("models", ()))
    models = (name for entry in entries for name in (entry["id"], *entry.get("aliases", ())))
    return PublicPrices(models=frozenset(model.lower() for model in models), digest=book.digest)


def _written(request: CopyRequest, events: list[Event], opening: bytes) -> Copied:
    document = request.voucher.vouched(receipt_from_ledger(_lines(events)))
    session, number = (str(object_at(document, "session").get("id")), str(document.get("docket_number")))
    ledger, receipt = ledger_name(session), receipt_name(number)
    for name in (ledger, receipt):
        if not is_component(name):
            detail = f"the record names itself {name!r}, which no file can be named: nothing is written"
            raise InvalidDocumentError(Reason.NOT_A_PATH, detail)
    data = encode_document(document)
    with SYSTEM_DISK.folder(Path(os.path.realpath(request.out)), create=True) as out:
        with out.folder(RUNS, create=True) as runs:
            publish_chunks(runs, ledger, _lines(events))
            path = runs.path / ledger
            verdict = verify_receipt(VerifyRequest(receipt=data, ledger_path=path))
            if verdict.word not in _HOLDS:
                runs.remove(ledger)
                detail = f"the copy would not verify ({_first(verdict)}): nothing is written"
                raise InvalidDocumentError(Reason.VERIFICATION_FAILED, detail)
        publish(out, receipt, data, overwrite=False)
        return Copied(receipt=out.path / receipt, ledger=path, document=document, word=verdict.word, opening=opening)


def _lines(events: list[Event]) -> list[bytes]:
    return [event.line + b"\n" for event in events]


def _refuse_filled(out: Path) -> None:
    try:
        filled = out.is_symlink() or any(out.iterdir())
    except FileNotFoundError:
        return
    except OSError as error:
        raise UnavailableError(Reason.NOT_A_DIRECTORY, f"{out} cannot be used: {error.strerror}") from error
    if filled:
        raise UsageError(Reason.ALREADY_EXISTS, f"{out} is not an empty folder", hint="name one that is not there yet")


def _refuse_failed(verdict: Verdict, receipt: Path) -> None:
    if verdict.word not in _HOLDS:
        detail = f"{receipt} is not copied, for it does not verify: {_first(verdict)}"
        raise InvalidDocumentError(Reason.VERIFICATION_FAILED, detail, hint="docket verify tells of all checks")


def _refuse_secrets(events: list[Event]) -> None:
    """Refuse a copy in which something still looks like a secret: a model's or a pool's name, which must stay."""
    for event in events:
        if has_form(event.line.decode("utf-8")):
            detail = f"event {event.seq} has what looks like a secret in a member that a copy keeps: nothing is written"
            raise InvalidDocumentError(Reason.WRONG_VALUE, detail)


def _first(verdict: Verdict) -> str:
    return verdict.failures[0] if verdict.failures else verdict.detail or str(verdict.word)
