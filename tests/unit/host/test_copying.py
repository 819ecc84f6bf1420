"""Plain files are copied with exactly the content, mode and time that they are to have, or not at all."""

import errno
import hashlib
import os
from pathlib import Path

import pytest

from docket.formats.reason import Reason
from docket.host import copying
from docket.host.confined import ConfinedTree
from docket.host.copying import Copier, Source, Stopped
from docket.host.tree_calls import TreeCalls

OLD_NS = 1_500_000_000_123_456_789


def told(path: bytes, data: bytes, mode: int = 0o640):
    return path, mode, hashlib.sha256(data).hexdigest(), len(data), OLD_NS


class Lab:
    def __init__(self, folder: Path) -> None:
        self.base, self.stage = folder / "base", folder / "stage"
        (self.base / "d").mkdir(parents=True)
        (self.stage / "d").mkdir(parents=True)
        self.told: list[int] = []

    def copy(self, *files, shares=False, vouches=True, calls=None):
        root = os.open(self.base, os.O_RDONLY)
        calls = calls or TreeCalls()
        try:
            with ConfinedTree(os.fsencode(self.stage), durable=False, calls=calls) as tree:
                tree.ways.begin(lambda _path, _mode: b"", lambda _note: None)
                source = Source(root=root, vouches=lambda _ctime: vouches, shares=shares, tell=self.told.append)
                return tree.copy(files, Copier(calls, source))
        finally:
            os.close(root)

    def names(self) -> list[str]:
        return sorted(path.name for path in (self.stage / "d").iterdir())


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)


@pytest.mark.parametrize("data", [b"", b"x", b"y" * 5000, b"z" * 70], ids=len)
@pytest.mark.parametrize("place", ["d/f", "f"])
def test_a_file_has_content_mode_and_time(lab, monkeypatch, data, place):
    monkeypatch.setattr(copying, "_CHUNK_BYTES", 70)
    (lab.base / place).write_bytes(data)
    (made,) = lab.copy(told(place.encode(), data))
    status = (lab.stage / place).stat()
    assert (lab.stage / place).read_bytes() == data
    assert (status.st_mode & 0o7777, status.st_mtime_ns) == (0o640, OLD_NS)
    assert (made[1].st_ino, made[1].st_ctime_ns) == (status.st_ino, status.st_ctime_ns)
    assert sum(lab.told) == len(data)


def shorter(path: Path) -> None:
    path.write_bytes(b"a")


def longer(path: Path) -> None:
    path.write_bytes(b"abc")


def other(path: Path) -> None:
    path.write_bytes(b"xy")


def linked(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("change", [Path.unlink, shorter, longer, other, linked, piped])
@pytest.mark.parametrize("shares", [False, True])
def test_what_is_not_what_it_was_is_not_copied_nor_what_came_with_it(lab, change, shares):
    for name in ("f", "g"):
        (lab.base / "d" / name).write_bytes(b"ab")
    change(lab.base / "d/g")
    stopped = lab.copy(told(b"d/f", b"ab"), told(b"d/g", b"ab"), shares=shares)
    assert isinstance(stopped, Stopped)
    assert (stopped.path.raw, stopped.refusal.reason) == (b"d/g", Reason.CHANGED_WHILE_READ)
    assert lab.names() == []


def test_a_directory_that_became_a_link_is_not_entered(lab):
    (lab.base / "d").rename(lab.base / "e")
    (lab.base / "e/f").write_bytes(b"ab")
    (lab.base / "d").symlink_to("e")
    stopped = lab.copy(told(b"d/f", b"ab"))
    assert stopped.refusal.reason is Reason.CHANGED_WHILE_READ


def test_a_file_that_grows_while_it_is_read_is_not_copied(lab, monkeypatch):
    (lab.base / "d/f").write_bytes(b"ab")
    read = os.read

    def growing(descriptor, size):
        with (lab.base / "d/f").open("ab") as file:
            file.write(b"c")
        return read(descriptor, size)

    monkeypatch.setattr(copying.os, "read", growing)
    assert lab.copy(told(b"d/f", b"ab")).refusal.reason is Reason.CHANGED_WHILE_READ
    assert lab.names() == []


def test_nothing_is_written_over(lab):
    (lab.base / "d/f").write_bytes(b"ab")
    (lab.stage / "d/f").write_bytes(b"mine")
    stopped = lab.copy(told(b"d/f", b"ab"))
    assert stopped.refusal.failed
    assert (lab.stage / "d/f").read_bytes() == b"mine"


def test_docket_s_own_names_are_not_taken(lab):
    (lab.base / ".docket-apply-x").write_bytes(b"ab")
    assert lab.copy(told(b".docket-apply-x", b"ab")).refusal.reason is Reason.EXCLUDED


@pytest.mark.parametrize("call", ["write", "chmod", "set_mtime"])
def test_a_full_disk_is_a_refusal_and_leaves_no_part(lab, call):
    class Full(TreeCalls):
        __slots__ = ()

    def fail(*_arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    setattr(Full, call, fail)
    (lab.base / "d/f").write_bytes(b"ab")
    stopped = lab.copy(told(b"d/f", b"ab"), calls=Full())
    assert stopped.refusal.reason is Reason.NO_SPACE
    assert lab.names() == []


def test_what_was_made_in_a_directory_that_was_moved_is_removed_from_it(lab):
    (lab.base / "d/f").write_bytes(b"ab")

    class Moving(TreeCalls):
        __slots__ = ()

        def set_mtime(self, place, mtime_ns):
            super().set_mtime(place, mtime_ns)
            (lab.stage / "d").rename(lab.stage / "away")
            (lab.stage / "d").mkdir()

    stopped = lab.copy(told(b"d/f", b"ab"), calls=Moving())
    assert stopped.refusal.reason is Reason.MOVED_WHILE_WRITTEN
    assert list((lab.stage / "away").iterdir()) == []


@pytest.fixture
def sharing(monkeypatch):
    """Let a file system share that cannot: what is shared is the content of that moment."""

    def share(source: int, target: int) -> None:
        os.write(target, os.pread(source, 1000, 0))

    monkeypatch.setattr(copying, "share", share)
    monkeypatch.setattr(copying, "SHARED_FROM_BYTES", 0)


@pytest.mark.usefixtures("sharing")
@pytest.mark.parametrize("vouches", [False, True])
def test_a_shared_file_is_compared(lab, vouches):
    (lab.base / "d/f").write_bytes(b"ab")
    assert not isinstance(lab.copy(told(b"d/f", b"ab"), shares=True, vouches=vouches), Stopped)
    assert (lab.stage / "d/f").read_bytes() == b"ab"
    (lab.base / "d/g").write_bytes(b"xy")
    stopped = lab.copy(told(b"d/g", b"ab"), shares=True, vouches=vouches)
    assert stopped.refusal.reason is Reason.CHANGED_WHILE_READ


def test_a_small_file_is_written_rather_than_shared(lab, monkeypatch):
    sizes: list[int] = []
    monkeypatch.setattr(copying, "share", lambda source, _target: sizes.append(os.fstat(source).st_size))
    for name, size in (("f", copying.SHARED_FROM_BYTES - 1), ("g", copying.SHARED_FROM_BYTES)):
        (lab.base / "d" / name).write_bytes(b"a" * size)
        lab.copy(told(b"d/" + name.encode(), b"a" * size), shares=True)
    assert sizes == [copying.SHARED_FROM_BYTES]


@pytest.mark.parametrize("vouches", [False, True])
def test_a_file_that_was_another_when_it_was_shared_is_read_itself(lab, monkeypatch, vouches):
    def share(source: int, target: int) -> None:
        os.write(target, b"xy")  # what stood there at that moment
        if vouches:
            os.utime(source, ns=(OLD_NS, OLD_NS))

    monkeypatch.setattr(copying, "share", share)
    monkeypatch.setattr(copying, "SHARED_FROM_BYTES", 0)
    (lab.base / "d/f").write_bytes(b"ab")
    stopped = lab.copy(told(b"d/f", b"ab"), shares=True, vouches=vouches)
    assert stopped.refusal.reason is Reason.CHANGED_WHILE_READ


def test_where_the_kernel_knows_no_call_for_it_names_are_entered_one_by_one(lab, monkeypatch):
    monkeypatch.setattr(copying, "open_below", lambda _root, _path: None)
    for root in (lab.base, lab.stage):
        (root / "d/e").mkdir()
    (lab.base / "d/e/f").write_bytes(b"ab")
    assert not isinstance(lab.copy(told(b"d/e/f", b"ab")), Stopped)
    (lab.base / "d").rename(lab.base / "g")
    (lab.base / "d").symlink_to("g")
    assert lab.copy(told(b"d/e/f", b"ab")).refusal.reason is Reason.CHANGED_WHILE_READ
