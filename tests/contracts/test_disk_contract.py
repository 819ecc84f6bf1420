"""What every disk does: the operating system's, the fake in memory, and the faulty one that fails nothing."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from disks.faulty_disk import FaultyDisk
from disks.memory_disk import EVERYTHING_LEFT, NOTHING_LEFT, MemoryDisk
from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.host.disk import SYSTEM_DISK


@pytest.fixture(params=["system", "memory", "faulty"])
def disk(request):
    if request.param == "system":
        return SYSTEM_DISK
    if request.param == "memory":
        return MemoryDisk()
    return FaultyDisk(MemoryDisk())


@pytest.fixture
def folder(disk, tmp_path):
    with disk.folder(tmp_path / "state" / "docket", create=True) as opened:
        yield opened


def refusal(work, *arguments, **options):
    with pytest.raises(UnavailableError) as caught:
        work(*arguments, **options)
    return caught.value.reason


def write(folder, name, data):
    with folder.create(name) as file:
        file.append(data)
        file.sync()


def read(folder, name):
    with folder.open(name) as file:
        return file.read(0, 1000)


def test_a_file_says_what_its_file_system_has_left(folder):
    with folder.create("a") as file:
        assert file.free_bytes() > 0


def test_a_file_grows_and_is_read(folder):
    with folder.create("a") as file:
        assert (file.size(), file.read(0, 10)) == (0, b"")
        file.append(b"one")
        file.append(b"")
        file.append(b"two")
        file.sync()
        assert file.path == folder.path / "a"
        assert file.size() == 6
        assert (file.read(0, 100), file.read(2, 3), file.read(5, 9), file.read(6, 1)) == (b"onetwo", b"etw", b"o", b"")
    with folder.open("a", writable=True) as file:
        file.append(b"!")
        file.truncate(4)
        file.append(b"?")
        assert file.read(0, 100) == b"onet?"


def test_two_openings_see_one_file(folder):
    with folder.create("a") as file, folder.open("a") as again:
        file.append(b"x")
        assert again.read(0, 9) == b"x"
        assert again.identity() == file.identity() == folder.identity("a")


def test_creating_needs_a_free_name(folder):
    write(folder, "a", b"x")
    folder.folder("b", create=True).close()
    assert refusal(folder.create, "a") == Reason.ALREADY_EXISTS
    assert refusal(folder.create, "b") == Reason.ALREADY_EXISTS


def test_what_is_missing_is_not_found(folder, disk):
    assert refusal(folder.open, "a") == Reason.NOT_FOUND
    assert refusal(folder.folder, "a") == Reason.NOT_FOUND
    assert refusal(folder.remove, "a") == Reason.NOT_FOUND
    assert refusal(folder.replace, "a", "b") == Reason.NOT_FOUND
    assert refusal(folder.claim, "a", "b") == Reason.NOT_FOUND
    assert refusal(disk.folder, folder.path / "a" / "b") == Reason.NOT_FOUND
    assert folder.identity("a") is None


def test_a_folder_is_no_file_and_a_file_no_folder(folder):
    write(folder, "file", b"x")
    folder.folder("folder", create=True).close()
    assert refusal(folder.open, "folder") == Reason.NOT_A_FILE
    assert refusal(folder.folder, "file") == Reason.NOT_A_DIRECTORY
    assert refusal(folder.folder, "file", create=True) == Reason.NOT_A_DIRECTORY
    assert refusal(folder.replace, "file", "folder") == Reason.NOT_A_FILE
    assert refusal(folder.remove, "folder") == Reason.NOT_A_FILE


def test_replacing_puts_one_file_in_the_place_of_another(folder):
    write(folder, "a", b"new")
    write(folder, "b", b"old")
    with folder.open("b") as old:
        folder.replace("a", "b")
        folder.sync()
        assert (old.read(0, 9), old.identity()) == (b"old", None)
    assert (read(folder, "b"), folder.names()) == (b"new", ("b",))


def test_claiming_needs_a_free_name(folder):
    write(folder, "a", b"new")
    write(folder, "b", b"old")
    assert refusal(folder.claim, "a", "b") == Reason.ALREADY_EXISTS
    assert (read(folder, "a"), read(folder, "b")) == (b"new", b"old")
    folder.claim("a", "c")
    assert (read(folder, "c"), folder.names()) == (b"new", ("b", "c"))


def test_a_removed_file_lives_on_while_it_is_open(folder):
    with folder.create("a") as file:
        file.append(b"x")
        folder.remove("a")
        assert (file.read(0, 9), file.identity(), folder.names()) == (b"x", None, ())


def test_folders_inside_folders(folder, disk):
    with folder.folder("b", create=True) as inner:
        write(inner, "a", b"x")
        inner.make_private()
        assert inner.path == folder.path / "b"
    with folder.folder("b", create=True) as again, disk.folder(folder.path / "b") as other:
        assert again.names() == other.names() == ("a",)
        assert read(other, "a") == b"x"


def test_reserved_space_shows_no_bytes(folder):
    with folder.create("a") as file:
        assert file.preallocate(100_000) in (True, False)
        assert (file.size(), file.read(0, 10)) == (0, b"")
        file.append(b"abc")
        file.truncate(3)
        assert file.read(0, 10) == b"abc"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/", "a\0b"])
def test_a_name_is_one_component(folder, name):
    write(folder, "x", b"")
    for work in (folder.create, folder.open, folder.folder, folder.remove, folder.identity):
        assert refusal(work, name) == Reason.NOT_A_PATH
    for work in (folder.replace, folder.claim):
        assert refusal(work, name, "y") == Reason.NOT_A_PATH
        assert refusal(work, "x", name) == Reason.NOT_A_PATH


def test_closing_twice_does_nothing(folder, disk):
    file = folder.create("a")
    file.close()
    file.close()
    opened = disk.folder(folder.path)
    opened.close()
    opened.close()


def test_a_file_opened_for_reading_is_not_written(folder):
    write(folder, "a", b"x")
    with folder.open("a") as file:
        assert isinstance(refusal(file.append, b"y"), str)
        assert isinstance(refusal(file.truncate, 0), str)


# The operating system alone.


@pytest.fixture
def real(tmp_path):
    with SYSTEM_DISK.folder(tmp_path / "real", create=True) as opened:
        yield opened


def test_files_and_folders_are_private_from_the_start(real, tmp_path):
    old = os.umask(0)
    try:
        with SYSTEM_DISK.folder(tmp_path / "x" / "y", create=True) as inner, inner.create("f"):
            pass
    finally:
        os.umask(old)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("x", "x/y", "x/y/f")]
    assert modes == [0o700, 0o700, 0o600]


def test_an_open_folder_is_made_private(real):
    real.path.chmod(0o755)
    real.make_private()
    assert stat.S_IMODE(real.path.stat().st_mode) == 0o700
    real.make_private()


def test_no_descriptor_is_inherited(real):
    with real.create("a") as file, real.open("a") as again, real.folder("b", create=True) as inner:
        assert not any(os.get_inheritable(one.fileno()) for one in (real, file, again, inner))


def test_links_are_not_followed(real, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "f").write_bytes(b"x")
    (real.path / "to-file").symlink_to(tmp_path / "elsewhere" / "f")
    (real.path / "to-folder").symlink_to(tmp_path / "elsewhere")
    (real.path / "dangling").symlink_to(tmp_path / "elsewhere" / "new")
    assert refusal(real.open, "to-file") == Reason.IS_A_SYMLINK
    assert refusal(real.open, "to-file", writable=True) == Reason.IS_A_SYMLINK
    assert refusal(real.folder, "to-folder") == Reason.IS_A_SYMLINK
    assert refusal(real.folder, "to-folder", create=True) == Reason.IS_A_SYMLINK
    assert refusal(real.create, "dangling") == Reason.ALREADY_EXISTS
    assert refusal(SYSTEM_DISK.folder, real.path / "to-folder") == Reason.IS_A_SYMLINK
    assert refusal(SYSTEM_DISK.folder, real.path / "to-folder", create=True) == Reason.IS_A_SYMLINK
    assert not (tmp_path / "elsewhere" / "new").exists()
    assert real.identity("dangling") is not None


def test_a_link_above_the_folder_is_the_persons_own(real, tmp_path):
    (tmp_path / "home").symlink_to(real.path)
    with SYSTEM_DISK.folder(tmp_path / "home" / "state", create=True):
        assert (real.path / "state").is_dir()


def test_a_folder_that_is_swapped_for_a_link_redirects_nothing(real, tmp_path):
    with real.folder("inner", create=True) as inner:
        (real.path / "inner").rename(real.path / "moved")
        (real.path / "inner").symlink_to(tmp_path)
        write(inner, "f", b"x")
    assert (real.path / "moved" / "f").read_bytes() == b"x"
    assert not (tmp_path / "f").exists()


def test_special_files_are_refused_without_waiting(real):
    os.mkfifo(real.path / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(real.path)
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)
        for name in ("fifo", "socket"):
            assert refusal(real.open, name) == Reason.NOT_A_FILE
            assert refusal(real.open, name, writable=True) == Reason.NOT_A_FILE


def test_a_file_in_the_way_of_a_folder(real):
    write(real, "f", b"")
    assert refusal(SYSTEM_DISK.folder, real.path / "f" / "g", create=True) == Reason.NOT_A_DIRECTORY


# The fake alone: it forgets.


def test_the_fake_forgets_what_was_not_synced():
    disk = MemoryDisk()
    folder = disk.folder(Path("/a"), create=True)
    write(folder, "f", b"one")
    folder.sync()
    with folder.open("f", writable=True) as file:
        file.append(b"two")
    write(folder, "g", b"three")
    for draw, names, data in ((NOTHING_LEFT, ("f",), b"one"), (EVERYTHING_LEFT, ("f", "g"), b"onetwo")):
        left = disk.after_power_cut(draw).folder(Path("/a"))
        assert (left.names(), read(left, "f")) == (names, data)


def test_the_fake_is_as_large_as_it_is_told():
    disk = MemoryDisk(capacity_bytes=10)
    folder = disk.folder(Path("/a"), create=True)
    with folder.create("f") as file, folder.create("g") as other:
        assert file.preallocate(6)
        assert refusal(other.append, b"12345") == Reason.NO_SPACE
        assert other.read(0, 9) == b"1234"
        file.append(b"123456")
        assert refusal(file.append, b"7") == Reason.NO_SPACE
        other.truncate(3)
        file.append(b"7")


def test_a_file_moves_to_another_folder_over_what_stands_there(folder):
    write(folder, "a", b"new")
    with folder.folder("inner", create=True) as inner:
        write(inner, "b", b"old")
        folder.move("a", inner, "b")
        folder.sync_everything()
        assert (folder.names(), inner.names(), read(inner, "b")) == (("inner",), ("b",), b"new")
        assert refusal(folder.move, "a", inner, "c") == Reason.NOT_FOUND
        folder.folder("other", create=True).close()
        assert refusal(inner.move, "b", folder, "other") == Reason.NOT_A_FILE
        assert refusal(inner.move, "b", folder, "../b") == Reason.NOT_A_PATH


def test_a_file_gets_a_second_name(folder):
    write(folder, "a", b"one")
    with folder.folder("inner", create=True) as inner:
        folder.link("a", inner, "b")
        assert (folder.look("a").links, inner.look("b").links) == (2, 2)
        assert folder.identity("a") == inner.identity("b") == inner.look("b").identity
        assert refusal(folder.link, "a", inner, "b") == Reason.ALREADY_EXISTS
        assert refusal(folder.link, "c", inner, "d") == Reason.NOT_FOUND
        assert refusal(folder.link, "inner", folder, "d") == Reason.NOT_PERMITTED
        folder.remove("a")
        assert (inner.look("b").links, read(inner, "b")) == (1, b"one")


def test_what_a_name_stands_for_is_told(folder):
    write(folder, "a", b"seven77")
    folder.folder("inner", create=True).close()
    found = folder.look("a")
    assert (found.is_file, found.is_folder, found.size_bytes, found.links) == (True, False, 7, 1)
    assert (folder.look("inner").is_file, folder.look("inner").is_folder) == (False, True)
    assert folder.look("b") is None


def test_an_empty_folder_is_removed(folder):
    with folder.folder("inner", create=True) as inner:
        write(inner, "a", b"x")
        assert refusal(folder.remove_folder, "inner") == Reason.NOT_EMPTY
        inner.remove("a")
    folder.remove_folder("inner")
    assert refusal(folder.remove_folder, "inner") == Reason.NOT_FOUND
    write(folder, "file", b"x")
    assert refusal(folder.remove_folder, "file") == Reason.NOT_A_DIRECTORY
