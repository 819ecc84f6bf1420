"""One transaction over a tree that has one of everything, for each backend: what an agent did to modes, names, times
and attributes is in the base afterwards, and nothing else of it moved. Told by plain calls.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from docket.engines.transaction.closing import ClosedTransaction, close_transaction, drop_stage
from docket.engines.transaction.committing import CommitOutcome, CommitRequest, Committed, commit_transaction
from docket.engines.transaction.opening import open_transaction
from docket.engines.transaction.world import OpenRequest, OpenTransaction, TransactionWorld
from docket.formats.workspace.state import SurfaceRules
from matrix_lab import world_at
from stage_lab import BACKENDS, can_stage, formatted, unmounted
from tree_lab import as_nobody, tree_of_nobody

OLD_NS = 1_500_000_000_123_456_789
NEW_NS = 1_600_000_000_987_654_321
BLOCK = 1 << 16
LONG = "n" * 255
MODES = [
    ("added", 0o640),
    ("tool", 0o755),
    ("written-once", 0o444),
    ("program", 0o755),
    ("private", 0o640),
    ("read-only", 0o444),
    ("still", 0o700),
    ("closed", 0o555),
    ("setuid", 0o4755),
    ("empty", 0o755),
    ("m1", 0o600),
    ("m2", 0o600),
]
ODD = b"line\nfeed\xff\xfe"
CONTENTS = [
    ("read-only", b"changed\n"),
    ("closed/in", b"changed\n"),
    ("closed/kept", b"text\n"),
    ("closed/new", b"text\n"),
    ("one", b"one more"),
    ("left", b"a file of its own"),
    ("right", b"left"),
    ("another", b"alone"),
    ("turned", b"of a group\n"),
    (os.fsdecode(ODD), b"odd, changed\n"),
    (LONG, b"text\n"),
]


def put(path: Path, text: bytes = b"text\n", mode: int = 0o644) -> None:
    path.write_bytes(text)
    path.chmod(mode)


def make(base: Path) -> None:
    """What stands there before."""
    for name in ("sub", "sub/deep", "closed", "still", "goes", "holds"):
        (base / name).mkdir(parents=True)
    for name in (
        "plain",
        "program",
        "dropped",
        "still/file",
        "sub/deep/f",
        "closed/in",
        "closed/kept",
        "holds/f",
        "turned",
    ):
        put(base / name)
    put(base / "read-only", b"read only\n", 0o444)
    put(base / "private", b"private\n", 0o600)
    put(base / "setuid", b"setuid\n", 0o4755)
    put(base / "other", b"of a group\n")
    for one, more in (("one", ("two", "sub/three")), ("alone", ()), ("left", ("right",)), ("m1", ("m2",))):
        put(base / one, one.encode())
        for other in more:
            os.link(base / one, base / other)
    put(base / "noted")
    os.setxattr(base / "noted", "user.note", b"as it was")
    put(base / "marked")
    os.setxattr(base / "marked", "user.old", b"goes")
    with (base / "sparse").open("wb") as file:
        file.truncate(64 * BLOCK)
        file.write(b"begin")
    put(base / os.fsdecode(ODD))
    put(base / LONG)
    (base / "inside").symlink_to("plain")
    (base / "outside").symlink_to("/etc/hostname")
    (base / "absolute").symlink_to(base / "plain")
    os.mkfifo(base / "pipe")
    for folder, folders, files in os.walk(base, topdown=False):
        for name in files + folders:
            os.utime(os.path.join(folder, name), ns=(OLD_NS, OLD_NS), follow_symlinks=False)
    os.utime(base, ns=(OLD_NS, OLD_NS))
    (base / "closed").chmod(0o555)


def work(root: Path) -> None:
    """What the agent does; as an ordinary user would have to do it."""
    put(root / "added", b"added\n", 0o640)
    put(root / "tool", b"#!/bin/sh\n", 0o755)
    put(root / "written-once", b"final\n", 0o444)
    (root / "program").chmod(0o755)
    (root / "private").chmod(0o640)
    (root / "read-only").chmod(0o644)
    (root / "read-only").write_bytes(b"changed\n")
    (root / "read-only").chmod(0o444)
    (root / "still").chmod(0o700)
    (root / "closed").chmod(0o755)
    (root / "closed/in").write_bytes(b"changed\n")
    put(root / "closed/new")
    (root / "closed").chmod(0o555)
    with (root / "one").open("ab") as file:  # the other names follow, where the stage has them as such
        file.write(b" more")
    (root / "m1").chmod(0o600)
    (root / "left").unlink()
    put(root / "left", b"a file of its own")
    put(root / "first", b"two new names")
    os.link(root / "first", root / "second")
    os.link(root / "alone", root / "another")
    os.link(root / "alone", root / "sub/yet-another")
    (root / "turned").unlink()
    os.link(root / "other", root / "turned")
    os.setxattr(root / "noted", "user.note", b"as it is")
    (root / "noted").write_bytes(b"noted\n")
    os.removexattr(root / "marked", "user.old")
    (root / "marked").write_bytes(b"marked\n")
    with (root / "sparse").open("r+b") as file:
        file.seek(63 * BLOCK)
        file.write(b"end")
    with (root / "holes").open("wb") as file:
        file.truncate(100 * BLOCK)
    put(root / os.fsdecode(ODD), b"odd, changed\n")
    put(root / (LONG[:-1] + "2"), b"long\n")
    put(root / os.fsdecode(b"\xe9\n\x01"), b"new and odd\n")
    (root / "empty/emptier").mkdir(parents=True)
    (root / "goes").rmdir()
    (root / "holds/f").unlink()
    (root / "holds").rmdir()
    (root / "inside").unlink()
    (root / "inside").symlink_to("sub/deep/f")
    (root / "new-outside").symlink_to("/etc/passwd")
    (root / "dangling").symlink_to(b"nowhere\xff")
    put(root / "timed", b"timed\n")
    os.utime(root / "timed", ns=(NEW_NS, NEW_NS))
    os.mkfifo(root / "new-pipe")
    with socket.socket(socket.AF_UNIX) as server:
        place = os.getcwd()
        os.chdir(root)  # a socket's path is short
        try:
            server.bind("new-socket")
        finally:
            os.chdir(place)
    (root / "dropped").unlink()


@dataclass
class Landed:
    """A transaction that landed, and what stood in its base before."""

    base: Path
    stage: Path
    before: dict[bytes, os.stat_result]
    closed: ClosedTransaction
    outcome: CommitOutcome
    opened: OpenTransaction
    world: TransactionWorld

    def at(self, name: str | bytes) -> os.stat_result:
        return os.lstat(os.path.join(os.fsencode(self.base), os.fsencode(name)))

    def names(self) -> set[bytes]:
        return set(statuses(self.base))


def statuses(root: Path) -> dict[bytes, os.stat_result]:
    raw, found = os.fsencode(root), {}
    for folder, folders, files in os.walk(raw):
        for name in folders + files:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, raw)] = os.lstat(path)
    return found


def land(place: Path, backend: str, *without: str) -> Landed:
    base = place / "base"
    base.mkdir()
    make(base)
    for name in without:
        (base / name).unlink()
    before = statuses(base)
    world = replace(world_at(place, "copy"), backends=(BACKENDS[backend](),))
    opened = open_transaction(OpenRequest(base=base, rules=SurfaceRules()), world)
    assert isinstance(opened, OpenTransaction), opened
    work(opened.stage.root)
    closed = close_transaction(opened, world)
    outcome = commit_transaction(CommitRequest(closed=closed), world)
    return Landed(base, opened.stage.root, before, closed, outcome, opened, world)


@pytest.fixture(scope="module", params=["copy", "overlay", pytest.param("reflink", marks=pytest.mark.slow)])
def landed(request, tmp_path_factory):
    place = tmp_path_factory.mktemp("landed")
    disk = formatted(place, "xfs") if request.param == "reflink" else None
    try:
        can_stage(request.param, disk or place)
        it = land(disk or place, request.param)
        yield it
        drop_stage(it.opened, it.world)
    finally:
        if disk is not None:
            unmounted(disk)


def test_it_landed(landed):
    assert isinstance(landed.outcome, Committed), landed.outcome


def test_exactly_the_names_that_the_agent_left(landed):
    gone = {b"goes", b"holds", b"holds/f", b"dropped"}
    new = {
        *(b"added", b"tool", b"written-once", b"closed/new", b"first", b"second", b"another", b"sub/yet-another"),
        *(b"holes", b"empty", b"empty/emptier", b"new-outside", b"dangling", b"timed", b"\xe9\n\x01"),
        os.fsencode(LONG[:-1] + "2"),
    }
    assert landed.names() == {*landed.before, *new} - gone


def test_special_files_are_told_and_not_made(landed):
    assert {item.path.raw for item in landed.closed.found.not_preserved} == {b"new-pipe", b"new-socket"}
    assert stat.S_ISFIFO(landed.at("pipe").st_mode)


@pytest.mark.parametrize(("name", "mode"), MODES)
def test_modes(landed, name, mode):
    assert stat.S_IMODE(landed.at(name).st_mode) == mode


@pytest.mark.parametrize(("name", "text"), CONTENTS)
def test_contents(landed, name, text):
    assert (landed.base / name).read_bytes() == text


def test_only_the_mode_of_a_file_changed_and_it_is_the_same_file(landed):
    for name in (b"program", b"private", b"m1"):
        assert landed.at(name).st_ino == landed.before[name].st_ino


def test_names_of_one_file(landed):
    assert landed.at("first").st_ino == landed.at("second").st_ino
    assert landed.at("left").st_ino != landed.at("right").st_ino
    assert landed.at("right").st_nlink == 1
    staged = {name: os.lstat(landed.stage / name).st_ino for name in ("one", "two", "sub/three")}
    for name, inode in staged.items():
        assert (landed.at(name).st_ino == landed.at("one").st_ino) is (inode == staged["one"]), name


def test_a_further_name_of_a_file_that_did_not_change(landed):
    alone = landed.at("alone")
    assert (alone.st_ino, alone.st_nlink) == (landed.before[b"alone"].st_ino, 3)
    assert landed.at("another").st_ino == landed.at("sub/yet-another").st_ino == alone.st_ino
    assert landed.at("turned").st_ino == landed.at("other").st_ino == landed.before[b"other"].st_ino
    assert alone.st_mtime_ns == OLD_NS


def test_holes_stay_holes(landed):
    for name, blocks in (("sparse", 64), ("holes", 100)):
        status = landed.at(name)
        assert status.st_size == blocks * BLOCK
        assert status.st_blocks * 512 <= 4 * BLOCK
    with (landed.base / "sparse").open("rb") as file:
        assert file.read(5) == b"begin"
        file.seek(63 * BLOCK)
        assert file.read(3) == b"end"


def test_attributes(landed):
    assert os.getxattr(landed.base / "noted", "user.note") == b"as it is"
    assert os.listxattr(landed.base / "noted") == ["user.note"]


def test_links(landed):
    targets = {
        "inside": b"sub/deep/f",
        "outside": b"/etc/hostname",
        "absolute": os.fsencode(landed.base / "plain"),
        "new-outside": b"/etc/passwd",
        "dangling": b"nowhere\xff",
    }
    assert {name: os.readlink(os.fsencode(landed.base / name)) for name in targets} == targets


def test_times(landed):
    assert landed.at("timed").st_mtime_ns == NEW_NS
    written = {b"read-only", b"closed/in", b"one", b"two", b"sub/three", b"left", b"turned", b"noted", b"marked"}
    holders = {b"closed", b"sub"}  # names were put into them
    for name in landed.names() & set(landed.before) - written - holders - {b"sparse", ODD, b"inside"}:
        assert landed.at(name).st_mtime_ns == OLD_NS, name
        assert landed.at(name).st_ino == landed.before[name].st_ino, name


def test_all_of_it_as_an_ordinary_user():
    if os.geteuid() != 0:
        pytest.skip("it is an ordinary user who runs all of this")
    with tree_of_nobody() as place:

        def work_of_nobody() -> None:
            if not os.access(sys.executable, os.X_OK):
                return  # this user's own interpreter, which stages are made with
            it = land(place, "copy", "absolute")  # where nobody may mount, such a link is refused
            test_it_landed(it)
            test_exactly_the_names_that_the_agent_left(it)
            test_names_of_one_file(it)
            test_a_further_name_of_a_file_that_did_not_change(it)
            test_times(it)
            for name, mode in MODES:
                test_modes(it, name, mode)
            for name, text in CONTENTS:
                test_contents(it, name, text)

        as_nobody(work_of_nobody)
