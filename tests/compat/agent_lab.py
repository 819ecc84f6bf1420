"""What the compat tests stand on: installed foreign programs, a fresh repository, and `docket run` in it.

Nothing of the person who runs the tests is used: home, state folder and git configuration are fresh, keys are
dummies, and the only model is the scripted provider on the loopback.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from docket.demo.provider import Limits, ScriptedProvider
from docket.demo.script import Script, encode_script
from run_lab import Done, RunLab

SECONDS = 90
REQUIRED_IN_CI = frozenset({"claude", "codex", "gemini", "qwen", "docket-ai", "sdks"})
NPM_PARTS = ("npm", "npm-large")
PLACES = {
    **{name: f"npm/node_modules/.bin/{name}" for name in ("claude", "codex", "gemini", "qwen")},
    **{name: f"npm-large/node_modules/.bin/{name}" for name in ("opencode", "copilot", "pi", "cline")},
    "axe-core": "page/node_modules/axe-core/axe.min.js",
    "aider": "aider/bin/aider",
    "mini": "mini/bin/mini",
    "docket-ai": "docket-ai/bin/docket",
    "sdks": "sdks/bin/python",
}


def compat_dir() -> Path:
    """Where install.sh puts the programs."""
    named = os.environ.get("DOCKET_COMPAT_DIR")
    return Path(named) if named else Path.home() / ".cache" / "docket-compat"


def program(name: str) -> Path:
    """Return an installed program; without it the test is skipped, or fails where CI must have it."""
    path = compat_dir() / PLACES[name]
    if path.exists():
        return path
    missing = f"{name} is not installed: run tests/compat/install.sh all (looked for {path})"
    if os.environ.get("CI") == "true" and name in REQUIRED_IN_CI:
        pytest.fail(missing)
    pytest.skip(missing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Done):
    """What one `docket run` left behind."""

    receipt: dict[str, Any]
    events: tuple[dict[str, Any], ...]
    verdict: dict[str, Any]

    @property
    def cost(self) -> Decimal:
        """What the receipt says the run cost."""
        return Decimal(self.receipt["totals"]["cost_usd"])

    @property
    def calls(self) -> int:
        """How many billed calls the receipt counts."""
        return int(self.receipt["model_calls"]["count"])

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        """Return the data of the ledger's events of one type."""
        return [event["data"] for event in self.events if event["type"] == kind]

    def changes(self) -> dict[str, str]:
        """Return path -> change of the ledger's fs.change events."""
        return {data["path"]: data["change"] for data in self.of_type("fs.change")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab(RunLab):
    """A lab whose tree is a repository with one committed file."""

    # An agent's own patience is minutes; that it ends within these seconds is part of what is tested.
    seconds: int = SECONDS

    @property
    def repository(self) -> Path:
        """The agent's working folder."""
        return self.tree

    def build(self) -> Lab:
        """Make the folders and the first commit."""
        (self.root / "home").mkdir()
        self.repository.mkdir()
        (self.repository / "hello.txt").write_text("one\n")
        for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "start"]):
            subprocess.run(["git", *command], cwd=self.repository, env=self.environment(), check=True, timeout=30)
        return self

    def environment(self) -> dict[str, str]:
        """The variables of every program that is started here."""
        base = RunLab.environment(self)
        base |= {
            "PATH": ":".join([*(str(compat_dir() / part / "node_modules/.bin") for part in NPM_PARTS), base["PATH"]]),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            # As root, agents refuse to act without a sandbox unless they are told that they are in one.
            "IS_SANDBOX": "1",
        }
        for role in ("AUTHOR", "COMMITTER"):
            base |= {f"GIT_{role}_NAME": "compat", f"GIT_{role}_EMAIL": "compat@example.invalid"}
        return base | self.variables

    def with_variables(self, **variables: str) -> Lab:
        """Return this lab with more variables."""
        return Lab(root=self.root, variables=self.variables | variables)

    def docket_run(self, flags: list[str], agent: list[str]) -> Run:
        """Run an agent under docket; read what it left and verify it."""
        return self.left_by(self.finish("run", *flags, "--", *agent))

    def left_by(self, done: Done) -> Run:
        """Read what a run left and verify it."""
        assert len(self.receipts()) == 1, done.said
        assert_both_verifiers_agree(self)
        return Run(
            exit_code=done.exit_code,
            stdout=done.stdout,
            stderr=done.stderr,
            receipt=self.receipt(),
            events=tuple(self.events()),
            verdict=self.verdict(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """A run in a network that has nothing but the loopback, or in the machine's where `names` is None.

    `calls` are the path and model of each call that reached the provider, `headers` all names of headers it saw,
    `names` every name that anything in the run looked up.
    """

    run: Run
    calls: list[list[str]]
    others: list[str]
    headers: list[str]
    names: list[str] | None


def run_alone(lab: Lab, script: Script, flags: list[str], agent: list[str]) -> Alone:
    """Run an agent under docket beside a provider of its own; `{provider}` in flags and agent is its address."""
    source, out = lab.root / "script.json", lab.root / "alone.json"
    source.write_bytes(encode_script(script))
    alone = subprocess.run(["unshare", "-rn", "true"], capture_output=True, check=False).returncode == 0
    command = [sys.executable, str(Path(__file__).with_name("alone.py")), str(source), str(out)]
    docket = [sys.executable, "-m", "docket", "run", *flags, "--", *agent]
    done = subprocess.run(
        [*(["unshare", "-rn"] if alone else []), *command, "alone" if alone else "beside", *docket],
        cwd=lab.repository,
        env=lab.environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS + 30,
        check=False,
    )
    assert out.exists(), done.stdout + done.stderr
    found = json.loads(out.read_bytes())
    said = Done(exit_code=found["exit_code"], stdout=found["stdout"], stderr=found["stderr"])
    return Alone(
        run=lab.left_by(said),
        calls=found["calls"],
        others=found["others"],
        headers=found["headers"],
        names=found["names"],
    )


def provider_for(script: Script) -> ScriptedProvider:
    """Return a provider that serves one test and stops by itself."""
    return ScriptedProvider(script, limits=Limits(max_requests=400, max_seconds=SECONDS))


def assert_both_verifiers_agree(lab: Lab) -> None:
    """Assert that the verifier in JavaScript finds of the one receipt, check by check, what docket finds."""
    node = shutil.which("node")
    if node is None:
        return
    command = [node, str(Path(__file__).parents[2] / "verify-js" / "cli.mjs"), str(lab.receipts()[0]), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    here, there = lab.verdict(), json.loads(done.stdout)
    found = [[(check["name"], check["status"]) for check in one["checks"]] for one in (here, there)]
    assert found[0] == found[1], there["failures"]
    assert here["verdict"] == there["verdict"]


def assert_consistent(run: Run) -> None:
    """Assert that verification found nothing wrong and claims no more than it can."""
    assert run.verdict["verdict"] == "consistent", run.verdict["failures"]
    assert run.verdict["ok"] is True


def assert_told_at_the_cap(run: Run, provider: ScriptedProvider, *, most_calls: int) -> None:
    """Assert that the cap stopped the run at once, that the agent said why, and that the cap held."""
    assert run.exit_code == 42, run.said
    number = run.receipt["docket_number"]
    assert number in run.stdout + run.stderr, run.said
    assert "max_usd" in run.stdout, run.said
    assert len(provider.calls) <= most_calls, run.said
    assert run.receipt["session"]["breached"] == "max_usd"
    assert run.receipt["caps"]["exceeded"] >= 1
    budget = run.receipt["budget"]
    cap, bound = Decimal(budget["cap_usd"]), Decimal(budget["bound_usd"])
    assert run.cost <= cap + bound, f"{budget}\n{run.said}"
    if budget["admission"] == "strict":
        assert run.cost <= cap
    assert_consistent(run)
