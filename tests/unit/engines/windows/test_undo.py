"""Tool calls undone in real trees, with git and without: every kind of change, later ones in the same files, redo."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import windows_lab
from docket.engines.windows.complete import complete
from docket.engines.windows.world import CompleteRequest
from docket.errors import UnavailableError, UsageError
from docket.formats.reason import Reason
from undo_lab import conflicts, proposed, redo, request, standing, undo
from windows_lab import WindowsLab, environment, write

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
LABS: dict[str, Callable[..., WindowsLab]] = {"git": windows_lab.git_lab, "folder": windows_lab.folder_lab}
EVERYTHING = """
sed -i 's/^2$/two/' a; rm gone; echo n > n; chmod +x d/b; ln -s a link
mkdir -p new/er; echo deep > new/er/f; printf 'x\\0y' > binary; : > empty
"""
TEN = "".join(f"{number}\n" for number in range(1, 11))


@pytest.fixture(params=sorted(LABS))
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> WindowsLab:
    return LABS[request.param](tmp_path / "lab")


def shell(lab: WindowsLab, script: str) -> None:
    """A person does this."""
    subprocess.run(["sh", "-ec", script], cwd=lab.tree, env=environment(lab.root), check=True)


@pytest.mark.parametrize(
    "script",
    [
        EVERYTHING,
        "rm a; mkdir a; echo i > a/i",
        "rm -r d; echo d > d",
        "rm -r d; ln -s . d",
        "mkdir x; mv d/b x/b; rmdir d",
        "rm a; ln -s gone a",
        "printf '1\\n2\\n3' > a",
        "printf '\\000' >> a",
        "printf '\\377\\n' >> a; mv gone \"$(printf '\\377')\"",
        "chmod +x a; echo 4 >> a",
    ],
)
def test_what_one_tool_did_is_undone_and_put_back(lab: WindowsLab, script: str) -> None:
    before = standing(lab.tree)
    lab.tool("one", script)
    after = standing(lab.tree)
    assert after != before
    restored = undo(lab, "one")
    assert standing(lab.tree) == before
    assert all(item.status in (None, "applied") for item in restored.record.paths)
    assert restored.record.delta_sha256 is not None
    assert redo(lab, restored).problem is None
    assert standing(lab.tree) == after


def test_what_came_later_stays(lab: WindowsLab) -> None:
    write(lab.tree / "a", TEN)
    lab.tool("early", "sed -i 's/^2$/two/; s/^9$/nine/' a; chmod +x a")
    lab.tool("later", "sed -i 's/^5$/five/' a; echo 11 >> a")
    shell(lab, "sed -i '1i zero' a")
    lab.tool("last", "echo z > z")
    restored = undo(lab, "early")
    assert (lab.tree / "a").read_text() == "zero\n1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n"
    assert standing(lab.tree)["a"][0] == "file"
    assert not proposed(lab, request(lab, "early")).proposal.plan.steps, "once is enough"
    redo(lab, restored)
    assert (lab.tree / "a").read_text() == "zero\n1\ntwo\n3\n4\nfive\n6\n7\n8\nnine\n10\n11\n"


def ended(lab: WindowsLab, use: str, outcome: str) -> None:
    """The window of a tool during which something changed, with what is said of its end."""
    lab.pre(use)
    write(lab.tree / "a", "changed\n")
    complete(CompleteRequest(key=lab.key(use), tool_name="Bash", outcome=outcome), lab.world)


def test_a_tool_that_was_denied_wrote_nothing_that_could_be_undone(lab: WindowsLab) -> None:
    ended(lab, "u", "denied")
    with pytest.raises(UnavailableError, match="was denied and wrote nothing") as caught:
        proposed(lab, request(lab, "u"))
    assert caught.value.reason == Reason.NOT_RECORDED


@pytest.mark.parametrize(("outcome", "is_told"), [("unended", True), ("interrupted", False), ("failed", False)])
def test_what_changed_until_a_tool_without_an_end_was_given_up_is_undone_and_the_plan_says_so(
    lab: WindowsLab, outcome: str, *, is_told: bool
) -> None:
    before = standing(lab.tree)
    ended(lab, "u", outcome)
    remarks = proposed(lab, request(lab, "u")).proposal.remarks
    assert any("u (unended)" in remark for remark in remarks) is is_told
    undo(lab, "u")
    assert standing(lab.tree) == before


def test_one_hunk_and_then_the_rest(lab: WindowsLab) -> None:
    write(lab.tree / "a", TEN)
    lab.tool("early", "sed -i 's/^2$/two/; s/^9$/nine/' a; chmod +x a; echo n > n")
    shell(lab, "sed -i 's/^5$/five/' a")
    undo(lab, "early", hunks=(2,))
    assert (lab.tree / "a").read_text() == "1\ntwo\n3\n4\nfive\n6\n7\n8\n9\n10\n"
    assert standing(lab.tree)["a"][0] == "executable", "a hunk is lines, and no mode"
    undo(lab, "early", hunks=(1, 3))
    assert (lab.tree / "a").read_text() == "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n"
    assert not (lab.tree / "n").exists(), "all that a made file has is the file"


def test_a_conflict_is_shown_and_nothing_is_done(lab: WindowsLab) -> None:
    lab.tool("early", "sed -i 's/^2$/two/' a; echo n > n; rm gone; echo more >> d/b")
    shell(lab, "sed -i 's/^two$/zwei/' a; echo more >> n; echo other > gone; rm d/b")
    before = standing(lab.tree)
    found = proposed(lab, request(lab, "early"))
    assert {name: reason for name, (reason, _) in conflicts(found).items()} == dict.fromkeys(
        ("a", "n", "gone", "d/b"), Reason.MERGE_CONFLICT
    )
    (text,) = found.conflicts.values()
    assert text == (
        b"1\n<<<<<<< the tree now\nzwei\n||||||| after Bash early\ntwo\n=======\n2\n>>>>>>> before Bash early\n3\n"
    )
    assert standing(lab.tree) == before
    assert found.refused == 4


def test_a_path_without_a_conflict_is_undone_by_name(lab: WindowsLab) -> None:
    lab.tool("early", "echo 4 >> a; echo n > d/n; echo m > m")
    shell(lab, "echo more >> m")
    assert conflicts(proposed(lab, request(lab, "early")))
    undo(lab, "early", "a", "d")
    assert not (lab.tree / "d/n").exists()
    assert ((lab.tree / "a").read_text(), (lab.tree / "m").read_text()) == ("1\n2\n3\n", "m\nmore\n")


def test_what_a_person_put_beside_what_was_made_stays(lab: WindowsLab) -> None:
    lab.tool("one", "rm a; mkdir a; echo i > a/i")
    write(lab.tree / "a/mine", "mine\n")
    told = conflicts(proposed(lab, request(lab, "one")))
    assert told["a"][0] == Reason.NOT_EMPTY
    lab.tool("two", "mkdir made; echo x > made/x")
    write(lab.tree / "made/mine", "mine\n")
    undo(lab, "two")
    assert standing(lab.tree / "made") == {"mine": ("file", b"mine\n")}


def test_a_link_on_the_way_is_not_followed(lab: WindowsLab, tmp_path: Path) -> None:
    lab.tool("one", "echo y > d/b")
    (tmp_path / "outside").mkdir()
    write(tmp_path / "outside/b", "y\n")
    shutil.rmtree(lab.tree / "d")
    (lab.tree / "d").symlink_to(tmp_path / "outside")
    assert conflicts(proposed(lab, request(lab, "one")))["d/b"][0] == Reason.IS_A_SYMLINK
    assert (tmp_path / "outside/b").read_text() == "y\n"


def test_a_member_of_a_group_is_undone_with_its_group(lab: WindowsLab) -> None:
    lab.pre("one")
    lab.pre("two")
    write(lab.tree / "a", "1\n2\n3\n4\n")
    lab.post("one")
    write(lab.tree / "n", "n\n")
    lab.post("two")
    with pytest.raises(UsageError, match="ran at the same time as others") as caught:
        proposed(lab, request(lab, "one"))
    assert caught.value.points == ("Bash one", "Bash two")
    assert caught.value.hint == "--group undoes them all"
    undo(lab, "one", group=True)
    assert (lab.tree / "a").read_text() == "1\n2\n3\n"
    assert not (lab.tree / "n").exists()


def test_what_does_not_fit_the_delta_is_refused(lab: WindowsLab) -> None:
    lab.tool("one", "echo 4 >> a")
    lab.tool("none", "true")
    lab.post("never begun")
    for asked, told in (
        (request(lab, "one", hunks=(2,)), "no hunk 2: it has 1"),
        (request(lab, "none", hunks=(1,)), "no hunk 1: it has none"),
        (request(lab, "one", "d"), "changed nothing at d"),
    ):
        with pytest.raises(UsageError, match=told):
            proposed(lab, asked)
    with pytest.raises(UnavailableError, match="unknown: pre_snapshot_missing") as caught:
        proposed(lab, request(lab, "never begun"))
    assert caught.value.reason == Reason.NOT_RECORDED
    assert not proposed(lab, request(lab, "none")).proposal.plan.steps


def test_contents_that_are_gone_are_made_of_the_hunks_or_refused(lab: WindowsLab) -> None:
    write(lab.tree / "a", TEN)
    lab.tool("one", "sed -i 's/^2$/two/' a; rm gone; printf 'x\\0y' > binary")
    lab.tool("two", "printf 'x\\0z' > binary")
    for store in ("git/objects", "pool"):
        if (lab.windows / store).exists():
            shutil.rmtree(lab.windows / store)
            (lab.windows / store).mkdir()
    assert conflicts(proposed(lab, request(lab, "two")))["binary"][0] == Reason.CONTENT_MISSING
    undo(lab, "one", "a", "gone")
    assert ((lab.tree / "a").read_text(), (lab.tree / "gone").read_text()) == (TEN, "g\n")


def test_only_texts_of_a_size_are_merged(lab: WindowsLab) -> None:
    write(lab.tree / "large", "line\n" * 900_000)
    lab.tool("one", "sed -i 's/^2$/two/' a; sed -i '5s/.*/five/' large; chmod +x d/b")
    shell(lab, "printf '\\000' >> a; echo more >> large; echo more >> d/b")
    told = conflicts(proposed(lab, request(lab, "one")))
    assert {name: reason for name, (reason, _) in told.items()} == dict.fromkeys(("a", "large"), Reason.NOT_MERGEABLE)
    assert "4,194,304 bytes" in str(told["large"][1])
    undo(lab, "one", "d")
    assert standing(lab.tree)["d/b"] == ("file", b"x\nmore\n"), "a mode goes without the lines"


def test_hunks_of_what_is_gone_are_refused(lab: WindowsLab) -> None:
    write(lab.tree / "a", TEN)
    lab.tool("one", "sed -i 's/^2$/two/; s/^9$/nine/' a")
    shell(lab, "echo 11 >> a")
    for store in ("git/objects", "pool"):
        shutil.rmtree(lab.windows / store, ignore_errors=True)
        (lab.windows / store).mkdir(parents=True, exist_ok=True)
    for hunks in ((1,), ()):
        assert conflicts(proposed(lab, request(lab, "one", hunks=hunks)))["a"][0] == Reason.CONTENT_MISSING


def test_contents_that_are_gone_are_made_of_the_deltas_of_later_tools(lab: WindowsLab) -> None:
    write(lab.tree / "a", TEN)
    lab.tool("one", "sed -i 's/^2$/two/' a; echo 1 > made")
    lab.tool("two", "sed -i 's/^5$/five/' a; echo 2 > made")
    lab.tool("three", "printf 11 >> a; rm made")
    lab.tool("four", "sed -i 's/^9$/nine/' a; echo 3 > made")
    for store in ("git/objects", "pool"):
        shutil.rmtree(lab.windows / store, ignore_errors=True)
        (lab.windows / store).mkdir(parents=True, exist_ok=True)
    undo(lab, "one", "a")
    assert (lab.tree / "a").read_text() == "1\n2\n3\n4\nfive\n6\n7\n8\nnine\n10\n11"
    undo(lab, "four", "made")
    assert not (lab.tree / "made").exists()
    undo(lab, "three", "made")
    assert (lab.tree / "made").read_text() == "2\n"
    shell(lab, "echo 12 >> a")
    told = conflicts(proposed(lab, replace(request(lab, "two", "a"), history=tuple)))
    assert told["a"][0] == Reason.CONTENT_MISSING, "without the other deltas nothing leads there"


def test_a_tree_that_stood_elsewhere_is_remarked(lab: WindowsLab) -> None:
    lab.tool("one", "echo 4 >> a")
    asked = request(lab, "one")
    other = replace(asked, record=replace(asked.record, key=replace(asked.record.key, repository="0" * 32)))
    (remark,) = proposed(lab, other).proposal.remarks
    assert "is of another tree" in remark


def test_what_a_dead_apply_left_is_remarked(lab: WindowsLab) -> None:
    lab.tool("one", "echo 4 >> a")
    (lab.tree / ".docket-apply-0123456789abcdef").mkdir(mode=0o700)
    (remark,) = proposed(lab, request(lab, "one")).proposal.remarks
    assert "cut short" in remark
