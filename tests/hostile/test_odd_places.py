"""Folders that go, are replaced or cannot exist; addresses that are none: a sentence, the right code, a true record."""

from __future__ import annotations

import json
import os
import resource
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import run_lab


@pytest.fixture
def lab(tmp_path):
    return run_lab.build(tmp_path)


@pytest.mark.parametrize(
    "end",
    [
        'rm -rf "$T"',
        'rm -rf "$T"; touch "$T"',
        'mv "$T" "$T.old"; mkdir "$T"',
        'mv "$T" "$T.old"; ln -s "$T.other" "$T"',
    ],
)
def test_a_tree_that_is_not_there_any_more_is_not_told_as_unchanged(lab, end):
    (lab.tree / "kept").write_text("a")
    (lab.root / "tree.other").mkdir()
    (lab.root / "tree.other/strange").write_text("not of the tree")
    done = lab.run("--", "sh", "-c", f"T={shlex.quote(str(lab.tree))}; cd /; {end}; exit 3")
    assert done.exit_code == 75, done.said
    assert "internal error" not in done.stderr
    assert "no file changed" not in done.stderr
    assert "what changed is not known" in done.stderr
    assert lab.events("proc.exit")[0]["exit_code"] == 3
    assert lab.events("fs.change") == []
    assert sorted(os.listdir(lab.root / "tree.other")) == ["strange"]


@pytest.mark.parametrize(
    "command", [("report",), ("doctor",), ("run", "--", "true"), ("init",), ("verify", "x"), ("recover",)]
)
def test_a_current_folder_that_is_gone(lab, command):
    script = f"cd gone && rmdir ../gone && exec {shlex.quote(sys.executable)} -m docket {shlex.join(command)}"
    (lab.tree / "gone").mkdir()
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=lab.tree,
        env=lab.environment(),
        capture_output=True,
        text=True,
        timeout=run_lab.SECONDS,
        check=False,
    )
    assert done.returncode in (1, 2, 75), done.stderr
    assert "internal error" not in done.stderr
    assert "Traceback" not in done.stderr
    assert "o such file or directory" in done.stderr


LONG = "n" * 300
TOO_LONG = [
    (("report", LONG), 75),
    (("report", "--docket-dir", LONG), 75),
    (("verify", LONG), 1),
    (("recover", LONG), 75),
    (("recover", "../../etc"), 75),
    (("recover", "--docket-dir", LONG), 75),
    (("doctor", "--docket-dir", LONG), 1),
    (("run", "--docket-dir", LONG, "--", "true"), 75),
    (("run", "--cwd", LONG, "--", "true"), 2),
    (("run", "-p", LONG, "--", "true"), 43),
    (("run", "--prices", LONG, "--", "true"), 75),
    (("init", "--path", LONG), 75),
]


@pytest.mark.parametrize(("command", "code"), TOO_LONG)
def test_a_name_that_no_file_can_have(lab, command, code):
    done = lab.docket(*command)
    assert done.exit_code == code, done.said
    assert "internal error" not in done.stderr


@pytest.mark.parametrize(("command", "code"), [(("run", "--cwd", "a", "--", "true"), 2), (("report", "a"), 75)])
def test_links_in_a_circle(lab, command, code):
    (lab.tree / "a").symlink_to("b")
    (lab.tree / "b").symlink_to("a")
    done = lab.docket(*command)
    assert done.exit_code == code, done.said
    assert "internal error" not in done.stderr


@pytest.mark.parametrize(
    "address",
    [
        "openai=http://[::1",
        "openai=http://user:secret@127.0.0.1:9/v1",
        "openai=ftp://127.0.0.1/",
        "openai=file:///etc/passwd",
        "openai=http://",
        "openai=http://127.0.0.1:0",
        "openai=http://127.0.0.1:99999",
        "openai=http://a b/",
        "openai=http://a\n/",
        "openai=http://ü.example/",
        "openai=x",
        "../x=http://127.0.0.1:9",
        b"\xff=http://127.0.0.1:9",
    ],
)
def test_an_address_that_is_none_is_refused_before_anything_is_recorded(lab, address):
    done = lab.run("--upstream", address, "--", "sh", "-c", "echo > ran")
    assert done.exit_code == 2, done.said
    assert "docket: error:" in done.stderr
    assert "secret" not in done.stderr
    assert not (lab.tree / "ran").exists()
    assert list(lab.state.glob("*/runs/*")) == []


def test_why_a_run_did_not_start_is_said(lab):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = lab.run("--port", str(taken.getsockname()[1]), "--", "sh", "-c", "echo > ran")
    assert done.exit_code == 75, done.said
    assert "address already in use" in done.stderr.lower()
    assert not (lab.tree / "ran").exists()
    assert lab.receipt()["session"]["exit_source"] == "docket"


def test_names_are_shown_as_they_are(lab):
    names = (":smile:.txt", "tail\\", "[red]x[", "a|b`c")
    done = lab.run("--", sys.executable, "-c", f"for name in {names!r}: open(name, 'w').close()")
    assert done.exit_code == 0, done.said
    shown = lab.docket("report").stdout.splitlines()
    assert set(names) <= {line.strip() for line in shown}


STATE_ENDS = [
    'rm -rf "$S"; touch "$S"',
    'mv "$S" "$S.old"; touch "$S"',
    'rm -rf "$S"; ln -s loop "$S"',
    'for F in "$S"/*/runs; do rm -rf "$F"; touch "$F"; done',
]


@pytest.mark.parametrize("end", STATE_ENDS)
def test_a_state_folder_that_is_out_of_reach_costs_no_evidence(lab, end):
    done = lab.run("--", "sh", "-c", f"S={shlex.quote(str(lab.state))}; echo > made; {end}; exit 3")
    assert done.exit_code == 3, done.said
    receipt = lab.receipt()
    assert receipt["session"]["exit_code"] == 3
    assert receipt["files"]["top_paths"] == ["made"]
    verified = lab.docket("verify", str(lab.receipts()[0]))
    assert verified.exit_code == 0, verified.said
    assert "The receipt is what its ledger gives." in verified.stdout


def test_a_run_without_a_receipt_does_not_look_like_one_that_ended_well(lab):
    place = lab.root / "all"
    end = f"rm -rf {shlex.quote(str(place))}; touch {shlex.quote(str(place))}"
    done = lab.run("--docket-dir", str(place), "--", "sh", "-c", end)
    assert done.exit_code == 75, done.said
    assert "no receipt could be written" in done.stderr


@pytest.mark.parametrize("chosen", ["/", "..", ".", "full", "{home}", "/../.."])
def test_a_folder_that_is_somebody_elses_is_not_strewn_with_evidence(lab, chosen):
    (lab.root / "home").mkdir(exist_ok=True)
    (lab.tree / "full").mkdir()
    (lab.tree / "full" / "mine").touch()
    before = {*Path("/").iterdir(), *lab.root.rglob("*")}
    done = lab.run("--docket-dir", chosen.format(home=lab.root / "home"), "--", "sh", "-c", "echo > ran")
    assert done.exit_code == 2, done.said
    assert "evidence needs a folder to itself" in done.stderr
    assert {*Path("/").iterdir(), *lab.root.rglob("*")} == before


def doctored(lab, change):
    """Return the path of the run's receipt after `change` was made to it."""
    receipt = lab.receipt()
    change(receipt)
    path = lab.root / "doctored.json"
    path.write_text(json.dumps(receipt))
    return path


CHANGES = [
    lambda receipt: receipt.pop("totals"),
    lambda receipt: receipt["totals"].pop("cost_usd"),
    lambda receipt: receipt["session"].update(argv="text"),
    lambda receipt: receipt["session"].update(argv=[["x"]]),
    lambda receipt: receipt["files"].update(changed=-5),
    lambda receipt: receipt["files"].update(passes=[]),
    lambda receipt: receipt["totals"].update(by_model=[{"model": {}, "calls": "9"}]),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_document_that_has_not_a_receipts_form_is_not_reported(lab, change):
    assert lab.run("--", "true").exit_code == 0
    path = doctored(lab, change)
    for form in ((), ("--markdown",), ("--json",)):
        done = lab.docket("report", str(path), *form)
        assert done.exit_code == 1, done.said
        assert done.stdout == ""
        assert "is not a receipt" in done.stderr
    assert lab.docket("verify", str(path)).exit_code == 1


def test_no_file_is_waited_for(lab):
    os.mkfifo(lab.tree / "pipe")
    for place in ("pipe", ".", "/dev/zero"):
        for command in (("report", place), ("verify", place)):
            done = lab.docket(*command)
            assert done.exit_code == 1, done.said
            assert "is not a regular file" in done.stderr or "Is a directory" in done.stderr
    assert lab.run("-p", "pipe", "--", "true").exit_code == 43


def test_a_second_run_needs_no_more_memory_than_the_first(lab):
    for _ in range(2):
        done = lab.run("--", "true", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20)))
        assert done.exit_code == 0, done.said
        assert lab.docket("report").exit_code == 0


@pytest.mark.parametrize("number", [signal.SIGQUIT, signal.SIGUSR1, signal.SIGALRM, signal.SIGXCPU])
def test_a_signal_that_would_end_docket_at_once_leaves_a_receipt_too(lab, number):
    process = lab.start("run", "--", "sh", "-c", "echo > started; sleep 1000")
    for _ in range(1000):
        if (lab.tree / "started").exists():
            break
        time.sleep(0.02)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=run_lab.SECONDS)
    assert process.returncode == 128 + number, stderr
    assert lab.receipt()["session"]["interrupted"] is True
    assert lab.verdict()["verdict"] == "consistent"
