"""`docket export usage`: usage rows of one or many runs, for analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from docket.errors import UnavailableError, UsageError
from docket.formats.dataclass import dataclass, replace
from docket.formats.reason import Reason
from docket.host.disk import SYSTEM_DISK
from docket.stores.layout import RECEIPTS, Layout, receipt_name
from docket.stores.unfinished import receipt_numbers
from docket.surfaces.cli import exits, exporting
from docket.surfaces.cli.completing import receipts_like
from docket.surfaces.cli.exporting import Source
from docket.surfaces.cli.project import current_folder, layout_at, warn_of_unfinished
from docket.surfaces.export.record import VerifiedRecord
from docket.surfaces.export.usage_files import comma_separated, json_lines, parquet
from docket.surfaces.export.usage_rows import UsageLine, usage_lines

FORMATS: Mapping[str, Callable[[Iterable[UsageLine]], Iterator[bytes]]] = {
    "jsonl": json_lines,
    "csv": comma_separated,
    "parquet": parquet,
}


@dataclass(frozen=True, slots=True)
class _Proven:
    """Where a verified record stands, and what was found of it, without its document unless it is the first."""

    source: Source
    record: VerifiedRecord


@click.command("usage", short_help="Export what each priced part of a call cost.")
@click.argument("receipts", nargs=-1, shell_complete=receipts_like)
@click.option("--all", "every", is_flag=True, help="All runs of this project that have a receipt.")
@click.option("--format", "kind", type=click.Choice(list(FORMATS)), default="jsonl", show_default=True,
              help="How rows are written; parquet takes pyarrow.")  # fmt: skip
@exporting.export_options
def usage(receipts: tuple[str, ...], *, every: bool, kind: str, out: Path | None, **asked: Any) -> int:  # noqa: ANN401
    """Export usage rows: what each priced part of each call used and cost.

    RECEIPTS are files or docket numbers; without any, the newest run of this project. All of them are verified before
    the first row is written. --ledger goes with one receipt.

    Tokens are split into kinds that add up; a cost is a decimal text and an integer of micro-dollars.

    \b
    Examples:
      docket export usage --format csv --out usage.csv
      docket export usage --all --format parquet --out usage.parquet
      docket export usage --all | jq -s 'group_by(.model)[] | [.[0].model, (map(.cost_micros) | add)]'
    """
    output = exporting.output_of(out, force=asked["force"])
    if kind == "parquet":
        exporting.refuse_terminal(output, "Parquet")
    if every and receipts:
        raise UsageError(Reason.USAGE, "--all and receipts do not go together")
    if asked["ledger"] is not None and (every or len(receipts) > 1):
        raise UsageError(Reason.USAGE, "--ledger goes with one receipt")
    sources = _all(asked) if every else _named(receipts, asked)
    proven = dict(_proven(sources))
    exporting.write(FORMATS[kind](_lines(proven.values())), output)
    return exits.OK


def _named(receipts: tuple[str, ...], asked: Mapping[str, Any]) -> Iterator[Source]:
    for receipt in receipts or (None,):
        yield exporting.source_of(receipt, asked)


def _all(asked: Mapping[str, Any]) -> Iterator[Source]:
    """Yield where the project's records stand, by their numbers; a copy that a person sees comes first."""
    layout = layout_at(current_folder(), asked["docket_dir"])
    warn_of_unfinished(layout)
    places = dict(_numbered(layout))
    if not places:
        detail = f"there is no receipt in {layout.docket_dir} or the state folder"
        raise UnavailableError(Reason.NOT_FOUND, detail, hint="docket run -- <agent> writes one")
    for number in sorted(places):
        yield exporting.source_of(str(places[number]), asked)


def _numbered(layout: Layout) -> Iterator[tuple[str, Path]]:
    for folder in dict.fromkeys((layout.state, layout.docket_dir)):
        for number in receipt_numbers(folder, SYSTEM_DISK):
            yield number, folder / RECEIPTS / receipt_name(number)


def _proven(sources: Iterable[Source]) -> Iterator[tuple[str, _Proven]]:
    """Verify each; yield it by its session. UsageError for two that tell of one session differently."""
    seen: dict[str, str] = {}
    for source in sources:
        record = exporting.verified(source)
        exporting.say_without_ledger(record, "its rows have no instants and no sub-agents")
        known = seen.setdefault(record.session_id, record.receipt_sha256)
        if known != record.receipt_sha256:
            detail = f"{source.receipt} and another one are of the session {record.session_id}, and differ"
            raise UsageError(Reason.DOCUMENTS_DISAGREE, detail)
        # The documents of many runs are not held at once: each other is read again when its rows are written.
        yield record.session_id, _Proven(source, record if len(seen) == 1 else replace(record, document={}))


def _lines(proven: Iterable[_Proven]) -> Iterator[UsageLine]:
    for one in proven:
        record = one.record if one.record.document else exporting.read_again(one.source, one.record)
        yield from usage_lines(record, exporting.events_of(one.source, record))
