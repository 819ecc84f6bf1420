"""What commands print of the golden ledgers, whole, one file each; a change of one is a change of what people see.

`python tests/golden/test_transcripts.py` writes the files anew; read the difference before you keep it.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from docket.formats.canonical import encode_document
from docket.stores.layout import project_key
from docket.surfaces.cli.root import run
from golden_ledgers import samples
from golden_ledgers.judging import receipt_of

FOLDER = Path(__file__).parent / "transcripts"
# name, ledger, width of the terminal, command
CASES = {
    "watch-busy-80": ("busy", 80, ("watch", "--once")),
    "watch-busy-120": ("busy", 120, ("watch", "--once")),
    "watch-busy-40": ("busy", 40, ("watch", "--once")),
    "watch-busy-lines": ("busy", 80, ("watch", "--lines")),
    "watch-busy-json": ("busy", 80, ("watch", "--once", "--json")),
    "watch-asserted-80": ("asserted", 80, ("watch", "--once")),
    "watch-no-end-80": ("no_end", 80, ("watch", "--once")),
    "watch-cached-80": ("cached", 80, ("watch", "--once")),
    "runs": ("busy", 80, ("runs",)),
    "runs-json": ("busy", 80, ("runs", "--json")),
}


@contextlib.contextmanager
def project(name: str, width: int) -> Iterator[None]:
    """A project with one ledger, and with its receipt beside a damaged one."""
    before, folder = dict(os.environ), Path.cwd()
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(os.path.realpath(temporary))
        tree, ledger = root / "tree", samples.ALL[name]().data()
        receipts = tree / ".docket" / "receipts"
        runs = root / "state" / project_key(tree) / "runs"
        receipts.mkdir(parents=True)
        runs.mkdir(parents=True)
        (runs / "0123456789ab.jsonl").write_bytes(ledger)
        (receipts / "DKT-20261001-00C0DE.receipt.json").write_bytes(encode_document(receipt_of(ledger)))
        (receipts / "DKT-20260930-BADBAD.receipt.json").write_bytes(b"[]")
        os.environ.update({"DOCKET_STATE_DIR": str(root / "state"), "COLUMNS": str(width), "LINES": "40"})
        os.environ.pop("DOCKET_FORCE_COLOR", None)
        os.chdir(tree)
        try:
            yield
        finally:
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(before)


def printed(name: str) -> str:
    """What the command of a case prints; the project's own folder stands as TREE."""
    ledger, width, command = CASES[name]
    out = io.StringIO()
    with project(ledger, width), contextlib.redirect_stdout(out):
        tree = os.getcwd()
        run(list(command))
    return out.getvalue().replace(tree, "TREE")


@pytest.mark.parametrize("name", sorted(CASES))
def test_what_is_printed_is_the_one_on_file(name: str) -> None:
    assert printed(name) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def test_no_transcript_is_left_over() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*")) == sorted(CASES)


if __name__ == "__main__":
    for case in CASES:
        (FOLDER / f"{case}.txt").write_text(printed(case), encoding="utf-8")
