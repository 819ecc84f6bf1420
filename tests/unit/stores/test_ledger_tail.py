"""Following a ledger that somebody else writes: whole lines, every time, and nothing left behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from docket.errors import InvalidDocumentError, UnavailableError
from docket.formats.ledger.event import Event
from docket.stores.ledger_tail import LedgerTail, Restarted
from golden_ledgers import samples

LEDGER = samples.chat()
RAW = LEDGER.data()


def seqs(tail: LedgerTail) -> list[int | str]:
    return [item.seq if isinstance(item, Event) else "restarted" for item in tail.poll()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "0123456789ab.jsonl"


def test_events_come_once_and_a_torn_line_waits_until_it_is_whole(path: Path) -> None:
    tail, ends = LedgerTail([path]), [index + 1 for index, byte in enumerate(RAW) if byte == 10]
    path.write_bytes(RAW[: ends[1] + 7])
    assert seqs(tail) == [0, 1]
    assert seqs(tail) == []
    path.write_bytes(RAW[: ends[2]])
    assert seqs(tail) == [2]
    path.write_bytes(RAW)
    assert seqs(tail) == list(range(3, len(LEDGER.events)))


def test_a_byte_at_a_time_gives_every_event_in_order(path: Path) -> None:
    tail, found = LedgerTail([path]), []
    with path.open("wb", buffering=0) as file:
        for place in range(0, len(RAW), 97):
            file.write(RAW[place : place + 97])
            found += seqs(tail)
    assert found == list(range(len(LEDGER.events)))


def test_a_ledger_that_is_not_there_yet_is_nothing_and_then_something(path: Path) -> None:
    tail = LedgerTail([path])
    assert (seqs(tail), tail.path) == ([], None)
    path.write_bytes(RAW)
    assert (len(seqs(tail)), tail.path) == (len(LEDGER.events), path)


def test_a_ledger_that_moved_is_found_in_its_other_place_and_told_anew(path: Path, tmp_path: Path) -> None:
    moved = tmp_path / "runs" / path.name
    tail = LedgerTail([path, moved])
    path.write_bytes(RAW)
    seqs(tail)
    moved.parent.mkdir()
    path.rename(moved)
    assert (seqs(tail), tail.path) == ([], moved)
    (tmp_path / "copy").write_bytes(RAW)
    os.replace(tmp_path / "copy", moved)
    assert seqs(tail) == ["restarted", *range(len(LEDGER.events))]


def test_a_batch_that_was_cut_off_again_begins_the_reading_anew(path: Path) -> None:
    ends = [index + 1 for index, byte in enumerate(RAW) if byte == 10]
    tail = LedgerTail([path])
    path.write_bytes(RAW)
    seqs(tail)
    with path.open("r+b") as file:
        file.truncate(ends[3])
    assert seqs(tail) == ["restarted", 0, 1, 2, 3]


def test_other_events_in_the_place_of_a_cut_batch_are_read_from_the_beginning(path: Path) -> None:
    other = samples.anthropic().data()
    ends = [index + 1 for index, byte in enumerate(RAW) if byte == 10]
    tail = LedgerTail([path])
    path.write_bytes(RAW[: ends[4] + 11])
    seqs(tail)
    path.write_bytes(other)
    assert seqs(tail) == ["restarted", *range(other.count(b"\n"))]


def test_what_is_wrong_from_the_beginning_is_an_error_that_names_the_event(path: Path) -> None:
    path.write_bytes(RAW.replace(b'"golden"', b'"goldem"', 1))
    with pytest.raises(InvalidDocumentError, match="event 0: its hash"):
        seqs(LedgerTail([path]))


def test_a_link_is_not_followed_and_a_folder_is_no_ledger(path: Path, tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(RAW)
    path.symlink_to(tmp_path / "real")
    with pytest.raises(UnavailableError):
        seqs(LedgerTail([path]))
    path.unlink()
    path.mkdir()
    with pytest.raises(UnavailableError):
        seqs(LedgerTail([path]))


def test_no_file_stays_open_and_nothing_is_made(path: Path) -> None:
    path.write_bytes(RAW)
    before = set(os.listdir("/proc/self/fd"))
    tail = LedgerTail([path])
    seqs(tail)
    assert set(os.listdir("/proc/self/fd")) == before
    assert os.listdir(path.parent) == [path.name]
    assert Restarted.RESTARTED not in list(tail.poll())
