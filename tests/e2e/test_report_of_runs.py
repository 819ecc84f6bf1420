"""The page of real runs: diffs from a snapshot and from a stage that waits, what the tools of an agent changed."""

from __future__ import annotations

from pathlib import Path

import pytest

import git_lab
import run_lab
from git_lab import needs_git
from page_lab import Element, parsed
from run_lab import RunLab

AGENT = "printf 'one\\nthree\\n' > f; rm gone; printf new > made"


@pytest.fixture
def lab(tmp_path: Path) -> RunLab:
    made = run_lab.build(tmp_path)
    (made.tree / "f").write_text("one\ntwo\n")
    (made.tree / "gone").write_text("was here\n")
    return made


def page_of(lab: RunLab, *arguments: str) -> Element:
    done = lab.docket("report", "--html", "--out", str(lab.root / "run.html"), *arguments)
    assert done.exit_code == 0, done.said
    return parsed((lab.root / "run.html").read_text("utf-8"))


def files(page: Element) -> dict[str, list[str]]:
    """The lines of the diff of each path, without its head."""
    found = {}
    for item in page.one("section", id="files").every("details"):
        lines = [line for pre in item.every("pre") for line in pre.text.split("\n")]
        first = next((place for place, line in enumerate(lines) if line.startswith("@@")), 0)
        found[item.one("code").text] = lines[first:] or [item.inside[1].text]  # type: ignore[union-attr]
    return found


WHOLE = {
    "f": ["@@ -1,2 +1,2 @@", " one", "-two", "+three"],
    "gone": ["@@ -1 +0,0 @@", "-was here"],
    "made": ["@@ -0,0 +1 @@", "+new", "\\ No newline at end of file"],
}


def test_a_run_with_a_snapshot(lab: RunLab) -> None:
    assert lab.run("--snapshot", "--", "sh", "-c", AGENT).exit_code == 0
    assert files(page_of(lab)) == WHOLE
    (lab.tree / "f").write_text("mine since\n")
    assert files(page_of(lab))["f"] == ["Not held any more: what it was after the run."]
    assert files(page_of(lab, "--no-contents")) == {}


def test_a_run_without_one_still_shows_what_it_made(lab: RunLab) -> None:
    assert lab.run("--", "sh", "-c", AGENT).exit_code == 0
    lacking = ["Not held any more: what it was before the run."]
    assert files(page_of(lab)) == {"f": lacking, "gone": lacking, "made": WHOLE["made"]}


def test_a_copy_that_hides_something_shows_nothing_that_is_held_here(lab: RunLab) -> None:
    assert lab.run("--snapshot", "--", "sh", "-c", AGENT).exit_code == 0
    done = lab.docket("report", "--redact", "paths", "--out", str(lab.root / "copy"))
    assert done.exit_code == 0, done.said
    (receipt,) = (lab.root / "copy").rglob("*.receipt.json")
    page = page_of(lab, str(receipt))
    assert files(page) == {}
    assert "it hides paths" in page.one("section", id="run").text
    text = (lab.root / "run.html").read_text("utf-8")
    assert "was here" not in text
    assert "made</code>" not in text


@needs_git
def test_git_has_what_was_there_before(tmp_path: Path) -> None:
    lab = git_lab.build(tmp_path)
    assert lab.lab.run("--", "sh", "-c", "printf more >> a; rm gone; git add a").exit_code == 0
    page = page_of(lab.lab)
    shown = files(page)
    assert shown["a"] == ["@@ -1 +1,2 @@", " a", "+more", "\\ No newline at end of file"]
    assert shown["gone"] == ["@@ -1 +0,0 @@", "-gone"]
    assert "looked for in the tree and its git" in page.one("section", id="files").text


@pytest.mark.parametrize("backend", ["copy", "auto"])
def test_a_stage_that_waits_for_a_review(lab: RunLab, backend: str) -> None:
    flags = ("--workspace-tx", "--workspace-tx-backend", backend, "--workspace-tx-settle", "review")
    assert lab.run(*flags, "--", "sh", "-c", AGENT).exit_code == 0
    page = page_of(lab)
    assert files(page) == WHOLE
    assert (lab.tree / "gone").exists()
    told = page.one("section", id="transaction").text
    assert "did not land (left-for-review" in told
    assert "docket tx commit" in told
