from __future__ import annotations

import hashlib
import os
import socket
import stat
import time

import pytest

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.formats.tree.listing import Kind
from docket.host import tree
from docket.host.tree import FileReader, Unread


@pytest.fixture
def here(tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def seen(here, name):
    status = tree.status_at(here, name)
    return status, tree.file_key(status)


WHOLE, CHUNK = 256 * 1024, 1024 * 1024


@pytest.mark.parametrize(
    "size", [0, 1, 55, 56, 63, 64, WHOLE - 1, WHOLE, WHOLE + 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 17]
)
def test_a_digest_does_not_depend_on_how_a_file_is_read(tmp_path, here, size):
    data = os.urandom(size)
    (tmp_path / "x").write_bytes(data)
    reader = FileReader()
    for _ in range(2):
        assert reader.digest(here, "x", *seen(here, "x")) == hashlib.sha256(data).digest()


@pytest.mark.parametrize("size", [3, WHOLE + 3])
def test_a_file_of_another_size_than_it_was_seen_with_has_no_digest(tmp_path, here, size):
    path = tmp_path / "x"
    path.write_bytes(bytes(size))
    then = seen(here, "x")
    for change in (-1, 1):
        os.truncate(path, size + change)
        assert FileReader().digest(here, "x", *then) is None


def test_a_pseudo_file_that_holds_more_than_its_size_has_no_digest():
    here = os.open("/proc/self", os.O_RDONLY)
    try:
        assert FileReader().digest(here, "status", *seen(here, "status")) is None
    finally:
        os.close(here)


def test_a_file_swapped_for_a_socket_is_not_that_file(tmp_path, here):
    path = tmp_path / "x"
    path.write_bytes(b"")
    then = seen(here, "x")
    path.unlink()
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(f"/proc/self/fd/{here}/x")
        assert FileReader().digest(here, "x", *then) is None


def test_a_status_is_the_links_own(tmp_path, here):
    (tmp_path / "link").symlink_to("/")
    assert stat.S_ISLNK(tree.status_at(here, "link").st_mode)
    assert tree.kind_of(tree.status_at(here, "link").st_mode) is Kind.SYMLINK
    assert tree.status_at(here, "nothing") is None
    assert tree.kind_of(0) is Kind.UNKNOWN


def test_a_link_is_read_as_bytes_and_anything_else_is_no_link(tmp_path, here):
    os.symlink(b"\xff/../\n", os.fsencode(tmp_path) + b"/link")
    assert tree.read_link(here, "link") == b"\xff/../\n"
    (tmp_path / "file").write_bytes(b"")
    assert tree.read_link(here, "file") is None
    assert tree.read_link(here, "nothing") is None


def test_a_directory_is_opened_only_if_it_is_the_one_that_was_seen(tmp_path, here):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to("one")
    (tmp_path / "file").write_bytes(b"")
    identity = tree.identity_of(tree.status_at(here, "one"))
    opened = tree.open_directory(here, "one", identity)
    assert tree.identity_of(tree.directory_status(opened)) == identity
    tree.close(opened)
    for name in ("two", "link", "file", "nothing"):
        assert tree.open_directory(here, name, identity) is None


def test_a_path_is_reached_a_component_at_a_time(tmp_path, here):
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a")
    before = set(os.listdir("/proc/self/fd"))
    for prefix, path in ((b"", tmp_path), (b"a/", tmp_path / "a"), (b"a/b/c/", tmp_path / "a/b/c")):
        identity = (path.stat().st_dev, path.stat().st_ino)
        reached = tree.reach(here, prefix, identity)
        assert tree.identity_of(tree.directory_status(reached)) == identity
        tree.close(reached)
        assert tree.reach(here, prefix, (0, 0)) is None
    assert tree.reach(here, b"link/b/", None) is None
    assert tree.reach(here, b"a/x/c/", None) is None
    assert set(os.listdir("/proc/self/fd")) == before


def test_names_are_listed_in_byte_order(tmp_path, here):
    names = [b"b", b"a", b"\xff", "é".encode(), b"\xee\xff", b"A", b"a\n"]
    for name in names:
        open(os.fsencode(tmp_path) + b"/" + name, "wb").close()
    listed = tree.list_directory(here)
    assert [raw for raw, _, _ in listed.rows] == sorted(names)
    assert [os.fsencode(text) for _, text, _ in listed.rows] == sorted(names)
    assert listed.gaps == {}


def test_what_is_no_directory_cannot_be_listed(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    descriptor = os.open(tmp_path / "file", os.O_RDONLY)
    try:
        assert tree.list_directory(descriptor) == Unread(Reason.UNREADABLE, "not a directory")
    finally:
        os.close(descriptor)


def test_the_clock_of_the_file_system_stamps_its_files(tmp_path, here):
    before = tree.file_system_clock_ns(here)
    assert os.listdir(tmp_path) == []
    time.sleep(0.03)
    (tmp_path / "x").write_bytes(b"")
    stamped = (tmp_path / "x").stat().st_ctime_ns
    time.sleep(0.03)
    assert before < stamped < tree.file_system_clock_ns(here)
    assert abs(tree.local_clock_ns() - time.time_ns()) < 10**9


def test_a_clock_that_cannot_be_asked_tells_nothing():
    here = os.open("/proc", os.O_RDONLY)
    try:
        assert tree.file_system_clock_ns(here) is None
    finally:
        os.close(here)


def test_looking_for_the_clock_leaves_the_directory_as_it_was(tmp_path, here):
    before = os.stat(tmp_path)
    tree.file_system_clock_ns(here)
    after = os.stat(tmp_path)
    assert (after.st_mtime_ns, after.st_ctime_ns, after.st_nlink) == (
        before.st_mtime_ns,
        before.st_ctime_ns,
        before.st_nlink,
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [("nothing", Reason.NOT_FOUND), ("file", Reason.NOT_A_DIRECTORY), ("loop", Reason.UNREADABLE)],
)
def test_a_root_that_cannot_be_opened_says_why(tmp_path, name, reason):
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UnavailableError) as caught:
        tree.open_root(os.fsencode(tmp_path / name))
    assert caught.value.reason == reason
    assert name in caught.value.detail


def test_the_identity_of_a_root_that_is_gone_is_none(tmp_path):
    path = os.fsencode(tmp_path)
    assert tree.root_identity(path) == (tmp_path.stat().st_dev, tmp_path.stat().st_ino)
    assert tree.root_identity(path + b"/nothing") is None
