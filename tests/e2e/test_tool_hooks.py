"""`docket hook` as an agent calls it: a process of its own for each event, over a real repository."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import git_lab
from git_lab import GitLab, needs_git

pytestmark = needs_git


@pytest.fixture
def lab(tmp_path: Path) -> GitLab:
    return git_lab.build(tmp_path)


def payload(event: str, use: str, **members: Any) -> bytes:
    return json.dumps({
        "session_id": "s1", "prompt_id": "p1", "hook_event_name": event, "tool_name": "Bash",
        "tool_input": {"command": "make it"}, "tool_use_id": use, **members,
    }).encode()  # fmt: skip


def hook(lab: GitLab, event: str, given: bytes, *, agent: str = "claude", **variables: str) -> str:
    """Call the hook; what it said on standard error. It always ends with 0 and says nothing on standard output."""
    done = subprocess.run(
        [sys.executable, "-m", "docket", "hook", agent, event],
        cwd=lab.tree, env={**lab.lab.environment(), "DOCKET_DEBUG": "1", **variables}, input=given,
        capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    return done.stderr.decode()


def test_a_tool_between_its_two_hooks_is_shown(lab):
    assert "opened" in hook(lab, "PreToolUse", payload("PreToolUse", "toolu_1"))
    (lab.tree / "a").write_text("a\nmore\n")
    (lab.tree / "d/x").chmod(0o755)
    lab.git("commit", "-qam", "by the tool")
    assert "closed" in hook(lab, "PostToolUse", payload("PostToolUse", "toolu_1", tool_response={"stdout": "x"}))
    shown = lab.lab.docket("windows", "show", "toolu_1").stdout
    assert "  make it\n" in shown
    assert "M a\n@@ -2,0 +2,1 @@" in shown
    assert shown.endswith("\n+more\nM d/x (mode 100644 to 100755)\n")
    listed = json.loads(lab.lab.docket("windows", "list", "--json").stdout)
    assert [(row["tool_use_id"], row["status"]) for row in listed["closed"]] == [("toolu_1", "complete")]
    delta = json.loads(lab.lab.docket("windows", "show", "--json", "toolu_1").stdout)
    assert [file["path"] for file in delta["files"]] == ["a", "d/x"]
    assert "2 files changed" in lab.lab.docket("windows", "list").stdout


def test_a_failed_tool_and_one_in_a_folder_below_are_of_the_same_tree(lab):
    hook(lab, "PreToolUse", payload("PreToolUse", "toolu_1", cwd=str(lab.tree / "d")))
    (lab.tree / "a").write_text("changed\n")
    hook(lab, "PostToolUseFailure", payload("PostToolUseFailure", "toolu_1", cwd=str(lab.tree), error="exit 1"))
    delta = json.loads(lab.lab.docket("windows", "show", "--json", "toolu_1").stdout)
    assert (delta["tool_uses"][0]["outcome"], [file["path"] for file in delta["files"]]) == ("failed", ["a"])


@pytest.mark.parametrize(
    ("given", "said"),
    [(b"", "not-json"), (b"{", "not-json"), (b"[]", "no-object"), (b"\xff\xfe", "not-json"),
     (payload("PreToolUse", ""), "without tool_use_id"), (b'{"hook_event_name": "Stop"}', ""),
     (b"[" * 100_000, "too-deep")],
)  # fmt: skip
def test_whatever_is_given_no_tool_fails_for_it(lab, given, said):
    assert said in hook(lab, "PreToolUse", given)


def test_a_payload_of_fifty_megabytes_closes_its_window(lab):
    hook(lab, "PreToolUse", payload("PreToolUse", "toolu_1"))
    hook(lab, "PostToolUse", payload("PostToolUse", "toolu_1", tool_response={"stdout": "x" * 50_000_000}))
    assert "nothing changed" in lab.lab.docket("windows", "show", "toolu_1").stdout


def test_an_unknown_payload_is_kept_by_its_shape(lab):
    hook(lab, "PreToolUse", b'{"hook_event_name": "PreToolUse", "secret": "s3cret"}')
    (kept,) = lab.lab.state.glob("*/windows/unknown/*.json")
    assert json.loads(kept.read_bytes())["members"] == ["hook_event_name", "secret"]


def test_an_agent_that_nobody_knows_and_a_state_folder_that_cannot_be_made_fail_no_tool(lab):
    assert "no agent is called x" in hook(lab, "PreToolUse", payload("PreToolUse", "u"), agent="x")
    hook(lab, "PreToolUse", payload("PreToolUse", "u"), DOCKET_STATE_DIR="/dev/null/x")


def test_a_standard_input_that_never_ends_is_not_waited_for(lab):
    with subprocess.Popen(
        [sys.executable, "-m", "docket", "hook", "claude", "PreToolUse"],
        cwd=lab.tree, env={**lab.lab.environment(), "DOCKET_HOOK_SECONDS": "2"}, stdin=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.wait(timeout=30) == 0


def test_a_hook_starts_light():
    loaded = ("docket.surfaces.hooks.windows", "docket.stores.windows.git_tree", "docket.rules.agents.hooks",
              "docket.rules.agents.hook_body")  # fmt: skip
    script = f"import sys; import {', '.join(loaded)}"
    done = subprocess.run(
        [sys.executable, "-c", f"{script}; print(' '.join(sys.modules))"], capture_output=True, text=True, check=True
    )
    heavy = {"click", "rich", "asyncio", "aiohttp", "ssl", "cryptography", "pathspec", "platformdirs", "email",
             "ctypes", "shutil", "tempfile", "datetime", "dataclasses", "inspect"}  # fmt: skip
    assert heavy.isdisjoint(done.stdout.split())
    heavy_of_docket = {"docket.engines.observe", "docket.formats.windows.delta", "docket.formats.tree.listing"}
    assert heavy_of_docket.isdisjoint(done.stdout.split())


def test_the_end_of_a_turn_closes_what_nothing_was_heard_of_and_costs_nothing_else(lab):
    assert hook(lab, "Stop", payload("Stop", "")) == ""
    hook(lab, "PreToolUse", payload("PreToolUse", "toolu_1"))
    (lab.tree / "a").write_text("changed\n")
    assert hook(lab, "Stop", payload("Stop", "", session_id="another")) == ""
    assert "closed" in hook(lab, "Stop", payload("Stop", ""))
    delta = json.loads(lab.lab.docket("windows", "show", "--json", "toolu_1").stdout)
    assert (delta["tool_uses"][0]["outcome"], [file["path"] for file in delta["files"]]) == ("unended", ["a"])
    assert hook(lab, "Notification", payload("Notification", "")) == ""


def test_an_agent_that_gives_its_tools_no_id_has_windows_all_the_same(lab):
    def gemini(event, at):
        return hook(lab, event, json.dumps({
            "session_id": "s", "hook_event_name": event, "timestamp": at, "tool_name": "run_shell_command",
            "tool_input": {"command": "make it"}, "cwd": str(lab.tree),
        }).encode(), agent="gemini")  # fmt: skip

    assert "opened" in gemini("BeforeTool", "1")
    assert "known" in gemini("BeforeTool", "1")
    (lab.tree / "a").write_text("changed\n")
    assert "closed" in gemini("AfterTool", "2")
    assert "known" in gemini("AfterTool", "2")
    (row,) = json.loads(lab.lab.docket("windows", "list", "--json").stdout)["closed"]
    assert row["tool_use_id"].startswith("derived:")


@pytest.mark.parametrize(
    "doctored",
    [b'{"session_id": "\x00", "tool_use_id": "u", "cwd": "a\\u0000b"}',
     b'{"session_id": "\\ud800", "tool_use_id": "u"}',
     b'{"session_id": "s", "tool_use_id": "u", "tool_input": ' + b"[" * 900 + b"]" * 900 + b"}",
     b'{"session_id": "s", "tool_use_id": "u", "x": ' + b"9" * 5000 + b"}",
     b'{"session_id": "s\xff", "tool_use_id": "u", "tool_name": "x\xfe", "cwd": "/nowhere/at/all"}'],
)  # fmt: skip
def test_doctored_payloads_open_a_window_or_leave_their_shape(lab, doctored):
    said = hook(lab, "PreToolUse", doctored)
    kept = list(lab.lab.state.glob("*/windows/unknown/*.json"))
    assert ("opened" in said) != (len(kept) == 1), said


SLEEPING = """
import sys, time
import docket.surfaces.hooks.cold as cold
{patch}
sys.exit(cold.run(sys.argv[1:]))
"""
# The hook does not come to its end: while it works, or before it knows what it is about.
STUCK = {
    "at-work": "import docket.surfaces.hooks.windows as windows; windows.tell = lambda *_: time.sleep(60)",
    "at-the-start": "cold._told_the_run = lambda *_: time.sleep(60)",
}


@pytest.mark.parametrize("where", STUCK)
def test_a_hook_without_time_leaves_word_and_the_tool_is_known_to_be_unknown(lab, where):
    hook(lab, "PreToolUse", payload("PreToolUse", "toolu_1"))
    script = SLEEPING.format(patch=f"cold.SOFT_SHARE = 0.01; {STUCK[where]}")
    done = subprocess.run(
        [sys.executable, "-c", script, "claude", "PostToolUse"], cwd=lab.tree, env=lab.lab.environment(),
        input=payload("PostToolUse", "toolu_1", tool_response={"stdout": "secret"}), capture_output=True, check=False,
        timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    left = sorted(Path(lab.lab.environment()["DOCKET_STATE_DIR"]).glob("hooks-left/*"))
    assert [b"secret" in path.read_bytes() for path in left] == ([] if where == "at-work" else [False])
    (row,) = json.loads(lab.lab.docket("windows", "list", "--json").stdout)["closed"]
    assert (row["tool_use_id"], row["status"], row["reason"]) == ("toolu_1", "partial", "timeout")
    assert not any(path.exists() for path in left)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_sixteen_tools_with_hooks_of_their_own_are_all_told_of_however_little_time_there_is(lab):
    """What is told whole is right; of the rest it is said that nothing is known."""

    def tool(number: int) -> None:
        hook(lab, "PreToolUse", payload("PreToolUse", f"u{number}"), DOCKET_HOOK_SECONDS="2")
        (lab.tree / f"f{number}").write_text("n\n")
        hook(lab, "PostToolUse", payload("PostToolUse", f"u{number}"), DOCKET_HOOK_SECONDS="2")

    threads = [threading.Thread(target=tool, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    hook(lab, "SessionEnd", payload("SessionEnd", "none"))
    rows = json.loads(lab.lab.docket("windows", "list", "--json").stdout)["closed"]
    assert sorted(row["tool_use_id"] for row in rows) == sorted(f"u{number}" for number in range(16))
    for row in rows:
        delta = json.loads(lab.lab.docket("windows", "show", "--json", row["tool_use_id"]).stdout)
        if row["status"] == "complete":
            uses = {f"f{use['tool_use_id'][1:]}" for use in delta["tool_uses"]}
            paths = {file["path"] for file in delta["files"]}
            # What ran beside them and is not told of whole stands in what changed meanwhile, as a person's doing would.
            assert uses <= paths <= uses | {f"f{row['tool_use_id'][1:]}" for row in rows if row["status"] == "partial"}


def test_a_program_without_hooks_runs_without_windows_and_the_run_says_so(lab):
    done = lab.lab.docket("run", "--windows", "--", "true")
    assert (done.exit_code, "given no hooks" in done.stderr) == (0, True)
    notes = [event["data"]["message"] for event in lab.lab.events() if event["type"] == "note"]
    assert any("given no hooks" in note for note in notes)
    quiet = lab.lab.docket("run", "--no-windows", "--", "true")
    assert "given no hooks" not in quiet.stderr
