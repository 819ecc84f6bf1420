"""`docket prices import` and `reset`: a table of the person's own, kept whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docket.surfaces.cli.pricebook import book_in_force
from docket.surfaces.cli.root import run

LITELLM = {
    "claude-opus-4-8": {
        "litellm_provider": "anthropic", "input_cost_per_token": 4e-06, "cache_read_input_token_cost": 4e-07,
        "cache_creation_input_token_cost": 5e-06, "cache_creation_input_token_cost_above_1hr": 8e-06,
        "output_cost_per_token": 2e-05,
    },
    "a-picture": {"litellm_provider": "anthropic", "output_cost_per_image": 0.04},
}  # fmt: skip


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the person's configuration; it is not there yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "docket"


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A table to import."""
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(LITELLM), encoding="utf-8")
    return str(path)


def shown(capsys: pytest.CaptureFixture[str]) -> tuple[list[str], str]:
    """The cells of claude-opus-4-8's standard row, and the line under the table."""
    assert run(["prices", "claude-opus-4-8", "--provider", "anthropic"]) == 0
    lines = capsys.readouterr().out.splitlines()
    return lines[1].split(), lines[-1]


def test_an_imported_table_holds_until_it_is_reset(config: Path, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prices", "import", file]) == 0
    told = capsys.readouterr()
    assert "changed  anthropic/claude-opus-4-8: input 5 -> 4, cached_input 0.5 -> 0.4" in told.out
    assert "1 of the models' standard rows differ" in told.out
    assert f"(LiteLLM) is kept as {config / 'prices.json'}" in told.out
    assert "1 entry of the file without a price for tokens or audio left out" in told.err
    row, origin = shown(capsys)
    assert row == ["claude-opus-4-8", "4", "0.4", "5", "8", "20"]
    assert "imported from mine.json on 20" in origin
    assert run(["prices", "claude-opus-4-8", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["imported"]) == {"source", "date", "sha256"}
    assert run(["prices", "reset"]) == 0
    assert capsys.readouterr().out == "the imported price table is removed\n"
    assert shown(capsys)[0] == ["claude-opus-4-8", "5", "0.5", "6.25", "10", "25"]
    assert run(["prices", "reset"]) == 0
    assert capsys.readouterr().out == "there is no imported price table\n"


def test_a_dry_run_changes_nothing(config: Path, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prices", "import", file, "--dry-run", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["kept"], answer["left_out"], len(answer["changes"])) == (False, 1, 1)
    assert answer["changes"][0]["prices"]["output"] == ["25", "20"]
    assert run(["prices", "import", file, "--dry-run"]) == 0
    assert "would be kept" in capsys.readouterr().out
    assert not config.exists()


def test_many_changes_are_cut_short(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "many.json"
    rows = {f"m{number}": {"litellm_provider": "new", "input_cost_per_token": 1e-06} for number in range(25)}
    path.write_text(json.dumps(rows), encoding="utf-8")
    assert run(["prices", "import", str(path)]) == 0
    out = capsys.readouterr().out
    assert "and 5 more; --json shows all" in out
    assert config.joinpath("prices.json").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("content", ["{", '{"a": 1}', '{"m": {"litellm_provider": "p"}}'])
def test_what_cannot_be_read_whole_changes_nothing(
    config: Path, tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content, encoding="utf-8")
    assert run(["prices", "import", str(path)]) == 1
    told = capsys.readouterr().err
    assert "bad.json cannot be imported" in told
    assert "nothing was changed" in told
    assert not config.exists()


@pytest.mark.parametrize("arguments", [["prices"], ["run", "--", "true"]])
def test_a_damaged_table_refuses_and_says_what_to_do(
    config: Path, file: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["prices", "import", file]) == 0
    kept = config / "prices.json"
    kept.write_text(kept.read_text().replace('"input":"4"', '"input":"0"'), encoding="utf-8")
    capsys.readouterr()
    assert run(arguments) != 0
    told = capsys.readouterr().err
    assert f"the imported price table {kept} cannot be used" in told
    assert "docket prices reset removes it" in told
    # Another import mends it, a reset removes it, and --prices goes around it.
    assert run(["prices", "--prices", file]) != 0
    assert run(["prices", "import", file]) == 0
    capsys.readouterr()
    assert shown(capsys)[0][1] == "4"
    kept.write_bytes(b"junk")
    assert run(["prices"]) != 0
    assert run(["prices", "reset"]) == 0
    assert run(["prices"]) == 0


def test_a_table_that_may_not_be_read_is_not_passed_over(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config.joinpath("prices.json").mkdir(parents=True)
    assert run(["prices"]) != 0
    assert "is not a regular file" in capsys.readouterr().err
    assert run(["prices", "reset"]) != 0
    assert "cannot be removed" in capsys.readouterr().err


def test_the_help_names_what_can_be_done(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prices", "--help"]) == 0
    out = capsys.readouterr().out
    assert "import" in out
    assert "reset" in out
    assert run(["prices", "show", "claude-opus-4-8"]) == 0


@pytest.mark.usefixtures("config")
def test_a_run_records_where_its_prices_come_from(file: str) -> None:
    assert run(["prices", "import", file]) == 0
    members = book_in_force(None).session_members()
    imported = members["imported"]
    assert isinstance(imported, dict)
    assert imported["source"] == "mine.json"
