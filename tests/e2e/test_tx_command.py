"""`docket tx` as a person meets it: what a run says of a stage that did not land is a command that works."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from run_lab import Done, RunLab, build

AGENT = "echo new > new.txt; echo two > f"


@pytest.fixture
def lab(tmp_path: Path) -> RunLab:
    made = build(Path(os.path.realpath(tmp_path)))
    (made.tree / "f").write_text("one\n")
    return made


def staged(lab: RunLab, *options: str, agent: str = AGENT) -> Done:
    return lab.run("--workspace-tx", "--workspace-tx-backend", "copy", *options, "--", "sh", "-c", agent)


def landing_of(done: Done) -> list[str]:
    """The arguments of the command that a run names to land what it left on its stage."""
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("docket: stage: ")]
    found = re.search(r"docket (tx commit .*) lands it$", line)
    assert found is not None, done.said
    return shlex.split(found[1])


@pytest.mark.parametrize(
    ("options", "agent", "code", "said"),
    [
        (("--workspace-tx-settle", "review"), AGENT, 0, "did not land (left-for-review: it waits for a review)"),
        (("--workspace-tx-protect", "f"), AGENT, 44, "did not land (refused: f lands only with an approval)"),
        ((), f"{AGENT}; exit 3", 3, "did not land (discarded: "),
    ],
)
def test_what_did_not_land_is_landed_by_the_command_that_the_run_names(
    options: tuple[str, ...], agent: str, code: int, said: str, lab: RunLab
) -> None:
    done = staged(lab, *options, agent=agent)
    assert done.exit_code == code, done.said
    assert said in done.stderr
    assert "2 paths changed in a stage that did not land (1 added, 1 modified)" in done.stderr
    assert (lab.tree / "f").read_text() == "one\n"
    report = lab.docket("report").stdout
    assert "Stage " in report
    landed = lab.docket(*landing_of(done))
    assert landed.exit_code == 0, landed.said
    assert [(lab.tree / name).read_text() for name in ("f", "new.txt")] == ["two\n", "new\n"]


def test_a_stage_that_landed_needs_no_command(lab: RunLab) -> None:
    done = staged(lab)
    assert done.exit_code == 0, done.said
    assert "docket: stage: " not in done.stderr
    assert "2 paths changed (1 added, 1 modified)" in done.stderr
    assert re.search(r"Stage +transaction [0-9a-f]{12} landed\n", lab.docket("report").stdout)


def test_a_transaction_of_another_tree_is_landed_by_its_name_alone(lab: RunLab) -> None:
    staged(lab, "--workspace-tx-settle", "review")
    other, below = lab.root / "other", lab.tree / "below"
    for folder in (other, below):
        folder.mkdir()
    for command in ("commit", "discard", "diff", "show"):
        done = lab.docket("tx", command, cwd=other)
        assert done.exit_code == 75
        assert done.stderr.splitlines() == [
            f"docket: error: there is no transaction of {other}",
            "docket: docket tx list --all names those of other trees",
        ]
    assert (lab.tree / "f").read_text() == "one\n"
    assert lab.docket("tx", "commit", cwd=below).exit_code == 0
    assert (lab.tree / "f").read_text() == "two\n"


def test_what_is_over_cannot_be_discarded_and_where_there_is_nothing_that_is_told(lab: RunLab) -> None:
    assert lab.docket("tx", "list").stdout == "there is no transaction\n"
    assert lab.docket("tx", "show").stderr.splitlines()[1] == "docket: docket run --workspace-tx opens one"
    assert lab.docket("tx", "gc").stdout == "no transaction is over and older than 30 days\n"
    staged(lab)
    done = lab.docket("tx", "discard")
    assert done.exit_code == 75
    assert re.fullmatch(
        r"docket: error: [0-9a-f]{12} is committed, and cannot be discarded\n"
        r"docket: it is over: docket tx show tells what it changed\n",
        done.stderr,
    )
