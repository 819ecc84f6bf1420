"""docket is killed with SIGKILL at several moments of a run; `docket recover` then writes the receipt that is missing.

Each test judges what is left by the files themselves: names in the state folder, lines of the ledger, `docket verify`.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import sys
import time

import pytest

import run_lab

PATIENCE_SECONDS = 60
ATTEMPTS = 10


def await_true(condition):
    ends_at = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < ends_at, "waited too long"
        time.sleep(0.001)


def ledgers(lab):
    return sorted(lab.state.glob("*/runs/*.jsonl"), key=lambda path: path.stat().st_mtime_ns)


def recorded(path):
    """The types of the whole events in a ledger."""
    lines = path.read_bytes().split(b"\n")[:-1]
    return [json.loads(line)["type"] for line in lines]


def is_free(lock):
    with lock.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def killed(lab, when, *arguments):
    """Start a run and kill docket once `when` is true of its ledger; return the ledger."""
    before = set(ledgers(lab))
    process = lab.start("run", *arguments)
    fresh = []

    def reached():
        fresh[:] = [path for path in ledgers(lab) if path not in before]
        return process.poll() is not None or (fresh and when(fresh[0]))

    await_true(reached)
    process.kill()
    process.communicate()
    # What docket had forked, and had its lock with it, goes a moment later.
    await_true(lambda: is_free(fresh[0].with_name(f"{fresh[0].name}.lock")))
    return fresh[0]


def killed_while_the_agent_runs(lab, *options):
    (lab.tree / "started").unlink(missing_ok=True)
    script = "touch started; exec sleep 1000"
    return killed(lab, lambda _: (lab.tree / "started").exists(), *options, "--", "sh", "-c", script)


def leavings(lab):
    return sorted(
        path.name
        for path in (*lab.state.glob("*/*/*"), *lab.tree.glob(".docket/*/*"))
        if path.name.endswith((".lock", ".tmp")) or path.parent.name == "live"
    )


def outcome(done):
    (found,) = json.loads(done.stdout)["outcomes"]
    return found


def test_docket_is_killed_before_the_agent_starts(lab):
    for number in range(3000):
        (lab.tree / f"file-{number}").write_text(str(number))
    for _ in range(ATTEMPTS):
        ledger = killed(lab, lambda path: b"policy.applied" in path.read_bytes(), "--", "touch", "ran")
        if "proc.spawn" not in recorded(ledger):
            break
        lab.docket("recover")
    assert not (lab.tree / "ran").exists()
    done = lab.docket("recover", ledger.stem, "--json")
    assert done.exit_code == 0, done.said
    assert outcome(done)["state"] == "recovered"
    assert outcome(done)["has_end"] is False
    receipt = json.loads((lab.tree / ".docket/latest.receipt.json").read_text())
    assert receipt["session"]["id"] == ledger.stem
    assert receipt["session"]["exit_code"] is None
    assert lab.docket("verify", ".docket/latest.receipt.json").exit_code == 1
    assert leavings(lab) == []


def test_docket_is_killed_while_the_agent_runs(lab):
    ledger = killed_while_the_agent_runs(lab, "--max-usd", "1")
    number = json.loads(ledger.read_bytes().split(b"\n")[0])["data"]["docket_number"]
    before = ledger.read_bytes()
    assert len(leavings(lab)) == 3, leavings(lab)

    foreseen = lab.docket("recover", "--dry-run", "--json")
    assert foreseen.exit_code == 0, foreseen.said
    assert outcome(foreseen)["state"] == "recovered"
    assert len(outcome(foreseen)["removed"]) == 2
    assert len(leavings(lab)) == 3
    assert not (lab.tree / ".docket").exists()

    done = lab.docket("recover")
    assert done.exit_code == 0, done.said
    assert number in done.stdout
    assert "no end was recorded" in done.stdout
    assert leavings(lab) == []
    assert ledger.read_bytes() == before
    assert (lab.tree / f".docket/runs/{ledger.name}").read_bytes() == before
    # Not a block of what had been set aside beyond its end is kept.
    assert ledger.stat().st_blocks * 512 < len(before) + 16384

    verified = lab.docket("verify", ".docket/latest.receipt.json")
    assert verified.exit_code == 1, verified.said
    assert f"{number}  incomplete" in verified.stdout
    assert "the record has no end" in verified.stdout
    assert lab.verdict()["verdict"] == "incomplete"
    shown = lab.docket("report")
    assert shown.exit_code == 0, shown.said
    assert f"{number}  no recorded end" in shown.stdout
    assert "The record has no end" in shown.stdout
    assert shown.stderr == ""

    again = lab.docket("recover")
    assert (again.exit_code, again.stdout) == (0, "nothing to recover: 1 run with its receipt\n"), again.said


@pytest.mark.parametrize("moment", ["before the receipt", "before the copies"])
def test_docket_is_killed_after_the_end_was_recorded(lab, moment):
    script = "for i in range(3000): open(f'made-{i}', 'w').close()"
    for _ in range(ATTEMPTS):
        for path in lab.tree.glob("made-*"):
            path.unlink()

        def ended(ledger):
            if moment == "before the receipt":
                return ledger.stat().st_size > 300_000 and b"session.end" in ledger.read_bytes()[-2000:]
            return any(ledger.parent.parent.glob("receipts/DKT-*"))

        ledger = killed(lab, ended, "--", sys.executable, "-c", script)
        number = json.loads(ledger.read_bytes().split(b"\n")[0])["data"]["docket_number"]
        if (
            recorded(ledger)[-1] == "session.end"
            and not (lab.tree / f".docket/receipts/{number}.receipt.json").exists()
        ):
            break
        lab.docket("recover")
    else:
        pytest.skip("the moment passed too fast each time")
    done = lab.docket("recover", number.lower())
    assert done.exit_code == 0, done.said
    assert "recovered" in done.stdout
    assert "no end" not in done.stdout
    verified = lab.docket("verify", f".docket/receipts/{number}.receipt.json")
    assert verified.exit_code == 0, verified.said
    assert "consistent" in verified.stdout
    assert leavings(lab) == []


def test_a_torn_line_is_put_aside_and_named(lab):
    ledger = killed_while_the_agent_runs(lab)
    whole = ledger.read_bytes()
    with ledger.open("ab") as file:
        file.write(b'{"data":{"torn')
    done = lab.docket("recover", "--json")
    assert done.exit_code == 0, done.said
    aside = outcome(done)["torn_tail"]
    assert aside.startswith(f"{ledger}.torn-")
    with open(aside, "rb") as file:
        assert file.read() == b'{"data":{"torn'
    assert ledger.read_bytes() == whole
    assert lab.verdict()["verdict"] == "incomplete"


def test_a_damaged_ledger_gets_no_receipt_and_stays_as_it_is(lab):
    ledger = killed_while_the_agent_runs(lab)
    damaged = ledger.read_bytes().replace(b'"agent":"generic"', b'"agent":"another"', 1)
    ledger.write_bytes(damaged)
    done = lab.docket("recover", "--json")
    assert done.exit_code == 1, done.said
    assert outcome(done)["state"] == "damaged"
    assert outcome(done)["receipt"] is None
    assert ledger.read_bytes() == damaged
    assert lab.receipts() == []
    assert "damaged" in lab.docket("recover").stdout
    # Told where somebody looks, not with every run.
    assert "recover" not in lab.run("--", "true").stderr
    assert ledger.stem in lab.docket("doctor").stdout


def test_a_run_that_goes_on_is_not_touched(lab):
    process = lab.start("run", "--", "sh", "-c", "touch started; while [ ! -e go ]; do sleep 0.02; done; exit 3")
    await_true((lab.tree / "started").exists)
    before = leavings(lab)
    for arguments, code in (((), 0), (("--dry-run",), 0), ((ledgers(lab)[0].stem,), 75)):
        done = lab.docket("recover", "--json", *arguments)
        assert done.exit_code == code, done.said
        assert outcome(done)["state"] == "still-running"
    assert leavings(lab) == before
    assert "recover" not in lab.docket("doctor").stdout
    (lab.tree / "go").touch()
    _, stderr = process.communicate(timeout=run_lab.SECONDS)
    assert process.returncode == 3, stderr
    assert lab.verdict()["verdict"] == "consistent"
    assert leavings(lab) == []


def test_who_has_killed_runs_is_told_of_them(lab):
    assert lab.run("--", "true").exit_code == 0
    (old,) = lab.receipts()
    for _ in range(2):
        killed_while_the_agent_runs(lab)
    shown = lab.docket("report", "--json")
    assert json.loads(shown.stdout)["docket_number"] in old.name
    assert shown.stderr == "docket: warning: 2 earlier runs were killed and left no receipt: run docket recover\n"
    assert lab.docket("report", str(old), "--json").stderr == ""
    assert "docket recover" in lab.docket("doctor").stdout
    later = lab.run("-q", "--", "true")
    assert later.stderr.count("2 earlier runs were killed and left no receipt: run docket recover\n") == 1, later.said
    newest = json.loads(lab.docket("report", "--json").stdout)["docket_number"]

    done = lab.docket("recover", "--all")
    assert done.exit_code == 0, done.said
    assert len(lab.receipts()) == 4
    # Runs that were killed before it do not take the place of the newest.
    assert json.loads(lab.docket("report", "--json").stdout)["docket_number"] == newest
    assert lab.docket("report", "--json").stderr == ""
    assert "docket recover" not in lab.run("--", "true").stderr
    assert "docket recover" not in lab.docket("doctor").stdout


def test_a_newest_ledger_without_a_receipt_is_told_even_where_nothing_else_was_left(lab):
    assert lab.run("--", "true").exit_code == 0
    for path in (*lab.state.glob("*/receipts/*"), *lab.tree.glob(".docket/receipts/*")):
        path.unlink()
    done = lab.docket("report")
    assert done.exit_code == 75, done.said
    assert "the newest run has no receipt: run docket recover" in done.stderr
    assert "it has no receipt" in lab.docket("doctor").stdout
    assert lab.docket("recover").exit_code == 0
    assert lab.verdict()["verdict"] == "consistent"
    assert lab.docket("report").exit_code == 0


def test_two_recoveries_at_once(lab):
    for _ in range(3):
        killed_while_the_agent_runs(lab)
    started = [lab.start("recover", "--json") for _ in range(3)]
    states = []
    for process in started:
        stdout, stderr = process.communicate(timeout=run_lab.SECONDS)
        assert process.returncode == 0, stderr
        states += [(one["session_id"], one["state"]) for one in json.loads(stdout)["outcomes"]]
    recovered = [session for session, state in states if state == "recovered"]
    assert sorted(recovered) == sorted(path.stem for path in ledgers(lab))
    assert {state for _, state in states} <= {"recovered", "nothing-to-do"}
    assert len(lab.receipts()) == 3
    assert leavings(lab) == []


def test_evidence_in_one_folder(lab):
    place = lab.root / "evidence"
    process = lab.start("run", "--docket-dir", str(place), "--", "sh", "-c", "touch started; exec sleep 1000")
    await_true((lab.tree / "started").exists)
    process.kill()
    process.communicate()
    said = lab.docket("report", "--docket-dir", str(place)).stderr
    assert f"run docket recover --docket-dir {shlex.quote(str(place))}" in said
    done = lab.docket("recover", "--docket-dir", str(place))
    assert done.exit_code == 0, done.said
    assert lab.docket("report", "--docket-dir", str(place)).exit_code == 0
    assert [name for name in os.listdir(place / "receipts") if not name.startswith("DKT-")] == []


def test_what_is_not_there_cannot_be_recovered(lab):
    assert lab.docket("recover").stdout == "nothing to recover: there is no run here\n"
    assert not lab.state.exists()
    done = lab.docket("recover", "DKT-20260131-0A1B2C")
    assert done.exit_code == 75, done.said
    assert "no run DKT-20260131-0A1B2C" in done.stderr
    assert lab.docket("recover", "--all", "0123456789ab").exit_code == 2
