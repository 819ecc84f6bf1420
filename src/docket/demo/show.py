"""The demo: a runaway agent is stopped by a cap, its record is verified, and a forgery of one byte is found.

Rules:
1. Everything is real but the model: `docket run` and `docket verify` are started as a person would start them.
2. It needs no key and no network, and touches nothing outside a temporary folder of its own.
3. It succeeds only if every step happened as expected; what did not is named in `DemoResult.problems`.

It prints nothing: each step is told to the caller as a value. `surfaces.cli.commands.demo` shows them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from docket.demo.provider import Limits, ScriptedProvider
from docket.demo.script import Script, Tokens, ToolCall, Turn
from docket.demo.stopping import stop
from docket.errors import UnavailableError
from docket.formats.amount import Usd
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason

EXIT_CAP = 42
MAX_SECONDS = 120
_CONTEXT_BYTES = 12_000
_FORGED = re.compile(rb'"cost_usd":"0\.[0-9]*?([1-9])')
_HIDDEN_VARIABLES = re.compile(r"(?i)(DOCKET_|ANTHROPIC_|OPENAI_|(https?|all|no)_proxy$)")

SCRIPT = Script(
    turns=(
        Turn(
            text="I see a spelling mistake; fixing it.",
            tool_calls=(
                ToolCall(
                    name="write_file",
                    arguments={"path": "notes.md", "content": "# Notes\n\nThe parser reads one line at a time.\n"},
                ),
            ),
            tokens=Tokens(fresh=3000, output=60),
        ),
        Turn(
            text="The tests still fail. Once more.",
            tool_calls=(ToolCall(name="append_file", arguments={"path": "attempts.log", "content": "one more try\n"}),),
            tokens=Tokens(fresh=3000, output=20),
        ),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """`max_usd` is the cap of the run; `keep` leaves the folder behind; `script` is what the provider answers."""

    max_usd: Usd
    keep: bool = False
    script: Script = SCRIPT


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One thing that happened: a numbered step with a title, or a line of the run where `title` is empty."""

    title: str = ""
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """What the demo saw; `problems` is empty when everything happened as expected."""

    folder: str
    kept: bool
    exit_code: int
    docket_number: str
    cap_usd: str
    spent_usd: str
    calls: int
    refusal: str
    changed: tuple[str, ...]
    verdict: str
    forged_event: int
    forged_verdict: str
    forged_detail: str
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, JsonValue]:
        """Return the members and whether all went well."""
        members: dict[str, JsonValue] = {name: getattr(self, name) for name in self.__slots__}
        return {"ok": not self.problems} | members


@dataclass(slots=True, kw_only=True)
class _Course:
    """The demo under way."""

    folder: Path
    options: DemoOptions
    tell: Callable[[Told], None]
    refusal: str = ""
    problems: list[str] = field(default_factory=list)

    @property
    def key(self) -> Path:
        """The key that signs, outside the repository."""
        return self.folder / "demo.key"

    @property
    def project(self) -> Path:
        """The repository the agent works in."""
        return self.folder / "project"

    def expect(self, holds: object, otherwise: str) -> None:
        """Note a problem unless it holds."""
        if not holds:
            self.problems.append(otherwise)


def run_demo(options: DemoOptions, tell: Callable[[Told], None]) -> DemoResult:
    """Show it, telling each step; UnavailableError if git or a folder cannot be had."""
    folder = Path(tempfile.mkdtemp(prefix="docket-demo-"))
    course = _Course(folder=folder, options=options, tell=tell)
    try:
        _make_project(course)
        _make_key(course)
        exit_code = _run(course)
        receipt_path, receipt = _receipt(course)
        verdict, forged = "none", _Forgery()
        if receipt_path is not None:
            verdict = _verify(course, receipt_path)
            forged = _forge(course, receipt_path)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return _result(course, exit_code, receipt, verdict, forged)


def _make_project(course: _Course) -> None:
    project = course.project
    project.mkdir()
    (project / "notes.md").write_text("# Notes\n\nTeh parser reads one line at a time.\n", encoding="utf-8")
    identity = ("-c", "user.name=docket demo", "-c", "user.email=demo@example.invalid", "-c", "commit.gpgsign=false")
    for command in (("init", "--quiet"), ("add", "."), (*identity, "commit", "--quiet", "-m", "notes")):
        environment = _environment(course) | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        try:
            subprocess.run(("git", *command), cwd=project, env=environment, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise UnavailableError(Reason.PROGRAM_MISSING, f"the demo needs git, which failed: {error}") from error
    course.tell(Told(title="A project", lines=(f"{project}, a git repository with one file and a spelling mistake",)))


def _make_key(course: _Course) -> None:
    command = (sys.executable, "-m", "docket", "keygen", str(course.key), "--json")
    done = subprocess.run(
        command, cwd=course.folder, env=_environment(course), capture_output=True, timeout=MAX_SECONDS, check=False
    )
    course.expect(done.returncode == 0, f"no key could be made: {done.stderr.decode('utf-8', 'replace').strip()}")
    course.tell(
        Told(title="A key", lines=(f"$ docket keygen {course.key}", "it will sign the receipt; the agent never has it"))
    )


def _run(course: _Course) -> int:
    limits = Limits(max_seconds=MAX_SECONDS)
    with ScriptedProvider(course.options.script, limits=limits) as provider:
        course.tell(
            Told(title="A model provider", lines=(f"scripted, at {provider.url}; it speaks Anthropic Messages",))
        )
        cap, upstream = str(course.options.max_usd), f"anthropic={provider.url}"
        flags = f"--max-usd {cap} --sign {course.key.name} --upstream {upstream}"
        shown = f"docket run {flags} -- <a scripted agent that never sees an end>"
        course.tell(Told(title="The run", lines=(f"$ {shown}", "")))
        agent = (sys.executable, "-m", "docket.demo.agent", "loop", "--context-bytes", str(_CONTEXT_BYTES))
        signing = ("--sign", str(course.key))
        command = ("run", "--label", "demo", "--max-usd", cap, *signing, "--upstream", upstream, "--")
        exit_code = _relay(course, (sys.executable, "-m", "docket", *command, *agent))
    course.expect(exit_code == EXIT_CAP, f"docket run ended with exit code {exit_code}, not {EXIT_CAP}")
    course.expect(course.refusal, "the agent was not told why it was stopped")
    return exit_code


def _relay(course: _Course, command: tuple[str, ...]) -> int:
    """Start a command in the project, tell its output as it comes, return its exit code."""
    with subprocess.Popen(
        command,
        cwd=course.project,
        env=_environment(course) | {"ANTHROPIC_API_KEY": "no-key-is-needed"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        watchdog = threading.Timer(MAX_SECONDS, process.terminate)
        watchdog.start()
        try:
            for line in process.stdout or ():
                text = line.rstrip("\n")
                if text.startswith("agent: refused"):
                    course.refusal = text.partition("): ")[2]
                course.tell(Told(lines=(text,)))
        except BaseException:
            stop(process)
            raise
        finally:
            # The interpreter waits for a timer that nobody called off.
            watchdog.cancel()
    return process.returncode


def _receipt(course: _Course) -> tuple[Path | None, Mapping[str, Any]]:
    found = sorted((course.project / ".docket" / "receipts").glob("DKT-*.receipt.json"))
    course.expect(len(found) == 1, f"{len(found)} receipts were written, not one")
    if not found:
        return None, {}
    receipt: Mapping[str, Any] = json.loads(found[0].read_bytes())
    totals, files = receipt.get("totals", {}), receipt.get("files", {})
    spent = Usd.parse(totals.get("cost_usd", "0"))
    course.expect(spent.micros > 0, "the receipt shows no cost")
    course.expect(
        totals.get("cost_usd") and _within_bound(spent, receipt, course.options.max_usd), "the cap did not hold"
    )
    changed = f"{files.get('changed', 0)} paths changed: {', '.join(_changed(receipt))}"
    course.tell(
        Told(
            title="The receipt",
            lines=(
                str(found[0].relative_to(course.folder)),
                f"${spent} of ${course.options.max_usd} in {_calls(receipt)} calls; {changed}",
            ),
        )
    )
    return found[0], receipt


def _within_bound(spent: Usd, receipt: Mapping[str, Any], cap: Usd) -> bool:
    budget = receipt.get("budget")
    bound = Usd.parse(budget.get("bound_usd", "0")) if isinstance(budget, Mapping) else Usd(0)
    return spent.micros <= cap.micros + bound.micros


def _verify(course: _Course, receipt: Path) -> str:
    answer = _verdict(course, receipt, "--public-key", f"{course.key}.pub")
    passed = sum(check.get("status") == "pass" for check in answer.get("checks", ()))
    verdict = str(answer.get("verdict", "none"))
    course.expect(verdict == "verified", f"the receipt's verdict is {verdict}, not verified")
    shown = f"$ docket verify --public-key {course.key.name}.pub"
    course.tell(Told(title="Verified", lines=(shown, f"{verdict}: {passed} checks passed, and the key vouches for it")))
    return verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class _Forgery:
    """What came of changing one byte."""

    seq: int = -1
    verdict: str = "none"
    detail: str = ""


def _forge(course: _Course, receipt: Path) -> _Forgery:
    ledgers = sorted((course.project / ".docket" / "runs").glob("*.jsonl"))
    if not ledgers:
        course.problems.append("no ledger was left beside the receipt")
        return _Forgery()
    data = bytearray(ledgers[0].read_bytes())
    start = data.find(b'"type":"model.response"')
    line_start = data.rfind(b"\n", 0, max(start, 0)) + 1
    match = _FORGED.search(bytes(data), line_start)
    if start < 0 or match is None:
        course.problems.append("the ledger holds no priced call")
        return _Forgery()
    seq = data.count(b"\n", 0, line_start)
    place, before = match.start(1), bytes(data[match.start() : match.end() + 4])
    data[place] = ord("9") if data[place] != ord("9") else ord("1")
    after = bytes(data[match.start() : match.end() + 4])
    copy = course.folder / "forged.jsonl"
    copy.write_bytes(data)
    answer = _verdict(course, receipt, "--ledger", str(copy))
    return _judge_forgery(course, seq, (before, after), answer)


def _judge_forgery(course: _Course, seq: int, change: tuple[bytes, bytes], answer: Mapping[str, Any]) -> _Forgery:
    failed = [check for check in answer.get("checks", ()) if check.get("status") == "fail"]
    naming = next((check for check in failed if re.search(rf"\b{seq}\b", str(check.get("detail")))), None)
    verdict = str(answer.get("verdict", "none"))
    course.expect(verdict == "failed", f"the forged ledger's verdict is {verdict}, not failed")
    course.expect(naming, f"no check names the forged event {seq}")
    detail = f"{naming.get('name')}: {naming.get('detail')}" if naming else ""
    before, after = (side.decode("ascii", "replace") for side in change)
    course.tell(
        Told(
            title="A forgery",
            lines=(
                f"one byte of event {seq} in a copy of the ledger: {before} became {after}",
                "$ docket verify --ledger forged.jsonl",
                f"{verdict}: {detail}",
            ),
        )
    )
    return _Forgery(seq=seq, verdict=verdict, detail=detail)


def _verdict(course: _Course, receipt: Path, *flags: str) -> Mapping[str, Any]:
    command = (sys.executable, "-m", "docket", "verify", str(receipt), "--json", *flags)
    done = subprocess.run(
        command, cwd=course.project, env=_environment(course), capture_output=True, timeout=MAX_SECONDS, check=False
    )
    try:
        value = json.loads(done.stdout)
    except ValueError:
        course.problems.append(f"docket verify answered no JSON: {done.stderr.decode('utf-8', 'replace').strip()}")
        return {}
    return value if isinstance(value, dict) else {}


def _environment(course: _Course) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not _HIDDEN_VARIABLES.match(name)}
    return kept | {"DOCKET_STATE_DIR": str(course.folder / "state")}


def _calls(receipt: Mapping[str, Any]) -> int:
    return int(receipt.get("model_calls", {}).get("count", 0))


def _changed(receipt: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(path) for path in receipt.get("files", {}).get("top_paths", ()))


def _result(course: _Course, exit_code: int, receipt: Mapping[str, Any], verdict: str, forged: _Forgery) -> DemoResult:
    return DemoResult(
        folder=str(course.folder),
        kept=course.options.keep,
        exit_code=exit_code,
        docket_number=str(receipt.get("docket_number", "")),
        cap_usd=str(course.options.max_usd),
        spent_usd=str(receipt.get("totals", {}).get("cost_usd", "0.00")),
        calls=_calls(receipt),
        refusal=course.refusal,
        changed=_changed(receipt),
        verdict=verdict,
        forged_event=forged.seq,
        forged_verdict=forged.verdict,
        forged_detail=forged.detail,
        problems=tuple(course.problems),
    )
