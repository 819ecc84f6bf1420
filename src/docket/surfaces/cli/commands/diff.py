"""`docket diff`: two runs side by side."""

from __future__ import annotations

from pathlib import Path

import click

from docket.engines.analyse import analyse
from docket.rules.analysis.comparison import compared
from docket.surfaces.cli import console, exits
from docket.surfaces.cli.completing import receipts_like
from docket.surfaces.cli.paths import ANY_PATH
from docket.surfaces.cli.recorded import Named, named_record, warn_of_ledger
from docket.surfaces.render import comparison as rendering


@click.command()
@click.argument("left", shell_complete=receipts_like)
@click.argument("right", shell_complete=receipts_like)
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
@click.option("--docket-dir", type=ANY_PATH, help="Where the runs' evidence stands.")
def diff(left: str, right: str, *, as_json: bool, docket_dir: Path | None) -> int:
    """Compare two runs: cost, calls, tokens, models, files, findings, policy and time.

    LEFT and RIGHT are receipts or docket numbers; the change is RIGHT less LEFT. What keeps figures from comparing,
    such as other prices or another policy, is said. Findings take the ledgers, where they stand beside the receipts.

    \b
    Examples:
      docket diff DKT-20260131-0A1B2C DKT-20260201-3D4E5F
      docket diff before.receipt.json after.receipt.json --json | jq '.figures[0]'
    """
    records = [named_record(name, None, docket_dir) for name in (left, right)]
    analyses = [analyse(record.document, record.ledger) for record in records]
    pairs = [(record.document, analysis.findings) for record, analysis in zip(records, analyses, strict=True)]
    comparison = compared(pairs[0], pairs[1])
    if as_json:
        names = {"left": _number(records[0]), "right": _number(records[1])}
        console.result(console.as_json({**names, **comparison.to_json()}))
    else:
        for line in rendering.lines(records[0].document, records[1].document, comparison, console.columns()):
            console.result(line)
    for record, analysis in zip(records, analyses, strict=True):
        warn_of_ledger(record.path, is_its_ledger=analysis.is_its_ledger)
    return exits.OK


def _number(record: Named) -> object:
    return record.document.get("docket_number")
