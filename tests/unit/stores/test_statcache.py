from __future__ import annotations

import hashlib
import os
import stat
import struct
import threading
from pathlib import Path

import pytest

from docket.host.tree import file_key
from docket.stores.statcache import KEY_BYTES, StatCache, is_settled, marked_entry

SECOND = 1_000_000_000
NOW = 1_700_000_000 * SECOND + 123_456_789


def key(number: int) -> bytes:
    return struct.pack("<QQqqq", 1, number, number, -number, NOW)


def digest(number: int) -> bytes:
    return hashlib.sha256(b"%d" % number).digest()


def fresh(*numbers: int) -> bytes:
    return b"".join(key(number) + digest(number) for number in numbers)


def met(*numbers: int) -> bytes:
    return b"".join(key(number) for number in numbers)


@pytest.mark.parametrize(
    ("ctime_ns", "settled"),
    [
        (NOW - 20_000_001, True),
        (NOW - 20_000_000, False),
        (NOW, False),
        (NOW + SECOND, False),
        (NOW // SECOND * SECOND, False),
        ((NOW // SECOND - 1) * SECOND, False),
        ((NOW // SECOND - 2) * SECOND, True),
    ],
)
def test_the_racy_rule(ctime_ns, settled):
    assert is_settled(ctime_ns, NOW) is settled


def test_a_key_holds_what_changes_with_a_file(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"abc")
    status = path.stat()
    assert file_key(status) == struct.pack(
        "<QQqqq", status.st_dev, status.st_ino, 3, status.st_mtime_ns, status.st_ctime_ns
    )
    assert len(file_key(status)) == KEY_BYTES


def test_what_is_kept_is_known_until_it_is_not_met():
    cache = StatCache()
    cache.keep(b"", fresh(1, 2, 3))
    assert [cache.lookup(key(n)) for n in (1, 2, 3, 4)] == [digest(1), digest(2), digest(3), None]
    cache.keep(met(1, 2, 3), b"")
    assert cache.files == 3
    cache.keep(met(1, 3), fresh(4))
    assert [cache.lookup(key(n)) is not None for n in (1, 2, 3, 4)] == [True, False, True, True]
    cache.keep(met(9), b"")
    assert cache.files == 0


def test_it_is_read_back_from_a_private_file(tmp_path):
    path = tmp_path / "state/cache"
    StatCache(path).keep(b"", fresh(1, 2))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == ["cache"]
    again = StatCache(path)
    assert again.files == 2
    assert again.lookup(key(2)) == digest(2)


def test_nothing_is_written_when_nothing_changed(tmp_path):
    path = tmp_path / "cache"
    cache = StatCache(path)
    cache.keep(b"", fresh(1, 2))
    before = path.stat()
    cache.keep(met(1, 2), b"")
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    cache.keep(met(1), b"")
    assert path.stat().st_ino != before.st_ino


def test_what_happens_to_the_file_changes_nothing_in_a_cache_that_was_read(tmp_path):
    path = tmp_path / "cache"
    StatCache(path).keep(b"", fresh(1))
    cache = StatCache(path)
    forged = StatCache(path)
    forged.keep(b"", key(1) + digest(2))
    assert cache.lookup(key(1)) == digest(1)


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGE = {
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "one byte short": lambda data: data[:-1],
    "one byte more": lambda data: data + b"\0",
    "another magic": lambda data: flipped(data, 0),
    "another checksum": lambda data: flipped(data, 25),
    "another body": lambda data: flipped(data, len(data) - 1),
    "half an entry, checksum right": lambda data: data[:20] + hashlib.sha256(data[52:100]).digest() + data[52:100],
    "text": lambda data: b"not a cache\n",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_a_lost_one(tmp_path, damage):
    path = tmp_path / "cache"
    StatCache(path).keep(b"", fresh(1, 2))
    path.write_bytes(damage(path.read_bytes()))
    cache = StatCache(path)
    assert cache.files == 0
    cache.keep(b"", fresh(3))
    assert StatCache(path).lookup(key(3)) == digest(3)


def test_a_link_in_its_place_is_not_read_and_not_followed(tmp_path):
    other, path = tmp_path / "other", tmp_path / "cache"
    StatCache(other).keep(b"", fresh(1))
    content = other.read_bytes()
    path.symlink_to("other")
    cache = StatCache(path)
    assert cache.files == 0
    cache.keep(b"", fresh(2))
    assert other.read_bytes() == content
    assert not path.is_symlink()


def test_a_fifo_in_its_place_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "cache")
    assert StatCache(tmp_path / "cache").files == 0


def test_a_place_that_cannot_be_written_costs_nothing_but_time(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "file/cache", tmp_path / "folder"):
        cache = StatCache(path)
        cache.keep(b"", fresh(1))
        assert cache.lookup(key(1)) == digest(1)
    assert os.listdir(tmp_path / "folder") == []
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"], "what was begun is removed"


def test_readers_see_the_old_file_or_the_new_one(tmp_path):
    path = tmp_path / "cache"
    StatCache(path).keep(b"", fresh(*range(2000)))
    seen, done = set(), threading.Event()

    def read():
        while not done.is_set():
            seen.add(StatCache(path).files)

    reader = threading.Thread(target=read)
    reader.start()
    for count in (500, 2000, 500, 2000):
        StatCache(path).keep(b"", fresh(*range(count)))
    done.set()
    reader.join()
    assert seen <= {500, 2000}


def test_memory_alone_needs_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    StatCache().keep(b"", fresh(1))
    assert list(Path().iterdir()) == []


def test_attributes_are_remembered_with_a_digest(tmp_path):
    path = tmp_path / "cache"
    labelled, tagged = digest(2) + b"\x10security.selinux\xff", digest(3) + b"?"
    marked = marked_entry(key(2), labelled) + marked_entry(key(3), tagged)
    StatCache(path).keep(b"", fresh(1), marked)
    again = StatCache(path)
    assert [again.lookup(key(n)) for n in (1, 2, 3)] == [digest(1), labelled, tagged]
    again.keep(met(2), b"", marked_entry(key(4), tagged))
    assert [StatCache(path).lookup(key(n)) for n in (1, 2, 3, 4)] == [None, labelled, None, tagged]


def test_more_entries_than_a_group_holds_are_read_back(tmp_path):
    path = tmp_path / "cache"
    numbers = range(2 * 4096 + 1)
    StatCache(path).keep(b"", fresh(*numbers))
    again = StatCache(path)
    assert again.files == len(numbers)
    assert all(again.lookup(key(number)) == digest(number) for number in numbers)


@pytest.mark.parametrize("body", [b"\0" + struct.pack("<Q", 2**63), b"\5" + struct.pack("<Q", 0), b"\0" * 8])
def test_a_group_that_promises_more_than_there_is_makes_it_a_lost_file(tmp_path, body):
    path = tmp_path / "cache"
    path.write_bytes(b"docket/statcache/v2\n" + hashlib.sha256(body).digest() + body)
    assert StatCache(path).files == 0


def test_two_writers_leave_one_of_their_files(tmp_path):
    path = tmp_path / "cache"
    start = threading.Barrier(2)

    def write(first):
        cache = StatCache(path)
        start.wait()
        for number in range(first, first + 40):
            cache.keep(met(*range(first, number)), fresh(number))

    writers = [threading.Thread(target=write, args=(first,)) for first in (0, 1000)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    last = StatCache(path)
    known = [number for number in (*range(40), *range(1000, 1040)) if last.lookup(key(number)) is not None]
    assert last.files == len(known) > 0
    assert all(number < 40 for number in known) or all(number >= 1000 for number in known)
