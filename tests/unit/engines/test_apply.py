"""Every kind of step over everything that may stand at its path: the right state, or a refusal that changes nothing."""

from __future__ import annotations

import os
import socket
import stat

import pytest

from docket.engines.apply import Mode, Options
from docket.errors import UnavailableError
from docket.formats.reason import Reason
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
from tree_lab import (
    CountedCalls,
    applied,
    holds_directory,
    holds_file,
    holds_link,
    p,
    plain,
    told,
    whole,
    write,
)

APPLIED, ALREADY, REFUSED = StepStatus.APPLIED, StepStatus.ALREADY, StepStatus.REFUSED
FAILED, SKIPPED = StepStatus.FAILED, StepStatus.SKIPPED
NEW = b"what is to stand there"
CONTENTS = MemoryContent()
NEW_ADDRESS = CONTENTS.put([NEW])


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        here = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            made.bind(f"/proc/self/fd/{here}/{os.path.basename(path)}")
        finally:
            os.close(here)


def make_full(path):
    os.mkdir(path, 0o755)
    write(f"{path}/inside", b"x")


def make_private(path):
    write(path, b"old", 0o600)


PRESENT = {
    "absent": (lambda path: None, ABSENT),
    "file": (lambda path: write(path, b"old"), holds_file(b"old")),
    "private file": (make_private, holds_file(b"old", 0o600)),
    "same file": (lambda path: write(path, NEW, 0o640), holds_file(NEW, 0o640)),
    "empty directory": (lambda path: os.mkdir(path, 0o755), holds_directory()),
    "full directory": (make_full, holds_directory()),
    "link": (lambda path: os.symlink("inside/../..", path), holds_link("inside/../..")),
    "link outside": (lambda path: os.symlink("/etc/hostname", path), holds_link("/etc/hostname")),
    "fifo": (os.mkfifo, None),
    "socket": (make_socket, None),
    "device": (lambda path: os.mknod(path, 0o020666, os.makedev(1, 5)), None),
}
STEPS = {
    "write": lambda expected: WriteFile(path=p("x"), precondition=expected, content=NEW_ADDRESS, mode=0o640),
    "directory": lambda expected: MakeDirectory(path=p("x"), precondition=expected, mode=0o750),
    "symlink": lambda expected: MakeSymlink(path=p("x"), precondition=expected, target=b"../out"),
    "mode": lambda expected: SetMode(path=p("x"), precondition=expected, mode=0o711),
    "link": lambda expected: Link(path=p("x"), precondition=expected, to=p("other")),
    "remove file": lambda expected: Remove(path=p("x"), precondition=expected, kind=Kind.FILE),
    "remove directory": lambda expected: Remove(path=p("x"), precondition=expected, kind=Kind.DIRECTORY),
    "remove link": lambda expected: Remove(path=p("x"), precondition=expected, kind=Kind.SYMLINK),
}
AFTERWARDS = {
    "write": ("file", 0o640, NEW),
    "directory": ("directory", 0o750),
    "symlink": ("symlink", b"../out"),
    "link": ("file", 0o644, b"other"),
}


def right(step, present, *, met):
    """What should come of it: (status, reason, whether the path is as it was)."""
    if present in ("fifo", "socket", "device"):
        return REFUSED, Reason.SPECIAL_FILE
    if step.startswith("remove") and present == "absent":
        return ALREADY, None
    if (step, present) == ("write", "same file"):
        return ALREADY, None
    if not met:
        return REFUSED, Reason.CHANGED_SINCE
    if step == "mode":
        if present == "absent":
            return REFUSED, Reason.NOT_FOUND
        return (APPLIED, None) if present.endswith("file") else (REFUSED, Reason.NOT_A_FILE)
    if step.startswith("remove") and ("directory" in present) != (step == "remove directory"):
        return REFUSED, Reason.CHANGED_SINCE
    if present == "full directory" and step != "directory":
        return REFUSED, Reason.NOT_EMPTY
    return APPLIED, None


@pytest.fixture
def tree(tmp_path):
    made = tmp_path / "tree"
    made.mkdir()
    write(made / "other", b"other")
    return made


EXPECTED = ("what stands there", "anything", "absent", "another file", "another directory", "another link")


@pytest.mark.parametrize("expected", EXPECTED)
@pytest.mark.parametrize("present", PRESENT)
@pytest.mark.parametrize("step", STEPS)
def test_every_step_over_everything(tree, step, present, expected):
    make, state = PRESENT[present]
    try:
        make(os.fspath(tree / "x"))
    except PermissionError:
        pytest.skip("only root makes device nodes")
    others = {
        "what stands there": state,
        "anything": ANYTHING,
        "absent": ABSENT,
        "another file": holds_file(b"other than there"),
        "another directory": holds_directory(0o700),
        "another link": holds_link("elsewhere"),
    }
    precondition = others[expected]
    if precondition is None:
        pytest.skip("nothing is expected of a special file")
    kinds = {"remove file": "file", "remove directory": "directory", "remove link": "symlink"}
    if step in kinds and hasattr(precondition, "state") and precondition.state.kind != kinds[step]:
        pytest.skip("no plan expects one kind and removes another")
    before = whole(tree)
    outcome = applied(tree, CONTENTS, STEPS[step](precondition))[b"x"]
    met = precondition == state or precondition is ANYTHING
    assert (outcome.status, outcome.reason) == right(step, present, met=met)
    after = whole(tree)
    if outcome.status is not APPLIED:
        assert after == before
        assert outcome.detail or outcome.status is ALREADY
        return
    if step.startswith("remove"):
        assert told(os.fsencode(tree / "x")) == ("absent",)
    elif step == "mode":
        assert plain(after)[b"x"] == ("file", 0o711, *plain(before)[b"x"][2:])
        assert after[b"x"][3:] == before[b"x"][3:], "its inode and time stay"
    else:
        assert plain(after)[b"x"] == AFTERWARDS[step]
    rest = {path: state for path, state in after.items() if path != b"x"}
    assert rest == {path: state for path, state in before.items() if path != b"x"}


def test_retyped_in_every_direction_with_what_is_inside(tree):
    """A full directory becomes a file and a file a full directory, in one plan."""
    make_full(tree / "was-full")
    write(tree / "was-file", b"old")
    outcomes = applied(
        tree,
        CONTENTS,
        WriteFile(path=p("was-full"), precondition=holds_directory(), content=NEW_ADDRESS, mode=0o600),
        Remove(path=p("was-full/inside"), precondition=holds_file(b"x"), kind=Kind.FILE),
        MakeDirectory(path=p("was-file"), precondition=holds_file(b"old"), mode=0o555),
        WriteFile(path=p("was-file/deep"), precondition=ABSENT, content=NEW_ADDRESS, mode=0o444),
        MakeDirectory(path=p("was-file/empty"), precondition=ABSENT, mode=0o500),
    )
    assert {item.status for item in outcomes.values()} == {APPLIED}
    assert plain(whole(tree)) == {
        b"other": ("file", 0o644, b"other"),
        b"was-full": ("file", 0o600, NEW),
        b"was-file": ("directory", 0o555),
        b"was-file/deep": ("file", 0o444, NEW),
        b"was-file/empty": ("directory", 0o500),
    }


def test_times_and_attributes(tree):
    write(tree / "x", b"old")
    attributes = (Xattr(b"user.a", b"\0\xff"), Xattr(b"user.b", b""))
    step = WriteFile(
        path=p("x"), precondition=holds_file(b"old"), content=NEW_ADDRESS, mode=0o644, mtime_ns=123_456_789_012_345_678,
        xattrs=attributes,
    )  # fmt: skip
    link = MakeSymlink(path=p("l"), precondition=ABSENT, target=b"\xff", mtime_ns=5_000_000_001)
    folder = MakeDirectory(path=p("d"), precondition=ABSENT, mode=0o755, mtime_ns=7)
    inside = WriteFile(path=p("d/f"), precondition=ABSENT, content=NEW_ADDRESS, mode=0o644, mtime_ns=-1)
    outcomes = applied(tree, CONTENTS, step, link, folder, inside)
    assert {item.status for item in outcomes.values()} == {APPLIED}
    assert os.stat(tree / "x").st_mtime_ns == 123_456_789_012_345_678
    assert os.lstat(tree / "l").st_mtime_ns == 5_000_000_001
    assert os.stat(tree / "d").st_mtime_ns == 7
    assert os.stat(tree / "d/f").st_mtime_ns == -1
    if outcomes[b"x"].detail is None:
        assert os.getxattr(tree / "x", "user.a") == b"\0\xff"
        assert sorted(os.listxattr(tree / "x")) == ["user.a", "user.b"]
    before = whole(tree)
    assert {item.status for item in applied(tree, CONTENTS, step, link, folder, inside).values()} == {ALREADY}
    assert whole(tree) == before


def test_a_time_alone_is_set_in_place(tree):
    write(tree / "x", NEW)
    inode = os.stat(tree / "x").st_ino
    step = WriteFile(path=p("x"), precondition=holds_file(NEW), content=NEW_ADDRESS, mode=0o644, mtime_ns=99)
    assert applied(tree, CONTENTS, step)[b"x"].status is APPLIED
    assert (os.stat(tree / "x").st_ino, os.stat(tree / "x").st_mtime_ns) == (inode, 99)


def test_attributes_that_no_plan_names_stay(tree):
    write(tree / "x", b"old")
    try:
        os.setxattr(tree / "x", "user.mine", b"1")
    except OSError:
        pytest.skip("this file system keeps no attributes")
    step = WriteFile(path=p("x"), precondition=holds_file(b"old"), content=NEW_ADDRESS, mode=0o644)
    assert applied(tree, CONTENTS, step)[b"x"].status is APPLIED
    assert os.getxattr(tree / "x", "user.mine") == b"1"


def test_holes(tree):
    data = b"a" * 4096 + bytes(8 * 1024 * 1024) + b"end"
    address = CONTENTS.put([data])
    make = lambda name, **more: WriteFile(path=p(name), precondition=ABSENT, content=address, mode=0o600, **more)  # noqa: E731
    ends = WriteFile(
        path=p("ends"), precondition=ABSENT, content=CONTENTS.put([bytes(1024 * 1024)]), mode=0o600, sparse=True
    )
    applied(tree, CONTENTS, make("holes", sparse=True), make("full"), ends)
    assert (tree / "holes").read_bytes() == data == (tree / "full").read_bytes()
    assert os.stat(tree / "holes").st_blocks * 512 < 200_000 < os.stat(tree / "full").st_blocks * 512
    assert (tree / "ends").read_bytes() == bytes(1024 * 1024)
    assert os.stat(tree / "ends").st_blocks * 512 < 100_000


def test_groups_of_hard_links(tree):
    write(tree / "b", b"old")
    write(tree / "stays", b"mine")
    steps = (
        WriteFile(path=p("b"), precondition=holds_file(b"old"), content=NEW_ADDRESS, mode=0o600),
        Link(path=p("a"), precondition=ABSENT, to=p("b")),
        Link(path=p("c"), precondition=ABSENT, to=p("stays")),
    )
    assert {item.status for item in applied(tree, CONTENTS, *steps).values()} == {APPLIED}
    assert os.stat(tree / "a").st_ino == os.stat(tree / "b").st_ino
    assert os.stat(tree / "c").st_ino == os.stat(tree / "stays").st_ino
    assert {item.status for item in applied(tree, CONTENTS, *steps).values()} == {ALREADY}
    os.symlink("stays", tree / "l")
    gone = Link(path=p("d"), precondition=ABSENT, to=p("nowhere"))
    to_link = Link(path=p("e"), precondition=ABSENT, to=p("l"))
    outcomes = applied(tree, CONTENTS, gone, to_link)
    assert (outcomes[b"d"].status, outcomes[b"d"].reason) == (FAILED, Reason.NOT_FOUND)
    assert (outcomes[b"e"].status, outcomes[b"e"].reason) == (REFUSED, Reason.NOT_A_FILE)


def test_special_bits_are_never_given_and_are_taken(tree):
    write(tree / "x", NEW, 0o4755)
    step = SetMode(path=p("x"), precondition=holds_file(NEW, 0o4755), mode=0o755)
    assert applied(tree, CONTENTS, step)[b"x"].status is APPLIED
    assert stat.S_IMODE(os.stat(tree / "x").st_mode) == 0o755


@pytest.mark.parametrize("mask", [0, 0o77, 0o777])
def test_the_umask_changes_nothing(tree, mask):
    before = os.umask(mask)
    try:
        applied(
            tree,
            CONTENTS,
            WriteFile(path=p("f"), precondition=ABSENT, content=NEW_ADDRESS, mode=0o666),
            MakeDirectory(path=p("d"), precondition=ABSENT, mode=0o777),
        )
    finally:
        os.umask(before)
    assert plain(whole(tree))[b"f"] == ("file", 0o666, NEW)
    assert plain(whole(tree))[b"d"] == ("directory", 0o777)


def test_content_that_is_missing_or_damaged_changes_nothing(tree):
    write(tree / "x", b"old")
    contents = MemoryContent()
    missing = MemoryContent().put([b"nowhere"])
    damaged = contents.put([b"what its address names"])
    contents.kept[damaged] = b"what its address NAMES"
    longer = contents.put([b"short"])
    contents.kept[longer] = b"short" * 10
    before = whole(tree)
    for address, reason in (
        (missing, Reason.CONTENT_MISSING),
        (damaged, Reason.CONTENT_DAMAGED),
        (longer, Reason.CONTENT_DAMAGED),
    ):
        step = WriteFile(path=p("x"), precondition=ANYTHING, content=address, mode=0o644)
        outcome = applied(tree, contents, step)[b"x"]
        assert (outcome.status, outcome.reason) == (FAILED, reason)
        assert whole(tree) == before


class Cloning(MemoryContent):
    def __init__(self, honest):
        super().__init__()
        self.honest = honest

    def clone_into(self, address, descriptor):
        os.write(descriptor, self.kept[address] if self.honest else b"something else")
        return True


@pytest.mark.parametrize("honest", [True, False])
def test_what_a_store_clones_is_held_against_its_address(tree, honest):
    contents = Cloning(honest)
    step = WriteFile(path=p("x"), precondition=ABSENT, content=contents.put([b"cloned"]), mode=0o644)
    outcome = applied(tree, contents, step)[b"x"]
    assert (outcome.status, outcome.reason) == ((APPLIED, None) if honest else (FAILED, Reason.CONTENT_DAMAGED))
    assert (tree / "x").exists() is honest


class Sink:
    def __init__(self, refuses=()):
        self.refuses = refuses
        self.got = {}

    def keep(self, path, state, content):
        if path.raw in self.refuses:
            raise UnavailableError(Reason.NO_SPACE, "the other disk is full")
        self.got[path.raw] = (state.kind, state.target if content is None else content.read())


def test_what_is_displaced_is_kept_first(tree):
    write(tree / "a", b"of a")
    write(tree / "b", b"of b")
    os.symlink("t", tree / "l")
    sink = Sink(refuses=(b"b",))
    outcomes = applied(
        tree,
        CONTENTS,
        WriteFile(path=p("a"), precondition=ANYTHING, content=NEW_ADDRESS, mode=0o644),
        WriteFile(path=p("b"), precondition=ANYTHING, content=NEW_ADDRESS, mode=0o644),
        Remove(path=p("l"), precondition=ANYTHING, kind=Kind.SYMLINK),
        options=Options(keep=sink),
    )
    assert sink.got == {b"a": ("file", b"of a"), b"l": ("symlink", "t")}
    assert (outcomes[b"b"].status, outcomes[b"b"].reason) == (FAILED, Reason.NO_SPACE)
    assert (tree / "b").read_bytes() == b"of b"
    assert sorted(os.listdir(tree)) == ["a", "b", "other"]


def all_or_nothing_steps(tree):
    write(tree / "a", b"of a")
    write(tree / "m", b"of m", 0o600)
    write(tree / "z", b"of z")
    os.mkdir(tree / "empty", 0o711)
    os.symlink("t", tree / "l")
    return (
        Remove(path=p("empty"), precondition=holds_directory(0o711), kind=Kind.DIRECTORY),
        Remove(path=p("l"), precondition=holds_link("t"), kind=Kind.SYMLINK),
        WriteFile(path=p("a"), precondition=holds_file(b"of a"), content=NEW_ADDRESS, mode=0o644),
        MakeDirectory(path=p("d"), precondition=ABSENT, mode=0o555),
        WriteFile(path=p("d/f"), precondition=ABSENT, content=NEW_ADDRESS, mode=0o644),
        SetMode(path=p("m"), precondition=holds_file(b"of m", 0o600), mode=0o644),
        WriteFile(path=p("z"), precondition=holds_file(b"of z"), content=NEW_ADDRESS, mode=0o644),
    )


class Marks:
    def __init__(self, prepared=lambda: None):
        self.made = []
        self._prepared = prepared

    note = b"the test's"

    def prepared(self, steps, staging):
        self.made.append("prepared")
        self._prepared()

    def applied(self):
        self.made.append("applied")


def test_all(tree):
    journal = Marks()
    steps = all_or_nothing_steps(tree)
    outcomes = applied(tree, CONTENTS, *steps, options=Options(mode=Mode.ALL_OR_NOTHING, journal=journal))
    assert {item.status for item in outcomes.values()} == {APPLIED}
    assert journal.made == ["prepared", "applied"]
    assert plain(whole(tree)) == {
        b"other": ("file", 0o644, b"other"),
        b"a": ("file", 0o644, NEW),
        b"d": ("directory", 0o555),
        b"d/f": ("file", 0o644, NEW),
        b"m": ("file", 0o644, b"of m"),
        b"z": ("file", 0o644, NEW),
    }


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_or_nothing(tree, when):
    steps = all_or_nothing_steps(tree)
    before = whole(tree)
    edit = lambda: write(tree / "z", b"an edit")  # noqa: E731
    if when == "before":
        edit()
    journal = Marks(edit if when == "meanwhile" else lambda: None)
    outcomes = applied(tree, CONTENTS, *steps, options=Options(mode=Mode.ALL_OR_NOTHING, journal=journal))
    assert (outcomes[b"z"].status, outcomes[b"z"].reason) == (REFUSED, Reason.CHANGED_SINCE)
    assert {item.status for path, item in outcomes.items() if path != b"z"} == {SKIPPED}
    assert journal.made == (["prepared"] if when == "meanwhile" else [])
    after = whole(tree)
    assert after.pop(b"z")[2] == b"an edit"
    del before[b"z"]
    if when == "meanwhile":  # a directory that was removed and made again is a new one
        before, after = plain(before), plain(after)
    assert after == before


def test_a_root_that_is_another_one_refuses_everything(tree, tmp_path):
    steps = [
        WriteFile(path=p("a"), precondition=ANYTHING, content=NEW_ADDRESS, mode=0o644),
        Remove(path=p("other"), precondition=ANYTHING, kind=Kind.FILE),
    ]

    def swap(number, name):
        if name == "make_file" and not (tmp_path / "old").exists():
            tree.rename(tmp_path / "old")
            tree.mkdir()

    outcomes = applied(tree, CONTENTS, *steps, calls=CountedCalls(swap))
    assert (outcomes[b"a"].status, outcomes[b"a"].reason) == (REFUSED, Reason.ROOT_REPLACED)
    assert os.listdir(tree) == []
    assert os.listdir(tmp_path / "old") in ([], ["other"])


def test_nothing_is_made_where_nothing_is_to_do(tree):
    write(tree / "x", NEW, 0o640)
    calls = CountedCalls()
    outcomes = applied(tree, CONTENTS, STEPS["write"](ANYTHING), calls=calls)
    assert outcomes[b"x"].status is ALREADY
    assert calls.log in ([], ["sync"] * len(calls.log))


def test_a_disposable_tree_is_never_synced(tree):
    calls = CountedCalls()
    outcomes = applied(tree, CONTENTS, STEPS["write"](ANYTHING), calls=calls, durable=False)
    assert outcomes[b"x"].status is APPLIED
    assert "sync" not in calls.log
