"""Locks between processes."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.host import locks as locks_module
from docket.host.locks import FileLock, is_held


class SteppedClock:
    """A monotonic clock that moves a second with each look."""

    def __init__(self) -> None:
        self.looks = 0

    def now(self) -> str:
        return "2026-01-31T09:00:00.000Z"

    def monotonic_ns(self) -> int:
        self.looks += 1
        return self.looks * 1_000_000_000


def refusal(path, **options):
    with pytest.raises(UnavailableError) as caught:
        FileLock.acquire(path, **options)
    return caught.value


def test_one_holder_at_a_time(tmp_path):
    path = tmp_path / "l"
    with FileLock.acquire(path):
        error = refusal(path)
        assert error.reason == Reason.LOCKED
        assert f"process {os.getpid()}" in error.detail
    with FileLock.acquire(path):
        pass
    assert not path.exists()


def test_the_holder_is_written_down_with_its_start_time(tmp_path):
    with FileLock.acquire(tmp_path / "l"):
        pid, started = (tmp_path / "l").read_text().split()
        assert int(pid) == os.getpid()
        assert started == Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
        assert (tmp_path / "l").stat().st_mode & 0o777 == 0o600


def test_a_lock_is_kept_from_another_process_until_its_holder_dies(tmp_path):
    path = tmp_path / "l"
    program = (
        "import sys, pathlib\n"
        "from docket.host.locks import FileLock\n"
        "lock = FileLock.acquire(pathlib.Path(sys.argv[1]))\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout.readline() == b"held\n"
        assert f"process {child.pid}" in refusal(path).detail
        child.kill()
        child.wait()
    with FileLock.acquire(path, wait_seconds=5):
        assert path.read_text().split()[0] == str(os.getpid())


def test_a_lock_is_waited_for(tmp_path):
    path = tmp_path / "l"
    held = FileLock.acquire(path)
    waiting = threading.Event()
    got = []

    def wait():
        waiting.set()
        with FileLock.acquire(path, wait_seconds=30):
            got.append("lock")

    thread = threading.Thread(target=wait)
    thread.start()
    waiting.wait()
    assert got == []
    held.release()
    held.release()
    thread.join()
    assert got == ["lock"]


def test_a_deadline_that_has_passed_takes_not_even_a_free_lock(tmp_path):
    assert refusal(tmp_path / "l", wait_seconds=-1).reason == Reason.LOCKED
    assert not (tmp_path / "l").exists()


def test_waiting_ends_at_the_deadline(tmp_path):
    clock = SteppedClock()
    with FileLock.acquire(tmp_path / "l"):
        assert refusal(tmp_path / "l", wait_seconds=4.5, clock=clock).reason == Reason.LOCKED
    assert clock.looks <= 8


def test_a_lock_file_that_was_unlinked_locks_nobody_out(tmp_path, monkeypatch):
    path = tmp_path / "l"
    held = FileLock.acquire(path)
    path.unlink()
    with FileLock.acquire(path) as second:
        assert refusal(path).reason == Reason.LOCKED
        held.release()
        assert path.exists(), "the first holder must not remove the second one's file"
        assert second.path == path

    # The file goes between open and flock: what was locked is then no longer the file of that name.
    flock = fcntl.flock
    vanished = []

    def vanish_then_lock(descriptor, operation):
        if not vanished:
            vanished.append(path.unlink())
        flock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", vanish_then_lock)
    with FileLock.acquire(path, wait_seconds=5):
        assert path.exists()
    assert vanished


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.symlink_to("elsewhere"), Reason.IS_A_SYMLINK),
        (lambda path: path.mkdir(), Reason.NOT_A_FILE),
        (os.mkfifo, Reason.NOT_A_FILE),
    ],
    ids=["link", "folder", "fifo"],
)
def test_only_a_regular_file_is_locked(tmp_path, make, reason):
    make(tmp_path / "l")
    assert refusal(tmp_path / "l").reason == reason
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_is_missing(tmp_path):
    assert refusal(tmp_path / "none" / "l").reason == Reason.NOT_FOUND


def test_a_file_system_without_locks_says_so(tmp_path, monkeypatch):
    def no_locks(_descriptor, _operation):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    assert "no locks available" in refusal(tmp_path / "l").detail


def test_a_full_disk_does_not_keep_anyone_from_locking(tmp_path, monkeypatch):
    def full(*_arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with FileLock.acquire(tmp_path / "l"):
        assert "another process" in refusal(tmp_path / "l").detail


def test_who_holds_a_lock_may_be_unknown(tmp_path, monkeypatch):
    path = tmp_path / "l"
    monkeypatch.setattr(locks_module, "_start_time", lambda _pid: "?")
    with FileLock.acquire(path):
        assert path.read_text() == f"{os.getpid()} ?\n"
        path.write_text("not a number")
        assert "another process" in refusal(path).detail


def test_a_process_that_is_gone_has_no_start_time():
    assert locks_module._start_time(2**22 + 1) == "?"


def test_releasing_survives_a_folder_that_is_gone(tmp_path):
    (tmp_path / "d").mkdir()
    lock = FileLock.acquire(tmp_path / "d" / "l")
    (tmp_path / "d" / "l").unlink()
    (tmp_path / "d").rmdir()
    lock.release()


def test_whether_a_lock_is_held_is_seen_without_a_trace(tmp_path):
    path = tmp_path / "a.lock"
    assert not is_held(path)
    assert list(tmp_path.iterdir()) == []
    with FileLock.acquire(path):
        content = path.read_bytes()
        assert is_held(path)
        assert path.read_bytes() == content
    path.write_bytes(b"left by a dead process\n")
    assert not is_held(path)
    assert path.read_bytes() == b"left by a dead process\n"
    with FileLock.acquire(path):
        assert is_held(path)
