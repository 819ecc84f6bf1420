"""What a page is made of: packed as it is read, and bounded."""

from __future__ import annotations

import base64
import gzip
import hashlib
from pathlib import Path

import pytest

from docket.engines.run_page import gather, packing
from docket.engines.run_page.gather import gathered
from docket.engines.run_page.gathered import PageRequest
from docket.engines.run_page.packing import Packer, packed
from docket.formats.relpath import RelPath
from golden_ledgers import samples
from golden_ledgers.build import added, closed, opened
from golden_ledgers.judging import receipt_of
from page_lab import layout_of, write


@pytest.mark.parametrize("stated", [0, 9 * 1024 * 1024])
def test_pieces_are_packed_as_the_whole_is(stated: int) -> None:
    data = bytes(range(256)) * 500
    packer = Packer(stated)
    assert b"".join(packer.through([data[:1000], b"", data[1000:]])) == data
    found = packer.finish()
    assert gzip.decompress(base64.b64decode(found.coded or "", validate=True)) == data
    assert (found.size_bytes, found.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert packed(data) == packed(data)


def test_what_is_too_large_is_told_and_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MOST_PACKED_BYTES", 100)
    data = hashlib.shake_256(b"x").digest(5_000)  # nothing that could be packed smaller
    packer = Packer()
    for at in range(0, len(data), 100):
        packer.add(data[at : at + 100])
    found = packer.finish()
    assert (found.coded, found.size_bytes, found.sha256) == (None, 5_000, hashlib.sha256(data).hexdigest())


def test_a_ledger_beyond_its_bound_is_not_read_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = samples.anthropic()
    path = write(tmp_path, ledger.data(), receipt_of(ledger.data()))
    monkeypatch.setattr(gather, "MOST_LEDGER_BYTES", 100)
    with gathered(PageRequest(path=path, layout=layout_of(tmp_path))) as run:
        assert run.evidence.ledger is None
        assert "is larger than 100 bytes" in run.evidence.why_no_ledger
        assert len(run.told.calls) == 2  # its rows tell them


def test_of_changes_beyond_those_listed_the_path_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [b"src/%03d" % at for at in range(60)] + [b"zz/out"]
    ledger = opened()
    for path in paths[:-1]:
        ledger.add(added(path))
    ledger = closed(ledger, "0.00", (paths[-1],))
    monkeypatch.setattr(gather, "MOST_LISTED", 20)
    place = write(tmp_path, ledger.data(), receipt_of(ledger.data()))
    with gathered(PageRequest(path=place, layout=layout_of(tmp_path))) as run:
        assert [change.path for change in run.told.changes] == [RelPath.parse(path) for path in paths]
        assert run.told.changes[5].after is not None
        assert len(list(run.comparisons)) == gather.MOST_UNHELD


def test_a_ledger_that_is_a_link_is_left_out(tmp_path: Path) -> None:
    ledger = samples.chat()
    path = write(tmp_path, ledger.data(), receipt_of(ledger.data()))
    place = tmp_path / "runs/0123456789ab.jsonl"
    place.rename(tmp_path / "elsewhere.jsonl")
    place.symlink_to(tmp_path / "elsewhere.jsonl")
    with gathered(PageRequest(path=path, layout=layout_of(tmp_path))) as run:
        assert run.evidence.ledger is None
        assert run.evidence.why_no_ledger != ""
