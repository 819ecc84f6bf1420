"""Real agents with all that a record can hold in one run: four verifiers accept it, and its redacted copy.

Input read from and written to a provider's cache, searches, answers from docket's own cache, a stage that landed, tool
windows, thousands of events, names that are no UTF-8, a seal, a signature, checkpoints.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agent_lab import Lab, program

import git_lab
from docket.demo.provider import Limits, ScriptedProvider
from docket.demo.script import Script, Tokens, ToolCall, Turn
from verify_js.in_node import NODE, needs_node

pytestmark = [needs_node, git_lab.needs_git, pytest.mark.slow, pytest.mark.timeout(600)]

SECONDS = 240
CLI = Path(__file__).parents[2] / "verify-js" / "cli.mjs"
HAIKU = "claude-haiku-4-5"
MANY = f"""{sys.executable} - <<'END'
import os
os.makedirs("many")
for number in range(4200):
    open(f"many/{{number}}", "w").write(str(number))
open(b"caf\\xe9", "w").write("x"); os.makedirs(b"d\\xff"); open(b"d\\xff/\\xfe.py", "w").write("x = 1")
open("new\\nline \\x1b[31m", "w").write("x"); open("\\u65e5\\u672c", "w").write("x")
END"""
FEWER = "echo two >> hello.txt; mv many/1 many/one; exit 3"


def claude() -> tuple[Script, str, list[str], dict[str, str]]:
    ask = f"env -u CLAUDECODE claude -p 'say {{}}' --model {HAIKU} --dangerously-skip-permissions"
    asked = "; ".join(ask.format(word) for word in ("hello", "hello", "bye", "bye"))

    def bash(command: str) -> tuple[ToolCall]:
        return (ToolCall(name="Bash", arguments={"command": command, "description": "edit", "timeout": 120000}),)

    turns = (
        Turn(tool_calls=bash(MANY), tokens=Tokens(fresh=1000, cache_write_5m=400, cache_write_1h=200, output=50)),
        Turn(tool_calls=bash(FEWER), tokens=Tokens(fresh=100, cache_read=2000, output=40),
             extra_usage={"server_tool_use": {"web_search_requests": 2}}),
        Turn(tool_calls=bash(asked), tokens=Tokens(fresh=100, cache_read=4000, output=40)),
        Turn(text="Hello.", tokens=Tokens(fresh=1000, cache_write_5m=200, output=50)),
        Turn(text="Bye.", tokens=Tokens(fresh=300, cache_read=1000, output=20)),
        Turn(text="Done.", tokens=Tokens(fresh=10, cache_read=5000, output=4)),
    )  # fmt: skip
    side = Turn(text='{"title":"A title"}', tokens=Tokens(fresh=10, output=2))
    command = ["claude", "-p", "edit the files", "--dangerously-skip-permissions", "--model", HAIKU]
    return Script(side=side, turns=turns), "anthropic", command, {"ANTHROPIC_API_KEY": "sk-ant-dummy"}


def codex() -> tuple[Script, str, list[str], dict[str, str]]:
    def command(text: str) -> tuple[ToolCall]:
        return (ToolCall(name="exec_command", arguments={"cmd": text}),)

    turns = (
        Turn(tool_calls=command(MANY), tokens=Tokens(fresh=8000, cache_read=2000, output=50, reasoning=30)),
        Turn(tool_calls=command(FEWER), tokens=Tokens(fresh=100, cache_read=10000, output=40)),
        Turn(text="Done.", tokens=Tokens(fresh=100, cache_read=20000, output=10)),
    )
    always = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--json", "-m", "gpt-5.2-codex"]
    keys = {"OPENAI_API_KEY": "sk-dummy", "CODEX_API_KEY": "sk-dummy"}
    return Script(turns=turns), "openai", ["codex", "exec", *always, "edit the files"], keys


def four_verdicts(lab: Lab, receipt: Path, ledger: Path, public_key: str) -> list[Any]:
    """What docket, verify-js and both verifiers of docket-ai say: a word, or the checks that failed."""
    named = ["--ledger", str(ledger), "--public-key", public_key, "--json"]
    here = json.loads(lab.docket("verify", str(receipt), *named).stdout)
    there = json.loads(subprocess.run([str(NODE), str(CLI), str(receipt), *named], stdout=-1, check=False).stdout)
    statuses = [[(check["name"], check["status"]) for check in one["checks"]] for one in (here, there)]
    assert statuses[0] == statuses[1]
    libraries = str(Path(__import__("cryptography").__file__).parent.parent)
    found = [here["verdict"], there["verdict"]]
    for impl in ("python", "node"):
        command = [str(program("docket-ai")), "verify", str(receipt), *named, "--impl", impl]
        around = {**os.environ, "HOME": str(lab.root), "NO_COLOR": "1", "PYTHONPATH": libraries}
        said = subprocess.run(command, env=around, capture_output=True, text=True, check=False).stdout
        answer = json.loads(said[said.find("{") : said.rfind("}") + 1])
        found.append([check["name"] for check in answer["checks"] if check["status"] == "fail"])
    return found


@pytest.mark.parametrize("agent", [claude, codex])
def test_a_record_of_everything_is_accepted_by_all_four(lab: Lab, agent: Any) -> None:
    for name in (agent.__name__, "docket-ai"):
        program(name)
    script, provider_name, command, variables = agent()
    lab, key = replace(lab.with_variables(**variables), seconds=SECONDS), lab.root / "home/key.pem"
    assert lab.docket("keygen", str(key)).exit_code == 0
    flags = ["--cache", "--record-responses", "--workspace-tx", "--windows", "--snapshot", "--sign", str(key), "--seal"]
    with ScriptedProvider(script, limits=Limits(max_requests=400, max_seconds=SECONDS)) as provider:
        done = lab.run("--max-usd", "5", *flags, "--upstream", f"{provider_name}={provider.url}", "--", *command)
    assert done.exit_code == 0, done.said
    (receipt,), (ledger,) = lab.receipts(), (lab.tree / ".docket/runs").glob("*.jsonl")
    document = lab.receipt()
    assert document["ledger"]["events"] > 4200
    assert (document["workspace"]["committed"], document["workspace"]["base_moved"]) == (True, False)
    # On a machine with much to do a window may lack its beginning: then it says so.
    assert document["windows"]["count"] == {claude: 3, codex: 2}[agent]
    assert {"caf\\xe9", "d\\xff/\\xfe.py"} < set(document["files"]["top_paths"])
    assert (lab.tree / os.fsdecode(b"d\xff/\xfe.py")).read_text() == "x = 1"
    if agent is claude:
        # Haiku 4.5: 1, cached 0.10, cache write 1.25 and 2, output 5; a search 10,000.
        costs = {row["model"].removeprefix(HAIKU): row["cost_usd"] for row in document["totals"]["by_model"]}
        assert costs == {
            "": "0.004730", "+cache-write-5m": "0.000750", "+cache-write-1h": "0.000400", "+web-search": "0.02",
        }  # fmt: skip
        assert (document["cache"]["hits"], document["cache"]["component_hits"]["hits"]) == (1, 1)
    public = document["signature"]["public_key"]
    assert four_verdicts(lab, receipt, ledger, public) == ["verified", "verified", [], []]
    out = lab.root / "copy"
    assert lab.docket("report", "--redact", "all", "--out", str(out), "--sign", str(key)).exit_code == 0
    (receipt,), (ledger,) = out.glob("*.receipt.json"), (out / "runs").glob("*.jsonl")
    for word in (b"hello.txt", b"many/", b"edit the files", os.fsencode(lab.root)):
        assert word not in ledger.read_bytes() + receipt.read_bytes()
    assert four_verdicts(lab, receipt, ledger, public) == ["verified", "verified", [], []]
