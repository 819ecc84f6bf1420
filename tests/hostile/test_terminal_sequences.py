"""Records whose every text tries to drive the terminal, shown by each command that shows one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from docket.errors import InvalidDocumentError
from docket.formats.canonical import encode_document
from docket.surfaces.cli.root import root
from golden_ledgers import mutate, samples
from golden_ledgers.build import LedgerBuilder
from golden_ledgers.judging import bodies, chained, lines_of, receipt_of
from golden_ledgers.strange import strange

# A title, a cleared screen by a C1 control, a turned direction, a line that looks like docket's own, an invisible tag.
DRIVING = "\x1b]0;title\x07\x9b2J\u202e\x7f\nFAKE: exit 0\r\U000e0041"
SEEN_BY_TERMINALS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\U000e0000-\U000e007f]|^FAKE", re.MULTILINE)
# Where the run's files are looked for under these names, a record with others is another's.
NAMES = ("session_id", "docket_number")


def driven(good: LedgerBuilder, *, names_too: bool) -> bytes:
    """Return the ledger with every text replaced that may be any text."""
    items = bodies(good.events)
    for index, (type_, at, data) in enumerate(items):
        changed = data
        for path, leaf in mutate.leaves(data):
            if not isinstance(leaf, str) or (path[0] in NAMES and not names_too):
                continue
            other = mutate.replaced(changed, path, DRIVING)
            try:
                receipt_of(lines_of(chained([*items[:index], (type_, at, other), *items[index + 1 :]], good.events)))
            except InvalidDocumentError:
                continue
            changed = other
        items[index] = (type_, at, changed)
    return lines_of(chained(items, good.events))


def shown(arguments: list[str]) -> Any:
    result = CliRunner().invoke(root, arguments)
    assert result.exception is None or isinstance(result.exception, (SystemExit, InvalidDocumentError))
    return result


@pytest.mark.parametrize("names_too", [False, True])
@pytest.mark.parametrize(
    "sample", [samples.busy, samples.cached, samples.asserted, samples.drilled, samples.pooled, strange]
)
def test_no_text_of_a_record_drives_the_terminal(sample: Any, names_too: bool, tmp_path: Path) -> None:
    raw = driven(sample(), names_too=names_too)
    ledger = tmp_path / "runs" / "0123456789ab.jsonl"
    receipt = tmp_path / "receipts" / "DKT-20261001-00C0DE.receipt.json"
    for path, data in ((ledger, raw), (receipt, encode_document(receipt_of(raw)))):
        path.parent.mkdir()
        path.write_bytes(data)
    watch, runs = ["watch", str(ledger)], ["runs", "--docket-dir", str(tmp_path)]
    for arguments in (
        [*watch, "--once"], [*watch, "--lines"], [*watch, "--once", "--json"], [*watch, "--json"],
        runs, [*runs, "--json"],
        ["report", str(receipt)], ["report", str(receipt), "--markdown"],
        ["verify", str(receipt)], ["verify", str(receipt), "--json"],
    ):  # fmt: skip
        result = shown(arguments)
        found = SEEN_BY_TERMINALS.search(result.output)
        assert found is None, (arguments, result.output[max(0, found.start() - 80) : found.end() + 20])
        if "--json" in arguments and result.exit_code == 0:
            assert json.loads(result.output)
