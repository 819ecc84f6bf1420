"""`docket.Session` as a Python agent uses it: by itself and within `docket run`, and what it cannot do.

Prices are those of claude-sonnet-4-5: 30 x 3 + 60 x 15 = 990 micro-dollars a call of the scripted provider.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import run_lab
from docket.demo.provider import ScriptedProvider

CALL = """
import json, urllib.error, urllib.request
def call(session):
    asked = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
    request = urllib.request.Request(session.base_url("anthropic") + "/v1/messages", json.dumps(asked).encode(),
                                     {"content-type": "application/json", "x-api-key": "k"})
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:
            reply.read()
            return reply.status
    except urllib.error.HTTPError as error:
        error.read()
        return error.code
"""


def alone(lab: run_lab.RunLab, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a Python program that uses a session by itself."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", CALL + script, *arguments],
        cwd=lab.tree, env=lab.environment(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def inside(lab: run_lab.RunLab, provider: ScriptedProvider, script: str, *flags: str) -> run_lab.Done:
    """Run a Python agent that uses a session within `docket run`."""
    agent = [sys.executable, "-W", "error", "-c", CALL + script]
    return lab.run("--max-usd", "1", *flags, "--upstream", f"anthropic={provider.url}", "--", *agent)


WORK = """
import docket, sys
with docket.Session(**(json.loads(sys.argv[1]) if len(sys.argv) > 1 else {})) as session:
    assert session.spent == 0
    with session.tool_call("write_file", {"path": "x.txt"}) as tool:
        with open("x.txt", "w") as file:
            file.write("hi")
        tool.result("done")
    try:
        with session.tool_call("bash", "rm x"):
            raise PermissionError("a secret path")
    except PermissionError:
        pass
    with session.tool_call("grep") as tool:
        tool.fail("no match")
    assert session.note("plan", "two steps", {"steps": 2})
    assert session.record_usage(provider="local", model="llama", input_tokens=1000, output_tokens=10)
    assert call(session) == 200
    print(session.docket_number, session.spent, session.remaining, session.is_own_run, session.problems)
print(session.spent, session.receipt_path)
"""
TOOLS = {"calls": 3, "names": ["bash", "grep", "write_file"], "failures": 2}
ASSERTED = {
    "calls": 1, "input_tokens": 1000, "cached_input_tokens": 0, "output_tokens": 10, "notes": {"plan": 1},
}  # fmt: skip


def test_a_session_by_itself_has_a_run_a_receipt_and_exact_spend(lab, provider):
    options = {"max_usd": "1", "label": "alone", "upstreams": {"anthropic": provider.url}}
    done = alone(lab, WORK, json.dumps(options))
    assert done.returncode == 0, done.stderr
    receipt = lab.receipt()

    number = receipt["docket_number"]
    assert done.stdout.splitlines() == [
        f"{number} 0.000990 0.999010 True ()",
        f"0.000990 {lab.tree}/.docket/receipts/{number}.receipt.json",
    ]
    assert (receipt["totals"]["cost_usd"], receipt["totals"]["total_tokens"]) == ("0.000990", 90)
    assert (receipt["tools"], receipt["asserted"], receipt["label"]) == (TOOLS, ASSERTED, "alone")
    assert receipt["files"]["top_paths"] == ["x.txt"]
    assert receipt["notes"] == {"in-process": 1}
    assert receipt["session"]["exit_code"] == 0
    assert receipt["isolation"] is None
    assert lab.verdict()["verdict"] == "consistent"
    assert list(lab.state.glob("*/live/*")) == []
    assert list(lab.state.glob("*/runs/*.lock")) == []


def test_a_session_within_a_run_joins_it(lab, provider):
    done = inside(lab, provider, WORK)
    assert done.exit_code == 0, done.said
    receipt = lab.receipt()

    assert done.stdout.splitlines() == [
        f"{receipt['docket_number']} 0.000990 0.999010 False ()", "0.000990 None",
    ]  # fmt: skip
    assert (receipt["tools"], receipt["asserted"]) == (TOOLS, ASSERTED)
    assert receipt["totals"]["cost_usd"] == "0.000990"
    assert receipt["totals"]["calls"] == receipt["model_calls"]["count"] == 1
    assert lab.verdict()["verdict"] == "consistent"


def test_what_a_tool_was_given_stands_as_digest_and_a_failure_as_its_type(lab, provider):
    inside(lab, provider, WORK)
    write, bash, grep = lab.events("tool.call")
    wrote, failed, missed = lab.events("tool.result")

    assert write["input_sha256"] == hashlib.sha256(b'{"path":"x.txt"}').hexdigest()
    assert (write["input_bytes"], write["id"]) == (16, wrote["id"])
    assert wrote["result_sha256"] == hashlib.sha256(b"done").hexdigest()
    assert (bash["input_bytes"], failed["ok"], failed["error"]) == (4, False, "PermissionError")
    assert ("input_bytes" in grep, missed["error"]) == (False, "no match")
    assert "secret path" not in json.dumps([wrote, failed, missed, write, bash, grep])


def test_a_cap_refuses_and_the_process_goes_on(lab, provider):
    script = """
import docket, sys
with docket.Session(max_usd="0.0015", upstreams={"anthropic": sys.argv[1]}) as session:
    print(call(session), call(session), call(session), session.remaining)
print("still here")
"""
    done = alone(lab, script, provider.url)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "still here"
    receipt = lab.receipt()
    assert (receipt["session"]["breached"], receipt["session"]["exit_code"]) == ("max_usd", 42)
    assert receipt["session"]["exit_source"] == "cap"
    assert lab.verdict()["verdict"] == "consistent"


def test_a_session_that_lasts_too_long_is_refused_further_calls(lab, provider):
    script = """
import docket, sys, time
with docket.Session(max_minutes="0.02", upstreams={"anthropic": sys.argv[1]}) as session:
    first = call(session)
    ends_at = time.monotonic() + 30
    while (last := call(session)) == 200 and time.monotonic() < ends_at:
        time.sleep(0.05)
    print(first, last)
"""
    done = alone(lab, script, provider.url)
    assert done.stdout == "200 400\n", done.stderr
    assert lab.receipt()["session"]["breached"] == "max_wall_seconds"
    assert lab.verdict()["verdict"] == "consistent"


@pytest.mark.parametrize(
    ("ending", "code", "interrupted"),
    [("raise ValueError('x')", 1, False), ("sys.exit(3)", 3, False), ("sys.exit()", 0, False),
     ("sys.exit('words')", 1, False), ("raise KeyboardInterrupt", 130, True)],
)  # fmt: skip
def test_how_the_block_was_left_is_how_the_run_ended(lab, ending, code, interrupted):
    alone(lab, f"import docket, sys\nwith docket.Session() as session:\n    {ending}\n")
    session = lab.receipt()["session"]
    assert (session["exit_code"], session["interrupted"]) == (code, interrupted)
    assert lab.verdict()["verdict"] == "consistent"


def test_a_killed_process_leaves_a_ledger_that_recover_understands(lab, provider):
    script = """
import docket, os, signal, sys
with docket.Session(upstreams={"anthropic": sys.argv[1]}) as session:
    session.note("last", "before the end")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert alone(lab, script, provider.url).returncode == -signal.SIGKILL
    assert lab.receipts() == []
    assert "no end was recorded" in lab.docket("watch", "--once").stdout
    assert lab.docket("recover").exit_code == 0
    assert lab.receipt()["asserted"]["notes"] == {"last": 1}
    assert lab.verdict()["verdict"] == "incomplete"


HOSTILE = """
import docket, json, os, sys, urllib.error, urllib.request
url = os.environ["DOCKET_SESSION_URL"]
def post(path, body, method="POST"):
    try:
        with urllib.request.urlopen(urllib.request.Request(url + path, body, method=method), timeout=20) as reply:
            return reply.status
    except urllib.error.HTTPError as error:
        return error.code
end = {"exit_code": 0, "exit_source": "agent", "duration_seconds": "0.001", "interrupted": False, "cost_usd": "0.00"}
seen = [post("/events", json.dumps(event).encode()) for event in (
    {"type": "session.end", "data": end},
    {"type": "x-docket.evidence-gap", "data": {"first_failing_seq": 0, "unwritten_events": 0, "detail": ""}},
    {"type": "model.response", "data": {"cost_usd": "9.99"}},
    {"type": "x-docket.asserted-call", "data": {"provider": "p", "model": "m", "input_tokens": 10**15,
                                                "cached_input_tokens": 0, "output_tokens": 10**15}},
    {"type": "note", "data": {"code": "ledger-diverged", "message": "the record was rewritten"}},
    {"type": "fs.change", "data": {"path": "x", "change": "added"}},
    {"type": "policy.applied", "data": {}},
)]
seen += [post("/events", os.urandom(200)), post("/events", b"[" * 60000), post("/events", b"x" * 100000)]
seen += [post("/session", b"", "DELETE"), post("/../anthropic/v1/messages", b"{}"), post("/metrics", b"")]
print(seen)
with docket.Session() as session:
    sys.exit(call(session) - 193)
"""


def test_no_forged_event_ends_the_run_moves_a_figure_or_loses_the_receipt(lab, provider):
    done = inside(lab, provider, HOSTILE)
    assert done.exit_code == 7, done.said
    assert json.loads(done.stdout) == [400, 400, 400, 200, 200, 400, 400, 400, 400, 413, 405, 404, 405]
    receipt = lab.receipt()

    assert receipt["totals"]["cost_usd"] == "0.000990"
    assert receipt["totals"]["total_tokens"] == 90
    assert receipt["asserted"]["output_tokens"] == 10**15
    assert "ledger-diverged" not in receipt["notes"]
    assert receipt["asserted"]["notes"] == {"ledger-diverged": 1}
    assert receipt["event_counts"]["session.end"] == 1
    assert receipt["evidence"]["ledger_complete"] is True
    assert (receipt["session"]["exit_code"], receipt["session"]["breached"]) == (7, None)
    assert receipt["files"]["changed"] == 0
    assert lab.verdict()["verdict"] == "consistent"


def test_a_flood_of_events_leaves_room_for_the_end(lab, provider):
    script = """
import docket
with docket.Session() as session:
    taken = sum(session.note("n", "m" * 4000) for _ in range(1500))
    print(taken, len(session.problems), session.problems[0].reason)
    print(call(session))
"""
    (lab.root / "policy.toml").write_text("[resilience]\nmax_ledger_bytes = 400000\n")
    done = inside(lab, provider, script, "--policy", str(lab.root / "policy.toml"))
    assert done.exit_code == 0, done.said
    taken, problems, reason = done.stdout.split()[:3]
    assert 0 < int(taken) <= 25  # a quarter of the bytes, at 4,000 a note
    assert (int(problems), reason, done.stdout.split()[3]) == (100, "assertion_limit", "200")
    assert lab.receipt()["evidence"]["ledger_complete"] is True
    assert lab.verdict()["verdict"] == "consistent"


def test_a_process_that_outlives_its_agent_has_nothing_more_to_say(lab, provider):
    go = lab.root / "go"
    script = f"""
import docket, os, sys, time
session = docket.Session().__enter__()
if os.fork():
    os._exit(0)
os.setsid()
for fd in (0, 1, 2):
    os.close(fd)
while not os.path.exists({str(go)!r}):
    time.sleep(0.02)
"""
    # docket ends every process of the run before it settles: there is nobody left who could say anything.
    done = inside(lab, provider, script)
    assert done.exit_code == 0, done.said
    go.touch()
    assert lab.receipt()["session"]["agent_exit"]["leftover_processes"] == 1
    assert "asserted" not in lab.receipt()


def test_a_session_whose_run_is_gone_says_so(lab, monkeypatch):
    script = """
import docket
from docket.errors import DocketError
try:
    with docket.Session():
        print("entered")
except DocketError as error:
    print(type(error).__name__, error.reason)
"""
    gone = run_lab.RunLab(root=lab.root, variables={"DOCKET_SESSION_URL": "http://127.0.0.1:1/token/docket"})
    assert alone(gone, script).stdout == "UnavailableError upstream_unreachable\n"
    foreign = run_lab.RunLab(root=lab.root, variables={"DOCKET_SESSION_URL": "http://evil.example:80/token/docket"})
    assert alone(foreign, script).stdout == "UsageError usage\n"


def test_children_are_pointed_at_the_boundary_by_the_environment(lab, provider):
    script = """
import docket, os, subprocess, sys
child = "import docket\\nwith docket.Session() as s:\\n    s.note('child', 'here'); print(s.is_own_run)"
with docket.Session(upstreams={"anthropic": sys.argv[1]}) as session:
    environment = {**os.environ, **session.environ()}
    assert environment["ANTHROPIC_BASE_URL"] == session.base_url("anthropic")
    assert environment["OPENAI_BASE_URL"].endswith("/openai/v1")
    assert "127.0.0.1" in environment["NO_PROXY"]
    print(subprocess.run([sys.executable, "-c", child], env=environment, capture_output=True, text=True).stdout.strip())
"""
    done = alone(lab, script, provider.url)
    assert done.stdout == "False\n", done.stderr
    assert lab.receipt()["asserted"]["notes"] == {"child": 1}


def test_a_forked_child_and_many_threads_share_a_session(lab, provider):
    script = """
import docket, os, sys, threading
with docket.Session(upstreams={"anthropic": sys.argv[1]}) as session:
    session.note("parent", "x")
    if (child := os.fork()) == 0:
        os._exit(0 if session.note("child", "x") else 1)
    assert os.waitpid(child, 0)[1] == 0
    threads = [threading.Thread(target=session.note, args=("thread", "x")) for _ in range(16)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    print(session.problems)
"""
    done = alone(lab, script.replace("-W error", ""), provider.url)
    assert done.stdout == "()\n", done.stderr
    assert lab.receipt()["asserted"]["notes"] == {"parent": 1, "child": 1, "thread": 16}


def test_a_forked_child_that_runs_out_of_the_block_leaves_the_run_to_its_parent(lab, provider):
    script = """
import docket, os, sys
with docket.Session(upstreams={"anthropic": sys.argv[1]}) as session:
    if (child := os.fork()) == 0:
        session.note("child", "x")
        sys.exit(3)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), session.note("parent", "x"))
print(session.problems)
"""
    done = alone(lab, script, provider.url)
    assert done.stdout == "3 True\n()\n", done.stderr
    assert lab.receipt()["asserted"]["notes"] == {"child": 1, "parent": 1}


def test_a_child_that_is_forked_while_another_thread_speaks_can_speak(lab, provider):
    script = """
import docket, os, sys, threading
with docket.Session(upstreams={"anthropic": sys.argv[1]}) as session:
    with session._door._lock:  # as a thread holds it that waits for an answer
        if (child := os.fork()) == 0:
            os._exit(0 if session.note("child", "x") else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert alone(lab, script, provider.url).stdout == "0\n"
    assert lab.receipt()["asserted"]["notes"] == {"child": 1}


def test_two_sessions_at_once_have_a_run_each(lab, provider):
    script = "import docket, sys\nwith docket.Session(upstreams={'anthropic': sys.argv[1]}) as s:\n    call(s)\n"
    command = [sys.executable, "-c", CALL + script, provider.url]
    running = [subprocess.Popen(command, cwd=lab.tree, env=lab.environment()) for _ in range(2)]
    assert [process.wait(timeout=60) for process in running] == [0, 0]
    assert len(lab.receipts()) == 2


def test_policy_refusals_come_before_the_session_begins(lab):
    (lab.root / "policy.toml").write_text("[caps]\nmax_usdd = '1'\n")
    script = """
import docket, sys
from docket.errors import DocketError
for options in ({"policy": sys.argv[1]}, {"max_usd": "much"}, {"upstreams": {"anthropic": "nowhere"}},
                {"cwd": "/"}, {"cwd": "/nowhere"}, {"cwd": sys.argv[1]}):
    try:
        with docket.Session(**options):
            print("entered")
    except DocketError as error:
        print(type(error).__name__)
try:
    docket.Session(max_dollars=1)
except TypeError as error:
    print(error)
"""
    done = alone(lab, script, str(lab.root / "policy.toml"))
    assert done.stdout.splitlines() == [
        "RefusedBeforeStartError", "UsageError", "UsageError", "RefusedBeforeStartError", "UsageError", "UsageError",
        "Session has no option 'max_dollars'",
    ], done.stderr  # fmt: skip
    assert lab.receipts() == []


def wait_for(path: Path, seconds: float = 60) -> None:
    ends_at = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < ends_at, path
        time.sleep(0.02)


def test_a_watch_follows_a_session_to_its_end(lab, provider):
    go = lab.root / "go"
    script = """
import docket, os, sys, time
with docket.Session(max_usd="1", upstreams={"anthropic": sys.argv[1]}) as session:
    call(session)
    session.tool_call("bash").__enter__()
    open(sys.argv[2] + ".ready", "w").close()
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.02)
    call(session)
"""
    command = [sys.executable, "-c", CALL + script, provider.url, str(go)]
    running = subprocess.Popen(command, cwd=lab.tree, env=lab.environment())
    try:
        wait_for(go.with_name("go.ready"))
        watching = lab.start("watch", "--json", "--interval", "0.05")
        assert watching.stdout is not None
        first: Any = json.loads(watching.stdout.readline())
        assert (first["state"], first["cost_usd"], first["tools"]["by_name"]) == ("running", "0.000990", {"bash": 1})
        go.touch()
        rest, errors = watching.communicate(timeout=60)
        last = json.loads(rest.splitlines()[-1])
        assert (last["state"], last["cost_usd"], last["exit_code"]) == ("ended", "0.001980", 0), errors
        assert watching.returncode == 0
    finally:
        go.touch()
        assert running.wait(timeout=60) == 0
    assert os.listdir(lab.tree / ".docket" / "receipts")


def test_the_process_of_a_session_is_given_no_key(lab):
    (lab.root / "policy.toml").write_text("[proof]\nsign = '/nowhere/a.key'\nseal = true\n")
    script = "import docket, sys\nwith docket.Session(policy=sys.argv[1]):\n    pass\n"
    done = alone(lab, script, str(lab.root / "policy.toml"))
    assert done.returncode == 0, done.stderr
    receipt = lab.receipt()
    assert (receipt["seal"], receipt["signature"], receipt["proof"]["signature"]) == (None, None, None)
    remarks = [note["message"].partition(" is")[0] for note in lab.events("note") if note["code"] == "policy-remark"]
    assert remarks == ["proof.sign", "proof.seal"]
    assert not (lab.state / "keys").exists()
