"""`docket run` as a person starts it: a subprocess in a fresh tree, a state folder of its own, what it left behind."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docket.demo.provider import ScriptedProvider
from warm_docket import can_be_warm, warm

SECONDS = 60
# An agent that asks Anthropic's Messages as often as it is told, and ends with 7 where it is refused.
CALL = """
import json, os, sys, urllib.request, urllib.error
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
asked = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
body, headers = json.dumps(asked).encode(), {"content-type": "application/json", "x-api-key": "k"}
for _ in range(int(sys.argv[1])):
    request = urllib.request.Request(url, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as reply:
            reply.read()
    except urllib.error.HTTPError as error:
        print(error.code, json.load(error)["error"]["message"]); sys.exit(7)
print("done")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How one command ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def said(self) -> str:
        """All that was printed, for a message when a test fails."""
        return f"exit {self.exit_code}\n--- stdout\n{self.stdout[-3000:]}\n--- stderr\n{self.stderr[-4000:]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLab:
    """A tree to run in."""

    root: Path
    variables: dict[str, str] = field(default_factory=dict)
    seconds: int = SECONDS

    @property
    def tree(self) -> Path:
        """The agent's folder."""
        return self.root / "tree"

    @property
    def state(self) -> Path:
        """Where live evidence stands."""
        return self.root / "state"

    def environment(self) -> dict[str, str]:
        """The variables of every program started here."""
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        home = {"HOME": str(self.root / "home"), "DOCKET_STATE_DIR": str(self.state), "LANG": "C.UTF-8"}
        home |= {"DOCKET_HOOK_SECONDS": "40"}  # a machine with much to do is no reason for a window that is not whole
        return kept | home | self.variables

    def start(self, *arguments: str | bytes, **options: Any) -> subprocess.Popen[str]:
        """Start a docket command; the caller waits for it."""
        return subprocess.Popen(
            [sys.executable, "-m", "docket", *arguments],
            cwd=options.pop("cwd", self.tree),
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            **options,
        )

    def finish(self, *arguments: str | bytes, **options: Any) -> Done:
        """Run a docket command to its end, whatever the agent has to say."""
        if options.keys() <= {"cwd"} and can_be_warm(self.environment()):
            return self.warm(*arguments, **options)
        with self.start(*arguments, **options) as process:
            try:
                stdout, stderr = process.communicate(timeout=self.seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        return Done(exit_code=process.returncode, stdout=stdout, stderr=stderr)

    def warm(self, *arguments: str | bytes, cwd: Path | None = None, prelude: str = "") -> Done:
        """Run a docket command to its end in a fork of the standing process, after the statements of `prelude`."""
        ended = warm().run(
            arguments, cwd=cwd or self.tree, env=self.environment(), seconds=self.seconds, prelude=prelude
        )
        stdout, stderr = (
            io.TextIOWrapper(io.BytesIO(told), "utf-8", "replace").read() for told in (ended.stdout, ended.stderr)
        )
        return Done(exit_code=ended.returncode, stdout=stdout, stderr=stderr)

    def docket(self, *arguments: str | bytes, **options: Any) -> Done:
        """Run a docket command to its end; nothing in it ends in a traceback."""
        done = self.finish(*arguments, **options)
        assert "Traceback" not in done.stderr, done.said
        return done

    def run(self, *arguments: str | bytes, **options: Any) -> Done:
        """Run `docket run` with these arguments."""
        return self.docket("run", *arguments, **options)

    def receipts(self) -> list[Path]:
        """The receipts in the tree's `.docket/`."""
        return sorted((self.tree / ".docket/receipts").glob("DKT-*.receipt.json"))

    def receipt(self) -> dict[str, Any]:
        """The one receipt of the one run in this tree."""
        (path,) = self.receipts()
        receipt: dict[str, Any] = json.loads(path.read_bytes())
        return receipt

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        """The events of the one ledger in the state folder, or the data of one type."""
        (path,) = self.state.glob("*/runs/*.jsonl")
        events = [json.loads(line) for line in path.read_bytes().splitlines()]
        return events if kind is None else [event["data"] for event in events if event["type"] == kind]

    def verdict(self) -> dict[str, Any]:
        """What `docket verify` says of the one receipt."""
        (path,) = self.receipts()
        verdict: dict[str, Any] = json.loads(self.docket("verify", str(path), "--json").stdout)
        return verdict


def build(root: Path, **variables: str) -> RunLab:
    """Make a lab below `root`."""
    (root / "tree").mkdir()
    (root / "home").mkdir()
    return RunLab(root=root, variables=variables)


def calls(lab: RunLab, provider: ScriptedProvider, count: int, *flags: str) -> Done:
    """Run an agent that makes `count` calls of a scripted provider."""
    agent = [sys.executable, "-c", CALL, str(count)]
    return lab.run(*flags, "--upstream", f"anthropic={provider.url}", "--", *agent)
