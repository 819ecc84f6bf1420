"""`docket explain`: what is to be found in a run's record, and what to do about it."""

from __future__ import annotations

from pathlib import Path

import click

from docket.engines.analyse import analyse
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.completing import files_like, receipts_like
from docket.surfaces.cli.paths import ANY_PATH
from docket.surfaces.cli.recorded import named_record, warn_of_ledger
from docket.surfaces.render import findings as rendering


@click.command()
@click.argument("receipt", required=False, shell_complete=receipts_like)
@click.option("--ledger", type=ANY_PATH, shell_complete=files_like,
              help="The ledger it came from; without it, the one that stands beside the receipt, if any.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--docket-dir", type=ANY_PATH, help="Where the run's evidence stands.")
def explain(receipt: str | None, *, ledger: Path | None, as_json: bool, docket_dir: Path | None) -> int:
    """Explain where a run's money went and what went wrong: most money first, each with what to do next.

    RECEIPT is a file or a docket number; without it, the newest run of this project.

    Findings are judgements made from the record by fixed rules (docs/reference/findings.md): the same record gives the
    same findings. They are no part of a receipt, and nothing is verified here; that is `docket verify`.

    \b
    Examples:
      docket explain
      docket explain DKT-20260131-0A1B2C
      docket explain receipt.json --ledger run.jsonl --json | jq '.findings[0]'
    """
    record = named_record(receipt, ledger, docket_dir)
    analysis = analyse(record.document, record.ledger)
    if as_json:
        console.result(console.as_json(rendering.as_document(record.document, analysis.findings)))
    else:
        for line in rendering.lines(record.document, analysis.findings, console.columns()):
            console.result(line)
    warn_of_ledger(record.path, is_its_ledger=analysis.is_its_ledger)
    return exits.OK
