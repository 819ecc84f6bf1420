"""`docket export intoto`: a run as an in-toto Statement, in a DSSE envelope where a key signs it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from docket.errors import RefusedBeforeStartError, UnavailableError, UsageError
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.host.git_place import checked_out, find_git_place
from docket.rules.proof.ed25519 import Signer
from docket.surfaces.cli import exits, exporting
from docket.surfaces.cli.completing import files_like, receipts_like
from docket.surfaces.cli.key_choice import KeysAsked, voucher_for
from docket.surfaces.cli.project import current_folder
from docket.surfaces.export.dsse import envelope
from docket.surfaces.export.record import json_line
from docket.surfaces.export.statement import PAYLOAD_TYPE, statement

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


@click.command("intoto", short_help="Export a run as an in-toto Statement.")
@click.argument("receipt", required=False, shell_complete=receipts_like)
@click.option("--sign", metavar="KEY", shell_complete=files_like,
              help="Sign it: a file of docket keygen's, or fd:N. The result is a DSSE envelope.")  # fmt: skip
@click.option("--commit", metavar="ID|HEAD", help="A git commit that the run belongs to, as one more subject.")
@exporting.export_options
def intoto(receipt: str | None, *, sign: str | None, commit: str | None, out: Path | None, **asked: Any) -> int:  # noqa: ANN401
    """Export a run as an in-toto Statement (version 1, predicate urn:docket:predicate:run:v1).

    RECEIPT is a file or a docket number; without it, the newest run of this project. It is verified first.

    Subjects are the receipt and, where the ledger is there, the ledger, the tree after the run and the delta of each
    tool call. The predicate says of each member whether it was observed, reported or derived.

    \b
    Examples:
      docket export intoto > statement.json
      docket export intoto DKT-20260131-0A1B2C --sign ~/.keys/docket.key --out run.dsse.json
      docket export intoto --commit HEAD
    """
    output = exporting.output_of(out, force=asked["force"])
    signer = None if sign is None else _signer(sign)
    belongs_to = None if commit is None else _commit(commit)
    record = exporting.verified(exporting.source_of(receipt, asked))
    exporting.say_without_ledger(record, "the statement is about the receipt alone")
    told = json_line(statement(record, belongs_to))
    document = told if signer is None else json_line(envelope(PAYLOAD_TYPE, told, signer))
    exporting.write([document + b"\n"], output)
    return exits.OK


def _signer(named: str) -> Signer | None:
    try:
        return voucher_for(KeysAsked(sign=named), Policy(), current_folder()).signer
    except RefusedBeforeStartError as error:
        raise UsageError(error.reason, error.detail, hint=error.hint) from error


def _commit(named: str) -> str:
    """Return the name of a commit; no program is asked whether there is one."""
    if _COMMIT.fullmatch(named):
        return named
    place = find_git_place(current_folder()) if named == "HEAD" else None
    found = None if place is None else checked_out(place)
    if found is not None:
        return found
    if named != "HEAD":
        raise UsageError(Reason.USAGE, f"--commit {named}: write HEAD or all the digits of a commit's name")
    raise UnavailableError(Reason.NOT_FOUND, "--commit HEAD: no commit is checked out here")
