"""A key's file is refused for everything that somebody else could have done to it, and a descriptor is closed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.host import key_file
from docket.host.key_file import read_key_descriptor, read_key_file

LIMIT = 1000


@pytest.fixture
def key(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    path = tmp_path / "a.key"
    path.write_bytes(b"secret\n")
    path.chmod(0o600)
    return path


def refused(path: Path, tree: Path | None = None) -> tuple[str, str]:
    with pytest.raises(UnavailableError) as raised:
        read_key_file(path, LIMIT, outside=tree)
    assert "secret" not in raised.value.detail
    return raised.value.reason, raised.value.detail


def test_a_file_of_ones_own_is_read_through_a_link_too(key: Path) -> None:
    tree = key.parent / "tree"
    assert read_key_file(key, LIMIT, outside=tree) == b"secret\n"
    key.chmod(0o400)
    link = key.parent / "link"
    link.symlink_to(key)
    assert read_key_file(link, LIMIT, outside=tree) == b"secret\n"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o620, 0o601])
def test_what_others_may_reach_is_refused(key: Path, mode: int) -> None:
    key.chmod(mode)
    reason, detail = refused(key)
    assert reason == Reason.KEY_EXPOSED
    assert f"{mode:03o}" in detail


def test_a_second_name_is_refused(key: Path) -> None:
    os.link(key, key.parent / "tree" / "other")
    assert refused(key) == (Reason.KEY_EXPOSED, f"{key} has 2 names, one of which may be anywhere")


@pytest.mark.parametrize("how", ["there", "link", "through", "dots"])
def test_what_stands_in_the_tree_is_refused(key: Path, how: str) -> None:
    tree = key.parent / "tree"
    path = tree / "a.key"
    if how == "link":
        path.symlink_to(key)
    else:
        path.write_bytes(b"secret\n")
        path.chmod(0o600)
    if how == "through":
        (key.parent / "other").symlink_to(tree)
        path = key.parent / "other" / "a.key"
    if how == "dots":
        path = tree / "x" / ".." / "a.key"
        (tree / "x").mkdir()
    reason, detail = refused(path, tree)
    assert (reason, "where the agent works" in detail) == (Reason.KEY_EXPOSED, True)


def test_a_tree_that_is_named_through_a_link_is_the_same_tree(key: Path) -> None:
    tree = key.parent / "tree"
    inside = tree / "a.key"
    inside.write_bytes(b"secret\n")
    inside.chmod(0o600)
    (key.parent / "way").symlink_to(tree)
    assert refused(inside, key.parent / "way")[0] == Reason.KEY_EXPOSED


def test_what_is_no_file_is_refused_and_never_waited_for(key: Path) -> None:
    fifo = key.parent / "fifo"
    os.mkfifo(fifo, 0o600)
    assert refused(fifo)[0] == Reason.NOT_A_FILE
    assert refused(key.parent)[0] == Reason.NOT_A_FILE
    assert refused(Path("/dev/null"))[0] == Reason.NOT_A_FILE
    assert refused(key.parent / "nothing")[0] == Reason.NOT_FOUND
    assert refused(key / "below")[0] == Reason.NOT_FOUND
    assert refused(Path("a\0b"))[0] == Reason.IO_ERROR
    (key.parent / "loop").symlink_to("loop")
    assert refused(key.parent / "loop")[0] == Reason.IO_ERROR


def test_a_large_file_is_not_read_to_its_end(key: Path) -> None:
    key.write_bytes(b"x" * (LIMIT + 1))
    assert refused(key)[0] == Reason.TOO_LARGE
    key.write_bytes(b"x" * LIMIT)
    assert len(read_key_file(key, LIMIT)) == LIMIT


def test_a_file_that_is_exchanged_between_the_looks_is_refused(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fstat

    def exchanged(descriptor: int) -> os.stat_result:
        found = real(descriptor)
        other = key.parent / "other"
        other.write_bytes(b"x")
        other.replace(key)
        return found

    monkeypatch.setattr(key_file.os, "fstat", exchanged)
    assert refused(key, key.parent / "tree") == (Reason.KEY_EXPOSED, f"{key} was exchanged while it was read")


def test_a_file_that_goes_between_the_looks_is_refused(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.fstat

    def gone(descriptor: int) -> os.stat_result:
        key.unlink(missing_ok=True)
        return real(descriptor)

    monkeypatch.setattr(key_file.os, "fstat", gone)
    with pytest.raises(UnavailableError):
        read_key_file(key, LIMIT, outside=key.parent / "tree")


def test_another_users_file_is_refused(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = key.stat().st_uid
    monkeypatch.setattr(key_file.os, "geteuid", lambda: owner + 1)
    if owner:
        assert refused(key) == (Reason.KEY_EXPOSED, f"{key} belongs to another user")
    else:
        assert read_key_file(key, LIMIT) == b"secret\n"


def test_a_pipe_is_read_to_its_end_and_closed() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"secret")
    os.close(writer)
    assert read_key_descriptor(reader, LIMIT) == b"secret"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(reader)


def test_a_pipe_that_comes_to_no_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_file, "PATIENCE_SECONDS", 0.05)
    reader, writer = os.pipe()
    os.write(writer, b"secret")
    with pytest.raises(UnavailableError) as raised:
        read_key_descriptor(reader, LIMIT)
    assert raised.value.reason == Reason.IO_ERROR
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(reader)
    os.close(writer)


def test_a_descriptor_of_a_file_is_held_to_the_same_rules(key: Path) -> None:
    key.chmod(0o644)
    opened = os.open(key, os.O_RDONLY)
    with pytest.raises(UnavailableError) as raised:
        read_key_descriptor(opened, LIMIT)
    assert raised.value.reason == Reason.KEY_EXPOSED
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened)
    key.chmod(0o600)
    assert read_key_descriptor(os.open(key, os.O_RDONLY), LIMIT) == b"secret\n"


def by_descriptor(path: Path, tree: Path) -> tuple[str, str]:
    with pytest.raises(UnavailableError) as raised:
        read_key_descriptor(os.open(path, os.O_RDONLY), LIMIT, outside=tree)
    return raised.value.reason, raised.value.detail


def test_a_descriptor_of_a_file_in_the_tree_is_refused(key: Path) -> None:
    tree = key.parent / "tree"
    inside = tree / "a.key"
    inside.write_bytes(b"secret\n")
    inside.chmod(0o600)
    for way in (inside, key.parent / "to"):
        if way != inside:
            way.symlink_to(inside)
        assert by_descriptor(way, tree) == (Reason.KEY_EXPOSED, f"{inside} stands in {tree}, where the agent works")
    opened = os.open(inside, os.O_RDONLY)
    moved = inside.rename(tree / "moved")
    with pytest.raises(UnavailableError, match=f"{moved} stands in"):
        read_key_descriptor(opened, LIMIT, outside=tree)
    assert read_key_descriptor(os.open(key, os.O_RDONLY), LIMIT, outside=tree) == b"secret\n"


def test_what_stands_nowhere_may_hold_a_key(key: Path) -> None:
    tree = key.parent / "tree"
    gone = tree / "gone"
    gone.write_bytes(b"secret\n")
    gone.chmod(0o600)
    opened = os.open(gone, os.O_RDONLY)
    gone.unlink()
    assert read_key_descriptor(opened, LIMIT, outside=tree) == b"secret\n"
    memory = os.memfd_create("a key")
    os.fchmod(memory, 0o600)
    os.write(memory, b"secret")
    os.lseek(memory, 0, os.SEEK_SET)
    assert read_key_descriptor(memory, LIMIT, outside=tree) == b"secret"
    reader, writer = os.pipe()
    os.write(writer, b"secret")
    os.close(writer)
    assert read_key_descriptor(reader, LIMIT, outside=tree) == b"secret"


def test_a_descriptor_of_a_file_that_cannot_be_placed_is_refused(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(_path: str) -> str:
        raise FileNotFoundError(2, "no such folder")

    monkeypatch.setattr(key_file.os, "readlink", nowhere)
    assert by_descriptor(key, key.parent / "tree")[0] == Reason.KEY_EXPOSED


def test_a_tree_that_is_mounted_elsewhere_is_the_same_tree(key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two folders that the system says are one, as a bind mount makes them."""
    tree, other = key.parent / "tree", key.parent / "other"
    other.mkdir()
    inside = other / "a.key"
    inside.write_bytes(b"secret\n")
    inside.chmod(0o600)
    real = os.stat
    monkeypatch.setattr(key_file.os, "stat", lambda path, **how: real(tree if path == other else path, **how))
    assert refused(inside, tree)[0] == Reason.KEY_EXPOSED
    (key.parent / "third").mkdir()
    assert read_key_file(key, LIMIT, outside=key.parent / "third") == b"secret\n"


def test_what_is_no_descriptor_of_a_key_is_refused(tmp_path: Path) -> None:
    for number in (1, 2, 999_999, 2**40):
        with pytest.raises(UnavailableError):
            read_key_descriptor(number, LIMIT)
    with pytest.raises(UnavailableError) as raised:
        read_key_descriptor(os.open(tmp_path, os.O_RDONLY), LIMIT)
    assert raised.value.reason == Reason.NOT_A_FILE


def test_a_descriptor_that_cannot_be_read_is_told(key: Path) -> None:
    with pytest.raises(UnavailableError) as raised:
        read_key_descriptor(os.open(key, os.O_WRONLY), LIMIT)
    assert raised.value.reason == Reason.IO_ERROR


def test_standard_input_is_empty_afterwards() -> None:
    saved = os.dup(0)
    reader, writer = os.pipe()
    os.write(writer, b"secret")
    os.close(writer)
    try:
        os.dup2(reader, 0)
        os.close(reader)
        assert read_key_descriptor(0, LIMIT) == b"secret"
        assert os.read(0, 10) == b""
    finally:
        os.dup2(saved, 0)
        os.close(saved)
