"""A run whose agent's tools have windows: the record, the receipt, the deltas beside it, and a late hook."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import git_lab
from docket.engines.verify import VerifyRequest, verify_receipt
from git_lab import GitLab, needs_git

pytestmark = needs_git

# An agent of our own: it calls its hooks over HTTP and as a program, and leaves one tool without an end.
AGENT = """
import http.client, json, os, subprocess, sys, urllib.parse
url = urllib.parse.urlsplit(os.environ["DOCKET_SESSION_URL"])
open("url", "w").write(os.environ["DOCKET_SESSION_URL"])
def payload(event, use):
    return json.dumps({"hook_event_name": event, "session_id": "s", "prompt_id": "p", "tool_use_id": use,
                       "tool_name": "Bash", "tool_input": {"command": "make"}}).encode()
def post(event, body):
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    connection.request("POST", f"{url.path}/hooks/claude/{event}", body)
    reply = connection.getresponse()
    assert (reply.status, json.loads(reply.read())) == (200, {})
post("PreToolUse", payload("PreToolUse", "toolu_1"))
open("a", "a").write("more\\n")
subprocess.run([sys.executable, "-m", "docket", "hook", "claude", "PostToolUse"],
               input=payload("PostToolUse", "toolu_1"), check=True)
post("PostToolUse", payload("PostToolUse", "toolu_1"))
post("PreToolUse", b"no json")
post("PreToolUse", payload("PreToolUse", "toolu_2"))
open("a", "a").write("and more\\n")
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> GitLab:
    made = git_lab.build(tmp_path_factory.mktemp("windows"))
    done = made.lab.run("--agent", "generic", "--", sys.executable, "-c", AGENT)
    assert done.exit_code == 0, done.said
    return made


def deltas(lab: GitLab) -> dict[str, Path]:
    """The delta of each tool use, beside the receipt."""
    folder = lab.tree / ".docket/windows/deltas"
    named = {tool["id"]: tool["delta"]["delta_sha256"] for tool in lab.lab.receipt()["windows"]["tools"]}
    return {tool: folder / f"{digest}.json" for tool, digest in named.items()}


def checks(lab: GitLab) -> dict[str, str]:
    (receipt,), (ledger,) = lab.lab.receipts(), (lab.tree / ".docket/runs").glob("*.jsonl")
    verdict = verify_receipt(VerifyRequest(receipt=receipt.read_bytes(), ledger_path=ledger))
    return {check.name: str(check.status).upper() for check in verdict.checks}


def test_the_record_tells_of_each_tool_in_its_order(lab):
    told = [
        event for event in lab.lab.events() if event["type"].startswith(("tool.", "x-docket.tool-", "x-docket.hook-"))
    ]
    assert [(event["type"], event["data"].get("id")) for event in told] == [
        ("tool.call", "toolu_1"), ("tool.result", "toolu_1"), ("x-docket.tool-delta", "toolu_1"),
        ("x-docket.hook-lost", None), ("tool.call", "toolu_2"), ("x-docket.tool-delta", "toolu_2"),
    ]  # fmt: skip
    types = [event["type"] for event in lab.lab.events()]
    assert max(at for at, type_ in enumerate(types) if type_ == "x-docket.tool-delta") < max(
        at for at, type_ in enumerate(types) if type_ == "fs.snapshot"
    )


def test_the_receipt_restates_and_proves_it(lab):
    windows = lab.lab.receipt()["windows"]
    counts = {name: windows[name] for name in ("count", "complete", "partial", "open", "files")}
    assert counts == {"count": 2, "complete": 1, "partial": 1, "open": 0, "files": 1}
    assert (windows["partial_by_reason"], windows["hooks_lost"]) == ({"process_gone": 1}, {"malformed": 1})
    assert [tool["mode"] for tool in windows["tools"]] == ["tree", "tree"]
    assert lab.lab.verdict()["verdict"] == "consistent"
    assert [checks(lab)[name] for name in ("tool-windows", "tool-deltas")] == ["PASS", "PASS"]


def test_a_delta_that_was_changed_or_is_gone(lab):
    path = deltas(lab)["toolu_1"]
    before = path.read_bytes()
    try:
        path.write_bytes(before.replace(b"more", b"less"))
        assert checks(lab)["tool-deltas"] == "FAIL"
        path.write_bytes(b"")
        assert checks(lab)["tool-deltas"] == "FAIL"
        path.unlink()
        assert checks(lab)["tool-deltas"] == "PASS"  # the other one is at hand
        path.symlink_to("/dev/zero")
        assert checks(lab)["tool-deltas"] == "FAIL"
    finally:
        path.unlink(missing_ok=True)
        path.write_bytes(before)


def test_a_hook_after_the_end_ends_well_and_changes_nothing(lab):
    environment = {**lab.lab.environment(), "DOCKET_SESSION_URL": (lab.tree / "url").read_text(), "DOCKET_DEBUG": "1"}
    late = {"hook_event_name": "PostToolUse", "session_id": "s", "prompt_id": "p", "tool_use_id": "toolu_2",
            "tool_name": "Bash", "tool_input": {"command": "make"}}  # fmt: skip
    kept = {name: os.stat(path).st_mtime_ns for name, path in deltas(lab).items()}
    done = subprocess.run(
        [sys.executable, "-m", "docket", "hook", "claude", "PostToolUse"],
        cwd=lab.tree, env=environment, input=json.dumps(late).encode(), capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"did not take it" in done.stderr
    assert b"known" in done.stderr
    assert {name: os.stat(path).st_mtime_ns for name, path in deltas(lab).items()} == kept
