"""`docket prices` as a person and as a script see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docket.surfaces.cli import exits
from docket.surfaces.cli.root import run

META = {"schema": "docket/prices/v1", "as_of": "2026-01-01", "currency": "USD", "unit": "per_million_tokens"}


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "mine.json"
    families = [{"pattern": "mine-*", "input": "1.50", "output": "2"}]
    path.write_text(json.dumps({"_meta": META, "families": families}), encoding="utf-8")
    return str(path)


def test_one_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prices", "claude-opus-4-8", "--provider", "anthropic"]) == 0
    heading, row, *rest, last = capsys.readouterr().out.splitlines()
    assert heading.split() == ["anthropic", "input", "cached", "write", "5m", "write", "1h", "output"]
    assert row.split() == ["claude-opus-4-8", "5", "0.5", "6.25", "10", "25"]
    assert [line.split()[0] for line in rest] == ["claude-opus-4-8+batch", "claude-opus-4-8+fast"]
    assert last.startswith("US dollars per million tokens, as of 2026-")
    assert "genai-prices" in last


def test_one_model_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prices", "gpt-5.2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "docket/price-book/v1"
    assert len(document["digest"]) == 64
    assert document["rows"][0] == {
        "provider": "openai",
        "model": "gpt-5.2",
        "family": "gpt-5.2",
        "input": "1.75",
        "cached_input": "0.175",
        "output": "14",
        "web_search": "10",
        "file_search": "2.5",
        "code_interpreter": "30",
        "source": f"openai/gpt-5.2, docket/price-book/v1 as of {document['as_of']}",
    }


def test_all_models_of_the_usual_providers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prices"]) == 0
    out = capsys.readouterr().out
    assert "\nclaude-sonnet-5 " in out
    assert "\ngpt-5.4 " in out
    assert "+at-" not in out
    assert run(["prices", "--provider", "all"]) == 0
    assert "+at-groq" in capsys.readouterr().out


def test_an_unknown_model_names_its_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prices", "claude-opuss-5"]) == exits.FAILED
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "no price for the model claude-opuss-5; near it: claude-opus-5" in shown.err
    assert run(["prices", "zz\x1b[2J"]) == exits.FAILED
    assert "\x1b[2J" not in capsys.readouterr().err
    assert run(["prices", "claude-opuss-5", "--json"]) == exits.FAILED
    document = json.loads(capsys.readouterr().out)
    assert document["rows"] == []
    assert document["nearest"][0] == "claude-opus-5"


def test_an_unknown_provider_names_the_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prices", "--provider", "antropic"]) == exits.USAGE
    assert "it has: anthropic, openai" in capsys.readouterr().err


def test_a_table_of_ones_own(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prices", "--prices", table]) == 0
    out = capsys.readouterr().out
    assert [line.split() for line in out.splitlines()[:2]] == [
        ["family", "input", "cached", "write", "5m", "write", "1h", "output"],
        ["mine-*", "1.5", "-", "-", "-", "2"],
    ]
    assert "as of 2026-01-01 (docket/prices/v1)" in out
    assert run(["prices", "mine-1", "--path", table]) == 0
    assert run(["prices", "yours", "--path", table]) == exits.FAILED
    assert run(["prices", "--provider", "openai", "--path", table]) == exits.USAGE
    assert "one table for all" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"_meta":{},"families":[]}', "\ufeff{}"])
def test_a_file_that_is_no_price_table(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.json"
    path.write_text(content, encoding="utf-8")
    assert run(["prices", "--prices", str(path)]) != 0
    shown = capsys.readouterr()
    assert "error" in shown.err
    assert "internal" not in shown.err
    assert run(["prices", "--prices", str(tmp_path / "none.json")]) == exits.UNAVAILABLE


def test_sources_of_a_strange_shape_are_no_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.json"
    families = [{"pattern": "m", "input": "1", "output": "2"}]
    path.write_text(json.dumps({"_meta": {**META, "sources": ["a", {"name": "b"}]}, "families": families}))
    assert run(["prices", "--prices", str(path)]) == 0
    assert "(b)" in capsys.readouterr().out
