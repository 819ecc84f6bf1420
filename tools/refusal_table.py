"""Measure how soon each installed agent ends once a cap refuses it, and write docs/reference/refusal-times.md.

Usage: python tools/refusal_table.py [--only NAME ...]

Each agent runs in a home and a repository of its own under `docket run`, against a scripted provider on the loopback,
until a cap of one call refuses the second; what counts is the time from the first refusal in the ledger to the agent's
exit in it. Beside it the same agent, launched by the same recipe, against an address that answers the second call with
a plain 403. An agent that is still at it after `--patience` seconds is ended, and the table says so. Agents are looked
for in PATH.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from docket.demo.provider import Limits, ScriptedProvider
from docket.demo.script import Failure, Script, Tokens, ToolCall, Turn
from docket.rules.agents.registry import recognise
from docket.surfaces.cli.installed import find

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "refusal-times.md"
APPEND = "echo two >> hello.txt"
HEAD = """\
# How soon an agent ends when it is refused

Seconds from the first refusal to the agent's exit, of one run each, measured by `tools/refusal_table.py` on {machine}.
The cap is one model call; the second is refused. Left with docket's recipe, right with the same recipe where the
provider answers every call but the first with a plain 403. An agent that had not ended after {patience} seconds was
ended.

| agent | version | docket's cap | calls refused | plain 403 | calls answered 403 |
|---|---|---|---|---|---|
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """How one agent is started; `tool` and `arguments` are a call of its own that edits a file."""

    argv: tuple[str, ...]
    provider: str
    tool: str
    arguments: dict[str, object]
    variables: dict[str, str]


KEYS = {"ANTHROPIC_API_KEY": "key", "OPENAI_API_KEY": "key", "CODEX_API_KEY": "key", "GEMINI_API_KEY": "key"}
CASES = {
    "claude-code": Case(
        argv=("claude", "-p", "edit", "--dangerously-skip-permissions", "--model", "claude-haiku-4-5"),
        provider="anthropic",
        tool="Bash",
        arguments={"command": APPEND, "description": "edit"},
        variables={},
    ),
    "codex": Case(
        argv=("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "edit"),
        provider="openai",
        tool="exec_command",
        arguments={"cmd": APPEND},
        variables={},
    ),
    "gemini": Case(
        argv=("gemini", "-p", "edit", "--yolo", "-m", "gemini-2.5-flash"),
        provider="gemini",
        tool="run_shell_command",
        arguments={"command": APPEND},
        variables={"GEMINI_CLI_TRUST_WORKSPACE": "true"},
    ),
    "opencode": Case(
        argv=("opencode", "run", "-m", "anthropic/claude-haiku-4-5", "edit"),
        provider="anthropic",
        tool="bash",
        arguments={"command": APPEND, "description": "edit"},
        variables={},
    ),
    "copilot": Case(
        argv=("copilot", "-p", "edit", "--allow-all-tools", "--allow-all-paths", "--model", "gpt-4.1"),
        provider="openai",
        tool="bash",
        arguments={"command": APPEND, "description": "edit"},
        variables={"COPILOT_PROVIDER_BASE_URL": "https://api.openai.com/v1", "COPILOT_PROVIDER_API_KEY": "key"},
    ),
    "aider": Case(
        argv=("aider", "--model", "openai/gpt-4o", "--message", "edit", "--yes-always", "--no-pretty", "hello.txt"),
        provider="openai",
        tool="",
        arguments={},
        variables={},
    ),
    "mini-swe-agent": Case(
        argv=("mini", "-m", "openai/gpt-4o-mini", "-t", "edit", "-y", "--exit-immediately", "-o", "trajectory.json"),
        provider="openai",
        tool="bash",
        arguments={"command": APPEND},
        variables={},
    ),
    "qwen": Case(
        argv=("qwen", "-p", "edit", "--yolo", "-m", "gpt-4.1"),
        provider="openai",
        tool="run_shell_command",
        arguments={"command": APPEND, "description": "edit", "is_background": False},
        variables={"OPENAI_MODEL": "gpt-4.1"},
    ),
    "pi": Case(
        argv=("pi", "--model", "openai/gpt-4.1", "-p", "edit"),
        provider="openai",
        tool="bash",
        arguments={"command": APPEND},
        variables={},
    ),
    "cline": Case(
        argv=("cline", "-P", "anthropic", "-k", "key", "-m", "claude-haiku-4-5-20251001", "edit the file"),
        provider="anthropic",
        tool="run_commands",
        arguments={"commands": [APPEND]},
        variables={},
    ),
}
# aider has no tools: an edit that does not match makes it ask again.
MISMATCH = "hello.txt\n```\n<<<<<<< SEARCH\nnot there\n=======\nx\n>>>>>>> REPLACE\n```\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How one run went: seconds from the first refusal to the exit, None where patience ended it first."""

    seconds: float | None
    refused: int


def measure(case: Case, patience: int, *, by_docket: bool) -> Ended | None:
    """Run the agent once; None where it never made a second call."""
    root = Path(tempfile.mkdtemp(prefix="docket-refusal-"))
    try:
        return _measured(case, root, patience, by_docket=by_docket)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _measured(case: Case, root: Path, patience: int, *, by_docket: bool) -> Ended | None:
    environment = _environment(case, root)
    _make_repository(root / "tree", environment)
    side = Turn(text='{"title":"A title"}', tokens=Tokens())
    tools = (ToolCall(name=case.tool, arguments=case.arguments),) if case.tool else ()
    asks_again = Turn(text="" if tools else MISMATCH, tool_calls=tools, tokens=Tokens(fresh=100, output=10))
    forbidden = Turn(failure=Failure(status=403, code="permission_error", message="this key may not do that"))
    turns = (asks_again,) if by_docket else (asks_again, forbidden)
    # A side call that offers no tools is not counted in the script, but under a cap of calls it would be.
    script = Script(turns=turns, side=None if by_docket or not tools else side)
    caps = ["--max-calls", "1"] if by_docket else []
    with ScriptedProvider(script, limits=Limits(max_seconds=patience + 60)) as provider:
        flags = ["--on-breach", "deny", "--max-minutes", str(round(patience / 60, 2)), *caps]
        flags += ["--upstream", f"{case.provider}={provider.url}"]
        subprocess.run(
            [sys.executable, "-m", "docket", "run", *flags, "--", *case.argv],
            cwd=root / "tree",
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=patience + 60,
            check=False,
        )
    return _read(root, by_docket=by_docket)


def _read(root: Path, *, by_docket: bool) -> Ended | None:
    (ledger,) = (root / "state").glob("*/runs/*.jsonl")
    events = [json.loads(line) for line in ledger.read_bytes().splitlines()]
    refused = [event for event in events if _is_refusal(event, by_docket=by_docket)]
    exits = [event for event in events if event["type"] == "proc.exit"]
    if not refused or not exits:
        return None
    patience_ended = any(
        event["type"] == "cap.exceeded" and event["data"].get("cap") == "max_wall_seconds" for event in events
    )
    seconds = (_instant(exits[0]) - _instant(refused[0])).total_seconds()
    return Ended(seconds=None if patience_ended else seconds, refused=len(refused))


def _is_refusal(event: dict[str, object], *, by_docket: bool) -> bool:
    data = event["data"]
    if by_docket:
        return event["type"] == "model.denied"
    return event["type"] == "model.error" and isinstance(data, dict) and data.get("status") == 403


def _instant(event: dict[str, object]) -> datetime:
    return datetime.fromisoformat(str(event["ts"]))


def _environment(case: Case, root: Path) -> dict[str, str]:
    for name in ("home", "state"):
        (root / name).mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(root / "home"),
        "DOCKET_STATE_DIR": str(root / "state"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "LANG": "C.UTF-8",
        "IS_SANDBOX": "1",
        **KEYS,
        **case.variables,
    }


def _make_repository(tree: Path, environment: dict[str, str]) -> None:
    tree.mkdir()
    (tree / "hello.txt").write_text("one\n")
    identity = ("-c", "user.name=docket", "-c", "user.email=docket@example.invalid")
    for command in (("init", "--quiet"), ("add", "."), (*identity, "commit", "--quiet", "-m", "start")):
        subprocess.run(("git", *command), cwd=tree, env=environment, check=True, capture_output=True)


def row(name: str, patience: int) -> str:
    """Return one line of the table."""
    case = CASES[name]
    here = find(recognise((case.argv[0],)).facts)
    capped, plain = (measure(case, patience, by_docket=by_docket) for by_docket in (True, False))
    version = (here.version if here else None) or "?"
    return f"| `{name}` | {version} | {_shown(capped, patience)} | {_shown(plain, patience)} |"


def _shown(ended: Ended | None, patience: int) -> str:
    if ended is None:
        return "no second call | 0"
    return f"{f'> {patience}' if ended.seconds is None else f'{ended.seconds:.1f}'} | {ended.refused}"


def main() -> int:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=sorted(CASES))
    parser.add_argument("--patience", type=int, default=90, metavar="SECONDS")
    asked = parser.parse_args()
    rows = []
    for name in asked.only or CASES:
        if shutil.which(CASES[name].argv[0]) is None:
            print(f"{name} is not installed", file=sys.stderr)
            continue
        rows.append(row(name, asked.patience))
        print(rows[-1], flush=True)
    if asked.only is None:
        machine = f"{os.cpu_count()} cores, Linux"
        PAGE.write_text(HEAD.format(machine=machine, patience=asked.patience) + "\n".join(rows) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
