"""What a page is made of: packed as it is read, and bounded."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from docket.engines.run_page import gather, packing
from docket.engines.run_page.gather import gathered
from docket.engines.run_page.gathered import PageRequest
from docket.engines.run_page.packing import Packer, packed
from docket.formats.digest import sha256
from docket.formats.relpath import RelPath
from docket.formats.windows.delta import FileDelta, Hunk, encode_delta
from docket.formats.windows.names import Operation
from golden_ledgers import samples
from golden_ledgers.build import added, closed, opened
from golden_ledgers.judging import bodies, chained, lines_of, receipt_of
from page_lab import held, layout_of, page_at, parsed, write
from verify_js.test_deltas_at_hand import delta


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


def test_deltas_at_hand_show_lines_and_go_with_the_page(tmp_path: Path) -> None:
    file = FileDelta(
        path=RelPath.parse(b"src/<b>.py"), operation=Operation.EDIT, before_hash="1" * 40, after_hash="2" * 40,
        before_mode="100644", after_mode="100644",
        hunks=(Hunk(old_start=3, new_start=3, old_lines=(b"one",), new_lines=(b"two <i>", b"three")),),
    )  # fmt: skip
    whole = encode_delta(replace(delta("toolu_01"), files=(file,)))
    names = {"e1" * 32: whole, "e2" * 32: b"no delta"}
    ledger = samples.windowed()
    items = bodies(ledger.events)
    for _, _, data in items:
        if data.get("delta_sha256") in names:
            data["delta_sha256"] = sha256(names[data["delta_sha256"]])
    raw = lines_of(chained(items, ledger.events))
    path = write(tmp_path, raw, receipt_of(raw))
    folder = tmp_path / "windows" / "deltas"
    folder.mkdir(parents=True)
    for document in names.values():
        (folder / f"{sha256(document)}.json").write_bytes(document)
    with gathered(PageRequest(path=path, layout=layout_of(tmp_path))) as run:
        assert list(run.deltas) == [sha256(whole)]
        assert run.evidence.delta_count == 1
    page = parsed(page_at(path))
    assert json.loads(held(page, "deltas")) == {sha256(whole): whole.decode()}
    said = page.one("section", id="windows").text
    assert "-one" in said
    assert "+two <i>" in said
    assert "src/<b>.py" in said
    assert not page.every("i")
