"""`docket export sarif`: what is found in a run, and its policy's violations, for where code is reviewed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from docket.rules.analysis.record import record_of
from docket.surfaces.cli import exits, exporting
from docket.surfaces.cli.completing import receipts_like
from docket.surfaces.export.record import json_line
from docket.surfaces.export.sarif import sarif_log


@click.command("sarif", short_help="Export what docket explain finds, as SARIF.")
@click.argument("receipt", required=False, shell_complete=receipts_like)
@exporting.export_options
def sarif(receipt: str | None, *, out: Path | None, **asked: Any) -> int:  # noqa: ANN401 - click's options, by name
    """Export what docket explain finds, and each violation of the policy, as SARIF 2.1.0.

    RECEIPT is a file or a docket number; without it, the newest run of this project. It is verified first.

    Paths are relative to the folder of the run, with every byte that is no plain letter percent-encoded. The same
    trouble in another run has the same partial fingerprint.

    \b
    Examples:
      docket export sarif > docket.sarif
      docket export sarif DKT-20260131-0A1B2C --out docket.sarif
    """
    output = exporting.output_of(out, force=asked["force"])
    source = exporting.source_of(receipt, asked)
    record = exporting.verified(source)
    exporting.say_without_ledger(record, "only what its usage rows tell is looked at")
    events = None if source.ledger is None else exporting.events_of(source, record)
    log = sarif_log(record_of(record.document, events), str(record.word))
    exporting.write([json_line(log) + b"\n"], output)
    return exits.OK
