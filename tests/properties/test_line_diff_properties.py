"""Line differences of any two contents: they lead from one to the other, are as short as can be, and say no more than
git's own do."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from docket.formats.relpath import RelPath
from docket.formats.windows.changes import Side, TreeChange
from docket.formats.windows.delta import (
    Actor,
    Delta,
    FileDelta,
    Hunk,
    Limits,
    Span,
    ToolUse,
    decode_delta,
    encode_delta,
)
from docket.formats.windows.names import ABSENT_MODE, Hashes, Scope, Status
from docket.rules.line_difference import Budget, split_lines
from docket.rules.windows.compare import Room, compare_file
from docket.rules.windows.differ import diff_lines

LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b"d", b"", b"\xff", b"e\r"]), max_size=14)
CONTENTS = st.one_of(
    st.builds(lambda lines, end: b"\n".join(lines) + end, LINES, st.sampled_from([b"", b"\n"])), st.binary(max_size=40)
)
NAMES = {"before": "1" * 40, "after": "2" * 40}


def applied(old: list[bytes], hunks: tuple[Hunk, ...]) -> list[bytes]:
    """What the hunks make of the old lines; their positions and their old lines must be those that stand there."""
    new: list[bytes] = []
    at = 0
    for hunk in hunks:
        new += old[at : hunk.old_start - 1]
        at = hunk.old_start - 1 + len(hunk.old_lines)
        assert tuple(old[hunk.old_start - 1 : at]) == hunk.old_lines
        assert len(new) == hunk.new_start - 1
        new += hunk.new_lines
    return new + old[at:]


def longest_common(old: list[bytes], new: list[bytes]) -> int:
    """The length of a longest common subsequence, by the table."""
    above = [0] * (len(new) + 1)
    for left in old:
        row = [0]
        for place, right in enumerate(new):
            row.append(above[place] + 1 if left == right else max(above[place + 1], row[place]))
        above = row
    return above[-1]


@given(LINES, LINES)
def test_hunks_lead_from_old_to_new_by_a_shortest_way(old, new):
    hunks = diff_lines(old, new, Budget())
    assert applied(old, hunks) == new
    assert len(old) - sum(len(hunk.old_lines) for hunk in hunks) == longest_common(old, new)
    assert hunks == diff_lines(old, new, Budget())


@given(LINES, LINES, st.integers(0, 6), st.integers(0, 60))
def test_a_small_budget_gives_hunks_that_lead_there_too(old, new, depth, steps):
    assert applied(old, diff_lines(old, new, Budget(depth=depth, steps_left=steps))) == new


def file_of(old: bytes | None, new: bytes | None) -> FileDelta | None:
    contents = {NAMES["before"]: old, NAMES["after"]: new}
    sides = [
        Side() if content is None else Side(mode="100644", name=NAMES[name])
        for name, content in (("before", old), ("after", new))
    ]
    if old == new:
        return None
    change = TreeChange(path=RelPath(b"p\xff"), before=sides[0], after=sides[1])
    return compare_file(change, Hashes.SHA1, contents.get, Room())


@given(st.one_of(st.none(), CONTENTS), st.one_of(st.none(), CONTENTS))
def test_a_delta_of_any_two_contents_is_read_back_and_gives_the_new_one(old, new):
    file = file_of(old, new)
    delta = Delta(
        scope=Scope.TOOL,
        status=Status.COMPLETE,
        window=Span(started_at="2026-01-01T00:00:00Z", completed_at="2026-01-01T00:00:00Z", duration_ms=0),
        actors=(Actor(provider="p", session_id="", turn_id=""),),
        tool_uses=(ToolUse(tool_use_id="u", tool_name="t", event_id="e", actor=0),),
        files=() if file is None else (file,),
        limits=Limits(files_observed=1),
        hashes=Hashes.SHA1,
    )
    assert decode_delta(encode_delta(delta)) == delta
    if file is None or file.binary or ABSENT_MODE in (file.before_mode, file.after_mode):
        return
    lines = applied(list(split_lines(old or b"").lines), file.hunks)
    end = b"" if file.new_no_eof_newline or not lines else b"\n"
    assert b"\n".join(lines) + end == new


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=LINES, new=LINES)
def test_git_applies_what_the_hunks_say(tmp_path: Path, old: list[bytes], new: list[bytes]):
    """The hunks as a patch without context, in git's own hands."""
    if old == new:
        return
    (tmp_path / "p").write_bytes(b"".join(line + b"\n" for line in old))
    patch = [b"--- a/p\n+++ b/p\n"]
    for hunk in diff_lines(old, new, Budget()):
        # git counts a side without lines from the line before.
        left = hunk.old_start - (not hunk.old_lines), len(hunk.old_lines)
        right = hunk.new_start - (not hunk.new_lines), len(hunk.new_lines)
        patch.append(b"@@ -%d,%d +%d,%d @@\n" % (*left, *right))
        patch += [b"-" + line + b"\n" for line in hunk.old_lines] + [b"+" + line + b"\n" for line in hunk.new_lines]
    done = subprocess.run(
        ["git", "apply", "--unidiff-zero", "--whitespace=nowarn", "-"],
        cwd=tmp_path, input=b"".join(patch), capture_output=True, check=False,
        env={"PATH": "/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(tmp_path.parent), "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "p").read_bytes() == b"".join(line + b"\n" for line in new)
