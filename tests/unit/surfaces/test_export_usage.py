"""`docket export usage`: rows that add up to their receipts to the micro-dollar, in each format as others read it."""

from __future__ import annotations

import csv
import io
import json
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyarrow.parquet import ParquetFile, read_table

from docket.errors import UnavailableError
from docket.formats.run.usage import Usage
from docket.surfaces.cli import exporting
from docket.surfaces.cli.commands import export_usage
from docket.surfaces.cli.root import run
from docket.surfaces.export import usage_files
from docket.surfaces.export.usage_files import comma_separated, json_lines, parquet
from docket.surfaces.export.usage_rows import COLUMNS, UsageLine
from export_lab import exported, ledger_of, written, written_elsewhere
from golden_ledgers import samples
from golden_ledgers.build import closed, component, opened, price, request, response, start

TOKENS = ("fresh_input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "uses")
LINE = UsageLine(
    docket_number="DKT-20261001-00C0DE", session_id="s", seq=6, time="2026-10-01T12:00:06.250Z", agent="generic",
    agent_id=None, provider="p", model="m", price_labels=None, component="base", fresh_input_tokens=1,
    cache_read_tokens=2, cache_write_tokens=0, output_tokens=3, uses=0, usage_source="reported", asserted_by=None,
    cost_usd="0.000001", cost_micros=1, latency_ms=None, verdict="consistent",
)  # fmt: skip


def rows_of(document: bytes) -> list[dict[str, Any]]:
    assert document == b"" or document.endswith(b"\n")
    return [json.loads(line) for line in document.splitlines()]


@pytest.mark.parametrize("name", sorted(samples.ALL))
def test_rows_add_up_to_the_receipt(name: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    receipt = written(tmp_path, samples.ALL[name]())
    document = json.loads(receipt.read_bytes())
    rows, totals = rows_of(exported(capsysbinary, "usage", receipt)), document["totals"]

    assert len(rows) == totals["calls"]
    assert all(list(row) == list(COLUMNS) for row in rows)
    assert sum(row["cost_micros"] for row in rows) == Decimal(totals["cost_usd"]) * 1_000_000
    assert sum(Decimal(row["cost_usd"]) for row in rows) == Decimal(totals["cost_usd"])
    given = sum(sum(row[kind] for kind in TOKENS if kind != "output_tokens") for row in rows)
    assert given == totals["input_tokens"]
    assert sum(row["cache_read_tokens"] for row in rows) == totals["cached_input_tokens"]
    assert sum(row["output_tokens"] for row in rows) == totals["output_tokens"]
    # Tokens without uses are what the calls' own usage adds up to.
    used = document["model_calls"]["usage"]
    assert given - sum(row["uses"] for row in rows) == used["input_tokens"]


def test_kinds_of_tokens_in_figures_worked_out_by_hand(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    rows = rows_of(exported(capsysbinary, "usage", written(tmp_path, samples.anthropic())))
    found = [(row["component"], *(row[kind] for kind in TOKENS), row["cost_micros"]) for row in rows]
    assert found == [
        ("cache-write-5m", 0, 0, 4000, 0, 0, 15_000),  # 4000 x 3.75
        ("cache-write-1h", 0, 0, 2000, 0, 0, 12_000),  # 2000 x 6
        ("base", 1000, 10_000, 0, 500, 0, 13_500),  # 1000 x 3 + 10000 x 0.3 + 500 x 15
        ("web-search", 0, 0, 0, 0, 2, 20_000),  # a cent each
        ("base", 100, 0, 0, 10, 0, 450),  # 100 x 3 + 10 x 15
    ]
    assert {row["model"] for row in rows} == {"claude-sonnet-4-5"}
    assert {row["price_labels"] for row in rows} == {None}
    assert [row["latency_ms"] is None for row in rows] == [True, True, False, True, False]
    assert rows[0]["time"] == f"2026-10-01T12:00:{rows[0]['seq']:02d}.250Z"


def test_names_labels_and_sub_agents(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    ledger, name = opened(), "a%2Bb%25+flex+long-context"
    ledger.add(price(name, "1", None, "1"))
    ledger.add(price(f"{name}+cache-write", "1", None, "0"))
    ledger.add(replace(request(1, "openai", "a+b%"), agent_id="sub-1"))
    ledger.add(
        response(
            1, "openai", "a+b%", usage=Usage(input_tokens=3, output_tokens=1, cache_write_tokens=1),
            components=(component(f"{name}+cache-write", 1, 0, 0, "0.000001"), component(name, 2, 0, 1, "0.000003")),
            cost="0.000004", cumulative="0.000004",
        )
    )  # fmt: skip
    rows = rows_of(exported(capsysbinary, "usage", written(tmp_path, closed(ledger, "0.000004"))))
    assert [(row["model"], row["price_labels"], row["component"], row["agent_id"]) for row in rows] == [
        ("a+b%", "flex+long-context", "cache-write", "sub-1"),
        ("a+b%", "flex+long-context", "base", "sub-1"),
    ]


def test_each_format_says_the_same(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    receipt = written(tmp_path, samples.uses())
    rows = rows_of(exported(capsysbinary, "usage", receipt))
    text = exported(capsysbinary, "usage", receipt, "--format", "csv").decode()
    read = list(csv.DictReader(io.StringIO(text)))
    assert [{name: value or None for name, value in row.items()} for row in read] == [
        {name: None if value is None else str(value) for name, value in row.items()} for row in rows
    ]
    table = read_table(io.BytesIO(exported(capsysbinary, "usage", receipt, "--format", "parquet")))
    assert table.column_names == list(COLUMNS)
    assert str(table.schema.field("cost_micros").type) == "int64"
    assert not table.schema.field("cost_micros").nullable
    assert str(table.schema.field("time").type) == "timestamp[us, tz=UTC]"
    for row, other in zip(table.to_pylist(), rows, strict=True):
        instant = row.pop("time")
        assert f"{instant:%Y-%m-%dT%H:%M:%S}.{instant.microsecond // 1000:03d}Z" == other.pop("time")
        assert row == other


def test_a_run_without_a_call(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    receipt = written(tmp_path, samples.zero())
    assert exported(capsysbinary, "usage", receipt) == b""
    assert exported(capsysbinary, "usage", receipt, "--format", "csv").decode() == ",".join(COLUMNS) + "\n"
    table = read_table(io.BytesIO(exported(capsysbinary, "usage", receipt, "--format", "parquet")))
    assert (table.num_rows, table.column_names) == (0, list(COLUMNS))


def test_several_receipts_and_the_same_one_twice(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    ours = written(tmp_path / "a", samples.anthropic())
    theirs = written_elsewhere(tmp_path / "b")
    rows = rows_of(exported(capsysbinary, "usage", ours, theirs, ours))
    assert [row["session_id"] for row in rows] == ["0123456789ab"] * 5 + ["s1"] * 2
    assert [(row["model"], row["component"], row["asserted_by"], row["cost_micros"]) for row in rows[5:]] == [
        ("Tiny-1", "base", None, 740), ("mystery", "base", "agent", 120),
    ]  # fmt: skip
    assert rows[5]["agent"] is None

    other = written(tmp_path / "c", samples.chat())
    assert run(["export", "usage", str(ours), str(other)]) == 2
    captured = capsysbinary.readouterr()
    assert captured.out == b""
    assert b"are of the session 0123456789ab, and differ" in captured.err


def test_nothing_is_written_where_one_of_several_fails(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    good, bad = written(tmp_path / "a", samples.anthropic()), written_elsewhere(tmp_path / "b")
    bad.write_bytes(bad.read_bytes().replace(b'"0.000860"', b'"0.000861"'))
    assert run(["export", "usage", str(good), str(bad)]) == 1
    captured = capsysbinary.readouterr()
    assert captured.out == b""
    assert b"it fails totals" in captured.err


def test_all_runs_of_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    for number, make in (("DKT-20261001-00000B", samples.anthropic), ("DKT-20261001-00000A", samples.chat)):
        ledger = make()
        first = start(docket_number=number, session_id=number[-12:].lower())
        written(tmp_path / "evidence", _begun_anew(ledger, first.to_data()))
    monkeypatch.chdir(tmp_path)
    rows = rows_of(exported(capsysbinary, "usage", "--all", "--docket-dir", tmp_path / "evidence"))
    numbers = [row["docket_number"] for row in rows]
    assert numbers == sorted(numbers)
    assert set(numbers) == {"DKT-20261001-00000A", "DKT-20261001-00000B"}
    assert run(["export", "usage", "--all", "--docket-dir", str(tmp_path / "none")]) == 75
    assert b"there is no receipt in" in capsysbinary.readouterr().err


def _begun_anew(ledger: Any, data: dict[str, Any]) -> Any:
    from golden_ledgers.build import LedgerBuilder

    built = LedgerBuilder()
    for event in ledger.events:
        built.add_raw(event.type, data if event.seq == 0 else dict(event.data))
    return built


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--all", "x"], "--all and receipts do not go together"),
        (["--all", "--ledger", "x"], "--ledger goes with one receipt"),
        (["a", "b", "--ledger", "x"], "--ledger goes with one receipt"),
    ],
)
def test_what_does_not_go_together(
    arguments: list[str], words: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(["export", "usage", *arguments]) == 2
    assert words.encode() in capsysbinary.readouterr().err


def test_without_pyarrow_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    receipt, out = written(tmp_path, samples.chat()), tmp_path / "o.parquet"
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert run(["export", "usage", str(receipt), "--format", "parquet", "--out", str(out)]) == 75
    captured = capsysbinary.readouterr()
    assert b"pip install pyarrow, where docket is installed, or pipx inject docket pyarrow" in captured.err
    assert captured.out == b""
    assert not out.exists()


def test_parquet_goes_to_no_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert run(["export", "usage", str(written(tmp_path, samples.chat())), "--format", "parquet"]) == 2
    assert b"Parquet is no text for a terminal" in capsysbinary.readouterr().err


def test_names_that_steer_a_terminal() -> None:
    line = replace(LINE, model='a\x1b[2J\n"\x7f\x9b\u202eé,=1', provider="p\r")
    (told,) = json_lines([line])
    assert all(0x20 <= byte < 0x7F for byte in told[:-1])
    assert json.loads(told)["model"] == line.model
    header, row = b"".join(comma_separated([line])).decode().splitlines()
    assert header == ",".join(COLUMNS)
    assert next(csv.reader([row]))[7] == 'a\\x1b[2J\\x0a"\\x7f\\x9b\\u202eé,=1'
    table = read_table(io.BytesIO(b"".join(parquet([line]))))
    assert table["model"].to_pylist() == [line.model]


def test_an_instant_that_is_none_is_null_in_parquet_and_itself_elsewhere() -> None:
    lines = [replace(LINE, time=time) for time in ("12:00:00", "2026-02-31T00:00:00Z", "9999-12-31T23:59:59Z", None)]
    table = read_table(io.BytesIO(b"".join(parquet(lines))))
    assert [at is None for at in table["time"].to_pylist()] == [True, True, False, True]
    assert [json.loads(line)["time"] for line in json_lines(lines)] == [line.time for line in lines]


def test_groups_of_rows_are_written_as_they_are_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage_files, "GROUP_ROWS", 100)
    taken = 0

    def rows() -> Any:
        nonlocal taken
        for taken in range(1, 251):
            yield replace(LINE, seq=taken)

    pieces, first = parquet(rows()), b""
    first = next(pieces)
    assert taken == 100
    document = first + b"".join(pieces)
    file = ParquetFile(io.BytesIO(document))
    assert [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)] == [100, 100, 50]
    assert file.read()["seq"].to_pylist() == list(range(1, 251))
    assert document == b"".join(parquet(replace(LINE, seq=seq) for seq in range(1, 251)))


def test_another_receipt_in_its_place_is_told(tmp_path: Path) -> None:
    receipt = written(tmp_path, samples.chat())
    source = exporting.source_of(str(receipt))
    ((_, proven),) = export_usage._proven([source])
    assert exporting.read_again(source, proven.record).document == json.loads(receipt.read_bytes())
    receipt.write_bytes(receipt.read_bytes() + b"\n")
    with pytest.raises(UnavailableError, match="is not what it was when it was verified"):
        exporting.read_again(source, proven.record)
    assert ledger_of(receipt).exists()


def test_the_page_lists_every_column() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "exports.md").read_text(encoding="utf-8")
    assert [name for name in COLUMNS if f"`{name}`" not in page] == []


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\u3000=1", "a=1", "'=1"])
def test_no_name_is_a_formula_in_a_spreadsheet(name: str) -> None:
    line = replace(LINE, model=name)
    cell = list(csv.reader(b"".join(comma_separated([line])).decode().splitlines()))[1][7]

    assert not cell.strip().startswith(("=", "+", "-", "@"))
    assert cell.endswith(name)
    assert json.loads(next(json_lines([line])))["model"] == name
