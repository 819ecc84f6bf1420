"""What was changed counts as durable only if every sync of it succeeded, whoever asked for that, and when."""

from __future__ import annotations

import errno
import os
import threading
from contextlib import suppress

import pytest

from docket.host import syncing
from docket.host.reaching import Reached
from docket.host.syncing import MAX_TOUCHED, Syncing
from docket.host.tree_calls import TreeCalls


class Noted(TreeCalls):
    """Calls that keep which inodes were synced, and fail for some."""

    def __init__(self, failing=()):
        self.failing = frozenset(failing)
        self.synced: list[int] = []

    def sync(self, descriptor):
        inode = os.fstat(descriptor).st_ino
        self.synced.append(inode)
        if inode in self.failing:
            raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """More directories than are kept open, on a file system that is not synced as one."""
    monkeypatch.setattr(syncing, "syncs_as_one", lambda _descriptor: False)
    made = [tmp_path / f"{number:03}" for number in range(MAX_TOUCHED + 5)]
    for folder in made:
        folder.mkdir()
    return made


def touched(folders, calls):
    root = os.open(folders[0].parent, os.O_RDONLY)
    found = Syncing(root, calls)
    try:
        for folder in folders:
            descriptor = os.open(folder, os.O_RDONLY)
            status = os.fstat(descriptor)
            # Whoever is told here cannot tell which of the others it was.
            with Reached(descriptor, b"x", (status.st_dev, status.st_ino)) as reached, suppress(OSError):
                found.touch(reached)
        found.names(None)
    finally:
        found.forget()
        os.close(root)


def inodes(folders):
    return [folder.stat().st_ino for folder in folders]


def test_every_directory_is_synced_once(folders):
    calls = Noted()
    touched(folders, calls)
    assert sorted(calls.synced) == sorted(inodes(folders))


@pytest.mark.parametrize("which", [0, MAX_TOUCHED - 1, MAX_TOUCHED, MAX_TOUCHED + 4])
def test_a_sync_that_failed_early_is_told_when_it_is_asked_for(folders, which):
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        touched(folders, Noted([folders[which].stat().st_ino]))


def test_where_no_thread_is_to_be_had_each_is_synced_all_the_same(folders, monkeypatch):
    def refused(_self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    calls = Noted()
    touched(folders, calls)
    assert sorted(calls.synced) == sorted(inodes(folders))
