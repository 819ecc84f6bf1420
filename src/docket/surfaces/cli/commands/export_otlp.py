"""`docket export otlp`: a run as one trace that OpenTelemetry's collectors read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from docket.surfaces.cli import exits, exporting
from docket.surfaces.cli.completing import receipts_like
from docket.surfaces.export.otlp import traces


@click.command("otlp", short_help="Export a run as one OpenTelemetry trace.")
@click.argument("receipt", required=False, shell_complete=receipts_like)
@exporting.export_options
def otlp(receipt: str | None, *, out: Path | None, **asked: Any) -> int:  # noqa: ANN401 - click's options, by name
    """Export a run as one trace in OTLP/JSON, by the semantic conventions for generative AI.

    RECEIPT is a file or a docket number; without it, the newest run of this project. It is verified first.

    The agent's run is the root; each model call and each tool is a span under it, with tokens, cost and outcome. No
    prompt, reply, argument or result is in it. The same record gives the same trace and span ids.

    \b
    Examples:
      docket export otlp --out trace.json
      docket export otlp | curl -sS -H 'Content-Type: application/json' -d @- http://127.0.0.1:4318/v1/traces
    """
    output = exporting.output_of(out, force=asked["force"])
    source = exporting.source_of(receipt, asked)
    record = exporting.verified(source)
    exporting.say_without_ledger(record, "the trace is its root alone, without calls and tools")
    exporting.write(traces(record, exporting.events_of(source, record)), output)
    return exits.OK
