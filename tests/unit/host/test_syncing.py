"""Many files made durable together: each way tells what failed; the one call for all is made where it counts."""

from __future__ import annotations

import errno
import os

import pytest

from docket.host import syncing
from docket.host.syncing import Syncing, syncs_as_one
from docket.host.tree_calls import TreeCalls


class Failing(TreeCalls):
    """Calls of which those for one inode, or for the whole file system, fail."""

    def __init__(self, inode=None, *, everything=False):
        self.inode, self.everything, self.made = inode, everything, []

    def sync(self, descriptor):
        self.made.append("sync")
        if os.fstat(descriptor).st_ino == self.inode:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def sync_file_system(self, descriptor):
        self.made.append("sync_file_system")
        if self.everything:
            raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.fixture
def folder(tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def names_in(tmp_path, count):
    for number in range(count):
        (tmp_path / f"{number:03}").write_bytes(b"x")
    return [b"%03d" % number for number in range(count)]


@pytest.mark.parametrize("count", [1, syncing.FEW, syncing.MANY - 1])
def test_the_file_that_failed_is_told_alone(tmp_path, folder, count):
    names = names_in(tmp_path, count)
    calls = Failing(os.stat(tmp_path / os.fsdecode(names[-1])).st_ino)
    errors = Syncing(folder, calls).contents(folder, names)
    assert {name: error.errno for name, error in errors.items()} == {names[-1]: errno.EIO}
    assert calls.made == ["sync"] * count


@pytest.mark.parametrize("as_one", [True, False])
def test_many_are_one_call_where_it_counts(tmp_path, folder, monkeypatch, as_one):
    monkeypatch.setattr(syncing, "syncs_as_one", lambda descriptor: as_one)
    names, calls = names_in(tmp_path, syncing.MANY), Failing()
    assert Syncing(folder, calls).contents(folder, names) == {}
    assert calls.made == (["sync_file_system"] if as_one else ["sync"] * syncing.MANY)


def test_if_the_one_call_fails_nothing_counts(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(syncing, "syncs_as_one", lambda descriptor: True)
    names = names_in(tmp_path, syncing.MANY)
    assert set(Syncing(folder, Failing(everything=True)).contents(folder, names)) == set(names)


@pytest.mark.parametrize(("system", "release"), [("Linux", "5.7.19"), ("Linux", "odd"), ("Darwin", "23.1.0")])
def test_a_kernel_that_does_not_tell_of_failures_is_not_relied_on(folder, monkeypatch, system, release):
    told = os.uname()
    monkeypatch.setattr(os, "uname", lambda: os.uname_result((system, told[1], release, told[3], told[4])))
    assert not syncs_as_one(folder)


def test_a_file_system_that_is_not_known_is_not_relied_on():
    descriptor = os.open("/proc", os.O_RDONLY)
    try:
        assert not syncs_as_one(descriptor)
    finally:
        os.close(descriptor)
