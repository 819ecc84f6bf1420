"""Plans, trees and neighbours that are out to make the writer touch what it must not, or lose what somebody saved."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import threading
import time
import traceback
from contextlib import contextmanager

import pytest

from docket.engines.apply import Mode, Options, apply, leftover_names, open_tree, sweep
from docket.formats.reason import Reason
from docket.formats.tree.listing import Kind
from docket.formats.tree.plan import (
    ABSENT,
    ANYTHING,
    Holds,
    Link,
    MakeDirectory,
    MakeSymlink,
    Plan,
    Remove,
    SetMode,
    StepStatus,
    WriteFile,
)
from docket.host.confined import ConfinedTree
from docket.host.leftovers import LeftoverState
from docket.host.tree_calls import TreeCalls
from fakes.memory_content import MemoryContent
from tree_lab import (
    CountedCalls,
    applied,
    as_nobody,
    file_state,
    holds_directory,
    holds_file,
    p,
    plain,
    plan_for,
    root_of,
    tree_of_nobody,
    whole,
    write,
)

APPLIED, ALREADY, REFUSED, FAILED = StepStatus.APPLIED, StepStatus.ALREADY, StepStatus.REFUSED, StepStatus.FAILED
CONTENTS = MemoryContent()
NEW = CONTENTS.put([b"new"])
SECONDS = 1.5

NAMES = [
    b"new\nline",
    b" lead",
    b"trail ",
    b'"quoted"',
    b"it's",
    b"-d",
    b":c",
    b"[ab].t",
    b"a.t",
    b"*",
    b"#",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"n" * 255,
    "é".encode(),
    "e\u0301".encode(),
    b"back\\slash",
    b"c:x",
    b"\x01\x1b[31m",
    b"...",
    b"Case",
    b"case",
    b"0.1",
    b"plan",
    b".docket-apply",
]


@pytest.fixture
def tree(tmp_path):
    made = tmp_path / "tree"
    made.mkdir()
    return made


@pytest.fixture
def outside(tmp_path):
    made = tmp_path / "outside"
    made.mkdir()
    write(made / "precious", b"precious", 0o600)
    (made / "sub").mkdir()
    before = whole(made)
    yield made
    assert whole(made) == before, "something outside of the tree was touched"


def test_every_name_there_is(tree):
    inside = [name + b"/" + inner for name in NAMES for inner in (b"-d", b"\xff", b"n" * 255)]
    make = [
        *(MakeDirectory(path=p(name), precondition=ABSENT, mode=0o755) for name in NAMES),
        *(WriteFile(path=p(path), precondition=ABSENT, content=NEW, mode=0o644) for path in inside),
    ]
    assert {item.status for item in applied(tree, CONTENTS, *make).values()} == {APPLIED}
    assert plain(whole(tree)) == dict.fromkeys(NAMES, ("directory", 0o755)) | dict.fromkeys(
        inside, ("file", 0o644, b"new")
    )
    remove = [
        *(Remove(path=p(name), precondition=holds_directory(), kind=Kind.DIRECTORY) for name in NAMES),
        *(Remove(path=p(path), precondition=holds_file(b"new"), kind=Kind.FILE) for path in inside),
    ]
    assert {item.status for item in applied(tree, CONTENTS, *remove).values()} == {APPLIED}
    assert whole(tree) == {}


@pytest.mark.parametrize(
    "raw",
    [b"/etc/x", b"..", b"../x", b"a/../../x", b"", b".", b"a//b", b"a/", b"./a", b"a\0b", b"a/\0", b"/", b"a/./b"],
)
def test_paths_that_are_none_are_refused(tree, outside, raw):
    (tree / "a").mkdir()
    before = whole(tree)
    steps = [
        WriteFile(path=p(raw), precondition=ANYTHING, content=NEW, mode=0o644),
        MakeDirectory(path=p(raw), precondition=ANYTHING, mode=0o755),
        MakeSymlink(path=p(raw), precondition=ANYTHING, target=b"x"),
        SetMode(path=p(raw), precondition=ANYTHING, mode=0o777),
        Link(path=p(raw), precondition=ANYTHING, to=p("a")),
        Remove(path=p(raw), precondition=ANYTHING, kind=Kind.FILE),
        Link(path=p("b"), precondition=ABSENT, to=p(raw)),
    ]
    for step in steps:
        with open_tree(os.fsencode(tree)) as opened:
            # No decoded plan has such a path; one that was put together by hand must be refused all the same.
            (outcome,) = apply(Plan((step,), root_of(tree), b"", NEW.sha256), CONTENTS, opened)
        assert (outcome.status, outcome.reason) == (REFUSED, Reason.NOT_A_PATH), step
        assert outcome.detail
    assert whole(tree) == before


def test_links_on_the_way_are_not_followed(tree, outside):
    (tree / "real").mkdir()
    write(tree / "real/precious", b"mine")
    os.symlink(outside, tree / "out")
    os.symlink("real", tree / "in")
    os.symlink("/", tree / "root")
    before = whole(tree)
    for way in ("out/", "in/", "root/tmp/", "out/sub/", "real/../out/"):
        steps = [
            WriteFile(path=p(f"{way}precious"), precondition=ANYTHING, content=NEW, mode=0o644),
            Remove(path=p(f"{way}other"), precondition=ANYTHING, kind=Kind.FILE),
            SetMode(path=p(f"{way}third"), precondition=ANYTHING, mode=0o777),
            MakeDirectory(path=p(f"{way}fourth"), precondition=ANYTHING, mode=0o777),
            Link(path=p("taken"), precondition=ABSENT, to=p(f"{way}precious")),
        ]
        for step in steps:
            with open_tree(os.fsencode(tree)) as opened:
                (outcome,) = apply(Plan((step,), root_of(tree), b"", NEW.sha256), CONTENTS, opened)
            wanted = Reason.NOT_A_PATH if ".." in way else Reason.IS_A_SYMLINK
            assert (outcome.status, outcome.reason) == (REFUSED, wanted), (way, step)
    assert whole(tree) == before


def test_a_link_is_replaced_and_not_written_through(tree, outside):
    os.symlink(outside / "precious", tree / "x")
    os.symlink(outside, tree / "d")
    os.symlink(outside / "precious", tree / "m")
    outcomes = applied(
        tree,
        CONTENTS,
        WriteFile(path=p("x"), precondition=ANYTHING, content=NEW, mode=0o644),
        MakeDirectory(path=p("d"), precondition=ANYTHING, mode=0o755),
        WriteFile(path=p("d/precious"), precondition=ABSENT, content=NEW, mode=0o644),
        SetMode(path=p("m"), precondition=ANYTHING, mode=0o777),
    )
    assert [outcomes[path].status for path in (b"x", b"d", b"d/precious", b"m")] == [APPLIED, APPLIED, APPLIED, REFUSED]
    assert plain(whole(tree))[b"d/precious"] == ("file", 0o644, b"new")


def test_a_file_on_the_way(tree):
    write(tree / "f", b"mine")
    step = WriteFile(path=p("f/x"), precondition=ANYTHING, content=NEW, mode=0o644)
    outcome = applied(tree, CONTENTS, step)[b"f/x"]
    assert (outcome.status, outcome.reason) == (REFUSED, Reason.NOT_A_DIRECTORY)
    missing = WriteFile(path=p("g/x"), precondition=ANYTHING, content=NEW, mode=0o644)
    outcome = applied(tree, CONTENTS, missing)[b"g/x"]
    assert (outcome.status, outcome.reason) == (REFUSED, Reason.NOT_FOUND)


@pytest.fixture
def mounted(tree, tmp_path):
    """Another file system, a directory of the same one, and a file, all mounted in the tree."""
    (tmp_path / "elsewhere").mkdir()
    write(tmp_path / "elsewhere/precious", b"precious")
    write(tree / "file", b"below the mount")
    for name, source in (("other", None), ("same", tmp_path / "elsewhere"), ("file", tmp_path / "elsewhere/precious")):
        if name != "file":
            (tree / name).mkdir()
        kind = ["-t", "tmpfs", "docket-test"] if source is None else ["--bind", str(source)]
        done = subprocess.run(["mount", *kind, str(tree / name)], capture_output=True, check=False)
        if done.returncode:
            pytest.skip("nothing can be mounted here")
    yield tree
    for name in ("other", "same", "file"):
        subprocess.run(["umount", "--lazy", str(tree / name)], check=True)
    assert (tmp_path / "elsewhere/precious").read_bytes() == b"precious"


@pytest.mark.parametrize("late", [False, True])
def test_mounts_are_not_entered(mounted, late):
    tree = mounted
    for path in (b"other/x", b"same/precious", b"same", b"other", b"file"):
        steps = [
            WriteFile(path=p(path), precondition=ANYTHING, content=NEW, mode=0o644),
            Remove(path=p(path), precondition=ANYTHING, kind=Kind.FILE if path != b"same" else Kind.DIRECTORY),
            MakeDirectory(path=p(path), precondition=ANYTHING, mode=0o700),
        ]
        for step in steps:
            with open_tree(os.fsencode(tree)) as opened:
                if late:  # mounted after the tree was opened, so that its table does not name it
                    opened.ways._mounts = frozenset()
                (outcome,) = apply(plan_for(tree, step), CONTENTS, opened)
            assert outcome.status in (REFUSED, FAILED), (path, step)
            if not late:
                assert outcome.reason is Reason.OTHER_FILE_SYSTEM, (path, outcome)
    assert leftover_names_of(tree) == ()


def leftover_names_of(tree):
    with open_tree(os.fsencode(tree)) as opened:
        return leftover_names(opened)


def test_no_plan_reaches_the_staging_directory(tree):
    step = WriteFile(path=p(".docket-apply-0123456789abcdef/plan"), precondition=ANYTHING, content=NEW, mode=0o644)
    outcome = applied(tree, CONTENTS, step)[step.path.raw]
    assert (outcome.status, outcome.reason) == (REFUSED, Reason.EXCLUDED)


# --- neighbours -------------------------------------------------------------------------------------------------


@contextmanager
def in_a_loop(work):
    done = threading.Event()
    wrong = []

    def loop():
        while not done.is_set():
            try:
                work()
            except OSError:
                continue
            except Exception:
                wrong.append(traceback.format_exc())
                return

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    assert not wrong, wrong[0]


def rounds():
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        yield


def test_a_directory_that_turns_into_a_link_outside_again_and_again(tree, outside):
    (tree / "d").mkdir()
    os.symlink(outside, tree / "l")

    def swap():
        os.rename(tree / "d", tree / "was")
        os.rename(tree / "l", tree / "d")
        os.rename(tree / "d", tree / "l")
        os.rename(tree / "was", tree / "d")

    seen = set()
    with in_a_loop(swap):
        for _ in rounds():
            outcomes = applied(
                tree,
                CONTENTS,
                WriteFile(path=p("d/precious"), precondition=ANYTHING, content=NEW, mode=0o666),
                SetMode(path=p("d/sub"), precondition=ANYTHING, mode=0o777),
                MakeSymlink(path=p("d/link"), precondition=ANYTHING, target=b"x"),
                durable=False,
            )
            seen |= {(item.status, item.reason) for item in outcomes.values()}
            outcomes = applied(
                tree,
                CONTENTS,
                Remove(path=p("d/precious"), precondition=ANYTHING, kind=Kind.FILE),
                Remove(path=p("d/link"), precondition=ANYTHING, kind=Kind.SYMLINK),
                durable=False,
            )
            seen |= {(item.status, item.reason) for item in outcomes.values()}
    assert (APPLIED, None) in seen
    assert seen & {(REFUSED, Reason.IS_A_SYMLINK), (REFUSED, Reason.NOT_FOUND), (REFUSED, Reason.MOVED_WHILE_WRITTEN)}
    assert leftover_names_of(tree) == ()


def test_a_directory_that_is_moved_out_of_the_tree_again_and_again(tree, tmp_path):
    (tree / "d").mkdir()
    away = tmp_path / "away"
    away.mkdir()

    def swap():
        os.rename(tree / "d", away / "d")
        os.rename(away / "d", tree / "d")

    seen = set()
    with in_a_loop(swap):
        for number in rounds():
            step = WriteFile(path=p("d/x"), precondition=ANYTHING, content=NEW, mode=0o644)
            seen.add(applied(tree, CONTENTS, step, durable=False)[b"d/x"].status)
            seen.add(
                applied(tree, CONTENTS, Remove(path=p("d/x"), precondition=ANYTHING, kind=Kind.FILE), durable=False)[
                    b"d/x"
                ].status
            )
            assert number is None
    assert APPLIED in seen
    assert leftover_names_of(tree) == ()
    assert set(os.listdir(tree / "d")) <= {"x"}


def test_what_was_moved_out_between_two_calls_is_undone(tree, tmp_path):
    (tree / "d").mkdir()
    write(tree / "d/x", b"old")
    inode = os.stat(tree / "d/x").st_ino

    def rule(_number, name):
        if name == "exchange" and (tree / "d").exists():
            os.rename(tree / "d", tmp_path / "away")

    step = WriteFile(path=p("d/x"), precondition=holds_file(b"old"), content=NEW, mode=0o644)
    outcome = applied(tree, CONTENTS, step, calls=CountedCalls(rule))[b"d/x"]
    assert (outcome.status, outcome.reason) == (REFUSED, Reason.MOVED_WHILE_WRITTEN)
    assert (tmp_path / "away/x").read_bytes() == b"old"
    assert os.stat(tmp_path / "away/x").st_ino == inode
    assert os.listdir(tree) == []


class Old(TreeCalls):
    """A system without renameat2."""

    def exchange(self, one, other):
        raise OSError(38, "function not implemented")

    def rename_new(self, source, target):
        raise OSError(38, "function not implemented")


def test_what_is_overwritten_by_force_is_kept_as_it_was_at_the_last_moment(tree):
    """A save, a link turned and a change of mode just before the exchange: the sink hears of them, not of the look."""
    write(tree / "x", b"old")
    write(tree / "m", b"old")
    os.symlink("looked-at", tree / "l")
    kept = {}

    class Sink:
        def keep(self, path, state, content):
            kept[path.raw] = (state, None if content is None else content.read())

    class Late(TreeCalls):
        def exchange(self, one, other):
            match other[1]:
                case b"x":
                    write(tree / "x", b"saved late")
                case b"m":
                    os.chmod(tree / "m", 0o600)
                case b"l":
                    os.unlink(tree / "l")
                    os.symlink("turned", tree / "l")
            super().exchange(one, other)

    outcomes = applied(
        tree,
        CONTENTS,
        WriteFile(path=p("x"), precondition=ANYTHING, content=NEW, mode=0o644),
        WriteFile(path=p("m"), precondition=ANYTHING, content=NEW, mode=0o644),
        MakeSymlink(path=p("l"), precondition=ANYTHING, target=b"u"),
        options=Options(keep=Sink()),
        calls=Late(),
    )
    assert {item.status for item in outcomes.values()} == {APPLIED}
    assert kept[b"x"] == (file_state(b"saved late"), b"saved late")
    assert kept[b"m"] == (file_state(b"old", 0o600), b"old")
    assert (kept[b"l"][0].target, kept[b"l"][1]) == ("turned", None)


@pytest.mark.parametrize("by", ["rename", "write"])
def test_a_save_between_the_look_and_the_rename_is_not_lost(tree, by):
    write(tree / "x", b"old")
    write(tree / "y", b"old")

    def save(path):
        if by == "write":
            with open(path, "r+b") as out:
                out.write(b"NEW")
            return
        write(tree / "saved", b"an edit")
        os.rename(tree / "saved", path)

    done = []

    def rule(_number, name):
        if name in ("exchange", "rename") and name not in done:
            done.append(name)
            save(tree / ("x" if name == "exchange" else "y"))

    steps = [
        WriteFile(path=p("x"), precondition=holds_file(b"old"), content=NEW, mode=0o644),
        Remove(path=p("y"), precondition=holds_file(b"old"), kind=Kind.FILE),
    ]
    outcomes = applied(tree, CONTENTS, *steps, calls=CountedCalls(rule))
    assert {(item.status, item.reason) for item in outcomes.values()} == {(REFUSED, Reason.CHANGED_SINCE)}
    saved = b"NEW" if by == "write" else b"an edit"
    assert plain(whole(tree)) == {b"x": ("file", 0o644, saved), b"y": ("file", 0o644, saved)}


@pytest.mark.parametrize("how", ["rename", "in place", "remove"])
def test_an_editor_that_saves_all_the_time_loses_nothing(tree, how):
    """Whatever the editor saved last stands at the path, unless the writer said that it was applied."""
    path = tree / "x"
    count = [0]
    write(path, b"old")

    def save():
        count[0] += 1
        data = b"edit %d" % count[0]
        if how == "in place":
            write(path, data)
        elif how == "remove":
            os.unlink(path)
            write(path, data)
        else:
            write(tree / "saved", data)
            os.rename(tree / "saved", path)
        time.sleep(random.random() / 2000)
        # The first edit is the one that a step expects, and may replace.
        assert path.read_bytes() == data or count[0] == 1, "an edit that nobody expected was replaced"

    refused = 0
    step = WriteFile(path=p("x"), precondition=holds_file(b"never saved"), content=NEW, mode=0o644)
    holds = WriteFile(path=p("x"), precondition=holds_file(b"edit 1"), content=NEW, mode=0o644)
    with in_a_loop(save):
        for _ in rounds():
            for item in (step, holds):
                outcome = applied(tree, CONTENTS, item, durable=False)[b"x"]
                refused += outcome.status is REFUSED
    assert refused
    assert path.read_bytes() == b"edit %d" % count[0]


@pytest.mark.parametrize("mode", Mode)
def test_without_exchange_the_same_comes_of_it(tree, mode):
    write(tree / "a", b"old")
    write(tree / "b", b"old")
    write(tree / "to-dir", b"old")
    (tree / "to-file").mkdir(mode=0o755)
    os.symlink("t", tree / "l")
    steps = [
        WriteFile(path=p("a"), precondition=holds_file(b"old"), content=NEW, mode=0o644),
        WriteFile(path=p("new"), precondition=ABSENT, content=NEW, mode=0o644),
        MakeDirectory(path=p("to-dir"), precondition=holds_file(b"old"), mode=0o755),
        MakeDirectory(path=p("d"), precondition=ABSENT, mode=0o755),
        WriteFile(path=p("to-file"), precondition=holds_directory(), content=NEW, mode=0o644),
        MakeSymlink(path=p("l"), precondition=ANYTHING, target=b"u"),
        Remove(path=p("b"), precondition=holds_file(b"old"), kind=Kind.FILE),
    ]
    plan = plan_for(tree, *steps)
    before = plain(whole(tree))
    with ConfinedTree(os.fsencode(tree), calls=Old()) as opened:
        wrong = apply(
            plan_for(tree, *steps[:-1], Remove(path=p("b"), precondition=holds_file(b"other"), kind=Kind.FILE)),
            CONTENTS,
            opened,
            Options(mode=Mode.ALL_OR_NOTHING),
        )
        assert {item.status for item in wrong} == {REFUSED, StepStatus.SKIPPED}
        assert plain(whole(tree)) == before
        assert {item.status for item in apply(plan, CONTENTS, opened, Options(mode=mode))} == {APPLIED}
        assert not opened.exchanges
    assert plain(whole(tree)) == {
        b"a": ("file", 0o644, b"new"),
        b"new": ("file", 0o644, b"new"),
        b"to-dir": ("directory", 0o755),
        b"d": ("directory", 0o755),
        b"to-file": ("file", 0o644, b"new"),
        b"l": ("symlink", b"u"),
    }


def test_without_exchange_an_edit_in_place_is_not_lost(tree):
    write(tree / "x", b"old")

    class Edited(Old):
        def rename(self, source, target):
            if target[1] == b"x" and not source[1].endswith(b".aside") and (tree / "x").read_bytes() == b"old":
                with open(tree / "x", "r+b") as out:
                    out.write(b"NEW")
            super().rename(source, target)

    step = WriteFile(path=p("x"), precondition=holds_file(b"old"), content=NEW, mode=0o644)
    outcome = applied(tree, CONTENTS, step, calls=Edited())[b"x"]
    assert (outcome.status, outcome.reason) == (REFUSED, Reason.CHANGED_SINCE)
    assert plain(whole(tree)) == {b"x": ("file", 0o644, b"NEW")}


# --- as an ordinary user ----------------------------------------------------------------------------------------


@pytest.fixture
def theirs():
    with tree_of_nobody() as made:
        yield made


def closed_tree(tree):
    for name in ("ro", "ro/deep", "blind", "shut"):
        os.mkdir(tree / name)
        write(tree / name / "x", b"old")
    os.mkdir(tree / "ro/empty")
    (tree / "ro/empty").chmod(0o555)
    (tree / "ro/deep").chmod(0o550)
    (tree / "ro").chmod(0o555)
    os.chmod(tree / "blind", 0o300)
    os.chmod(tree / "shut", 0o000)
    tree.chmod(0o555)


def closed_steps():
    return [
        *(
            WriteFile(path=p(f"{name}/x"), precondition=holds_file(b"old"), content=NEW, mode=0o644)
            for name in ("ro", "ro/deep", "blind", "shut")
        ),
        WriteFile(path=p("ro/empty"), precondition=holds_directory(0o555), content=NEW, mode=0o400),
        WriteFile(path=p("top"), precondition=ABSENT, content=NEW, mode=0o444),
        MakeDirectory(path=p("shut/more"), precondition=ABSENT, mode=0o111),
        WriteFile(path=p("shut/more/x"), precondition=ABSENT, content=NEW, mode=0o000),
    ]


MODES = {"": 0o555, "ro": 0o555, "ro/deep": 0o550, "blind": 0o300, "shut": 0o000}


def test_closed_directories_are_opened_for_their_owner_and_closed_again(theirs):
    def work():
        closed_tree(theirs)
        widest = {}

        def rule(_number, _name):
            for name in ("", "ro"):
                mode = os.stat(theirs / name).st_mode & 0o777
                widest[name] = widest.get(name, 0) | mode

        outcomes = applied(theirs, CONTENTS, *closed_steps(), calls=CountedCalls(rule))
        assert {item.status for item in outcomes.values()} == {APPLIED}, outcomes
        modes = {name: os.stat(theirs / name).st_mode & 0o777 for name in MODES}
        assert modes == MODES
        assert widest == {"": 0o755, "ro": 0o755}
        assert os.stat(theirs / "ro/empty").st_mode & 0o777 == 0o400
        assert ".docket" not in "".join(os.listdir(theirs))
        os.chmod(theirs / "shut", 0o700)
        assert os.stat(theirs / "shut/more").st_mode & 0o777 == 0o111

    as_nobody(work)


def test_death_while_directories_are_open(theirs):
    from tree_lab import Died, dies_at

    def work():
        count = 0
        while True:
            tree = theirs / f"tree-{count}"
            tree.mkdir()
            closed_tree(tree)
            try:
                applied(tree, CONTENTS, *closed_steps(), calls=CountedCalls(dies_at(count)))
            except Died:
                with open_tree(os.fsencode(tree)) as opened:
                    found = sweep(opened)
                assert all(item.state is LeftoverState.REMOVED for item in found), (count, found)
                with open_tree(os.fsencode(tree)) as opened:
                    apply(plan_for(tree, *closed_steps()), CONTENTS, opened)
                modes = {name: os.stat(tree / name).st_mode & 0o777 for name in MODES if name}
                assert modes == {name: mode for name, mode in MODES.items() if name}, count
                assert os.stat(tree).st_mode & 0o777 in (0o555, 0o755), count
                count += 1
            else:
                break
        assert count > 80

    as_nobody(work)


def test_what_is_not_ones_own_stays_closed(theirs):
    if os.geteuid() != 0:
        pytest.skip("only root has something that belongs to another")
    (theirs / "d").mkdir()
    write(theirs / "d/x", b"roots")
    write(theirs / "unreadable", b"roots", 0o600)
    before = whole(theirs)

    def work():
        outcomes = applied(
            theirs,
            CONTENTS,
            WriteFile(path=p("d/x"), precondition=holds_file(b"roots"), content=NEW, mode=0o644),
            SetMode(path=p("d/x2"), precondition=ANYTHING, mode=0o644),
            SetMode(path=p("unreadable"), precondition=ANYTHING, mode=0o644),
        )
        assert (outcomes[b"d/x"].status, outcomes[b"d/x"].reason) == (FAILED, Reason.NOT_PERMITTED), outcomes
        assert (outcomes[b"unreadable"].status, outcomes[b"unreadable"].reason) == (FAILED, Reason.NOT_PERMITTED)
        secret = WriteFile(path=p("unreadable"), precondition=holds_file(b"roots", 0o600), content=NEW, mode=0o644)
        outcome = applied(theirs, CONTENTS, secret)[b"unreadable"]
        assert (outcome.status, outcome.reason) == (REFUSED, Reason.UNREADABLE), outcome

    as_nobody(work)
    assert whole(theirs) == before


def test_a_mode_that_hid_the_content_is_taken_back(theirs):
    def work():
        write(theirs / "x", b"old", 0o000)
        expected = file_state(b"old", 0o000)
        hidden = type(expected)(kind="file", mode=0, size=3)
        step = SetMode(path=p("x"), precondition=Holds(hidden), mode=0o640)
        assert applied(theirs, CONTENTS, step)[b"x"].status is APPLIED
        assert plain(whole(theirs)) == {b"x": ("file", 0o640, b"old")}

    as_nobody(work)


# --- leftovers that are forged ----------------------------------------------------------------------------------


def test_forged_leftovers_harm_nobody(tree, outside):
    write(tree / "mine", b"mine")
    name = tree / ".docket-apply-00000000000000ff"
    plan = plan_for(tree, WriteFile(path=p("mine"), precondition=ANYTHING, content=NEW, mode=0o644))
    cases = [
        {"plan": b"no plan"},
        {"plan": plan.document, "opened.1": b"777 ../outside/sub", "0.1": b"x"},
        {"plan": plan.document, "opened.1": b"77777 mine", "opened.2": b"", "7.1": b"x", "strange": b"x"},
    ]
    for case in cases:
        name.mkdir(mode=0o700)
        for inner, data in case.items():
            write(name / inner, data)
        os.symlink(outside, name / "0.2")
        with open_tree(os.fsencode(tree)) as opened:
            sweep(opened)
        assert (tree / "mine").read_bytes() == b"mine"
        subprocess.run(["rm", "-rf", str(name)], check=True)
    os.symlink(outside, name)
    with open_tree(os.fsencode(tree)) as opened:
        (left,) = sweep(opened)
    assert left.state is LeftoverState.FOREIGN
    assert name.is_symlink()


# --- size -------------------------------------------------------------------------------------------------------

MANY = """
import os, resource, sys
sys.path.insert(0, sys.argv[2])
from fakes.memory_content import MemoryContent
from tree_lab import *
from docket.formats.tree.plan import *
from docket.engines.apply import apply, open_tree
root, contents = os.fsencode(sys.argv[1]), MemoryContent()
new = contents.put([b"new"])
steps = []
for folder in range(300):
    os.mkdir(root + b"/%d" % folder)
    for number in range(100):
        path = b"%d/%d" % (folder, number)
        write(root + b"/" + path, b"old")
        steps.append(WriteFile(path=p(path), precondition=holds_file(b"old"), content=new, mode=0o644))
plan = plan_of(steps, root_of(root))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with open_tree(root, durable=False) as tree:
    outcomes = apply(plan, contents, tree)
assert {item.status for item in outcomes} == {StepStatus.APPLIED}
print(len(outcomes), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
def test_thirty_thousand_files(tree):
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))  # noqa: E731
    done = subprocess.run(
        [sys.executable, "-c", MANY, tree, tests], capture_output=True, text=True, check=False, preexec_fn=limit
    )
    assert done.returncode == 0, done.stderr
    count, grown_kib = map(int, done.stdout.split())
    assert count == 30_000
    assert grown_kib < 60_000
    assert (tree / "299/99").read_bytes() == b"new"
