"""What a restore does not bring back is in its last line and exit code; what it leaves that is dangerous is said."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from run_lab import RunLab, build


@pytest.fixture
def lab(tmp_path: Path) -> RunLab:
    lab = build(tmp_path)
    (lab.tree / "a").write_text("before\n")
    (lab.tree / "b").write_text("before\n")
    return lab


def ran(lab: RunLab, script: str, *flags: str) -> None:
    done = lab.run("-q", "--snapshot", *flags, "--", "sh", "-ec", script)
    assert done.exit_code == 0, done.said


def test_a_restore_that_leaves_nothing_says_nothing_more(lab: RunLab) -> None:
    ran(lab, "echo after > a")
    done = lab.docket("restore", "--apply")
    assert (done.exit_code, "NOT back" in done.said) == (0, False), done.said


def test_a_path_that_is_not_covered_is_no_success(lab: RunLab) -> None:
    (lab.tree / "large").write_text("larger than the cap")
    ran(lab, "echo after > a; echo after > large", "--snapshot-max-file-bytes", "10")
    shown = lab.docket("restore")
    assert (shown.exit_code, shown.stdout.splitlines()[-1]) == (
        1, "1 path would NOT be back as before the run: 1 not in the snapshot",
    ), shown.said  # fmt: skip
    done = lab.docket("restore", "--apply")
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (
        1, "1 path is NOT back as before the run: 1 not in the snapshot",
    ), done.said  # fmt: skip
    assert ((lab.tree / "a").read_text(), (lab.tree / "large").read_text()) == ("before\n", "after\n")
    assert lab.docket("restore", "--path", "a").exit_code == 0


def test_a_hook_that_the_run_planted_is_called_what_it_is(lab: RunLab) -> None:
    (lab.tree / ".git" / "hooks").mkdir(parents=True)
    (lab.tree / ".git" / "config").write_text("[core]\n")
    ran(
        lab,
        "cd .git; echo evil > hooks/pre-commit; chmod +x hooks/pre-commit; echo x > hooks/x.sample; "
        "echo data > hooks/notes; echo fsmonitor=evil >> config",
    )
    warned = [
        "docket: warning: the run changed what can name programs that git will execute: .git/config",
        "docket: warning: the run added a program that git will execute: .git/hooks/pre-commit",
    ]
    for command in (("restore",), ("restore", "--apply")):
        done = lab.docket(*command)
        assert [line for line in done.stderr.splitlines() if "will execute" in line] == warned, done.said
        assert done.stdout.splitlines()[-1].endswith("back as before the run: 4 left as they are")
        assert done.exit_code == 0, "git's own files are left by intent"
    document = json.loads(lab.docket("restore", "--json").stdout)
    assert document["warnings"] == [line.removeprefix("docket: warning: ") for line in warned]
    done = lab.docket("restore", "--apply", "--path", ".git")
    assert (done.exit_code, "will execute" in done.said) == (0, False), done.said
    assert not (lab.tree / ".git" / "hooks" / "pre-commit").exists()


@pytest.mark.parametrize(("folder", "owner"), [(".hg", "Mercurial's"), (".jj", "Jujutsu's"), (".svn", "Subversion's")])
def test_other_version_controls_are_no_mix(lab: RunLab, folder: str, owner: str) -> None:
    (lab.tree / folder).mkdir()
    (lab.tree / folder / "dirstate").write_text("before\n")
    (lab.tree / folder / "other").write_text("before\n")
    ran(lab, f"echo after > a; echo after > {folder}/dirstate; echo after > {folder}/other")
    done = lab.docket("restore", "--apply")
    assert done.exit_code == 0, done.said
    assert f"2 of {owner} own files stay as they are; select them by --path" in done.stdout, done.said
    assert [(lab.tree / path).read_text() for path in ("a", f"{folder}/dirstate")] == ["before\n", "after\n"]
    assert lab.docket("restore", "--apply", "--path", folder).exit_code == 0
    assert (lab.tree / folder / "dirstate").read_text() == "before\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_where_nobody_could_look_is_said(lab: RunLab) -> None:
    (lab.tree / "closed").mkdir(mode=0o000)
    ran(lab, "echo after > a")
    done = lab.docket("restore", "--apply")
    assert "is not known and not put back: closed" in done.stderr, done.said


def test_where_the_record_lacks_changes_a_restore_is_no_success(lab: RunLab) -> None:
    policy = lab.root / "policy.toml"
    policy.write_text("[resilience]\nmax_events = 1\n")
    ran(lab, "echo after > a; mkdir z; cd z; seq 1200 | xargs touch", "--policy", str(policy))
    for command in (("restore",), ("restore", "--apply")):
        done = lab.docket(*command)
        assert done.exit_code == 1, done.said
        assert "what is missing in it is NOT back" in done.stderr, done.said
    assert json.loads(lab.docket("restore", "--json").stdout)["changes_known"] is False
    assert (lab.tree / "a").read_text() == "before\n", "what is on the record is back"
    assert len(list((lab.tree / "z").iterdir())) > 100, "what is not on it stays"


def test_a_record_that_takes_no_more_still_tells_what_a_restore_needs(lab: RunLab) -> None:
    policy = lab.root / "policy.toml"
    policy.write_text("[resilience]\nmax_events = 1\n")
    ran(lab, "echo after > a; rm b; mkdir d; echo x > d/x", "--policy", str(policy))
    done = lab.docket("restore", "--apply")
    assert "4 restored" in done.stdout, done.said
    assert (done.exit_code, "may not hold all" in done.stderr) == (1, True), "of a gap nobody knows what is in it"


def test_a_second_name_of_what_is_written_anew_is_in_the_plan(lab: RunLab) -> None:
    (lab.tree / "c").hardlink_to(lab.tree / "a")
    ran(lab, "echo after > a")
    shown, done = lab.docket("restore"), lab.docket("restore", "--apply")
    assert "2 would be restored; nothing was changed" in shown.stdout, shown.said
    assert "link         c  (another name of a, over a file of 6 bytes)" in shown.stdout, shown.said
    assert "2 restored" in done.stdout, done.said
    assert (lab.tree / "a").stat().st_ino == (lab.tree / "c").stat().st_ino
    assert "2 as they were already" in lab.docket("restore").stdout
