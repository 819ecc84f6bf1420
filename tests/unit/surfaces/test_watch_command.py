"""`docket watch` on ledgers as they stand: which run is meant, what is shown, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from docket.formats.amount import Usd
from docket.formats.canonical import encode_document
from docket.formats.ledger.resilience_events import BreakerChange, BreakerState
from docket.formats.ledger.session_events import EvidenceGap
from docket.formats.ledger.spending_events import CapExceeded
from docket.surfaces.cli.root import run
from golden_ledgers import elsewhere, samples
from golden_ledgers.build import LedgerBuilder, closed, opened
from golden_ledgers.judging import receipt_of
from project_lab import Project, entered


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    monkeypatch.setenv("COLUMNS", "80")
    with entered(tmp_path, monkeypatch) as made:
        yield made


def begun(session: str, number: str) -> LedgerBuilder:
    return opened(session_id=session, docket_number=number)


def test_without_a_run_that_is_said(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["watch"]) == 75
    assert "docket run -- <agent> begins one" in capsys.readouterr().err


def test_with_a_gap_in_the_record_nothing_is_said_to_be_whole(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.ledger("0123456789ab", samples.gap())
    assert run(["watch", "--once"]) == 0
    assert "files  some changed, which ones is not on the record" in capsys.readouterr().out

    some = opened()
    some.add(EvidenceGap(first_failing_seq=4, unwritten_events=2, detail="no space left on device"))
    project.ledger("0123456789ab", closed(some, "0.00"))
    assert run(["watch", "--once"]) == 0
    assert "files  at least 1 changed (1 added)" in capsys.readouterr().out


def test_one_frame_of_an_ended_run_tells_its_figures(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.ledger("0123456789ab", samples.busy())

    assert run(["watch", "--once"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("DKT-20261001-00C0DE  stopped by the cap max_usd, exit 42  generic\nagent --fast\n")
    assert "spend   $0.975000 of $1.00" in out
    assert "97.5 %" in out
    assert "1 settled, 1 failed (upstream_status 1), 1 refused (max_usd 1)" in out
    assert "tools  2 (bash 1, edit 1), 1 failed" in out
    assert "files  4 changed (" in out
    assert "refused: max_usd" in out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("width", [20, 40, 64, 100, 200])
def test_no_width_breaks_a_frame(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    project.ledger("0123456789ab", samples.busy())
    monkeypatch.setenv("COLUMNS", str(width))

    assert run(["watch", "--once"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= width


def test_a_live_run_comes_before_a_newer_one_that_has_ended(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.ledger("aaaaaaaaaaaa", begun("aaaaaaaaaaaa", "DKT-20261001-00000A"), live=True)
    project.ledger("bbbbbbbbbbbb", closed(begun("bbbbbbbbbbbb", "DKT-20261001-00000B"), "0.00", ()))

    assert run(["watch", "--once", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["docket_number"], document["state"]) == ("DKT-20261001-00000A", "running")


def test_other_live_runs_are_named(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    for letter in "ab":
        project.ledger(letter * 12, begun(letter * 12, f"DKT-20261001-00000{letter.upper()}"), live=True)

    assert run(["watch", "DKT-20261001-00000a", "--once"]) == 0
    assert "also   DKT-20261001-00000B (docket watch NUMBER)" in capsys.readouterr().out


@pytest.mark.parametrize("ref", ["DKT-20261001-00C0DE", "dkt-20261001-00c0de", "0123456789ab", "ledger", "receipt"])
def test_a_run_is_named_by_number_session_ledger_or_receipt(
    project: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str], ref: str
) -> None:
    raw = samples.chat().data()
    for folder in ("receipts", "runs"):
        (tmp_path / "else" / folder).mkdir(parents=True)
    paths = {
        "ledger": tmp_path / "else" / "runs" / "0123456789ab.jsonl",
        "receipt": tmp_path / "else" / "receipts" / "DKT-20261001-00C0DE.receipt.json",
    }
    paths["ledger"].write_bytes(raw)
    paths["receipt"].write_bytes(encode_document(receipt_of(raw)))
    if ref not in paths:
        project.ledger("0123456789ab", samples.chat())

    assert run(["watch", str(paths.get(ref, ref)), "--once", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["cost_usd"], document["calls"]["settled"], document["exit_code"]) == ("0.004600", 1, 0)
    assert document["caps"]["max_usd"] == {"used": "$0.004600", "limit": "$1.00", "permille": 4}


def test_the_lines_of_an_ended_run_are_its_events(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.ledger("0123456789ab", samples.anthropic())

    assert run(["watch", "--lines"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "12:00:00  DKT-20261001-00C0DE begins: agent --fast"
    assert any("call 1  claude-sonnet-4-5  17,000 in, 500 out, $0.040500, 100 ms; $0.040500 in all" in x for x in lines)
    assert lines[-1].endswith("ended after 12.345 s, exit 0, spent $0.060950")


def test_a_killed_run_says_so_and_ends_the_watch(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.ledger("0123456789ab", begun("0123456789ab", "DKT-20261001-00C0DE"))

    assert run(["watch"]) == 0
    assert "killed: no end was recorded; run docket recover" in capsys.readouterr().out


def test_a_torn_tail_is_left_for_later(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    path = project.ledger("0123456789ab", samples.chat())
    path.write_bytes(path.read_bytes() + b'{"data":{"a')

    assert run(["watch", "--once", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["events"] == len(samples.chat().events)


def test_a_damaged_ledger_is_named_and_no_traceback(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    path = project.ledger("0123456789ab", samples.chat())
    path.write_bytes(path.read_bytes().replace(b'"gpt-5"', b'"gpt-6"', 1))

    assert run(["watch", "--once"]) == 1
    assert "event 4: its hash does not match" in capsys.readouterr().err


def test_another_writers_ledger_is_not_watched(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = elsewhere.ledger().data()
    (project.tree / "x.jsonl").write_bytes(ledger)

    assert run(["watch", "x.jsonl", "--once"]) == 1
    assert "another writer's ledger" in capsys.readouterr().err


@pytest.mark.parametrize("ref", ["nowhere", "DKT-20261001-FFFFFF", "x" * 5000, "a\x1b[31m"])
def test_a_run_that_is_not_there(project: Project, capsys: pytest.CaptureFixture[str], ref: str) -> None:
    assert run(["watch", ref]) == 75
    err = capsys.readouterr().err
    assert "neither a run of this project nor the path" in err
    assert "\x1b" not in err


def test_hostile_names_do_not_drive_the_terminal(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = opened(argv=("agent", "\x1b]0;title\x07", "[red]x[/red]"))
    ledger.add_raw("note", {"code": "x", "message": "\x1b[2Jgone\n[bold]"})
    project.ledger("0123456789ab", ledger)

    assert run(["watch", "--once"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "[red]x[/red]" in out
    assert "\\x1b[2Jgone\\x0a[bold]" in out


def test_instants_and_durations_that_are_none_do_not_end_a_watch(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = opened()
    ledger.add_raw("session.end", {"exit_code": 0, "exit_source": "agent", "duration_seconds": "soon",
                                   "interrupted": False, "cost_usd": "0.00"})  # fmt: skip
    project.ledger("0123456789ab", ledger)

    assert run(["watch", "--once", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["elapsed_ms"] == 4000  # five events, a second apart


def test_what_went_through_the_proxy_is_shown_and_told_in_lines(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    project.ledger("0123456789ab", samples.busy())

    assert run(["watch", "--once"]) == 0
    out = capsys.readouterr().out
    assert "net    2 connections through the proxy, 2 refused, last elsewhere.example:443" in out.replace("\n", "")
    assert run(["watch", "--lines"]) == 0
    lines = [line[10:] for line in capsys.readouterr().out.splitlines()]
    assert "turned away  3 requests (bad_token)" in lines
    assert "refused  elsewhere.example:443 (egress_host), 2 times" in lines
    assert "let through  203.0.113.9:80" in lines
    assert run(["watch", "--once", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["tunnels_allowed"], document["tunnels_denied"], document["turned_away"]) == (2, 2, 3)
    assert document["last_refused_hosts"] == [{"host": "elsewhere.example", "port": 443, "reason": "egress_host"}]


def test_a_sub_budget_that_is_reached_is_told_beside_a_run_that_goes_on(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = opened()
    reached = CapExceeded(
        cap="max_usd", limit="0.02", used="0.02", cost_usd=Usd(20_000), tokens=9, calls=1, action="deny",
        detail="opus has had its share", scope="model", scope_name="*opus*",
    )  # fmt: skip
    ledger.add(reached)
    project.ledger("0123456789ab", ledger, live=True)
    shown = []
    for form in ((), ("--json",), ("--lines",)):
        assert run(["watch", "--once", *form]) == 0
        shown.append(capsys.readouterr().out)
    said, document, lines = shown[0], json.loads(shown[1]), shown[2]
    assert "opus has had its share" in said
    assert "is reached" not in said
    assert (document["state"], document["breached"]) == ("running", None)
    assert "cap max_usd of model *opus*: opus has had its share" in lines


def test_each_upstream_of_a_provider_has_a_breaker_of_its_own(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = opened()
    for host, state in (("a", BreakerState.OPEN), ("b", BreakerState.OPEN), ("c", BreakerState.CLOSED)):
        upstream = f"https://{host}.example:443"
        ledger.add(BreakerChange(provider="openai", upstream=upstream, state=state, failures=5, cooldown_ms=0))
    project.ledger("0123456789ab", ledger, live=True)

    assert run(["watch", "--once", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["breakers"] == [
        {"provider": "openai", "upstream": "https://a.example:443", "state": "open"},
        {"provider": "openai", "upstream": "https://b.example:443", "state": "open"},
        {"provider": "openai", "upstream": "https://c.example:443", "state": "closed"},
    ]
    assert run(["watch", "--once"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "calls to openai (https://a.example:443), openai (https://b.example:443)" in out
    assert "held back: they fail" in out
