"""Standard streams that are closed, full, gone or stopped: they cost a remark at most, never a run or its record."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time

import pytest

import run_lab

DOCKET = f"{shlex.quote(sys.executable)} -m docket"


@pytest.fixture
def lab(tmp_path):
    return run_lab.build(tmp_path)


def shell(lab, script):
    """Run a shell script in the tree; return (exit code, standard output, standard error)."""
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=lab.tree,
        env=lab.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=run_lab.SECONDS,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_run_without_a_standard_stream(lab, closed):
    script = "for n in 0 1 2; do readlink /proc/self/fd/$n; done > streams; echo out; echo err >&2; exit 3"
    code, _, _ = shell(lab, f"{DOCKET} run -- sh -c {shlex.quote(script)} {closed}")
    assert code == 3
    assert lab.receipt()["session"]["exit_source"] == "agent"
    assert lab.verdict()["verdict"] == "consistent"
    # The agent's streams are no file of docket's.
    assert "jsonl" not in (lab.tree / "streams").read_text()


@pytest.mark.parametrize("report", ["summary", "full"])
@pytest.mark.parametrize("stderr", ["2>/dev/full", "2> >(true)", "2> >(head -c 1 >/dev/null)"])
def test_a_run_whose_remarks_nobody_takes(lab, stderr, report):
    code, _, _ = shell(lab, f"{DOCKET} run --report {report} -- sh -c 'sleep 0.2; exit 3' {stderr}")
    assert code == 3
    assert lab.receipt()["session"]["exit_code"] == 3


def test_a_cap_holds_though_standard_error_is_full_and_nobody_reads_it(lab):
    reader, writer = os.pipe()
    script = "head -c 1000000 /dev/zero >&2 & sleep 1000"
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "docket", "run", "--max-minutes", "0.02", "--", "sh", "-c", script],
            cwd=lab.tree,
            env=lab.environment(),
            stdin=subprocess.DEVNULL,
            stderr=writer,
        )
        try:
            assert process.wait(timeout=run_lab.SECONDS) == 42
        finally:
            process.kill()
            process.wait()
    finally:
        os.close(reader)
        os.close(writer)
    assert lab.receipt()["session"]["breached"] == "max_wall_seconds"


COMMANDS = ["report", "report --json", "report --markdown", "verify .docket/latest.receipt.json", "doctor", "prices"]


@pytest.mark.parametrize("command", [*COMMANDS, "--help", "run --help"])
def test_a_result_that_cannot_be_written_is_told(lab, command):
    assert lab.run("--", "true").exit_code == 0
    code, _, stderr = shell(lab, f"{DOCKET} {command} >/dev/full")
    assert code == 75
    assert stderr == "docket: error: the result cannot be written: No space left on device\n"


@pytest.mark.parametrize("command", [*COMMANDS, "--version", "--help"])
def test_a_result_for_nobody(lab, command):
    assert lab.run("--", "true").exit_code == 0
    assert shell(lab, f"{DOCKET} {command} >&-")[0] == 0
    code, _, stderr = shell(lab, f"{DOCKET} {command} | true; exit ${{PIPESTATUS[0]}}")
    assert code in (0, 1)  # the reader may have gone before or after
    assert stderr == ""


def test_an_encoding_that_cannot_show_a_name_does_not_end_a_command(lab):
    lab.variables["PYTHONIOENCODING"] = "ascii"
    assert lab.run("--", "sh", "-c", "echo > grün").exit_code == 0
    for form in ((), ("--markdown",)):
        done = lab.docket("report", *form)
        assert done.exit_code == 0, done.said
        assert re.search(r"gr(ü|\\xfc)n", done.stdout), done.said


def test_ctrl_c_at_any_moment_of_a_start_is_no_traceback(lab):
    for delay_ms in (20, 60, 100, 150, 220, 300):
        process = lab.start("prices")
        time.sleep(delay_ms / 1000)
        process.send_signal(2)
        _, stderr = process.communicate(timeout=run_lab.SECONDS)
        # The interpreter's own start is not docket's; from its first line on there is none.
        assert "docket/surfaces" not in stderr, stderr
