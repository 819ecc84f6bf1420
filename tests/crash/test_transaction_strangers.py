"""What somebody else did between the death of a commit and its recovery: told, kept, overwritten if asked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commit_lab import CONTENTS, NEW, Commits, build, told
from docket.engines.apply_recovery import Direction
from docket.formats.tree.listing import Kind
from docket.formats.tree.plan import ABSENT, MakeDirectory, Remove, SetMode, WriteFile
from docket.formats.workspace.state import Status
from sweeps import some
from tree_lab import CountedCalls, Died, dies_at, holds_directory, holds_file, p, plan_for, write


def small(tree: Path):
    """Four changes in the order `gone`, `made`, `x`, `y`; `y` is a mode."""
    tree.mkdir()
    for name in ("gone", "x", "y"):
        write(tree / name, b"old")
    return plan_for(
        tree,
        Remove(path=p("gone"), precondition=holds_file(b"old"), kind=Kind.FILE),
        MakeDirectory(path=p("made"), precondition=ABSENT, mode=0o755),
        WriteFile(path=p("made/in"), precondition=ABSENT, content=NEW, mode=0o644),
        WriteFile(path=p("x"), precondition=holds_file(b"old"), content=NEW, mode=0o644),
        SetMode(path=p("y"), precondition=holds_file(b"old"), mode=0o600),
    )


def dies_before(name: str, nth: int = 0):
    """Nothing happens any more from the nth call of that name on."""
    count = []

    def rule(_number, called):
        if called == name:
            count.append(name)
        if len(count) > nth:
            raise Died

    return rule


def dead(place: Path, rule, make=small) -> Commits:
    commits = Commits(place, make)
    with pytest.raises(Died):
        commits.commit(CountedCalls(rule))
    return commits


@pytest.fixture
def before_x(tmp_path) -> Commits:
    """Dead when `gone` and `made` are done, and `x` and `y` are not."""
    commits = dead(tmp_path / "c", dies_before("exchange"))
    assert sorted(set(os.listdir(commits.tree)) - {"made", "x", "y"}) == [name_of_staging(commits)]
    return commits


@pytest.fixture
def after_x(tmp_path) -> Commits:
    """Dead when all is done but the mark."""
    return dead(tmp_path / "c", after_exchange())


def after_exchange():
    """Nothing is made durable any more once names were exchanged."""
    done = []

    def rule(_number, called):
        if called == "exchange":
            done.append(called)
        elif done and called == "sync":
            raise Died

    return rule


def name_of_staging(commits: Commits) -> str:
    (name,) = [name for name in os.listdir(commits.tree) if name.startswith(".docket-apply-")]
    return name


def now(commits: Commits) -> dict[str, str]:
    return {
        str(path.relative_to(commits.tree)): path.read_text()
        for path in commits.tree.rglob("*")
        if path.is_file() and not path.is_relative_to(commits.tree / ".docket")
    }


PRE = {"gone": "old", "x": "old", "y": "old"}
POST = {"made/in": "new", "x": "new", "y": "old"}


def stops(commits: Commits, path: str, **asked) -> None:
    """Nothing is done, and the path is named."""
    before = now(commits)
    done = commits.recover(**asked)
    assert [str(item.path) for item in done.ended.blocked] == [path]
    assert done.ended.direction is None
    assert not done.is_over
    assert now(commits) == before
    assert commits.status() is Status.COMMITTING


def kept(commits: Commits) -> list[str]:
    folder = commits.folder / "recovered"
    return sorted(item.read_text() for item in folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize(
    ("asked", "expected", "saved"),
    [
        ({"theirs": frozenset([p("x")])}, POST | {"x": "mine"}, []),
        ({"theirs": frozenset([p("x")]), "direction": Direction.BACK}, PRE | {"x": "mine"}, []),
        ({"force": True}, POST, ["mine"]),
        ({"force": True, "direction": Direction.BACK}, PRE | {"x": "mine"}, []),
    ],
)
@pytest.mark.parametrize("how", ["in place", "anew"])
def test_an_edit_before_the_exchange(before_x, how, asked, expected, saved):
    edit(before_x.tree / "x", how)
    stops(before_x, "x")
    stops(before_x, "x", direction=Direction.BACK)
    done = before_x.recover(**asked)
    assert done.is_over, done
    assert now(before_x) == expected
    assert kept(before_x) == saved


@pytest.mark.parametrize(
    ("asked", "expected", "saved"),
    [
        ({"theirs": frozenset([p("x")])}, POST | {"x": "mine"}, []),
        ({"theirs": frozenset([p("x")]), "direction": Direction.BACK}, PRE | {"x": "mine"}, ["old"]),
        ({"force": True, "direction": Direction.BACK}, PRE, ["mine"]),
    ],
)
@pytest.mark.parametrize("how", ["in place", "anew", "removed"])
def test_an_edit_after_the_exchange(after_x, how, asked, expected, saved):
    edit(after_x.tree / "x", how)
    stops(after_x, "x")
    stops(after_x, "x", force=True, direction=Direction.FORWARD)
    done = after_x.recover(**asked)
    assert done.is_over, done
    if how == "removed":
        saved = [text for text in saved if text != "mine"]
        expected = {path: text for path, text in expected.items() if text != "mine"}
    assert now(after_x) == expected
    assert kept(after_x) == saved


def edit(path: Path, how: str) -> None:
    if how == "in place":
        path.write_text("mine")
        return
    path.unlink()
    if how == "anew":
        path.write_text("mine")
    if how == "directory":
        (path / "deeper").mkdir(parents=True)
        (path / "in").write_text("mine")
        (path / "deeper/too").write_text("mine too")
        (path / "deeper/link").symlink_to("here")


@pytest.mark.parametrize("direction", list(Direction))
@pytest.mark.parametrize("theirs", [True, False])
@pytest.mark.parametrize("how", ["anew", "directory"])
def test_a_save_at_the_last_moment_is_kept(tmp_path, how, direction, theirs):
    """An editor saves between the look and the exchange, and the commit dies right after the exchange."""
    commits = Commits(tmp_path / "c", small)
    calls = CountedCalls()

    def rule(number, called):
        if called == "exchange" and "exchange" not in calls.log:
            edit(commits.tree / "x", how)
        elif "exchange" in calls.log:
            raise Died

    calls.rule = rule
    with pytest.raises(Died):
        commits.commit(calls)
    assert now(commits)["x"] == "new"
    stops(commits, "x")
    asked = {"theirs": frozenset([p("x")])} if theirs else {"force": True}
    assert commits.recover(direction=direction, **asked).is_over
    placed = theirs or direction is Direction.BACK
    mine = {"anew": {"x": "mine"}, "directory": {"x/in": "mine", "x/deeper/too": "mine too"}}[how]
    expected = POST if direction is Direction.FORWARD else PRE
    if placed:
        expected = {path: text for path, text in expected.items() if path != "x"} | mine
    assert now(commits) == expected
    assert kept(commits) == ([] if placed else sorted((*mine.values(), *(["here"] if how == "directory" else []))))


def test_nothing_is_forced_forward_over_a_full_directory(before_x):
    edit(before_x.tree / "x", "directory")
    stops(before_x, "x")
    stops(before_x, "x", force=True)
    assert before_x.recover(force=True, direction=Direction.BACK).is_over
    assert now(before_x) == {"gone": "old", "y": "old", "x/in": "mine", "x/deeper/too": "mine too"}


@pytest.fixture
def filled(after_x) -> Commits:
    """All is done but the mark, and somebody put a full directory in the place of `x`."""
    edit(after_x.tree / "x", "directory")
    stops(after_x, "x")
    return after_x


def test_what_a_directory_held_that_had_to_go_is_kept(filled):
    (filled.tree / "x/deeper").chmod(0)
    done = filled.recover(force=True, direction=Direction.BACK)
    assert done.is_over, done
    assert now(filled) == PRE
    assert kept(filled) == ["here", "mine", "mine too"]
    assert sorted(str(path) for path, _ in done.kept) == ["x/deeper/link", "x/deeper/too", "x/in"]
    assert sorted(os.listdir(filled.tree)) == ["gone", "x", "y"]


def test_what_cannot_be_kept_is_named_until_somebody_takes_it_away(filled):
    os.mkfifo(filled.tree / "x/deeper/pipe")
    for asked in ({"force": True, "direction": Direction.BACK}, {}):
        done = filled.recover(**asked)
        assert not done.is_over
        assert filled.status() is Status.COMMITTING
        (failed,) = done.ended.failed
        assert str(failed.path) == "x/deeper/pipe"
        assert f"{name_of_staging(filled)}/3." in failed.detail
        assert {path: text for path, text in now(filled).items() if "docket" not in path} == PRE
    (pipe,) = filled.tree.rglob("pipe")
    assert str(pipe.relative_to(filled.tree)) in failed.detail
    pipe.rename(filled.tree / "pipe")
    assert filled.recover().is_over
    assert filled.status() is Status.REFUSED
    assert kept(filled) == ["here", "mine", "mine too"]
    assert sorted(os.listdir(filled.tree)) == ["gone", "pipe", "x", "y"]


def test_death_while_a_directory_is_kept(tmp_path):
    for at in range(100):
        commits = dead(tmp_path / f"{at}", after_exchange())
        edit(commits.tree / "x", "directory")
        try:
            done = commits.recover(CountedCalls(dies_at(at)), force=True, direction=Direction.BACK)
        except Died:
            done = commits.recover(force=True, direction=Direction.BACK)
        else:
            assert at > 12
            break
        assert done.is_over, at
        assert now(commits) == PRE
        assert kept(commits) == ["here", "mine", "mine too"]
        assert sorted(os.listdir(commits.tree)) == ["gone", "x", "y"]


def test_what_somebody_put_into_a_new_directory_keeps_it_from_going_back(after_x):
    write(after_x.tree / "made/theirs", b"theirs")
    stops(after_x, "made", direction=Direction.BACK)
    assert after_x.recover().is_over
    assert now(after_x) == POST | {"made/theirs": "theirs"}


def test_what_somebody_put_where_a_removed_file_stood(after_x):
    write(after_x.tree / "gone", b"theirs")
    stops(after_x, "gone")
    assert after_x.recover(force=True, direction=Direction.BACK).is_over
    assert now(after_x) == PRE
    assert kept(after_x) == ["theirs"]


def test_a_file_in_a_directory_that_was_to_go_stops_it(tmp_path):
    def make(tree: Path):
        tree.mkdir()
        os.mkdir(tree / "d", 0o755)
        write(tree / "d/in", b"old")
        return plan_for(
            tree,
            Remove(path=p("d/in"), precondition=holds_file(b"old"), kind=Kind.FILE),
            Remove(path=p("d"), precondition=holds_directory(), kind=Kind.DIRECTORY),
        )

    prepared = []

    def rule(_number, called):
        if called == "rename":
            prepared.append(called)
        if len(prepared) > 1:
            raise Died

    commits = dead(tmp_path / "c", rule, make)
    write(commits.tree / "d/theirs", b"theirs")
    stops(commits, "d")
    stops(commits, "d", force=True)
    assert commits.recover(direction=Direction.BACK, theirs=frozenset([p("d")])).is_over
    assert now(commits) == {"d/in": "old", "d/theirs": "theirs"}


@pytest.mark.parametrize(
    ("asked", "saved"),
    [({"force": True}, ["old in"]), ({"theirs": frozenset([p("d/in")])}, ["old in"]), ({}, None)],
)
def test_a_directory_that_is_gone_gets_nothing_back(tmp_path, asked, saved):
    """What stood in it is kept; going forward, it was to go anyway."""

    def make(tree: Path):
        tree.mkdir()
        os.mkdir(tree / "d", 0o755)
        write(tree / "d/in", b"old in")
        write(tree / "x", b"old")
        return plan_for(
            tree,
            Remove(path=p("d/in"), precondition=holds_file(b"old in"), kind=Kind.FILE),
            WriteFile(path=p("x"), precondition=holds_file(b"old"), content=NEW, mode=0o644),
        )

    commits = dead(tmp_path / "c", dies_before("exchange"), make)
    (commits.tree / "d").rmdir()
    if saved is None:
        assert commits.recover().is_over
        assert now(commits) == {"x": "new"}
        assert kept(commits) == []
        return
    stops(commits, "d/in", direction=Direction.BACK)
    done = commits.recover(direction=Direction.BACK, **asked)
    assert done.is_over, done
    assert now(commits) == {"x": "old"}
    assert kept(commits) == saved
    assert [str(path) for path, _ in done.kept] == ["d/in"]


def test_nothing_is_forced_forward_into_a_directory_that_is_gone(tmp_path):
    def make(tree: Path):
        tree.mkdir()
        os.mkdir(tree / "d", 0o755)
        write(tree / "x", b"old")
        return plan_for(
            tree,
            Remove(path=p("x"), precondition=holds_file(b"old"), kind=Kind.FILE),
            WriteFile(path=p("d/in"), precondition=ABSENT, content=NEW, mode=0o644),
        )

    commits = dead(tmp_path / "c", dies_before("rename_new"), make)
    (commits.tree / "d").rmdir()
    stops(commits, "d/in")
    stops(commits, "d/in", force=True)
    assert commits.recover(force=True, direction=Direction.BACK).is_over
    assert now(commits) == {"x": "old"}
    assert sorted(os.listdir(commits.tree)) == ["x"]


def test_an_untouched_path_that_somebody_changes_stops_nothing(before_x):
    write(before_x.tree / "unrelated", b"theirs")
    assert before_x.recover().is_over
    assert now(before_x) == POST | {"unrelated": "theirs"}


def test_looking_changes_nothing(before_x):
    before = told(before_x.tree)
    done = before_x.recover(dry_run=True)
    assert done.ended.direction is Direction.FORWARD
    assert {str(item.path): str(item.side) for item in done.ended.seen} == {
        "gone": "post",
        "made": "post",
        "made/in": "post",
        "x": "pre",
        "y": "between",
    }
    assert told(before_x.tree) == before
    assert before_x.status() is Status.COMMITTING
    assert before_x.recover().is_over


def test_a_staging_directory_that_somebody_removed(before_x):
    import shutil

    shutil.rmtree(before_x.tree / name_of_staging(before_x))
    done = before_x.recover()
    assert not done.is_over
    assert {str(item.path) for item in done.ended.blocked} == {"gone"}
    done = before_x.recover(theirs=frozenset([p("gone"), p("made"), p("made/in")]), direction=Direction.BACK)
    assert done.is_over, done
    assert now(before_x)["x"] == "old"


class NoExchange(CountedCalls):
    """A file system without an exchange of names."""

    def exchange(self, one, other):
        import errno

        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    def rename_new(self, source, target):
        self.exchange(source, target)


@some(4)
def test_death_at_calls_where_names_cannot_be_exchanged(tmp_path, stride):
    model = Commits(tmp_path / "model", build)
    before = told(model.tree)
    calls = NoExchange()
    model.commit(calls)
    sides = before, told(model.tree)
    assert model.status() is Status.COMMITTED
    for at in range(0, len(calls.log), stride):
        commits = Commits(tmp_path / str(at), build)
        with pytest.raises(Died):
            commits.commit(NoExchange(lambda number, _name, at=at: die(number >= at)))
        done = commits.recover(NoExchange())
        assert done.is_over, (at, done.ended and (done.ended.blocked, done.ended.failed, done.ended.left))
        assert told(commits.tree) == sides[commits.status() is Status.COMMITTED], at


def die(now: bool) -> None:
    if now:
        raise Died


def test_what_a_commit_could_not_put_back_is_left_to_recovery(tmp_path):
    import errno

    commits = Commits(tmp_path / "c", small)
    calls = CountedCalls()
    calls.rule = lambda number, name: fails_from(calls, name, errno.EIO)
    outcomes = commits.commit(calls, CONTENTS)
    assert any(item.reason for item in outcomes)
    assert (commits.folder / "journal").exists()
    assert commits.recover().is_over
    assert now(commits) in (PRE, POST)


def fails_from(calls: CountedCalls, name: str, code: int) -> None:
    if "rename_new" in calls.log:
        raise OSError(code, os.strerror(code))
