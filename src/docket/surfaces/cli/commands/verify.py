"""`docket verify`: check a receipt, and the ledger it came from, offline."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from docket.engines.verify import VerifyRequest, decode_receipt, read_receipt, session_of, verify_receipt
from docket.errors import InvalidDocumentError, UnavailableError, UsageError
from docket.formats.canonical import first_member
from docket.formats.dataclass import replace
from docket.formats.proof.pins import NO_PINS, Pins
from docket.formats.reason import Reason
from docket.formats.run.verdict import Verdict, Word
from docket.stores.receipts import DOCKET_NUMBER, ledger_beside
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.completing import files_like, receipts_like
from docket.surfaces.cli.head_choice import heads_of
from docket.surfaces.cli.key_choice import pin_options, pins_asked
from docket.surfaces.cli.paths import ANY_PATH
from docket.surfaces.cli.progress import ReadingProgress
from docket.surfaces.cli.project import file_named, ledger_named, receipt_asked_for
from docket.surfaces.render.verdict import established, lines
from docket.surfaces.render.wrapping import wrapped

COMMIT_FORMAT = "docket/workspace-commit/v1"
_BEGINNING_BYTES = 4096
_OF_RECEIPTS = ("checkpoints", "state", "heads", "seal_keys")
_NO_STATE = (Reason.NOT_A_FILE, Reason.NOT_FOUND, Reason.NOT_A_DIRECTORY, Reason.TOO_LARGE)


@click.command()
@click.argument("receipt", type=ANY_PATH, required=False, shell_complete=receipts_like)
@click.option(
    "--ledger",
    type=ANY_PATH,
    shell_complete=files_like,
    help="The ledger it came from; without it, the one that stands beside the receipt, if any.",
)
@pin_options
@click.option("--checkpoints", type=ANY_PATH, metavar="FILE", shell_complete=files_like,
              help="The run's checkpoints; without it, the file that stands beside the ledger, if any.")  # fmt: skip
@click.option("--head", "heads", multiple=True, metavar="HEAD|FILE", shell_complete=files_like,
              help="A head that a run printed, 'ORIGIN SIZE ROOT', or a file of docket run --anchor: the ledger must "
              "begin so. May be repeated.")  # fmt: skip
@click.option("--state", type=ANY_PATH, metavar="FILE", shell_complete=files_like,
              help="What you verified before: a receipt older than that fails, a newer one is remembered.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
@click.option(
    "--require",
    type=click.Choice([str(Word.VERIFIED), str(Word.CONSISTENT)]),
    default=str(Word.CONSISTENT),
    show_default=True,
    help="What exit code 0 asks for.",
)
def verify(receipt: Path | None, *, ledger: Path | None, as_json: bool, require: str, **named: Any) -> int:  # noqa: ANN401
    """Check a receipt offline.

    RECEIPT is a file or a docket number of this project; without it, the newest run of this project. A record of docket
    tx commit is taken too: what is checked of that is its spelling and its signature.

    Every figure is recomputed. With the ledger, every member of the receipt is made again and compared. A receipt is
    "verified" only where a key vouches for it that you named: what a file says of itself proves nothing.

    \b
    Examples:
      docket verify .docket/latest.receipt.json
      docket verify DKT-20260131-0A1B2C
      docket verify receipt.json --ledger run.jsonl --json
      docket verify receipt.json --public-key docket.key.pub --require verified
      docket verify --head "docket.local/unsigned/0123456789ab 12 6bc7…" --state ~/verified.json
    """
    pins = pins_asked(named)
    receipt, checkpoints = _located(receipt), _there(named["checkpoints"])
    try:
        data = read_receipt(receipt)
        beside = None if ledger is not None else _ledger_of(receipt, data)
    except InvalidDocumentError as error:
        if not as_json:
            raise
        return _printed(Verdict(word=Word.UNREADABLE, detail=error.detail))
    if first_member(data[:_BEGINNING_BYTES], "format") == COMMIT_FORMAT:
        if ledger is not None or any(named[name] for name in _OF_RECEIPTS):
            raise UsageError(Reason.USAGE, f"{receipt} is the record of a commit: beside it stands nothing of a run's")
        return _verify_commit(receipt, data, pins, Word(require), as_json=as_json)
    asked = VerifyRequest(
        receipt=data,
        ledger_path=ledger_named(ledger) or beside,
        required=Word(require),
        pins=pins,
        checkpoints_path=checkpoints,
        heads=heads_of(named["heads"], data),
    )
    return _verify_run(receipt, asked, named["state"], as_json=as_json)


def _verify_run(path: Path, asked: VerifyRequest, state: Path | None, *, as_json: bool) -> int:
    """Check a receipt."""
    with ReadingProgress("verifying") as progress:
        verdict = _verdict(replace(asked, progress=progress), state)
    if as_json:
        return _printed(verdict)
    if verdict.word is Word.UNREADABLE:
        raise InvalidDocumentError(Reason.UNREADABLE, f"{path}: {verdict.detail}")
    _tell(verdict, asked.ledger_path)
    if verdict.word is not Word.FAILED and _is_copy(asked.receipt):
        console.result("It says of itself that it is a redacted copy: that all else is as it was is its maker's word.")
    _tell_unmet(verdict, asked)
    return exits.OK if verdict.ok else exits.FAILED


def _verify_commit(path: Path, data: bytes, pins: Pins, required: Word, *, as_json: bool) -> int:
    """Check the record of a commit that was made after its run."""
    from docket.engines.verify_commit import verify_commit  # noqa: PLC0415 - a receipt needs nothing of it

    verdict = verify_commit(data, pins, required)
    if as_json:
        return _printed(verdict)
    if verdict.word is Word.UNREADABLE:
        raise InvalidDocumentError(Reason.UNREADABLE, f"{path}: {verdict.detail}")
    for line in lines(verdict, console.columns()):
        console.result(line)
    console.result(f"\n{console.plain(verdict.docket_number or '?')}  {verdict.word}")
    return exits.OK if verdict.ok else exits.FAILED


def _printed(verdict: Verdict) -> int:
    console.result(console.as_json(verdict.to_json()))
    return exits.OK if verdict.ok else exits.FAILED


def _tell(verdict: Verdict, ledger: Path | None) -> None:
    width = console.columns()
    for line in lines(verdict, width):
        console.result(line)
    used = "no ledger" if ledger is None else f"the ledger {ledger}"
    said = f"{console.plain(verdict.docket_number or '?')}  {verdict.word}, checked with {console.plain(used)}"
    console.result("")
    for line in (*wrapped(said, width), *wrapped(established(verdict, ledger), width)):
        console.result(line)


def _tell_unmet(verdict: Verdict, asked: VerifyRequest) -> None:
    if verdict.ok or verdict.word is Word.FAILED:
        return
    named = asked.required is Word.VERIFIED and asked.pins == NO_PINS
    hint = ": name whose key has to vouch, with --public-key" if named else ""
    console.say(f"exit {int(exits.FAILED)}: {verdict.word} is less than the {asked.required} that was required{hint}")


def _verdict(asked: VerifyRequest, state: Path | None) -> Verdict:
    if state is None:
        return verify_receipt(asked)
    from docket.engines.verify_state import verify_with_state  # noqa: PLC0415 - nothing else that verifies needs it

    try:
        return verify_with_state(asked, state, lambda told: console.say(console.plain(told)))
    except InvalidDocumentError as error:
        raise UsageError(error.reason, f"--state: {error.detail}") from error
    except UnavailableError as error:
        if error.reason not in _NO_STATE:
            raise
        raise UsageError(error.reason, f"--state: {error.detail}") from error


def _is_copy(data: bytes) -> bool:
    # A receipt is not decoded again where it cannot be one.
    return b'"redaction"' in data and "redaction" in decode_receipt(data)


def _there(checkpoints: Path | None) -> Path | None:
    if checkpoints is not None:
        file_named("--checkpoints", checkpoints, "file of checkpoints")
    return checkpoints


def _located(receipt: Path | None) -> Path:
    """Return the file that was named, or the receipt in this project's evidence that its number names."""
    if receipt is not None and (os.path.lexists(receipt) or not DOCKET_NUMBER.fullmatch(str(receipt).upper())):
        return receipt
    return receipt_asked_for(None if receipt is None else str(receipt), None)


def _ledger_of(receipt: Path, data: bytes) -> Path | None:
    """Return the ledger that stands in the folder of the receipt's evidence, or None."""
    session_id = session_of(data)
    return None if session_id is None else ledger_beside(receipt, session_id)
