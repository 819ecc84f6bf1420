"""A game day: an agent run through one fault after the other, and what became of it written down.

Rules:
1. Every phase is a real `docket run` in a process of its own, in a fresh copy of the project, under a wall clock. By
   default a scripted provider on the loopback answers, so that nothing costs anything and no key is needed.
2. Whatever ends a phase, its evidence stands in a folder of its own, and what has been found so far is written down.
3. Keys of the person's never reach the scripted provider, and the agent's home is an empty folder then.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from docket import __version__
from docket.demo.provider import Limits, ScriptedProvider
from docket.demo.script import Script, Tokens, ToolCall, Turn
from docket.demo.stopping import stop
from docket.engines.verify import VerifyRequest, verify_receipt
from docket.errors import DocketError, UnavailableError, UsageError
from docket.formats.canonical import encode_document
from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.event import Event
from docket.formats.reason import Reason
from docket.formats.visible import visible
from docket.host.disk import SYSTEM_DISK
from docket.host.durable import publish
from docket.rules.drills.facts import facts_of
from docket.rules.drills.judging import Served, judge
from docket.rules.drills.phases import Kind, Phase
from docket.rules.drills.post_mortem import GameDay, PhaseReport, markdown
from docket.rules.providers import registry
from docket.stores.layout import Layout, open_docket_dir
from docket.stores.ledger_reader import read_ledger

SCRIPTED_AGENT = ("docket.demo.agent", "edit", "--retries", "8", "--max-calls", "20")
MAX_COPY_BYTES = 512 * 1024 * 1024
_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY")
_OTHER_KEYS = re.compile(r"_(API_KEY|AUTH_TOKEN)$|^AWS_BEARER_TOKEN|^AWS_SECRET_ACCESS_KEY$|^AWS_SESSION_TOKEN$")
_HOMES = ("HOME", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "GEMINI_CLI_HOME")
_LEFT_OUT = (".docket", "node_modules", ".venv", "__pycache__")
_TASK_TEXT = (
    "I have looked through the files of this project, one after the other, and read what they say. The tests pass, "
    "the spelling is right, and nothing of what was asked for is missing, so there is nothing left for me to change. "
    "If you want me to look at something else, name the file or the behaviour you have in mind and I will go on."
)
_IN_FLIGHT = b'"type":"x-docket.fault"'


@dataclass(frozen=True, slots=True, kw_only=True)
class GameDayOptions:
    """What is asked for. `command` empty: the scripted agent. `max_usd` set: the agent's real providers answer.

    `layout` is the project's where `out` stands in its folder of evidence, None elsewhere.
    """

    phases: tuple[Phase, ...]
    command: tuple[str, ...]
    out: Path
    project: Path
    began_at: str
    layout: Layout | None = None
    agent: str | None = None
    seed: int = 0
    max_minutes: str = "3"
    max_usd: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a person may follow: a phase that begins, or one that has ended."""

    phase: Phase
    report: PhaseReport | None = None
    problem: str = ""


class _TerminatedError(KeyboardInterrupt):
    """Raised by SIGTERM."""


@dataclass(slots=True)
class _Course:
    """What has become of the phases so far; `stopped` says why no further one is run."""

    reports: list[PhaseReport] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)
    ended_by: int | None = None
    stopped: str = ""


def run_game_day(options: GameDayOptions, tell: Callable[[Told], None]) -> tuple[GameDay, int | None]:
    """Run the phases; return the game day and the signal that ended it early. Both files are written in any case.

    To be called in the main thread, which takes signals.
    """
    _prepare(options)
    course = _Course()
    try:
        with _terminations():
            for phase in options.phases:
                _play(phase, options, tell, course)
    finally:
        # Where nobody reads what is told any more, too.
        left = options.phases[len(course.reports) + len(course.missing) :]
        missing = (*course.missing, *((phase.name, "interrupted") for phase in left))
        day = _day(options, tuple(course.reports), missing)
        with SYSTEM_DISK.folder(options.out) as folder:
            publish(folder, "game-day.json", encode_document(day.to_json()))
            publish(folder, "post-mortem.md", markdown(day).encode("utf-8", "backslashreplace"))
    return day, course.ended_by


def _play(phase: Phase, options: GameDayOptions, tell: Callable[[Told], None], course: _Course) -> None:
    if course.stopped:
        course.missing.append((phase.name, course.stopped))
        return
    tell(Told(phase=phase))
    try:
        report = _run_phase(phase, options)
    except KeyboardInterrupt as interruption:
        course.ended_by = signal.SIGTERM if isinstance(interruption, _TerminatedError) else signal.SIGINT
        course.stopped = "interrupted"
        course.missing.append((phase.name, course.stopped))
    except DocketError as error:
        course.missing.append((phase.name, error.detail))
        tell(Told(phase=phase, problem=error.detail))
    else:
        course.reports.append(report)
        tell(Told(phase=phase, report=report))
        if phase.kind is Kind.BASELINE and not report.judgement.fine:
            course.stopped = "the agent fails without any fault"


@contextmanager
def _terminations() -> Iterator[None]:
    """Have SIGTERM raise in this thread, and give it back to whoever had it."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        signal.signal(signal.SIGTERM, _terminate)
        yield
    finally:
        # A handler that was not set from Python cannot be set from here.
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


def _terminate(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise _TerminatedError


def _shown(text: str) -> str:
    """Return a path or an argument as a document shows it, bytes that are no text among it."""
    return visible(os.fsencode(text))


def _day(options: GameDayOptions, reports: tuple[PhaseReport, ...], missing: tuple[tuple[str, str], ...]) -> GameDay:
    return GameDay(
        began_at=options.began_at,
        tool=f"docket {__version__}",
        command=tuple(_shown(word) for word in options.command) or ("python", "-m", *SCRIPTED_AGENT),
        upstream="a scripted provider" if options.max_usd is None else "the agent's own providers",
        seed=options.seed,
        reports=reports,
        missing=missing,
    )


def _prepare(options: GameDayOptions) -> None:
    if options.command:
        size = sum(_sizes(options.project))
        if size > MAX_COPY_BYTES:
            raise UsageError(
                Reason.TOO_LARGE,
                f"{options.project} holds over {MAX_COPY_BYTES // 2**20} MiB, and each phase works in a copy of it",
                hint="run the game day in a smaller project: what is drilled is the agent, not the code",
            )
    if options.layout is not None:
        open_docket_dir(options.layout, SYSTEM_DISK).close()
    try:
        options.out.mkdir(parents=True, exist_ok=False, mode=0o700)
    except OSError as error:
        raise UnavailableError(Reason.ALREADY_EXISTS, f"{options.out} cannot be made: {error.strerror}") from error


def _sizes(folder: Path) -> Iterator[int]:
    for path, names, files in os.walk(folder):
        names[:] = [name for name in names if name not in _LEFT_OUT]
        for name in files:
            with suppress(OSError):
                yield os.lstat(os.path.join(path, name)).st_size  # noqa: PTH118 - a Path for each file of a large tree


@dataclass(slots=True, kw_only=True)
class _Stage:
    """Where one phase plays."""

    folder: Path
    scratch: Path
    provider: ScriptedProvider | None = None
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def tree(self) -> Path:
        """The agent's folder."""
        return self.scratch / "project"

    @property
    def log(self) -> Path:
        """What docket and the agent print."""
        return self.folder.with_name(f"{self.folder.name}.log")


def _run_phase(phase: Phase, options: GameDayOptions) -> PhaseReport:
    with _stage(phase, options) as stage:
        _supervised(_command(phase, options, stage), stage, kills=phase.kind is Kind.KILLED)
        return _report(phase, options, stage)


@contextmanager
def _stage(phase: Phase, options: GameDayOptions) -> Iterator[_Stage]:
    scratch = Path(tempfile.mkdtemp(prefix="docket-game-day-"))
    stage = _Stage(folder=options.out / phase.name, scratch=scratch)
    try:
        _fill(stage, options)
        stage.environment = _environment(stage, scripted=options.max_usd is None)
        if options.max_usd is not None:
            yield stage
            return
        limits = Limits(max_seconds=float(options.max_minutes) * 60 + 60)
        with ScriptedProvider(_script(options), limits=limits) as provider:
            stage.provider = provider
            yield stage
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _fill(stage: _Stage, options: GameDayOptions) -> None:
    try:
        if options.command:
            shutil.copytree(options.project, stage.tree, symlinks=True, ignore=_left_out)
        else:
            stage.tree.mkdir()
            (stage.tree / "notes.md").write_text("# Notes\n\nTeh parser reads one line at a time.\n", encoding="utf-8")
    except (OSError, shutil.Error) as error:
        raise UnavailableError(Reason.IO_ERROR, f"the project cannot be copied: {error}") from error


def _left_out(folder: str, names: list[str]) -> set[str]:
    """Return what of a folder is not copied: what can be made anew, and sockets, pipes and devices."""
    return {name for name in names if name in _LEFT_OUT or not _can_be_copied(os.path.join(folder, name))}  # noqa: PTH118


def _can_be_copied(path: str) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return False  # it has gone in between
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def _script(options: GameDayOptions) -> Script:
    used = Tokens(fresh=1200, output=180)
    last = Turn(text=_TASK_TEXT, tokens=used)
    if options.command:
        return Script(turns=(last,))
    edit = ToolCall(name="append_file", arguments={"path": "notes.md", "content": "- read\n"})
    step = Turn(text=_TASK_TEXT[:200], tool_calls=(edit,), tokens=used)
    return Script(turns=(step, step, last))


def _environment(stage: _Stage, *, scripted: bool) -> dict[str, str]:
    environment = {**os.environ, "DOCKET_STATE_DIR": str(stage.scratch / "state")}
    if scripted:
        home = stage.scratch / "home"
        home.mkdir()
        for name in _HOMES:
            environment.pop(name, None)
        keys = (*_KEYS, *filter(_OTHER_KEYS.search, environment))
        environment |= dict.fromkeys(keys, "no-key-is-needed") | {"HOME": str(home)}
    return environment


def _command(phase: Phase, options: GameDayOptions, stage: _Stage) -> tuple[str, ...]:
    flags = ["--report", "none", "--label", f"game day: {phase.name}", "--docket-dir", str(stage.folder)]
    flags += ["--max-usd", options.max_usd or "5", "--max-minutes", options.max_minutes]
    # Where nobody is paid, a model without a price is no reason to stop.
    priced = "" if stage.provider is None else '[budget]\nunknown_models = "assume"\n'
    if phase.policy or priced:
        policy = stage.scratch / "policy.toml"
        policy.write_text(priced + phase.policy, encoding="utf-8")
        flags += ["--policy", str(policy)]
    if phase.faults:
        flags += ["--faults", phase.faults, "--fault-seed", str(options.seed)]
    if phase.max_calls is not None:
        flags += ["--max-calls", str(phase.max_calls)]
    if options.agent is not None:
        flags += ["--agent", options.agent]
    if stage.provider is not None:
        # Every one that docket knows, whichever the agent asks: nobody is paid in a drill.
        for name in registry.names():
            path = "/v1" if registry.provider(name).versioned else ""
            flags += ["--upstream", f"{name}={stage.provider.url}{path}"]
    agent = options.command or (sys.executable, "-m", *SCRIPTED_AGENT)
    return (sys.executable, "-m", "docket", "run", *flags, "--", *agent)


def _supervised(command: Sequence[str], stage: _Stage, *, kills: bool) -> None:
    """Run the phase to its end; an interruption is passed on, and waited for, before it goes up.

    `kills`: docket is killed once a call is in flight, and the receipt recovered.
    """
    with stage.log.open("xb") as stream:
        process = subprocess.Popen(
            command, cwd=stage.tree, env=stage.environment, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream
        )
        try:
            if kills:
                _kill_in_flight(process, stage)
            process.wait()
            if kills:
                recover = (sys.executable, "-m", "docket", "recover", "--docket-dir", str(stage.folder))
                subprocess.run(
                    recover, cwd=stage.tree, env=stage.environment, stdin=subprocess.DEVNULL, stdout=stream,
                    stderr=stream, check=False,
                )  # fmt: skip
        except BaseException:
            stop(process)
            raise


def _kill_in_flight(process: subprocess.Popen[bytes], stage: _Stage) -> None:
    """Wait until a call is in flight, and kill docket as the system would."""
    while process.poll() is None:
        for ledger in (stage.folder / "runs").glob("*.jsonl"):
            if _IN_FLIGHT in ledger.read_bytes():
                process.kill()
                return
        time.sleep(0.05)


def _report(phase: Phase, options: GameDayOptions, stage: _Stage) -> PhaseReport:
    receipts = sorted((stage.folder / "receipts").glob("DKT-*.receipt.json"))
    ledgers = sorted((stage.folder / "runs").glob("*.jsonl"))
    if not receipts or not ledgers:
        raise UnavailableError(Reason.NOT_FOUND, f"the phase left no receipt: {_last_line(stage.log)}")
    verdict = verify_receipt(VerifyRequest(receipt=receipts[0].read_bytes(), ledger_path=ledgers[0]))
    facts = facts_of(item for item in read_ledger(ledgers[0]) if isinstance(item, Event))
    served = _served(str(verdict.word), stage, _script(options))
    return PhaseReport(
        phase=phase,
        facts=facts,
        judgement=judge(phase, facts, served),
        docket_number=verdict.docket_number or "",
        verdict=str(verdict.word),
        folder=_shown(str(stage.folder)),
    )


def _served(verdict: str, stage: _Stage, script: Script) -> Served:
    if stage.provider is None:
        return Served(verdict=verdict)
    turns = [script.turns[call.turn] for call in stage.provider.calls if call.turn is not None]
    used = [turn.tokens or Tokens() for turn in turns]
    return Served(
        verdict=verdict,
        input_tokens=sum(tokens.input for tokens in used),
        output_tokens=sum(tokens.output for tokens in used),
    )


def _last_line(log: Path) -> str:
    with suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else "it said nothing"
    return "its log cannot be read"
