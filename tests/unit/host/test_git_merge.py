"""Merging texts with git: what comes of it, and that nothing of anybody's configuration is executed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from docket.errors import UnavailableError
from docket.formats.reason import Reason
from docket.host import git_merge
from docket.host.git_merge import GitMerge, MergedText

LABELS = ("ours", "staged", "theirs")


def merged(ours: bytes, ancestor: bytes, theirs: bytes) -> MergedText:
    with GitMerge() as git:
        return git.merge((ours, ancestor, theirs), LABELS)


def test_changes_in_other_places_make_one_text() -> None:
    assert merged(b"A\nb\nc\nd\ne\n", b"a\nb\nc\nd\ne\n", b"a\nb\nc\nd\nE\n") == MergedText(b"A\nb\nc\nd\nE\n", 0)


def test_a_text_without_a_line_end_at_its_end_stays_so() -> None:
    assert merged(b"A\nb\nc\nd\ne", b"a\nb\nc\nd\ne", b"a\nb\nc\nd\nE") == MergedText(b"A\nb\nc\nd\nE", 0)


def test_a_conflict_shows_all_three() -> None:
    text = b"<<<<<<< ours\nx\n||||||| staged\na\n=======\ny\n>>>>>>> theirs\n"
    assert merged(b"x\n", b"a\n", b"y\n") == MergedText(text, 1)


def test_each_conflict_counts() -> None:
    between = b"".join(b"%d\n" % number for number in range(20))
    sides = [letter + b"\n" + between + letter + b"\n" for letter in (b"x", b"a", b"y")]
    assert merged(*sides).conflicts == 2


def test_what_git_takes_for_no_text_is_refused() -> None:
    with pytest.raises(UnavailableError) as caught:
        merged(b"\0x\n", b"a\n", b"y\n")
    assert caught.value.reason == Reason.NOT_MERGEABLE
    assert caught.value.detail.startswith("git merge-file failed: ")


def test_no_configuration_of_a_person_or_a_repository_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "executed"
    driver = (
        f'[merge "mine"]\n\tdriver = touch {mark}\n[merge]\n\tconflictStyle = merge\n[core]\n\tpager = touch {mark}\n'
    )
    home = tmp_path / "home"
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".gitconfig").write_text(driver)
    (home / ".config" / "git" / "attributes").write_text("* merge=mine\n")
    repository = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    (repository / ".git" / "config").write_text("[core]\n\trepositoryformatversion = 0\n" + driver)
    (repository / ".gitattributes").write_text("* merge=mine\n")
    monkeypatch.chdir(repository)
    monkeypatch.setenv("HOME", str(home))
    for name, value in (("GIT_DIR", str(repository / ".git")), ("GIT_CONFIG_GLOBAL", str(home / ".gitconfig"))):
        monkeypatch.setenv(name, value)
    assert b"||||||| staged\n" in merged(b"x\n", b"a\n", b"y\n").content
    assert not mark.exists()


def test_nothing_is_left_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    merged(b"a\n", b"a\n", b"b\n")
    assert list(tmp_path.iterdir()) == []


def program(folder: Path, script: str) -> None:
    path = folder / "git"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("script", "reason", "detail"),
    [
        (None, Reason.PROGRAM_MISSING, "git is not installed, and merges texts"),
        ("exit 200", Reason.NOT_MERGEABLE, "git merge-file failed: exit code 200"),
        ("exec /bin/sleep 60", Reason.NOT_MERGEABLE, "git merge-file did not end within 0 seconds"),
    ],
)
def test_a_git_that_is_missing_or_fails_is_said(
    script: str | None, reason: Reason, detail: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if script is not None:
        program(tmp_path, script)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(git_merge, "PATIENCE_SECONDS", 0.2 if script and "sleep" in script else 30.0)
    with pytest.raises(UnavailableError) as caught:
        merged(b"a\n", b"a\n", b"b\n")
    assert (caught.value.reason, caught.value.detail) == (reason, detail)


def test_a_git_that_cannot_be_run_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "git").write_text("not a program")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError) as caught:
        merged(b"a\n", b"a\n", b"b\n")
    assert caught.value.reason == Reason.PROGRAM_NOT_RUNNABLE
