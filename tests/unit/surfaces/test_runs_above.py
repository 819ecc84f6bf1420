"""A person in a folder of a project is told where its runs are; nobody else is told of folders that are not theirs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from docket.surfaces.cli.project import runs_above
from docket.surfaces.cli.root import run
from golden_ledgers import samples
from project_lab import Project, entered

NUMBER = "DKT-20261001-000001"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    with entered(tmp_path, monkeypatch) as made:
        made.receipt(NUMBER, samples.chat())
        yield made


@pytest.fixture
def below(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = project.tree / "src" / "it's deep"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("report", 75), ("verify", 75), ("restore", 75), ("watch", 75), (f"report {NUMBER}", 75),
        ("runs", 0), ("recover", 0), ("snapshots list", 0), ("snapshots verify", 0),
    ],
)  # fmt: skip
def test_a_folder_of_a_project_has_no_runs_and_the_project_is_named(
    line: str, code: int, project: Project, below: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(line.split()) == code
    assert f"docket: runs were made in a folder above: cd {project.tree}\n" in capsys.readouterr().err


def test_a_project_is_not_led_away_from_its_own_runs(project: Project, below: Path) -> None:
    (below / ".docket" / "runs").mkdir(parents=True)
    assert runs_above(None) is None


def test_evidence_that_a_person_names_is_looked_for_nowhere_else(below: Path, tmp_path: Path) -> None:
    assert runs_above(None) is not None
    assert runs_above(tmp_path / "evidence") is None


def test_a_folder_with_nothing_above_it_is_led_nowhere(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert runs_above(None) is None
    assert run(["report", NUMBER]) == 75
    assert capsys.readouterr().err.endswith(
        "docket: docket runs lists those of this folder, docket runs --all lists those of every project\n"
    )
    assert run(["verify"]) == 75
    assert capsys.readouterr().err.endswith(
        "docket: docket run -- <agent> writes one, docket runs --all lists those of every project\n"
    )
    assert run(["snapshots", "list"]) == 0
    assert capsys.readouterr().err == "docket: docket run --snapshot keeps one\n"
