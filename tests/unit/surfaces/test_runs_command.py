"""`docket runs`: every run once, exact sums, and a reason for what cannot be read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from docket.formats.ledger.session_events import ExitSource
from docket.formats.run.run_row import End, RunRow, milliseconds
from docket.surfaces.cli.root import run
from docket.surfaces.render import run_list
from golden_ledgers import elsewhere, samples
from golden_ledgers.build import LedgerBuilder, closed, end, opened
from project_lab import Project, entered


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    with entered(tmp_path, monkeypatch) as made:
        yield made


def listed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert run(["runs", "--json", *arguments]) == code
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def numbers(document: dict[str, Any]) -> list[str]:
    return [row["docket_number"] for row in document["runs"]]


def interrupted() -> LedgerBuilder:
    ledger = opened()
    ledger.add(end("0.00", 130, exit_source=ExitSource.SIGNAL, interrupted=True))
    return ledger


def test_no_run_is_no_error(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["runs"]) == 0
    assert capsys.readouterr().out == "no runs\n"
    assert listed(capsys)["totals"] == {
        "runs": 0, "calls": 0, "denied": 0, "tokens": 0, "cost_usd": "0.00", "ends": {},
    }  # fmt: skip


def test_the_newest_day_comes_first_and_the_sums_are_exact(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.receipt("DKT-20260930-000001", samples.anthropic())  # $0.060950 in 2 calls
    project.receipt("DKT-20261001-000002", samples.chat())  # $0.004600 in 1 call
    project.receipt("DKT-20261002-000003", samples.responses())  # $0.000010 in 2 calls

    document = listed(capsys)
    assert numbers(document) == ["DKT-20261002-000003", "DKT-20261001-000002", "DKT-20260930-000001"]
    assert document["totals"]["cost_usd"] == "0.065560"
    assert (document["totals"]["calls"], document["totals"]["runs"]) == (5, 3)
    assert run(["runs"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("3 runs, 5 calls, ")


@pytest.mark.parametrize(
    ("sample", "word"),
    [
        (samples.chat, "ok"), (samples.busy, "cap"), (samples.no_end, "incomplete"), (interrupted, "interrupted"),
        (samples.gap, "incomplete"),
        (lambda: closed(opened(), "0.00", ()), "ok"),
    ],
)  # fmt: skip
def test_how_a_run_ended_is_one_word(
    project: Project, capsys: pytest.CaptureFixture[str], sample: Any, word: str
) -> None:
    project.receipt("DKT-20261001-000001", sample())
    assert listed(capsys)["runs"][0]["end"] == word
    assert numbers(listed(capsys, "--end", word)) == ["DKT-20261001-000001"]
    other = "ok" if word != "ok" else "cap"
    assert numbers(listed(capsys, "--end", other)) == []


@pytest.mark.parametrize("put", [Project.receipt, lambda project, _, ledger: project.ledger("0123456789ab", ledger)])
def test_what_changed_in_a_run_with_a_gap_is_not_known(
    project: Project, capsys: pytest.CaptureFixture[str], put: Callable[[Project, str, LedgerBuilder], object]
) -> None:
    put(project, "DKT-20261001-00C0DE", samples.gap())

    (row,) = listed(capsys)["runs"]
    assert (row["end"], row["exit_code"], row["files"]) == ("incomplete", 0, None)


def test_a_living_and_a_killed_run_are_listed_by_their_ledgers(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    chat = samples.chat()
    project.ledger("aaaaaaaaaaaa", opened(session_id="aaaaaaaaaaaa", docket_number="DKT-20261001-00000A"), live=True)
    half = LedgerBuilder()
    half.events = chat.events[:7]
    project.ledger("0123456789ab", half)

    rows = {row["docket_number"]: row for row in listed(capsys)["runs"]}
    assert rows["DKT-20261001-00000A"]["end"] == "live"
    assert (rows["DKT-20261001-00C0DE"]["end"], rows["DKT-20261001-00C0DE"]["cost_usd"]) == ("killed", "0.004600")
    assert numbers(listed(capsys, "--live")) == ["DKT-20261001-00000A"]


def test_a_run_with_receipt_and_ledger_is_listed_once(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.receipt("DKT-20261001-00C0DE", samples.chat())
    project.ledger("0123456789ab", samples.chat())
    copy = project.state / "receipts" / "DKT-20261001-00C0DE.receipt.json"
    copy.write_bytes((project.visible / copy.name).read_bytes())

    assert numbers(listed(capsys)) == ["DKT-20261001-00C0DE"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not JSON"), (b"[]", "not a JSON object"), (b"{}", "no member"), (b"\xff", "not UTF-8"),
        (b'{"session": {}, "totals": [], "model_calls": {}}', "totals"), (b"[" * 100_000, "deep"),
    ],
)  # fmt: skip
def test_a_damaged_receipt_is_listed_with_its_reason(
    project: Project, capsys: pytest.CaptureFixture[str], data: bytes, reason: str
) -> None:
    project.receipt("DKT-20261001-000001", samples.chat())
    (project.visible / "DKT-20261001-000002.receipt.json").write_bytes(data)

    document = listed(capsys, code=1)
    rows = {row["docket_number"]: row for row in document["runs"]}
    assert rows["DKT-20261001-000002"]["end"] == "damaged"
    assert reason in rows["DKT-20261001-000002"]["detail"]
    assert document["totals"]["cost_usd"] == "0.004600"
    assert run(["runs"]) == 1
    captured = capsys.readouterr()
    assert "DKT-20261001-000002  damaged: " in captured.out
    assert "Traceback" not in captured.err


def test_a_receipt_under_anothers_number_is_damaged(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    path = project.receipt("DKT-20261001-000001", samples.chat())
    path.rename(path.with_name("DKT-20261001-000009.receipt.json"))

    (row,) = listed(capsys, code=1)["runs"]
    assert (row["end"], "DKT-20261001-000009" in row["detail"]) == ("damaged", True)


def test_what_is_no_receipt_of_a_number_is_passed_over(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("x.receipt.json", "DKT-20261001-00000g.receipt.json", "DKT-20261001-000001.receipt.json.tmp"):
        (project.visible / name).write_text("{}")
    (project.visible / "DKT-20261001-000002.receipt.json").mkdir()

    (row,) = listed(capsys, code=1)["runs"]
    assert (row["docket_number"], row["end"]) == ("DKT-20261001-000002", "damaged")


def test_a_damaged_ledger_without_a_receipt_is_told(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    path = project.ledger("0123456789ab", samples.chat())
    path.write_bytes(path.read_bytes().replace(b'"gpt-5"', b'"gpt-6"', 1))
    project.ledger("bbbbbbbbbbbb", LedgerBuilder())

    details = sorted(row["detail"] for row in listed(capsys, code=1)["runs"])
    assert details[0].startswith("event 4: its hash")
    assert details[1] == "its ledger has no beginning"


def test_filters_by_agent_day_and_number(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    for day in (28, 29, 30):
        project.receipt(f"DKT-202609{day}-000001", opened_on(day))

    assert len(numbers(listed(capsys, "--agent", "generic"))) == 3
    assert numbers(listed(capsys, "--agent", "claude")) == []
    assert numbers(listed(capsys, "--since", "2026-09-29")) == ["DKT-20260930-000001", "DKT-20260929-000001"]
    assert numbers(listed(capsys, "--since", "2026-09-29T12:00:01+00:00")) == ["DKT-20260930-000001"]
    assert numbers(listed(capsys, "--limit", "1")) == ["DKT-20260930-000001"]


def opened_on(day: int) -> LedgerBuilder:
    ledger = closed(opened(), "0.00", ())
    text = ledger.data().decode().replace("2026-10-01T12", f"2026-09-{day}T12")
    return rechained(text)


def rechained(text: str) -> LedgerBuilder:
    from golden_ledgers.judging import chained

    events = [json.loads(line) for line in text.splitlines()]
    again = LedgerBuilder()
    again.events = list(chained([(event["type"], event["ts"], event["data"]) for event in events]))
    return again


@pytest.mark.parametrize("since", ["yesterday", "0d", "7y", "2026-13-01", "", "99999999w", "999999w"])
def test_a_time_that_is_none_is_a_matter_of_usage(
    project: Project, capsys: pytest.CaptureFixture[str], since: str
) -> None:
    assert run(["runs", "--since", since]) == 2
    assert "--since" in capsys.readouterr().err


@pytest.mark.parametrize("since", ["5m", "12h", "7d", "4w", "2026-01-31T09:00Z"])
def test_times_that_are_some(project: Project, capsys: pytest.CaptureFixture[str], since: str) -> None:
    assert listed(capsys, "--since", since)["runs"] == []


def test_every_project_of_the_state_folder(
    project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Project(tmp_path, "caf\udce9")
    project.receipt("DKT-20261001-000001", samples.chat())
    other.receipt("DKT-20261001-000002", samples.chat())
    for name, text in (("odd", "{}"), ("odder", "nothing"), ("relative", '{"path": "a"}'), ("listed", "[]")):
        (tmp_path / "state" / name).mkdir()
        (tmp_path / "state" / name / "project.json").write_text(text)
    (tmp_path / "state" / "empty").mkdir()

    assert numbers(listed(capsys)) == ["DKT-20261001-000001"]
    document = listed(capsys, "--all")
    assert {row["docket_number"]: row["project"] for row in document["runs"]} == {
        "DKT-20261001-000001": str(project.tree),
        "DKT-20261001-000002": str(other.tree).replace("\udce9", "\\xe9"),
    }
    assert document["totals"]["cost_usd"] == "0.009200"


def test_all_and_a_folder_do_not_go_together(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["runs", "--all", "--docket-dir", "x"]) == 2


def test_another_writers_receipt_is_listed_by_what_it_has(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = elsewhere.ledger()
    receipt = elsewhere.receipt(ledger)
    number = receipt["docket_number"]
    (project.visible / f"{number}.receipt.json").write_text(json.dumps(receipt))

    (row,) = listed(capsys)["runs"]
    assert (row["docket_number"], row["cost_usd"]) == (number, receipt["totals"]["cost_usd"])


def test_columns_give_way_by_rank_and_a_pipe_has_them_all() -> None:
    row = RunRow(docket_number="DKT-20261001-000001", end=End.FAILED, exit_code=3, agent="x\x1b[31m", label="l\nm")
    for width in range(1, 140):
        columns = run_list.columns_for(width)
        assert len(run_list.heading(columns)) <= max(width, 19)
    whole = run_list.line(row, run_list.columns_for(None))
    assert whole.startswith("DKT-20261001-000001  ")
    assert whole.endswith("x\\x1b[31m (l\\x0am)")
    assert "exit 3" in whole
    assert [column.name for column in run_list.columns_for(80)] == ["run", "end", "cost", "calls", "tokens"]


@pytest.mark.parametrize(
    ("text", "value"), [("12.345", 12345), ("0.000", 0), ("1.5", None), ("", None), (None, None), ("x.123", None),
                        ("1.²²²", None), ("-1.000", None), ("1" * 13 + ".000", None)],
)  # fmt: skip
def test_a_duration_is_three_decimals_or_none(text: str | None, value: int | None) -> None:
    assert milliseconds(text) == value
