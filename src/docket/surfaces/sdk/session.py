"""`docket.Session`: a Python agent on the record, within `docket run` or by itself (docs/reference/sdk.md).

Rules:
1. Inside `docket run` a session joins the run; by itself it begins a run of its own, with boundary, ledger and receipt.
2. What is said here is recorded as the agent's word (`reported_by: "agent"`). It is in no total and moves no cap; what
   is spent is what the boundary saw.
3. Saying something never raises and never waits long: what was not taken stands in `problems`. `strict=True` raises.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from docket.errors import DocketError, UnavailableError, UsageError
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.reason import Reason
from docket.surfaces.sdk.door import Door
from docket.surfaces.sdk.material import size_and_digest

if TYPE_CHECKING:
    from docket.engines.supervise.inside import InsideRun

URL_VARIABLE = "DOCKET_SESSION_URL"
_MAX_PROBLEMS = 100
_FAILED = 1


@dataclass(frozen=True, slots=True)
class SessionProblem:
    """Something that was said and not recorded: `reason` is a code, `detail` a sentence."""

    reason: str
    detail: str


class SessionOptions(TypedDict, total=False):
    """What a session may be told; all but `strict` is for a run of its own, as the flags of `docket run` are.

    `max_usd` and `max_minutes` are decimal strings, or numbers that are exact. `upstreams` maps a provider to where its
    calls go. `policy`, `prices` and `docket_dir` are paths; `cwd` is the folder that is watched;
    `snapshot` keeps its contents first, for `docket restore`.
    """

    max_usd: str | int | Decimal
    max_tokens: int
    max_calls: int
    max_minutes: str | int | Decimal
    policy: str | os.PathLike[str]
    prices: str | os.PathLike[str]
    label: str
    upstreams: Mapping[str, str]
    cwd: str | os.PathLike[str]
    docket_dir: str | os.PathLike[str]
    snapshot: bool
    strict: bool


class Session:
    """A session; use it as a context manager.

    Inside `docket run` caps, policy and label are the run's, and of the options only `strict` means anything. By itself
    a session begins a run of its own, with the policy files that `docket run` would read.
    """

    def __init__(self, **options: Unpack[SessionOptions]) -> None:
        unknown = set(options) - set(SessionOptions.__annotations__)
        if unknown:
            raise TypeError(f"Session has no option {min(unknown)!r}")
        self._options = options
        self._strict = options.get("strict", False)
        self._door: Door | None = None
        self._own: InsideRun | None = None
        self._told: Mapping[str, Any] = {}
        self._problems: list[SessionProblem] = []
        self._receipt_path: Path | None = None
        self._process = 0

    # ---- its life

    def __enter__(self) -> Self:
        """Join the run, or begin one; DocketError says why that cannot be."""
        if self._door is not None:
            raise UsageError(Reason.USAGE, "the session has been entered already")
        self._process = os.getpid()
        url = os.environ.get(URL_VARIABLE)
        if not url:
            self._own = self._begin()
            url = self._own.session_url
        try:
            self._door = Door(url)
            self._told = self._door.session()
        except BaseException:
            self._leave(exit_code=_FAILED, interrupted=False)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the run; one of the session's own ends, and its receipt stands."""
        self._leave(exit_code=_exit_code(error), interrupted=isinstance(error, KeyboardInterrupt))

    def _begin(self) -> InsideRun:
        from docket.surfaces.sdk.alone import OwnRun, begin_alone  # noqa: PLC0415 - a session within a run needs none

        given = self._options
        exact = {name: str(given[name]) for name in ("max_usd", "max_minutes") if given.get(name) is not None}
        return begin_alone(
            OwnRun(
                limits={**exact, **{name: given.get(name) for name in ("max_tokens", "max_calls", "snapshot")}},
                policy=_path(given.get("policy")),
                upstreams=given.get("upstreams", {}),
                prices=_path(given.get("prices")),
                label=given.get("label"),
                cwd=_path(given.get("cwd")),
                docket_dir=_path(given.get("docket_dir")),
            )
        )

    def _leave(self, *, exit_code: int, interrupted: bool) -> None:
        door, self._door = self._door, None
        if self._process != os.getpid():
            return  # a child that was forked within the block and runs out of it: the run is its parent's to end
        if door is not None:
            with suppress(DocketError):  # where the run has ended before its agent, what was told last stands
                self._told = door.session()
            door.close()
        if self._own is not None:
            from docket.engines.supervise.inside import Left  # noqa: PLC0415 - as above

            result = self._own.finish(Left(exit_code=exit_code, interrupted=interrupted))
            self._receipt_path = result.receipt_path
            totals = (result.receipt or {}).get("totals")
            if isinstance(totals, Mapping):
                self._told = {**self._told, "spent_usd": totals["cost_usd"]}
            for problem in result.problems:
                self._note_problem(str(problem.reason), problem.detail)

    # ---- what it tells

    @property
    def is_own_run(self) -> bool:
        """Whether the session has a run of its own, and no `docket run` around it."""
        return self._own is not None

    @property
    def docket_number(self) -> str:
        """The number of the run."""
        return str(self._known()["docket_number"])

    @property
    def spent(self) -> Decimal:
        """What the run has spent, in dollars: the exact sum of the calls that have settled."""
        return Decimal(str(self._now()["spent_usd"]))

    @property
    def remaining(self) -> Decimal | None:
        """What is left of the run's cap in dollars; None where there is no such cap."""
        left = self._now()["remaining_usd"]
        return None if left is None else Decimal(str(left))

    @property
    def problems(self) -> tuple[SessionProblem, ...]:
        """What was said and not recorded, the first hundred."""
        return tuple(self._problems)

    @property
    def receipt_path(self) -> Path | None:
        """Where the receipt of the session's own run stands, once it has been left; None before, and within a run."""
        return self._receipt_path

    # ---- where calls go

    def base_url(self, provider: str) -> str:
        """Return the address to give a provider's client (`anthropic`, `openai`, …), so that its calls are metered."""
        places = self._known()["providers"]
        if provider not in places:
            known = ", ".join(sorted(places))
            raise UsageError(Reason.UNKNOWN_PROVIDER, f"no provider is called {provider!r} here; known: {known}")
        return f"{self._open().origin}/{self._known()['token']}{places[provider]}"

    def environ(self) -> dict[str, str]:
        """Return the variables that point clients of known providers at the boundary, for a program to be started."""
        from docket.rules.agents.environment import FULL, no_proxy  # noqa: PLC0415 - few sessions start programs

        places = self._known()["providers"]
        found = {
            name: self.base_url(entry.provider) for entry in FULL if entry.provider in places for name in entry.names
        }
        return {**found, **no_proxy(os.environ), URL_VARIABLE: self._open().url}

    # ---- what it says

    def tool_call(self, name: str, tool_input: object = None) -> ToolUse:
        """Return a context manager around a tool's use; recorded are its name, size and digest of what it was given."""
        return ToolUse(self, name, tool_input)

    def note(self, code: str, message: str, detail: Mapping[str, object] | None = None) -> bool:
        """Leave a remark; `code` is of a-z, 0-9, dot, dash and underscore. Return whether it was recorded."""
        return self.event("note", {"code": code, "message": message} | ({} if detail is None else {"detail": detail}))

    def record_usage(  # noqa: PLR0913 - keywords, each of them a figure
        self,
        *,
        provider: str,
        model: str,
        input_tokens: int,
        output_tokens: int,
        cached_input_tokens: int = 0,
        latency_ms: int | None = None,
    ) -> bool:
        """Say that a model call was made past the boundary; it is counted apart. Return whether it was recorded."""
        data: dict[str, object] = {
            "provider": provider,
            "model": model,
            "input_tokens": input_tokens,
            "cached_input_tokens": cached_input_tokens,
            "output_tokens": output_tokens,
        }
        return self.event("x-docket.asserted-call", data | ({} if latency_ms is None else {"latency_ms": latency_ms}))

    def event(self, type_: str, data: Mapping[str, object]) -> bool:
        """Assert an event of one of the types an agent may assert; return whether it was recorded.

        With `strict`: UsageError for one that was refused, UnavailableError where the boundary does not answer.
        """
        if self._told and self._door is None:
            return self._refused(UsageError(Reason.USAGE, f"{type_} was said after the session had been left"))
        try:
            reply = self._open().say(type_, data)
        except (TypeError, ValueError, RecursionError) as error:  # no JSON can be made of it
            return self._refused(UsageError(Reason.WRONG_TYPE, f"the event cannot be written as JSON: {error}"))
        except UnavailableError as error:
            return self._refused(error)
        if reply.ok:
            return True
        reason, detail = str(reply.document.get("reason", Reason.USAGE)), str(reply.document.get("detail", ""))
        return self._refused(UsageError(reason, detail or f"the boundary answered {reply.status}"))

    def _refused(self, error: DocketError) -> bool:
        self._note_problem(error.reason, error.detail)
        if self._strict:
            raise error
        return False

    def _note_problem(self, reason: str, detail: str) -> None:
        if len(self._problems) < _MAX_PROBLEMS:
            self._problems.append(SessionProblem(reason, detail))

    def _open(self) -> Door:
        if self._door is None:
            raise UsageError(Reason.USAGE, "the session is not open: use it in a with block")
        return self._door

    def _known(self) -> Mapping[str, Any]:
        if not self._told:
            raise UsageError(Reason.USAGE, "the session is not open: use it in a with block")
        return self._told

    def _now(self) -> Mapping[str, Any]:
        if self._door is not None:
            self._told = self._door.session()
        return self._known()


class ToolUse:
    """A tool's use under way. An exception in its block is recorded as a failure by its type, and goes on."""

    def __init__(self, session: Session, name: str, tool_input: object) -> None:
        self._session, self._name, self._input = session, name, tool_input
        self._id = secrets.token_hex(6)
        self._began_ns = 0
        self._error: str | None = None
        self._result: tuple[int, Digest] | None = None

    def __enter__(self) -> Self:
        """Record the call."""
        data: dict[str, object] = {"name": self._name, "id": self._id}
        if self._input is not None:
            size, digest = size_and_digest(self._input)
            data |= {"input_bytes": size, "input_sha256": digest}
        self._session.event("tool.call", data)
        self._began_ns = time.monotonic_ns()
        return self

    def result(self, value: object) -> None:
        """Say what came of it; its size and digest are recorded."""
        self._result = size_and_digest(value)

    def fail(self, error: str) -> None:
        """Say that it failed, and in a sentence of at most 4096 characters how."""
        self._error = error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Record the result."""
        failure = self._error if kind is None else self._error or kind.__name__
        data: dict[str, object] = {
            "name": self._name,
            "id": self._id,
            "ok": failure is None,
            "duration_ms": (time.monotonic_ns() - self._began_ns) // 1_000_000,
        }
        if failure is not None:
            data["error"] = failure
        if self._result is not None:
            data |= {"result_bytes": self._result[0], "result_sha256": self._result[1]}
        self._session.event("tool.result", data)


def _exit_code(error: BaseException | None) -> int:
    """Return the exit code that a process which ends by this would have."""
    if error is None:
        return 0
    if isinstance(error, SystemExit):
        return 0 if error.code is None else error.code & 0xFF if isinstance(error.code, int) else _FAILED
    return _FAILED


def _path(value: str | os.PathLike[str] | None) -> Path | None:
    return None if value is None else Path(value)
