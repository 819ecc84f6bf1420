"""What a plan says of a path beside content and mode: attributes, ACLs, and the times of directories it passes."""

from __future__ import annotations

import errno
import os
import struct

import pytest

from docket.engines.apply import Mode, Options
from docket.formats.tree.listing import Kind
from docket.formats.tree.plan import (
    ABSENT,
    ANYTHING,
    Link,
    MakeDirectory,
    MakeSymlink,
    Remove,
    SetMode,
    StepStatus,
    WriteFile,
    Xattr,
)
from fakes.memory_content import MemoryContent
from tree_lab import CountedCalls, applied, holds_directory, holds_file, p, plain, whole, write

APPLIED, ALREADY = StepStatus.APPLIED, StepStatus.ALREADY
CONTENTS = MemoryContent()
NEW = CONTENTS.put([b"new"])
ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
THEN = 10**18


def acl(owner, user, group, mask, other):
    """The kernel's bytes of an ACL with one named user (linux/posix_acl_xattr.h)."""
    entries = ((1, owner, -1), (2, user, 1234), (4, group, -1), (16, mask, -1), (32, other, -1))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)


@pytest.fixture
def tree(tmp_path):
    made = tmp_path / "tree"
    made.mkdir()
    try:
        os.setxattr(made, ACCESS, acl(7, 5, 5, 5, 5))
        os.setxattr(made, "user.x", b"1")
    except OSError:
        pytest.skip("this file system keeps no ACLs")
    os.removexattr(made, "user.x")
    os.removexattr(made, ACCESS)
    return made


@pytest.fixture(params=["durable", "disposable"])
def durable(request):
    return request.param == "durable"


def test_acls_and_attributes_of_files_and_directories(tree, durable):
    of_file = (Xattr(ACCESS.encode(), acl(6, 4, 4, 4, 0)), Xattr(b"user.a", b"\0"))
    of_folder = (
        Xattr(ACCESS.encode(), acl(7, 7, 5, 7, 0)),
        Xattr(DEFAULT.encode(), acl(7, 6, 0, 6, 0)),
        Xattr(b"user.b", b"2"),
    )
    steps = (
        MakeDirectory(path=p("d"), precondition=ABSENT, mode=0o2770, mtime_ns=THEN, xattrs=of_folder),
        WriteFile(path=p("d/f"), precondition=ABSENT, content=NEW, mode=0o640, mtime_ns=THEN, xattrs=of_file),
        WriteFile(path=p("d/plain"), precondition=ABSENT, content=NEW, mode=0o644, xattrs=()),
        MakeDirectory(path=p("d/e"), precondition=ABSENT, mode=0o755, xattrs=()),
    )
    outcomes = applied(tree, CONTENTS, *steps, durable=durable)
    assert {(item.status, item.detail) for item in outcomes.values()} == {(APPLIED, None)}
    found = {name: os.getxattr(tree / "d", name) for name in os.listxattr(tree / "d")}
    assert found == {item.name.decode(): item.value for item in of_folder}
    assert {name: os.getxattr(tree / "d/f", name) for name in os.listxattr(tree / "d/f")} == {
        item.name.decode(): item.value for item in of_file
    }
    assert os.listxattr(tree / "d/plain") == os.listxattr(tree / "d/e") == [], "nothing is inherited"
    assert plain(whole(tree)) == {
        b"d": ("directory", 0o2770),
        b"d/f": ("file", 0o640, b"new"),
        b"d/plain": ("file", 0o644, b"new"),
        b"d/e": ("directory", 0o755),
    }
    assert os.stat(tree / "d").st_mtime_ns == os.stat(tree / "d/f").st_mtime_ns == THEN
    before = whole(tree)
    assert {item.status for item in applied(tree, CONTENTS, *steps, durable=durable).values()} == {ALREADY}
    assert whole(tree) == before


def test_what_a_directory_gives_to_new_things_reaches_no_planned_one(tree, durable):
    os.mkdir(tree / "d", 0o755)
    for path in (tree, tree / "d"):
        os.setxattr(path, DEFAULT, acl(7, 7, 7, 7, 7))
    applied(
        tree,
        CONTENTS,
        WriteFile(path=p("f"), precondition=ABSENT, content=NEW, mode=0o644),
        MakeDirectory(path=p("d/e"), precondition=ABSENT, mode=0o755),
        WriteFile(path=p("d/e/f"), precondition=ABSENT, content=NEW, mode=0o644),
        durable=durable,
    )
    assert [os.listxattr(tree / name) for name in ("f", "d/e", "d/e/f")] == [[], [], []]


def test_an_acl_that_no_plan_names_stays(tree):
    write(tree / "x", b"old")
    os.setxattr(tree / "x", ACCESS, acl(6, 6, 4, 6, 4))
    assert os.stat(tree / "x").st_mode & 0o777 == 0o664
    step = WriteFile(path=p("x"), precondition=holds_file(b"old", 0o664), content=NEW, mode=0o644)
    assert applied(tree, CONTENTS, step)[b"x"].status is APPLIED
    assert os.getxattr(tree / "x", ACCESS) == acl(6, 6, 4, 4, 4), "the mode is the plan's, the names are the file's"


def test_attributes_that_a_plan_does_not_list_go(tree):
    os.mkdir(tree / "d", 0o755)
    os.setxattr(tree / "d", "user.mine", b"1")
    os.setxattr(tree / "d", DEFAULT, acl(7, 7, 7, 7, 7))
    write(tree / "f", b"new")
    os.setxattr(tree / "f", "user.mine", b"1")
    outcomes = applied(
        tree,
        CONTENTS,
        MakeDirectory(path=p("d"), precondition=holds_directory(), mode=0o755, xattrs=(Xattr(b"user.new", b""),)),
        WriteFile(path=p("f"), precondition=holds_file(b"new"), content=NEW, mode=0o644, xattrs=()),
    )
    assert {item.status for item in outcomes.values()} == {APPLIED}
    assert os.listxattr(tree / "d") == ["user.new"]
    assert os.listxattr(tree / "f") == []


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EPERM, errno.ENOSPC])
def test_attributes_that_cannot_be_had_are_told(tree, code):
    os.mkdir(tree / "d", 0o755)
    os.setxattr(tree / "d", "user.gone", b"")

    def refuses(_number, name):
        if name in ("set_xattr", "remove_xattr"):
            raise OSError(code, os.strerror(code))

    outcomes = applied(
        tree,
        CONTENTS,
        MakeDirectory(path=p("d"), precondition=holds_directory(), mode=0o755, xattrs=(Xattr(b"user.new", b""),)),
        WriteFile(path=p("f"), precondition=ABSENT, content=NEW, mode=0o644, xattrs=(Xattr(b"user.a", b""),)),
        calls=CountedCalls(refuses),
    )
    assert [(item.status, item.detail) for item in outcomes.values()] == [
        (APPLIED, "not kept: user.new, user.gone"),
        (APPLIED, "not kept: user.a"),
    ]


def test_a_broken_disk_is_no_attribute_that_cannot_be_had(tree):
    def breaks(_number, name):
        if name == "set_xattr":
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    step = WriteFile(path=p("f"), precondition=ABSENT, content=NEW, mode=0o644, xattrs=(Xattr(b"user.a", b""),))
    assert applied(tree, CONTENTS, step, calls=CountedCalls(breaks))[b"f"].status is StepStatus.FAILED
    assert os.listdir(tree) == []


def test_nothing_keeps_attributes_too(tree):
    """All or nothing puts back what directories had, removed ones too."""
    for name, mode in (("stays", 0o755), ("goes", 0o750)):
        os.mkdir(tree / name, mode)
        os.setxattr(tree / name, "user.mine", name.encode())
    outcomes = applied(
        tree,
        CONTENTS,
        Remove(path=p("goes"), precondition=holds_directory(0o750), kind=Kind.DIRECTORY),
        MakeDirectory(path=p("stays"), precondition=holds_directory(), mode=0o700, xattrs=()),
        Link(path=p("z"), precondition=ABSENT, to=p("nowhere")),
        options=Options(mode=Mode.ALL_OR_NOTHING),
    )
    assert [item.status for item in outcomes.values()].count(APPLIED) == 0
    assert plain(whole(tree)) == {b"stays": ("directory", 0o755), b"goes": ("directory", 0o750)}
    assert [os.getxattr(tree / name, "user.mine") for name in ("stays", "goes")] == [b"stays", b"goes"]


def passing_steps():
    return (
        Remove(path=p("d/gone"), precondition=ANYTHING, kind=Kind.FILE),
        MakeDirectory(path=p("d"), precondition=ANYTHING, mode=0o755, mtime_ns=THEN),
        MakeSymlink(path=p("d/link"), precondition=ANYTHING, target=b"x", mtime_ns=1),
        MakeDirectory(path=p("d/sub"), precondition=ANYTHING, mode=0o755, mtime_ns=THEN + 1),
        WriteFile(path=p("d/sub/f"), precondition=ANYTHING, content=NEW, mode=0o644),
    )


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("has_its_time", [True, False])
def test_directories_that_are_passed_have_their_planned_time(tmp_path, mode, has_its_time, durable):
    tree = tmp_path / "tree"
    os.makedirs(tree / "d/sub", 0o755)
    os.mkdir(tree / "other")
    write(tree / "d/gone", b"")
    write(tree / "d/sub/f", b"old")
    if has_its_time:
        os.utime(tree / "d/sub", ns=(THEN + 1, THEN + 1))
        os.utime(tree / "d", ns=(THEN, THEN))
    untouched = os.stat(tree / "other")
    options = Options(mode=mode)
    outcomes = applied(tree, CONTENTS, *passing_steps(), options=options, durable=durable)
    assert {item.status for item in outcomes.values()} == {APPLIED}
    times = [os.stat(tree / name).st_mtime_ns for name in ("d", "d/sub")]
    assert times == [THEN, THEN + 1]
    assert os.stat(tree / "other") == untouched
    inner = os.stat(tree / "d/sub")
    outcomes = applied(tree, CONTENTS, *passing_steps(), options=options, durable=durable)
    assert {item.status for item in outcomes.values()} == {ALREADY}
    assert os.stat(tree / "d/sub") == inner


def test_a_directory_that_no_step_changed_is_not_touched(tmp_path):
    tree = tmp_path / "tree"
    os.makedirs(tree / "d", 0o755)
    write(tree / "d/f", b"mine")
    os.utime(tree / "d", ns=(THEN, THEN))
    before = os.stat(tree / "d")
    outcomes = applied(
        tree,
        CONTENTS,
        MakeDirectory(path=p("d"), precondition=holds_directory(), mode=0o755, mtime_ns=THEN),
        SetMode(path=p("d/f"), precondition=holds_file(b"other"), mode=0o600),
    )
    assert [item.status for item in outcomes.values()] == [ALREADY, StepStatus.REFUSED]
    assert os.stat(tree / "d") == before


@pytest.mark.parametrize("before", [None, acl(6, 7, 0, 7, 4)], ids=["removed", "changed"])
def test_a_mode_with_an_acl_gives_both_and_leaves_the_rest(tree, before, durable):
    write(tree / "f", b"old", 0o600)
    os.setxattr(tree / "f", "user.mine", b"1")
    if before:
        os.setxattr(tree / "f", ACCESS, before)
    inode = os.stat(tree / "f").st_ino
    mode = os.stat(tree / "f").st_mode & 0o777
    step = SetMode(path=p("f"), precondition=holds_file(b"old", mode), mode=0o664, acl=acl(6, 6, 4, 6, 4))
    assert applied(tree, CONTENTS, step, durable=durable)[b"f"].status is APPLIED
    status = os.stat(tree / "f")
    assert (status.st_mode & 0o777, status.st_ino) == (0o664, inode)
    assert (os.getxattr(tree / "f", ACCESS), os.getxattr(tree / "f", "user.mine")) == (acl(6, 6, 4, 6, 4), b"1")
    assert applied(tree, CONTENTS, step, durable=durable)[b"f"].status is ALREADY


def test_an_acl_that_cannot_be_had_leaves_the_mode_and_is_told(tree):
    write(tree / "f", b"old", 0o600)

    def refuses(_number, name):
        if name == "set_xattr":
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    step = SetMode(path=p("f"), precondition=holds_file(b"old", 0o600), mode=0o664, acl=acl(6, 6, 4, 6, 4))
    outcome = applied(tree, CONTENTS, step, calls=CountedCalls(refuses))[b"f"]
    assert (outcome.status, outcome.detail) == (APPLIED, "not kept: system.posix_acl_access")
    assert (os.stat(tree / "f").st_mode & 0o777, os.listxattr(tree / "f")) == (0o664, [])


@pytest.mark.parametrize("before", [None, acl(6, 7, 0, 7, 4)], ids=["none", "another"])
def test_a_mode_with_an_acl_is_put_back_whole(tree, before):
    write(tree / "f", b"old", 0o600)
    if before:
        os.setxattr(tree / "f", ACCESS, before)
    mode = os.stat(tree / "f").st_mode & 0o777
    outcomes = applied(
        tree,
        CONTENTS,
        SetMode(path=p("f"), precondition=holds_file(b"old", mode), mode=0o664, acl=acl(6, 6, 4, 6, 4)),
        WriteFile(path=p("g"), precondition=holds_file(b"never"), content=NEW, mode=0o644),
        options=Options(mode=Mode.ALL_OR_NOTHING),
    )
    assert outcomes[b"f"].status is not APPLIED
    assert os.stat(tree / "f").st_mode & 0o777 == mode
    assert os.listxattr(tree / "f") == ([ACCESS] if before else [])
    if before:
        assert os.getxattr(tree / "f", ACCESS) == before
