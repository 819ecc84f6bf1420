"""The operating system's disk when calls fall short or are refused."""

from __future__ import annotations

import errno
import os

import pytest

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.host import disk as disk_module
from docket.host import disk_calls
from docket.host.disk import SYSTEM_DISK, reported, unavailable


@pytest.fixture
def folder(tmp_path):
    with SYSTEM_DISK.folder(tmp_path / "d", create=True) as opened:
        yield opened


@pytest.mark.parametrize(
    ("code", "reason", "words"),
    [
        (errno.ENOSPC, Reason.NO_SPACE, "no space is left"),
        (errno.EDQUOT, Reason.QUOTA_EXCEEDED, "quota"),
        (errno.EFBIG, Reason.FILE_SIZE_LIMIT, "size limit"),
        (errno.EROFS, Reason.READ_ONLY, "read-only"),
        (errno.EACCES, Reason.NOT_PERMITTED, "permission"),
        (errno.EPERM, Reason.NOT_PERMITTED, "not permitted"),
        (errno.EIO, Reason.IO_ERROR, "input/output"),
        (errno.ENOENT, Reason.NOT_FOUND, "does not exist"),
        (errno.EEXIST, Reason.ALREADY_EXISTS, "exists already"),
        (errno.ELOOP, Reason.IS_A_SYMLINK, "symbolic link"),
        (errno.ENOTDIR, Reason.NOT_A_DIRECTORY, "not a folder"),
        (errno.EISDIR, Reason.NOT_A_FILE, "a folder"),
        (errno.ENXIO, Reason.NOT_A_FILE, "regular file"),
        (errno.ENAMETOOLONG, Reason.NAME_TOO_LONG, "too long"),
        (errno.EBADF, Reason.WRITE_FAILED, "bad file descriptor"),
    ],
)
def test_each_error_has_a_reason_and_a_sentence(code, reason, words):
    error = unavailable(OSError(code, os.strerror(code)), "write to", "/x/ledger")
    assert error.reason == reason
    assert error.detail.startswith("cannot write to /x/ledger: ")
    assert words in error.detail


def test_an_error_without_a_number_keeps_its_words():
    with pytest.raises(UnavailableError, match="cannot read /x: odd") as caught, reported("read", "/x"):
        raise OSError("odd")
    assert caught.value.reason == Reason.WRITE_FAILED


def test_a_short_write_is_continued(folder, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data[:3])))
    with folder.create("a") as file:
        file.append(b"0123456789")
        assert file.read(0, 99) == b"0123456789"


def test_a_short_read_is_continued(folder, monkeypatch):
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda descriptor, size, offset: pread(descriptor, min(size, 3), offset))
    with folder.create("a") as file:
        file.append(b"0123456789")
        assert (file.read(0, 99), file.read(2, 5), file.read(10, 5)) == (b"0123456789", b"23456", b"")


def test_a_name_is_claimed_where_there_are_no_hard_links(folder, monkeypatch):
    def no_links(*_arguments, **_options):
        raise OSError(errno.EPERM, "no hard links here")

    monkeypatch.setattr(os, "link", no_links)
    with folder.create("a") as file:
        file.append(b"x")
    folder.create("b").close()
    with pytest.raises(UnavailableError) as caught:
        folder.claim("a", "b")
    assert caught.value.reason == Reason.ALREADY_EXISTS
    folder.claim("a", "c")
    assert folder.names() == ("b", "c")


@pytest.mark.parametrize("found", [None, "unsupported", "interrupted", "full"])
def test_reserving_space_that_cannot_be_had(folder, monkeypatch, found):
    codes = {"unsupported": [errno.EOPNOTSUPP], "interrupted": [errno.EINTR, 0], "full": [errno.ENOSPC]}.get(found, [])

    monkeypatch.setattr(disk_module, "fallocate", lambda: (lambda *_arguments: codes.pop(0)) if found else None)
    with folder.create("a") as file:
        if found == "full":
            with pytest.raises(UnavailableError) as caught:
                file.preallocate(10)
            assert caught.value.reason == Reason.NO_SPACE
        else:
            assert file.preallocate(10) is (found == "interrupted")


def test_space_is_really_reserved_and_given_back(folder):
    with folder.create("a") as file:
        if not file.preallocate(1_000_000):
            pytest.skip("this file system reserves nothing")
        file.append(b"x")
        assert os.fstat(file.fileno()).st_blocks * 512 >= 1_000_000
        assert file.size() == 1
        file.truncate(1)
        assert os.fstat(file.fileno()).st_blocks * 512 < 1_000_000


@pytest.mark.parametrize("call", [disk_calls.fallocate, disk_calls.syncfs])
def test_a_call_of_the_c_library_says_what_went_wrong(call):
    called = call()
    if called is None:
        pytest.skip("the C library has none")
    assert called(-1, 0, 0, 1) == errno.EBADF if call is disk_calls.fallocate else called(-1) == errno.EBADF


def test_a_folder_of_another_user_is_not_used(folder, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 4_000_000_000)
    with pytest.raises(UnavailableError) as caught:
        folder.make_private()
    assert caught.value.reason == Reason.NOT_OURS


def test_a_folder_that_another_run_makes_meanwhile_is_opened(folder, monkeypatch):
    mkdir = os.mkdir

    def made_by_another(name, mode, *, dir_fd):
        mkdir(name, mode, dir_fd=dir_fd)
        raise FileExistsError(errno.EEXIST, "File exists")

    monkeypatch.setattr(os, "mkdir", made_by_another)
    with folder.folder("x", create=True) as inner:
        assert inner.names() == ()


def test_a_folder_that_cannot_be_entered(tmp_path):
    with pytest.raises(UnavailableError) as caught:
        SYSTEM_DISK.folder(tmp_path / ("x" * 300))
    assert caught.value.reason == Reason.NAME_TOO_LONG
