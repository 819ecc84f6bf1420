"""The demo's steps and what it says when they do not go as expected; `docket` itself is started for real."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from docket.demo.script import Failure, Script, Turn
from docket.demo.show import DemoOptions, run_demo
from docket.errors import UnavailableError
from docket.formats.amount import Usd


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_every_step_is_told_in_order_and_nothing_is_left(tmp_path):
    told = []
    result = run_demo(DemoOptions(max_usd=Usd.parse("0.03")), told.append)
    assert result.problems == ()
    assert [step.title for step in told if step.title] == [
        "A project", "A key", "A model provider", "The run", "The receipt", "Verified", "A forgery",
    ]  # fmt: skip
    assert result.to_json()["ok"] is True
    # 9900 for the first call, 9300 for each further one, a cap of 30000: the fourth does not fit.
    assert (result.calls, result.spent_usd, result.cap_usd) == (3, "0.028500", "0.03")
    assert list(tmp_path.iterdir()) == []


def test_a_provider_that_fails_makes_every_broken_expectation_a_problem(tmp_path):
    script = Script(turns=(Turn(failure=Failure(status=400, code="bad", message="no such thing")),))
    result = run_demo(DemoOptions(max_usd=Usd.parse("0.03"), keep=True, script=script), lambda told: None)
    assert result.to_json()["ok"] is False
    assert result.exit_code == 1
    assert result.problems == (
        "docket run ended with exit code 1, not 42",
        "the receipt shows no cost",
        "the ledger holds no priced call",
    )
    assert result.verdict == "verified"
    assert Path(result.folder).parent == tmp_path
    shutil.rmtree(result.folder)


def test_without_git_it_is_unavailable(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError) as caught:
        run_demo(DemoOptions(max_usd=Usd.parse("0.03")), lambda told: None)
    assert "git" in caught.value.detail
    assert list(tmp_path.iterdir()) == []
