"""What every export of a record does around its shaping: find, verify, read again, write.

Rules:
1. Nothing is exported that was not verified, by the keys that were named if any, as `docket verify` does. A receipt
   that fails is refused with its first failing check, and nothing is written; one that says itself that it is not
   whole, or whose ledger is not there, is told as that.
2. The ledger that is read for the export is the one that was verified: the digest of its file is compared at the end,
   before a file gets its name.
3. A file appears whole or not at all, for its owner alone, and stands in no other's place unless that is asked for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from docket.engines.verify import VerifyRequest, counted, examine_receipt, read_receipt, session_of
from docket.errors import DocketError, InvalidDocumentError, UnavailableError, UsageError
from docket.formats.dataclass import dataclass, replace
from docket.formats.digest import sha256
from docket.formats.ledger.event import Event
from docket.formats.ledger.lines import events_again
from docket.formats.proof.pins import NO_PINS, Pins
from docket.formats.reason import Reason
from docket.formats.run.verdict import Check, Status, Word
from docket.host.disk import SYSTEM_DISK
from docket.host.durable import publish_chunks
from docket.host.regular_file import regular_file_chunks
from docket.stores.receipts import ledger_beside
from docket.surfaces.cli import console
from docket.surfaces.cli.completing import files_like
from docket.surfaces.cli.key_choice import pin_options, pins_asked
from docket.surfaces.cli.paths import ANY_PATH
from docket.surfaces.cli.progress import ReadingProgress
from docket.surfaces.cli.project import ledger_named, receipt_asked_for
from docket.surfaces.export.record import VerifiedRecord

_WRITE_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a record stands, and the keys it is verified by. `ledger` is None where none is at hand."""

    receipt: Path
    ledger: Path | None
    pins: Pins = NO_PINS


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """Where an export goes: `out` is None for standard output; `force` lets it stand in another file's place."""

    out: Path | None
    force: bool = False


_OUTPUT = (
    click.option("--out", type=ANY_PATH, metavar="FILE", shell_complete=files_like,
                 help="Write to FILE instead of standard output."),
    click.option("--force", is_flag=True, help="Write over a file that stands there."),
)  # fmt: skip
_LEDGER = click.option("--ledger", type=ANY_PATH, metavar="FILE", shell_complete=files_like,
                       help="The ledger it came from; without it, the one that stands beside the receipt, "
                       "if any.")  # fmt: skip
_DOCKET_DIR = click.option("--docket-dir", type=ANY_PATH, help="Where the project's evidence stands.")


def export_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add to a command what exports take: `record_options`, --out and --force."""
    return _with(command, _LEDGER, pin_options, *_OUTPUT, _DOCKET_DIR)


def record_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add to a command what a record is found and verified by: --ledger, the keys, --docket-dir."""
    return _with(command, _LEDGER, pin_options, _DOCKET_DIR)


def _with(command: Callable[..., Any], *options: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(options):
        command = option(command)
    return command


def source_of(receipt: str | None, asked: Mapping[str, Any] = MappingProxyType({})) -> Source:
    """Return where a record stands: the receipt that is named, or the newest; its ledger, or the one beside it.

    `asked` is what `record_options` took. UsageError says what is wrong with a key, or that there is no such ledger.
    """
    pins = pins_asked(asked) if asked else NO_PINS
    path = receipt_asked_for(receipt, asked.get("docket_dir"))
    return Source(receipt=path, ledger=ledger_named(asked.get("ledger")) or _beside(path), pins=pins)


def verified(source: Source) -> VerifiedRecord:
    """Return the record, verified; InvalidDocumentError with the first check that fails."""
    data = read_receipt(source.receipt)
    with ReadingProgress("verifying") as progress:
        found = examine_receipt(
            VerifyRequest(receipt=data, ledger_path=source.ledger, pins=source.pins, progress=progress)
        )
    verdict, where = found.verdict, source.receipt
    if verdict.word is Word.UNREADABLE or found.document is None:
        raise InvalidDocumentError(Reason.UNREADABLE, f"{where} is not exported: {verdict.detail}")
    if verdict.word is Word.FAILED:
        first = next(check for check in verdict.checks if check.status is Status.FAIL)
        detail = f"{where} is not exported, for it fails {first.name}: {first.detail}"
        raise InvalidDocumentError(Reason.VERIFICATION_FAILED, detail, hint="docket verify tells of all checks")
    if verdict.word is Word.INCOMPLETE:
        console.warn(console.plain(f"{where} says itself that its record is not whole: {_why(verdict.checks)}"))
    return VerifiedRecord(
        document=found.document,
        receipt_sha256=sha256(data),
        word=verdict.word,
        ledger_sha256=found.ledger_sha256,
    )


def read_again(source: Source, record: VerifiedRecord) -> VerifiedRecord:
    """Return a record that was verified and let go of, with its document; CHANGED_WHILE_READ for another one there."""
    data = read_receipt(source.receipt)
    found = examine_receipt(VerifyRequest(receipt=data, ledger_path=source.ledger))
    if found.document is None or sha256(data) != record.receipt_sha256:
        raise _changed(source.receipt)
    return replace(record, document=found.document)


def events_of(source: Source, record: VerifiedRecord) -> Iterator[Event]:
    """Yield the events of a verified ledger; CHANGED_WHILE_READ where it is not the one that was verified any more."""
    if source.ledger is None or record.ledger_sha256 is None:
        return
    with ReadingProgress("exporting") as progress:
        try:
            yield from events_again(counted(regular_file_chunks(source.ledger), progress), record.ledger_sha256)
        except InvalidDocumentError as error:
            raise _changed(source.ledger) from error


def write(pieces: Iterable[bytes], output: Output) -> None:
    """Write an export to its place; the pieces are asked for as they are written."""
    out = output.out
    if out is None:
        for piece in gathered(pieces):
            console.document(piece)
        return
    try:
        with SYSTEM_DISK.folder(Path(os.path.realpath(out.parent))) as folder:
            publish_chunks(folder, out.name, gathered(pieces), overwrite=output.force)
    except UnavailableError as error:
        if error.reason == Reason.ALREADY_EXISTS:
            raise _taken(out) from error
        raise
    console.say(console.plain(f"written to {out}"))


def output_of(out: Path | None, *, force: bool) -> Output:
    """Return where an export goes; UsageError, before any work, for what could not be written to in the end."""
    if out is not None:
        if not out.name or os.path.isdir(out):  # noqa: PTH112 - Path's own raises where it may not look
            raise UsageError(Reason.NOT_A_FILE, f"{out} is a folder: --out names a file")
        if not force and os.path.lexists(out):
            raise _taken(out)
        if not os.path.isdir(out.parent):  # noqa: PTH112
            raise UsageError(Reason.NOT_FOUND, f"{out.parent}: there is no such folder")
    return Output(out=out, force=force)


def refuse_terminal(output: Output, what: str) -> None:
    """Refuse to write bytes that are no text to a terminal."""
    if output.out is None and sys.stdout.isatty():
        raise UsageError(Reason.USAGE, f"{what} is no text for a terminal", hint="--out FILE writes it to a file")


def gathered(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same bytes in larger pieces."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= _WRITE_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if size:
        yield b"".join(held)


def say_without_ledger(record: VerifiedRecord, what: str) -> None:
    """Say what an export lacks where the ledger is not there."""
    if not record.checked:
        console.warn(console.plain(f"{record.docket_number}: its ledger is not there: {what}"))


def _beside(receipt: Path) -> Path | None:
    try:
        session_id = session_of(read_receipt(receipt))
    except DocketError:
        return None  # whoever reads it next says what is wrong with it
    return None if session_id is None else ledger_beside(receipt, session_id)


def _why(checks: tuple[Check, ...]) -> str:
    return next((check.detail for check in checks if check.status is Status.FAIL), "it names no reason")


def _changed(ledger: Path) -> UnavailableError:
    return UnavailableError(Reason.CHANGED_WHILE_READ, f"{ledger} is not what it was when it was verified")


def _taken(out: Path) -> UsageError:
    return UsageError(Reason.ALREADY_EXISTS, f"{out} is there already", hint="--force writes over it")
