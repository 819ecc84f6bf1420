"""`docket game-day` as a person starts it, and as a script reads it."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time

import pytest


def document(lab, done):
    told = json.loads(done.stdout)
    written = json.loads((lab.root / "out" / "game-day.json").read_bytes())
    assert {name: value for name, value in told.items() if name != "out"} == written
    return written


def test_the_scripted_agent_lives_through_faults_and_every_record_holds(lab):
    done = lab.docket("game-day", "--phases", "rate-limit,reset,budget", "--out", str(lab.root / "out"), "--json")
    assert done.exit_code == 0, done.said
    day = document(lab, done)
    assert (day["format"], day["findings"], day["not_run"]) == ("docket/game-day/v1", 0, [])
    by_name = {phase["phase"]: phase for phase in day["phases"]}
    assert list(by_name) == ["baseline", "rate-limit", "reset", "budget"]
    assert {phase["verdict"] for phase in day["phases"]} == {"consistent"}
    assert [phase["judgement"]["word"] for phase in day["phases"]] == ["worked", "recovered", "recovered", "stopped"]
    # Two refusals with Retry-After: 2, then the three calls of the task.
    limited = by_name["rate-limit"]["facts"]
    assert (limited["admitted"], limited["failed"], limited["billed"], limited["injected"]) == (5, 2, 3, 2)
    assert all(gap >= 1900 for gap in limited["gaps_ms"])
    assert by_name["budget"]["facts"]["exit_code"] == 42
    for phase in day["phases"]:
        receipt = next((lab.root / "out" / phase["phase"] / "receipts").glob("*.json"))
        assert json.loads(receipt.read_bytes())["ops"].get("chaos_run") == (True if phase["faults"] else None)
        assert lab.docket("verify", str(receipt)).exit_code == 0
        assert (lab.root / "out" / f"{phase['phase']}.log").stat().st_size > 0
    assert "recovered" in (lab.root / "out" / "post-mortem.md").read_text()
    # The person's own folder is as it was.
    assert list(lab.tree.iterdir()) == []


def test_an_agent_that_gives_up_is_a_finding_and_works_in_a_copy(lab):
    (lab.tree / "kept").write_text("mine")
    agent = (sys.executable, "-m", "docket.demo.agent", "edit")
    done = lab.docket("game-day", "--phases", "hang", "--out", str(lab.root / "out"), "--", *agent)
    assert done.exit_code == 1, done.said
    assert "gave up" in done.stdout
    assert "1 of 2 phases needs attention" in done.stdout
    assert str(lab.root / "out" / "post-mortem.md") in done.stdout
    assert [path.name for path in lab.tree.iterdir()] == ["kept"]


# Asks the provider that is named, with the key that its environment holds, and shows the key.
ASKS = """
import json, os, sys, urllib.request
with urllib.request.urlopen(os.environ["DOCKET_SESSION_URL"] + "/session") as answer:
    told = json.load(answer)
origin = os.environ["DOCKET_SESSION_URL"].rsplit("/", 2)[0]
url = f"{origin}/{told['token']}{told['providers'][sys.argv[1]]}/chat/completions"
body = {"model": "some-model", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 9}
headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ[sys.argv[2]]}
urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()
print("key:", os.environ[sys.argv[2]])
"""


@pytest.mark.parametrize(("name", "key"), [("groq", "GROQ_API_KEY"), ("xai", "XAI_API_KEY")])
def test_whichever_provider_an_agent_asks_nobody_is_paid_and_no_key_is_seen(lab, name, key):
    lab.variables[key] = "s3cret-of-a-person"
    agent = (sys.executable, "-c", ASKS, name, key)
    done = lab.docket("game-day", "--phases", "baseline", "--out", str(lab.root / "out"), "--json", "--", *agent)
    assert done.exit_code == 0, done.said
    (phase,) = document(lab, done)["phases"]
    assert (phase["judgement"]["word"], phase["facts"]["billed"]) == ("worked", 1)
    assert "key: no-key-is-needed" in (lab.root / "out" / "baseline.log").read_text()


def test_a_folder_and_an_argument_that_are_no_text_are_shown_as_bytes(lab):
    out = lab.root / "out-caf\udce9"
    agent = (sys.executable, "-m", "docket.demo.agent", "edit", "--model", b"m\xe9\x1b[1m")
    done = lab.docket("game-day", "--phases", "baseline", "--out", str(out), "--json", "--", *agent)
    assert done.exit_code in (0, 1), done.said
    day = json.loads((out / "game-day.json").read_bytes())
    assert day["phases"][0]["folder"].endswith("/out-caf\\xe9/baseline")
    assert day["command"][-1] == "m\\xe9\x1b[1m"
    assert "\x1b" not in (out / "post-mortem.md").read_text()


def test_what_was_found_is_written_down_where_nobody_reads_it_any_more(lab):
    with lab.start("game-day", "--phases", "budget,hang", "--out", str(lab.root / "out")) as process:
        process.stdout.close()
        process.stderr.read()
        assert process.wait(timeout=60) == 1
    day = json.loads((lab.root / "out" / "game-day.json").read_bytes())
    assert [phase["phase"] for phase in day["phases"]] == ["baseline"]
    assert day["not_run"] == [{"phase": name, "why": "interrupted"} for name in ("hang", "budget")]
    assert (lab.root / "out" / "post-mortem.md").exists()


def test_a_project_with_a_pipe_a_socket_and_links_that_lead_nowhere_is_copied_without_them(lab, monkeypatch):
    monkeypatch.chdir(lab.tree)  # the path of a socket has room for a hundred characters
    os.mkfifo(lab.tree / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s")
    (lab.tree / "nowhere").symlink_to("/no/such/place")
    (lab.tree / "round").symlink_to(".")
    (lab.tree / "kept").write_text("mine")
    agent = (sys.executable, "-c", "import os; print(sorted(os.listdir()))")
    done = lab.docket("game-day", "--phases", "baseline", "--out", str(lab.root / "out"), "--", *agent)
    assert "could not be run" not in done.stdout, done.said
    assert "['kept', 'nowhere', 'round']" in (lab.root / "out" / "baseline.log").read_text()


def test_by_default_it_stands_in_the_folder_of_evidence_which_git_ignores(lab):
    done = lab.docket("game-day", "--phases", "budget")
    assert done.exit_code == 0, done.said
    (day,) = (lab.tree / ".docket" / "game-days").iterdir()
    assert {path.name for path in day.iterdir()} >= {"game-day.json", "post-mortem.md", "budget", "budget.log"}
    assert (lab.tree / ".docket" / ".gitignore").read_text() == "*\n"
    assert lab.run("--", "true").exit_code == 0
    assert len(lab.receipts()) == 1


def test_a_full_record_and_a_killed_docket_leave_receipts_that_say_so(lab):
    done = lab.docket("game-day", "--phases", "record-full,killed", "--out", str(lab.root / "out"), "--json")
    assert done.exit_code == 0, done.said
    _, full, killed = document(lab, done)["phases"]
    assert (full["verdict"], full["facts"]["exit_code"], full["judgement"]["word"]) == ("incomplete", 75, "stopped")
    assert (killed["verdict"], killed["facts"]["exit_code"]) == ("incomplete", None)
    assert killed["facts"]["admitted"] == 1


def test_an_agent_that_fails_by_itself_is_not_drilled(lab):
    done = lab.docket("game-day", "--phases", "hang", "--out", str(lab.root / "out"), "--json", "--", "false")
    assert done.exit_code == 1, done.said
    day = document(lab, done)
    assert [phase["judgement"]["word"] for phase in day["phases"]] == ["no calls"]
    assert day["not_run"] == [{"phase": "hang", "why": "the agent fails without any fault"}]


def test_a_command_that_is_not_there_is_told(lab):
    done = lab.docket("game-day", "--phases", "hang", "--out", str(lab.root / "out"), "--", "no-such-program-here")
    assert done.exit_code == 1, done.said
    assert "no calls     The agent did not start: its program was not found (exit 127)." in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--phases", "hung"), "no phase is called 'hung'"),
        (("--online",), "--max-usd"),
        (("--max-usd", "1"), "--online"),
        (("--online", "--max-usd", "x"), "--max-usd"),
        (("--max-minutes", "soon"), "--max-minutes"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(lab, arguments, said):
    done = lab.docket("game-day", *arguments, "--out", str(lab.root / "out"))
    assert done.exit_code == 2, done.said
    assert said in done.stderr
    assert not (lab.root / "out").exists()


def test_a_folder_that_is_there_is_not_written_into(lab):
    (lab.root / "out").mkdir()
    done = lab.docket("game-day", "--phases", "budget", "--out", str(lab.root / "out"))
    assert done.exit_code == 75, done.said
    assert list((lab.root / "out").iterdir()) == []


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_phase_and_what_was_found_is_written(lab, number, exit_code):
    with lab.start("game-day", "--phases", "hang", "--out", str(lab.root / "out")) as process:
        deadline = time.monotonic() + 30
        while not (lab.root / "out" / "hang.log").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(1)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == exit_code, stdout + stderr
    assert "Traceback" not in stderr
    day = json.loads((lab.root / "out" / "game-day.json").read_bytes())
    assert [phase["phase"] for phase in day["phases"]] == ["baseline"]
    assert day["not_run"] == [{"phase": "hang", "why": "interrupted"}]
