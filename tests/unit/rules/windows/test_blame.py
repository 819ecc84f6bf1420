"""Whose lines are whose, case by case and by hand: what is claimed, and why nothing is."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from blame_lab import EPOCH, MemoryRecord, Tool, name_of, said, stamp
from docket.formats.digest import sha256
from docket.formats.relpath import RelPath
from docket.formats.windows.delta import encode_delta
from docket.formats.windows.key import IN_STAGE, WindowKey
from docket.formats.windows.names import REGULAR_MODE, SYMLINK_MODE, Hashes, Operation
from docket.formats.windows.records import Moment, Tombstone
from docket.formats.windows.registry import OpenWindow, WindowStatus
from docket.rules.windows.blame import PresentFile, blame
from docket.rules.windows.blame_history import History, Recorded, history_of
from docket.rules.windows.naming import content_name
from docket.rules.windows.origin import WHY, LineOrigin, Origin, Unknown

TOOL = ("tool", frozenset({"u1"}))
OUTSIDE = ("outside", frozenset())
UNKNOWN = ("unknown", frozenset())


class Tree:
    """A tree whose windows are told by hand, a minute each, a minute apart."""

    def __init__(self, **files: bytes) -> None:
        self.record = MemoryRecord(tree=dict(files))
        self.now = EPOCH

    def tool(self, *uses: str, turn: str = "t", **files: bytes | None) -> None:
        """Tools run that leave these contents; None removes."""
        before, since = self.record.look(), self.now
        self.put(**files)
        self.now += timedelta(minutes=1)
        tools = [Tool(use, "claude", turn) for use in uses]
        self.record.close(tools, (since, self.now), (before, self.record.look()))
        self.now += timedelta(minutes=1)

    def put(self, **files: bytes | None) -> None:
        """Somebody leaves these contents."""
        for path, content in files.items():
            if content is None:
                del self.record.tree[path]
            else:
                self.record.tree[path] = content

    def blame(self, path: str = "a") -> tuple[LineOrigin, ...]:
        return self.record.blame(path)

    def said(self, path: str = "a") -> list[tuple[str, frozenset[str]]]:
        return said(self.blame(path))

    def reasons(self, path: str = "a") -> list[str | None]:
        return [origin.reason and origin.reason.value for origin in self.blame(path)]

    def change(self, index: int, **members: object) -> None:
        """Have the file of a delta say something else."""
        old = list(self.record.deltas)[index]
        delta = self.record.deltas.pop(old)
        files = tuple(replace(file, **members) for file in delta.files)
        limits = replace(delta.limits, truncated=any(file.truncated for file in files))
        told = replace(delta, files=files, limits=limits)
        digest = sha256(encode_delta(told))
        self.record.deltas[digest] = told
        self.record.closed = [
            replace(record, delta_sha256=digest) if record.delta_sha256 == old else record
            for record in self.record.closed
        ]


@pytest.mark.parametrize(("outcome", "claimed"), [("denied", UNKNOWN), ("unended", UNKNOWN), ("failed", TOOL)])
def test_a_tool_that_was_denied_or_never_ended_claims_no_line(outcome, claimed):
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"1\nx\n")
    old = next(iter(tree.record.deltas))
    told = tree.record.deltas.pop(old)
    told = replace(told, tool_uses=tuple(replace(use, outcome=outcome) for use in told.tool_uses))
    digest = sha256(encode_delta(told))
    tree.record.deltas[digest] = told
    tree.record.closed = [replace(record, delta_sha256=digest) for record in tree.record.closed]
    assert tree.said()[1][0] == claimed[0]


def test_one_tool_several_at_once_outside_and_before():
    tree = Tree(a=b"1\n2\n")
    tree.tool("u1", a=b"1\nx\n2\n")
    tree.put(a=b"1\nx\nmine\n2\n")
    tree.tool("u2", "u3", a=b"1\nx\nmine\n2\ny\n")
    assert tree.said() == [UNKNOWN, TOOL, OUTSIDE, UNKNOWN, ("group", frozenset({"u2", "u3"}))]
    came = tree.blame()
    assert came[0].reason is Unknown.BEFORE_RECORD
    assert (came[1].since, came[1].until) == (stamp(EPOCH), stamp(EPOCH + timedelta(minutes=1)))
    assert (came[2].since, came[2].until) == (
        stamp(EPOCH + timedelta(minutes=1)),
        stamp(EPOCH + timedelta(minutes=2)),
    )
    assert (came[4].path, came[4].line, came[2].line) == (RelPath(b"a"), 5, 3)
    assert came[1].delta_sha256 == tree.record.closed[0].delta_sha256
    assert [caller.key for caller in came[1].callers] == [tree.record.closed[0].key]


def test_nothing_recorded_and_nothing_to_tell():
    assert Tree(a=b"1\n").reasons() == ["nothing_recorded"]
    tree = Tree(a=b"")
    assert tree.blame() == ()
    tree.tool("u1", b=b"1\n")
    assert tree.blame() == ()


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        (b"1\n2", b"1\n2\n", [UNKNOWN, UNKNOWN]),  # the last line's end alone is no line's
        (b"1\n2", b"1\n2\n3", [UNKNOWN, UNKNOWN, TOOL]),
        (b"1\r\n2\r\n", b"1\r\n2\n", [UNKNOWN, TOOL]),
        (b"\xff\n2\n", b"\xff\n\xfe\n", [UNKNOWN, TOOL]),
        (b"", b"1\n", [TOOL]),
        (b"1\n", b"", []),
        (b"1\n1\n1\n", b"1\n1\n1\n1\n", [UNKNOWN, UNKNOWN, UNKNOWN, TOOL]),
        (b"\n\n", b"\n\n", [UNKNOWN, UNKNOWN]),
    ],
)
def test_what_lines_are(before, after, wanted):
    tree = Tree(a=before)
    tree.tool("u1", a=after)
    assert tree.said() == wanted


def test_a_move_inside_a_tool_is_followed_and_a_copy_is_the_tools():
    tree = Tree(a=b"1\n", c=b"3\n")
    tree.tool("u1", a=b"1\nx\n")
    tree.tool("u2", a=None, b=b"1\nx\n", d=b"3\n")
    assert tree.said("b") == [UNKNOWN, TOOL]
    assert tree.blame("b")[1].path == RelPath(b"a")
    assert tree.said("d") == [("tool", frozenset({"u2"}))]


def test_a_move_that_could_be_two_is_the_tools():
    tree = Tree(a=b"1\n", b=b"1\n")
    tree.tool("u1", a=None, b=None, c=b"1\n")
    assert tree.said("c") == [TOOL]


def test_a_move_between_tools_is_followed_if_it_can_be_only_one():
    tree = Tree(a=b"1\n", b=b"2\n", c=b"2\n")
    tree.tool("u1", a=b"1\nx\n")
    tree.put(a=None, z=b"1\nx\n", b=None, c=None, y=b"2\n")
    assert tree.said("z") == [UNKNOWN, TOOL]
    assert tree.said("y") == [OUTSIDE]
    tree.tool("u2", z=b"1\nx\ny\n")
    assert tree.said("z") == [UNKNOWN, TOOL, ("tool", frozenset({"u2"}))]


def test_a_copy_between_tools_is_outside():
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"1\nx\n")
    tree.put(z=b"1\nx\n")
    assert tree.said("z") == [OUTSIDE, OUTSIDE]


def test_a_file_that_was_deleted_and_made_again():
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=None)
    tree.put(a=b"2\n")
    assert tree.said() == [OUTSIDE]
    tree.tool("u2", a=None)
    tree.tool("u3", a=b"3\n")
    assert tree.said() == [("tool", frozenset({"u3"}))]


def test_a_content_that_comes_back_brings_its_lines_and_says_so():
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"1\nx\n")
    tree.put(a=b"other\n")
    tree.tool("u2", b=b"2\n")
    tree.put(a=b"1\nx\n")
    assert tree.said() == [UNKNOWN, TOOL]
    assert all(origin.came_back for origin in tree.blame())
    assert not any(origin.came_back for origin in tree.blame("b"))


def test_a_tool_that_brings_a_content_back_made_its_lines():
    tree = Tree(a=b"1\nx\n")
    tree.tool("u1", a=b"1\n")
    tree.tool("u2", a=b"1\nx\n")
    assert tree.said() == [UNKNOWN, ("tool", frozenset({"u2"}))]


def test_a_file_that_no_tool_touched_is_outside_only_as_far_as_it_changed():
    tree = Tree(a=b"1\n", b=b"2\n")
    tree.tool("u1", b=b"3\n")
    tree.put(a=b"1\nmine\n")
    tree.tool("u2", b=b"4\n")
    assert tree.said() == [UNKNOWN, OUTSIDE]


# Where nothing is claimed


@pytest.mark.parametrize("kept", [True, False])
def test_without_hunks_both_contents_are_compared_if_they_are_kept(kept):
    tree = Tree(a=b"1\n2\n")
    tree.tool("u1", a=b"1\nx\n2\n")
    tree.change(0, truncated=True, hunks=())
    if not kept:
        tree.record.contents.clear()
    assert tree.said() == ([UNKNOWN, TOOL, UNKNOWN] if kept else [UNKNOWN] * 3)
    origin = tree.blame()[1]
    assert origin.reason is (None if kept else Unknown.NOT_COMPARED)
    assert [caller.key.tool_use_id for caller in origin.callers] == ["u1"]


def test_a_content_that_is_not_what_its_name_says_counts_as_gone():
    tree = Tree(a=b"\0\n2\n")
    tree.tool("u1", a=b"\0\nx\n2\n")
    assert tree.said() == [UNKNOWN, TOOL, UNKNOWN]
    tree.record.contents[name_of(b"\0\n2\n")] = b"forged\n"
    assert tree.reasons() == ["not_compared"] * 3


def test_what_was_not_read_before_or_after_a_tool():
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"2\n")
    tree.change(0, truncated=True, hunks=(), before_hash="0" * 64)
    assert tree.reasons() == ["not_compared"]
    tree.change(0, after_hash="0" * 64)
    assert tree.reasons() == ["unread"]


def test_hunks_that_are_not_of_the_content():
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"1\n2\n")
    hunk = tree.record.deltas[tree.record.closed[0].delta_sha256].files[0].hunks[0]
    tree.change(0, hunks=(replace(hunk, new_lines=(b"other",)),))
    assert tree.reasons() == ["contradiction"] * 2
    tree.change(0, hunks=(replace(hunk, old_lines=(b"more",), old_start=2),))
    assert tree.reasons() == ["contradiction"] * 2


def test_a_link_that_became_a_file_is_the_tools_and_one_that_did_outside_is_outside():
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"2\n")
    tree.change(0, before_mode=SYMLINK_MODE, operation=Operation.TYPECHANGE, hunks=())
    assert tree.said() == [TOOL]
    tree.change(0, before_mode=REGULAR_MODE, after_mode=SYMLINK_MODE)
    tree.put(a=b"3\n")
    assert tree.said() == [OUTSIDE]


def test_a_mode_alone_changes_no_line():
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"2\n")
    name = name_of(b"2\n")
    tree.change(0, before_hash=name, after_mode="100755", hunks=())
    assert tree.reasons() == ["before_record"]


def test_between_tools_a_content_that_is_gone():
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"1\nx\n")
    tree.put(a=b"1\nx\nmine\n")
    tree.record.contents.clear()
    assert tree.reasons() == ["content_gone"] * 3


def test_a_content_that_is_gone_is_made_anew_of_an_earlier_one_and_hunks():
    tree = Tree(a=b"0\n", b=b"")
    tree.tool("u0", a=b"1")
    tree.tool("u1", a=b"1\nx\n")
    tree.tool("u2", b=b"2\n")
    tree.tool("u3", a=b"1\nx\ny\n")
    tree.put(a=b"1\nx\ny\nmine\n")
    u0, u1, u3 = (("tool", frozenset({use})) for use in ("u0", "u1", "u3"))
    wanted = [u0, u1, u3, OUTSIDE]
    kept = tree.record.contents
    tree.record.contents = {name_of(b"1"): b"1"}
    assert tree.said() == wanted
    tree.record.contents = {}
    assert tree.reasons() == ["content_gone"] * 4
    tree.record.contents = kept
    tree.tool("u4", c=b"made\n")
    tree.put(c=b"made\nmine\n")
    tree.record.contents = {}
    assert tree.said("c") == [("tool", frozenset({"u4"})), OUTSIDE]


def test_a_content_is_not_made_anew_across_a_gap_or_of_hunks_that_do_not_fit():
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"1\nx\n")
    tree.put(a=b"1\nx\nmine\n")
    tree.tool("u2", a=b"1\nx\nmine\ny\n")
    tree.put(a=b"1\nx\nmine\ny\nlast\n")
    del tree.record.contents[name_of(b"1\nx\nmine\ny\n")]
    assert tree.said()[-2:] == [("tool", frozenset({"u2"})), OUTSIDE]
    del tree.record.contents[name_of(b"1\nx\nmine\n")]
    assert tree.reasons() == ["content_gone"] * 5
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"1\nx\n")
    tree.put(a=b"1\nx\nmine\n")
    hunk = tree.record.deltas[tree.record.closed[0].delta_sha256].files[0].hunks[0]
    tree.change(0, hunks=(replace(hunk, new_lines=(b"other",)),))
    del tree.record.contents[name_of(b"1\nx\n")]
    assert tree.reasons() == ["content_gone"] * 3
    tree.change(0, hunks=(replace(hunk, old_start=9, new_start=9),))
    assert tree.reasons() == ["content_gone"] * 3


def test_trees_that_are_gone():
    tree = Tree(a=b"1\n", b=b"")
    tree.tool("u1", a=b"1\nx\n")
    tree.tool("u2", b=b"2\n")
    tree.put(a=b"1\nx\nmine\n")
    tree.record.trees.clear()
    assert tree.reasons() == ["before_record", None, "tree_gone"]
    tree.put(c=b"1\nx\n")
    assert tree.reasons("c") == ["before_record"] * 2


def test_a_move_is_not_followed_where_trees_are_gone():
    tree = Tree(a=b"1\n", z=b"0\n")
    tree.tool("u1", a=b"1\nx\n", z=None)
    tree.put(a=None, z=b"1\nx\n")
    tree.record.trees.clear()
    assert tree.said("z") == [OUTSIDE, OUTSIDE]
    tree.record.closed = [replace(record, tree_after=None) for record in tree.record.closed]
    assert tree.said("z") == [OUTSIDE, OUTSIDE]


def test_a_file_that_is_ignored_or_was():
    tree = Tree(b=b"2\n", ignore=b"a\n")
    tree.record.ignored = (RelPath(b"ignore"),)
    tree.tool("u1", b=b"3\n")
    tree.put(a=b"1\n")
    assert tree.said() == [OUTSIDE]
    tree.record.unwatched.add(RelPath(b"a"))
    assert tree.reasons() == ["unwatched"]
    tree.record.unwatched.clear()
    tree.put(ignore=b"")
    assert tree.reasons() == ["unwatched"]
    tree.put(ignore=b"a\n")
    tree.record.rules = "other"
    assert tree.reasons() == ["unwatched"]
    tree.tool("u2", b=b"4\n")
    assert tree.said() == [OUTSIDE]


# Tools of which nothing whole is known


def test_a_tool_that_nobody_saw_begin_makes_its_gap_unknown_and_its_neighbours_a_group():
    tree = Tree(a=b"1\n")
    tree.tool("u1", turn="t1", a=b"1\nx\n")
    tree.now += timedelta(minutes=10)
    tree.put(a=b"1\nx\nmine\n")
    tree.record.close_partial(Tool("late", "claude", "t2"), tree.now)
    tree.now += timedelta(minutes=10)
    tree.tool("u2", turn="t3", a=b"1\nx\nmine\ny\n")
    assert tree.said() == [UNKNOWN, TOOL, UNKNOWN, ("tool", frozenset({"u2"}))]
    assert tree.reasons()[2] == "tool_unseen"
    assert [caller.recorded for caller in tree.blame()[2].callers] == [False]
    # Of the same turn as u1 it may have begun before u1 ended.
    tree.record.closed[1] = replace(
        tree.record.closed[1], key=replace(tree.record.closed[1].key, turn_id="t1", session_id="claude-s")
    )
    assert tree.said()[1] == ("group", frozenset({"u1", "late"}))


def test_an_hour_is_how_long_a_tool_is_taken_to_run_unseen():
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"1\nx\n")
    tree.record.close_partial(Tool("late", "codex", "t"), EPOCH + timedelta(minutes=60))
    assert tree.said()[1] == ("group", frozenset({"u1", "late"}))
    tree.record.closed[1] = replace(tree.record.closed[1], closed_at=stamp(EPOCH + timedelta(minutes=62)))
    late = tree.record.deltas.pop(tree.record.closed[1].delta_sha256)
    at = stamp(EPOCH + timedelta(minutes=62))
    tree.record.deltas[tree.record.closed[1].delta_sha256] = replace(
        late, window=replace(late.window, started_at=at, completed_at=at)
    )
    tree.record.tombstones.clear()
    assert tree.said()[1] == TOOL


def test_a_tombstone_says_since_when_a_tool_ran():
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"1\nx\n")
    late = Tool("late", "claude", "t")
    tree.record.close_partial(late, EPOCH + timedelta(minutes=5))
    stone = Tombstone(key=late.key(), at=stamp(EPOCH + timedelta(minutes=4)), reason="registry_lock_timeout")
    tree.record.tombstones[:] = [stone]
    assert tree.said()[1] == TOOL
    tree.put(a=b"1\nx\nmine\n")
    assert tree.reasons()[2] == "tool_unseen"


@pytest.mark.parametrize(("minutes", "wanted"), [(3, "unknown"), (70, "outside")])
def test_a_tool_that_was_given_up_and_never_heard_of(minutes, wanted):
    tree = Tree(a=b"1\n")
    tree.record.tombstones.append(
        Tombstone(key=Tool("gone", "claude", "t").key(), at=stamp(EPOCH - timedelta(minutes=minutes)),
                  reason="timeout"))  # fmt: skip
    tree.record.tombstones.append(
        Tombstone(key=WindowKey(repository="other", provider="p", session_id="", turn_id="", tool_use_id="x"),
                  at=stamp(EPOCH), reason="timeout"))  # fmt: skip
    tree.tool("u1", b=b"1\n")
    tree.put(a=b"2\n")
    assert tree.said()[0][0] == wanted


def test_a_tombstone_of_a_missed_beginning_whose_record_is_gone():
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"1\nx\n")
    tree.record.tombstones.append(
        Tombstone(key=Tool("late", "claude", "t").key(), at=stamp(EPOCH + timedelta(minutes=9)),
                  reason="pre_snapshot_missing"))  # fmt: skip
    assert tree.said()[1] == ("group", frozenset({"u1", "late"}))


def running(use: str, started_minutes: int) -> OpenWindow:
    return OpenWindow(
        key=Tool(use, "claude", "t").key(), tool_name="Bash", group_id="g", seq=9, status=WindowStatus.ACTIVE,
        started=Moment(at=stamp(EPOCH + timedelta(minutes=started_minutes)), monotonic_ms=0, boot_id=""),
        reason="timeout",
    )  # fmt: skip


def blamed(tree: Tree, **other: object) -> list[tuple[str, frozenset[str]]]:
    content = tree.record.tree["a"]
    file = PresentFile(path=RelPath(b"a"), content=content, name=name_of(content))
    return said(blame(file, history_of(replace(tree.record.recorded(), **other)), tree.record))


def test_tools_of_which_nothing_whole_is_recorded_yet_are_named():
    tree = Tree(a=b"1\n")
    file = PresentFile(path=RelPath(b"a"), content=b"1\n", name=name_of(b"1\n"))
    (line,) = blame(file, history_of(replace(tree.record.recorded(), open=[running("now", 1)])), tree.record)
    assert (line.origin, line.reason) == (Origin.UNKNOWN, Unknown.TOOL_UNSEEN)
    assert [caller.key.tool_use_id for caller in line.callers] == ["now"]


def test_what_comes_while_a_tool_runs_is_not_known_yet():
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"1\nx\n")
    tree.put(a=b"1\nx\nnew\n")
    assert blamed(tree, open=[running("now", 1)]) == [UNKNOWN, TOOL, UNKNOWN]
    assert blamed(tree, open=[running("sealed", 0)])[1] == ("group", frozenset({"u1", "sealed"}))
    other = replace(running("elsewhere", 1), key=replace(running("x", 1).key, repository="other"))
    assert blamed(tree, open=[other]) == [UNKNOWN, TOOL, OUTSIDE]


def test_records_and_deltas_that_cannot_be_read():
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"1\nx\n")
    tree.tool("u2", a=b"1\nx\ny\n")
    tree.tool("u3", a=b"1\nx\ny\nz\n")
    last = ("tool", frozenset({"u3"}))
    lost = tree.record.closed[1].delta_sha256
    deltas = {digest: delta for digest, delta in tree.record.deltas.items() if digest != lost}
    assert blamed(tree, deltas=deltas) == [UNKNOWN, TOOL, UNKNOWN, last]
    closed = [record for record in tree.record.closed if record.delta_sha256 != lost]
    assert blamed(tree, closed=closed, unreadable=1) == [UNKNOWN, TOOL, UNKNOWN, last]


def test_where_the_clock_went_back_a_lapse_may_have_been_at_any_time():
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"1\nx\n")
    tree.now -= timedelta(hours=3)
    tree.tool("u2", a=b"1\nx\ny\n")
    tree.put(a=b"1\nx\ny\nmine\n")
    assert tree.said() == [UNKNOWN, TOOL, ("tool", frozenset({"u2"})), OUTSIDE]
    tree.record.close_partial(Tool("late", "codex", "t"), EPOCH - timedelta(days=9))
    assert tree.said()[1:] == [
        ("group", frozenset({"u1", "late"})), ("group", frozenset({"u2", "late"})), UNKNOWN,
    ]  # fmt: skip


def test_records_without_sequence_numbers_stand_by_the_clock():
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"1\nx\n")
    tree.tool("u2", a=b"1\nx\ny\n")
    tree.record.closed = [replace(record, seq=None) for record in reversed(tree.record.closed)]
    assert tree.said() == [UNKNOWN, TOOL, ("tool", frozenset({"u2"}))]


def test_windows_of_another_tree_count_for_nothing():
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"1\nx\n")
    assert blamed(tree, repository="other") == [UNKNOWN, UNKNOWN]


# Stages


def staged(tree: Tree) -> None:
    """Have all windows so far be those of a stage."""
    tree.record.closed = [
        replace(record, key=replace(record.key, mode=IN_STAGE, repository="stage"), seq=record.seq)
        for record in tree.record.closed
    ]


def test_what_lands_from_a_stage_is_of_the_tools_there():
    stage = Tree(a=b"1\nx\n")
    stage.now += timedelta(minutes=10)
    stage.tool("s1", a=b"1\nx\ns\n")
    stage.tool("s2", a=b"1\nx\ns\nt\n")
    staged(stage)
    tree = Tree(a=b"1\n", b=b"")
    tree.tool("u1", a=b"1\nx\n")
    tree.record.deltas.update(stage.record.deltas)
    tree.record.closed += stage.record.closed
    tree.put(a=b"1\nx\ns\nt\n")
    wanted = [UNKNOWN, TOOL, ("tool", frozenset({"s1"})), ("tool", frozenset({"s2"}))]
    assert tree.said() == wanted
    tree.now += timedelta(minutes=30)
    tree.tool("u2", b=b"2\n")
    assert tree.said() == wanted
    tree.put(a=b"1\nx\ns\nt\nmerged\n")
    assert tree.reasons()[-1] == "staged"


def test_a_stage_whose_deltas_call_contents_by_other_names():
    stage = Tree(a=b"1\nx\n")
    stage.now += timedelta(minutes=10)
    stage.tool("s1", a=b"1\nx\ns\n")
    stage.tool("s2", a=b"1\nx\ns\nt\n")
    staged(stage)
    for index, delta in enumerate(list(stage.record.deltas.values())):
        (file,) = delta.files
        names = [content_name(text, Hashes.SHA1) for text in (b"1\nx\n", b"1\nx\ns\n", b"1\nx\ns\nt\n")]
        named = replace(file, before_hash=names[index], after_hash=names[index + 1])
        digest = stage.record.closed[index].delta_sha256
        stage.record.deltas[digest] = replace(delta, hashes=Hashes.SHA1, files=(named,))
    other = Tree(a=b"0\n")
    other.now = stage.now - timedelta(seconds=90)
    other.tool("o1", a=b"0\n1\n")
    staged(other)
    other.record.closed = [
        replace(record, key=replace(record.key, repository="another")) for record in other.record.closed
    ]
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"1\nx\n")
    for record in (stage.record, other.record):
        tree.record.deltas.update(record.deltas)
        tree.record.closed += record.closed
    tree.put(a=b"1\nx\ns\nt\n")
    assert tree.said() == [UNKNOWN, TOOL, ("tool", frozenset({"s1"})), ("tool", frozenset({"s2"}))]


def test_a_stage_that_began_with_what_another_left():
    tree = Tree(a=b"1\n")
    tree.tool("s1", a=b"1\nx\n")
    staged(tree)
    tree.tool("s2", a=b"1\nx\ny\n")
    tree.record.closed = [
        replace(record, key=replace(record.key, mode=IN_STAGE, repository=record.key.tool_use_id))
        for record in tree.record.closed
    ]
    wanted = [UNKNOWN, ("tool", frozenset({"s1"})), ("tool", frozenset({"s2"}))]
    assert tree.said() == wanted
    tree.tool("u1", b=b"1\n")
    assert tree.said() == wanted
    # Where the tree held it later than that stage, the tree's tool is whose it is.
    own = Tree(a=b"1\n")
    own.now += timedelta(minutes=10)
    own.tool("u2", a=b"1\nx\n")
    stage = Tree(a=b"1\nx\n")
    stage.now = own.now
    stage.tool("s3", a=b"1\nx\nz\n")
    staged(stage)
    for record in (tree.record, stage.record):
        own.record.deltas.update(record.deltas)
        own.record.closed += record.closed[:2]
    own.put(a=b"1\nx\nz\n")
    assert own.said() == [UNKNOWN, ("tool", frozenset({"u2"})), ("tool", frozenset({"s3"}))]


def test_a_file_that_holds_what_a_stage_left_elsewhere_is_not_outside():
    tree = Tree(a=b"1\n")
    tree.tool("s1", a=b"1\nx\n")
    staged(tree)
    own = Tree(a=b"1\n")
    own.tool("u1", a=b"2\n")
    own.record.deltas.update(tree.record.deltas)
    own.record.closed += tree.record.closed
    own.put(b=b"1\nx\n", c=b"3\n")
    assert own.reasons("b") == ["staged"] * 2
    assert own.said("c") == [OUTSIDE]


def landing(minutes: int, *, start: bytes = b"1\n") -> tuple[Tree, dict[str, str]]:
    """A tree with one window, and a stage of a run that began with what the tree held and landed at that minute."""
    stage = Tree(a=start)
    stage.now += timedelta(minutes=10)
    stage.tool("s1", a=start + b"s\n")
    stage.tool("s2", a=start + b"s\nt\n", n=b"new\n")
    staged(stage)
    tree = Tree(a=b"1\n")
    tree.tool("u1", b=b"1\n")
    tree.record.deltas.update(stage.record.deltas)
    tree.record.closed += [replace(record, event_id="run.x") for record in stage.record.closed]
    return tree, {"run": stamp(EPOCH + timedelta(minutes=minutes))}


def test_what_was_changed_after_a_stage_landed_is_outside_and_the_rest_the_stages():
    tree, landings = landing(20)
    s1, s2 = ("tool", frozenset({"s1"})), ("tool", frozenset({"s2"}))
    tree.put(a=b"1\ns\nt\nmine\n", n=b"mine\nnew\n")
    assert blamed(tree, landings=landings) == [UNKNOWN, s1, s2, OUTSIDE]
    assert blamed(tree) == [UNKNOWN] * 4
    content = tree.record.tree["n"]
    file = PresentFile(path=RelPath(b"n"), content=content, name=name_of(content))
    history = history_of(replace(tree.record.recorded(), landings=landings))
    mine, new = blame(file, history, tree.record)
    assert said((mine, new)) == [OUTSIDE, s2]
    assert (mine.since, mine.until) == (landings["run"], None)
    tree.record.unwatched.add(RelPath(b"a"))
    assert blamed(tree, landings=landings)[3] == UNKNOWN
    tree.record.unwatched.clear()
    assert blamed(tree, landings=landings, open=[running("now", 30)])[3] == UNKNOWN
    assert blamed(tree, landings=landings, open=[running("now", 30)])[1] == s1
    tree.now = EPOCH + timedelta(minutes=40)
    tree.tool("u2", b=b"2\n")
    assert blamed(tree, landings=landings) == [UNKNOWN, s1, s2, OUTSIDE]
    tree.put(a=b"1\ns\nt\nmine\nlater\n")
    assert blamed(tree, landings=landings) == [UNKNOWN, s1, s2, OUTSIDE, OUTSIDE]


def test_a_landing_is_followed_only_where_what_landed_can_be_made_anew():
    tree, landings = landing(20, start=b"other\n")
    tree.put(a=b"other\ns\nt\nmine\n")
    assert blamed(tree, landings=landings) == [UNKNOWN] * 4
    tree, landings = landing(20)
    tree.now += timedelta(minutes=40)
    tree.tool("u2", b=b"2\n")  # what had landed was gone by then
    tree.put(a=b"1\ns\nt\nmine\n")
    assert blamed(tree, landings=landings) == [UNKNOWN, OUTSIDE, OUTSIDE, OUTSIDE]


def test_what_a_stage_began_with_may_stand_in_the_commit_that_is_checked_out():
    tree, landings = landing(20, start=b"other\n")
    tree.put(a=b"other\ns\nmine\n")
    tree.record.committed[RelPath(b"a")] = b"other\n"
    assert blamed(tree, landings=landings) == [UNKNOWN, ("tool", frozenset({"s1"})), OUTSIDE]


def test_what_may_have_come_from_a_later_stage_is_not_outside():
    tree, landings = landing(20)
    other = Tree(a=b"1\ns\nt\n")
    other.now += timedelta(minutes=30)
    other.tool("o1", a=b"1\ns\nt\no\n")
    tree.record.deltas.update(other.record.deltas)
    tree.record.closed += [
        replace(record, key=replace(record.key, mode=IN_STAGE, repository="later")) for record in other.record.closed
    ]
    tree.put(a=b"1\ns\nt\no\nmine\n")
    assert blamed(tree, landings=landings)[3:] == [UNKNOWN, UNKNOWN]


def test_a_stage_of_a_tree_without_windows_that_made_a_file_and_landed():
    tree = Tree()
    tree.tool("s1", a=b"1\n")
    staged(tree)
    tree.record.closed = [replace(record, event_id="run.x") for record in tree.record.closed]
    tree.put(a=b"1\nmine\n")
    landings = {"run": stamp(EPOCH + timedelta(minutes=5))}
    assert blamed(tree, landings=landings) == [("tool", frozenset({"s1"})), OUTSIDE]


def test_a_stage_without_windows_in_the_tree():
    tree = Tree(a=b"1\n")
    tree.tool("s1", a=b"1\ns\n")
    staged(tree)
    assert tree.said() == [UNKNOWN, ("tool", frozenset({"s1"}))]
    assert tree.reasons()[0] == "before_record"
    tree.put(a=b"other\n")
    assert tree.reasons() == ["before_record"]


def test_a_stage_that_began_with_what_the_tree_is_not_known_to_have_held():
    tree = Tree(a=b"1\n")
    tree.tool("s1", a=b"1\ns\n")
    tree.put(a=b"1\ns\nelsewhere\n")
    tree.tool("s2", a=b"1\ns\nelsewhere\nt\n")
    staged(tree)
    own = Tree(a=b"0\n")
    own.tool("u1", a=b"0\n1\n")
    own.record.deltas.update(tree.record.deltas)
    own.record.closed += tree.record.closed
    own.put(a=b"1\ns\nelsewhere\nt\n")
    assert own.said() == [UNKNOWN, UNKNOWN, UNKNOWN, ("tool", frozenset({"s2"}))]
    assert own.reasons()[:3] == ["staged"] * 3


def test_a_stage_is_left_for_what_the_tree_held_when_it_began():
    tree = Tree(a=b"1\n")
    tree.tool("u1", a=b"1\nx\n")
    stage = Tree(a=b"1\nx\n")
    stage.now = tree.now
    stage.tool("s1", a=b"1\nx\ns\n")
    staged(stage)
    tree.now += timedelta(minutes=5)
    tree.tool("u2", a=b"other\n")
    tree.tool("u3", a=b"1\nx\n")  # not yet, when the stage began
    tree.record.deltas.update(stage.record.deltas)
    tree.record.closed += stage.record.closed
    tree.put(a=b"1\nx\ns\n")
    assert tree.said() == [UNKNOWN, TOOL, ("tool", frozenset({"s1"}))]


def test_a_partial_window_of_a_stage_makes_what_lands_later_unknown():
    tree = Tree(a=b"1\n")
    tree.tool("u1", b=b"1\n")
    tree.now += timedelta(hours=5)
    tree.record.close_partial(Tool("late", "claude", "t"), EPOCH + timedelta(minutes=2))
    tree.record.closed[1] = replace(tree.record.closed[1], key=replace(tree.record.closed[1].key, mode=IN_STAGE))
    tree.put(a=b"1\nlanded\n")
    assert tree.reasons() == ["before_record", "tool_unseen"]
    # Once it is known when that stage landed, what comes later is not of it.
    tree.record.closed[1] = replace(tree.record.closed[1], event_id="run.x")
    tree.tool("u2", b=b"2\n")
    tree.put(a=b"1\nlanded\nmine\n")
    assert blamed(tree) == [UNKNOWN, UNKNOWN, UNKNOWN]
    assert blamed(tree, landings={"run": stamp(EPOCH + timedelta(hours=1))}) == [UNKNOWN, UNKNOWN, OUTSIDE]


def test_every_reason_is_told_in_words():
    assert set(WHY) == set(Unknown)


def test_a_history_of_nothing():
    assert history_of(Recorded(repository="r", closed=(), deltas={})) == History(episodes=())
