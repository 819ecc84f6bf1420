"""A sync that does not wait refuses what a real one refuses, and waits wherever else than in the temporary folder."""

from __future__ import annotations

import errno
import os

import pytest

import unsynced

KINDS = {"file": os.O_RDWR | os.O_CREAT, "path": os.O_PATH | os.O_CREAT, "reader": os.O_RDONLY | os.O_CREAT}


@pytest.fixture
def made(tmp_path):
    """The sync of that folder's file system, and what it had the real one do."""
    real = []
    return unsynced._unwaited(real.append, os.stat(tmp_path).st_dev), real


@pytest.mark.parametrize("kind", ["file", "reader"])
def test_what_can_be_synced_there_is_not_waited_for(tmp_path, made, kind):
    sync, real = made
    descriptor = os.open(tmp_path / "f", KINDS[kind])
    sync(descriptor)
    os.close(descriptor)
    folder = os.open(tmp_path, os.O_RDONLY)
    sync(folder)
    os.close(folder)
    with open(tmp_path / "f") as opened:
        sync(opened)
    assert real == []


def test_everything_else_is_asked_of_the_system(tmp_path, made):
    sync, real = made
    (tmp_path / "f").touch()
    ends = (*os.pipe(), os.open(tmp_path / "f", os.O_PATH), os.open("/proc/self", os.O_RDONLY))
    for descriptor in ends:
        sync(descriptor)
        os.close(descriptor)
    assert real == list(ends)


@pytest.mark.parametrize("name", ["fsync", "fdatasync"])
def test_as_it_stands_here_it_refuses_with_the_right_word(tmp_path, name):
    sync = getattr(os, name)
    read, write = os.pipe()
    with pytest.raises(OSError, match="Invalid argument") as refused:
        sync(write)
    assert refused.value.errno == errno.EINVAL
    os.close(write)
    for descriptor in (write, os.open(tmp_path, os.O_PATH)):
        with pytest.raises(OSError, match="Bad file") as refused:
            sync(descriptor)
        assert refused.value.errno == errno.EBADF
    os.close(read)
    os.close(descriptor)
