"""`docket export tlog-proof` and `docket export trailer`: what ties a run, or one event of it, to its ledger's head."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from docket.engines.verify import reading_of
from docket.errors import InvalidDocumentError, UnavailableError, UsageError
from docket.formats.canonical import JsonObject, object_at
from docket.formats.digest import parse_digest
from docket.formats.proof.checkpoint import MAX_CHECKPOINTS_BYTES, TreeHead, read_checkpoints
from docket.formats.proof.note import write_note
from docket.formats.proof.tlog_proof import proof_text
from docket.formats.reason import Reason
from docket.host.durable import publish_public
from docket.host.git_trailers import with_trailers
from docket.host.regular_file import read_regular_file
from docket.stores.checkpoint_file import checkpoints_path
from docket.surfaces.cli import console, exits, exporting
from docket.surfaces.cli.completing import files_like, receipts_like
from docket.surfaces.cli.paths import ANY_PATH
from docket.surfaces.cli.project import file_named
from docket.surfaces.export.trailer import trailers_of

_MAX_MESSAGE_BYTES = 1024 * 1024


@click.command("tlog-proof", short_help="Prove that one event stands in a run's ledger.")
@click.argument("receipt", shell_complete=receipts_like)
@click.argument("seq", type=click.IntRange(min=0))
@exporting.export_options
def tlog_proof(receipt: str, seq: int, *, out: Path | None, force: bool, **asked: Any) -> int:  # noqa: ANN401
    """Export the proof that event SEQ stands in a run's ledger (c2sp.org/tlog-proof, version 1).

    RECEIPT is a file or a docket number; it is verified first. The run must have been signed, and its ledger and
    checkpoints be at hand. Whoever has the event, the proof and the run's verifier key needs neither of them.

    \b
    Examples:
      docket export tlog-proof DKT-20260131-0A1B2C 12
      docket export tlog-proof .docket/latest.receipt.json 12 --out call.tlog-proof
    """
    output = exporting.output_of(out, force=force)
    source = exporting.source_of(receipt, asked)
    document = exporting.verified(source).document
    if source.ledger is None:
        raise UnavailableError(
            Reason.NOT_FOUND, "the run's ledger is not at hand, and nothing can be proven without it"
        )
    note = _last_note(source.ledger)
    found = reading_of(source.ledger)
    if found.head != object_at(document, "ledger").get("head"):
        raise UnavailableError(
            Reason.CHANGED_WHILE_READ, f"{source.ledger} is not the ledger that was verified any more"
        )
    if seq >= found.events:
        raise UsageError(Reason.NOT_FOUND, f"the ledger has {found.events} events, from 0 to {found.events - 1}")
    exporting.write([proof_text(seq, found.tree.inclusion(seq), note).encode("utf-8")], output)
    return exits.OK


def _last_note(ledger: Path) -> str:
    """Return the last checkpoint of a verified ledger, which covers all of it, as a signed note."""
    path = checkpoints_path(ledger)
    try:
        last = read_checkpoints(read_regular_file(path, MAX_CHECKPOINTS_BYTES))[-1]
    except InvalidDocumentError as error:
        raise UnavailableError(error.reason, f"{path}: {error.detail}") from error
    if last.note is None:
        raise UnavailableError(
            Reason.NOT_FOUND, "no key signed the run's checkpoints", hint="docket run --sign KEY has them signed"
        )
    return write_note(last.note)


@click.command("trailer", short_help="Print the git trailers that name a run.")
@click.argument("receipt", required=False, shell_complete=receipts_like)
@click.option("--commit-message", type=ANY_PATH, metavar="FILE", shell_complete=files_like,
              help="Add them to the commit message in FILE, as from a hook of git's.")  # fmt: skip
@exporting.record_options
def trailer(receipt: str | None, *, commit_message: Path | None, **asked: Any) -> int:  # noqa: ANN401
    """Print the git trailers that name a run: its receipt's digest, and the head of its ledger.

    RECEIPT is a file or a docket number; without it, the newest run of this project. It is verified first.

    \b
    Examples:
      docket export trailer
      docket export trailer DKT-20260131-0A1B2C --commit-message .git/COMMIT_EDITMSG
    """
    record = exporting.verified(exporting.source_of(receipt, asked))
    lines = trailers_of(record.receipt_sha256, _head_of(record.document))
    if commit_message is None:
        for line in lines:
            console.result(console.plain(line))
        return exits.OK
    file_named("--commit-message", commit_message, "commit message")
    message = with_trailers(read_regular_file(commit_message, _MAX_MESSAGE_BYTES), lines)
    publish_public(commit_message, message, overwrite=True)
    return exits.OK


def _head_of(receipt: JsonObject) -> TreeHead | None:
    """Return the head of a verified receipt, where it says whose it is."""
    origin, ledger = object_at(receipt, "proof").get("origin"), object_at(receipt, "ledger")
    size = ledger.get("events")
    if not isinstance(origin, str) or not isinstance(size, int):
        return None
    return TreeHead(origin=origin, size=size, root=parse_digest(ledger.get("merkle_root")))
