"""A run inside the process that asked for it: its own boundary, ledger and receipt, and nothing that is started.

Rules:
1. It opens, announces, measures, settles and reports as `run` does; between, the process does its work, and its calls
   are metered and refused as any agent's.
2. Nothing here can end the process: a cap that is reached refuses every further call, and the record says so.
3. Once the session is open there is a receipt, whatever happens; a process that is killed leaves a ledger without an
   end, as a killed docket does.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack

from docket.engines.boundary import Boundary, BoundaryEnd
from docket.engines.supervise import ending as ends
from docket.engines.supervise import launch as launching
from docket.engines.supervise import measure as measuring
from docket.engines.supervise.pooled import enter_pools
from docket.engines.supervise.request import RunRequest, RunResult, RunWorld
from docket.engines.supervise.run import Beside, reachable, start_boundary, wall_breach
from docket.engines.supervise.session import OpenRun, announce, open_session
from docket.engines.supervise.watch import Breached
from docket.errors import DocketError, RefusedBeforeStartError, UsageError
from docket.formats.dataclass import dataclass
from docket.formats.ledger.session_events import ExitSource, Note
from docket.formats.ledger.tree_events import Phase
from docket.formats.reason import Reason
from docket.formats.run import exit_code as codes
from docket.formats.tree.listing import Listing
from docket.stores.live import live_folder
from docket.stores.live_boundary import write_boundary

_SIGINT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """How the process left the run: with what exit code it might end, or interrupted by the person."""

    exit_code: int = 0
    interrupted: bool = False


class InsideRun:
    """A run under way; `finish` ends it, once."""

    def __init__(self, run: OpenRun) -> None:
        self._run = run
        self._stack = ExitStack()
        self._breached = Breached(run.world.signals.wake)
        self._boundary: Boundary | None = None
        self._before: Listing | None = None
        self._settled: BoundaryEnd | None = None
        self._result: RunResult | None = None
        self._overdue = threading.Event()

    @property
    def docket_number(self) -> str:
        """The run's number."""
        return self._run.session.docket_number

    @property
    def session_url(self) -> str:
        """The address for what the process says of itself."""
        assert self._boundary is not None  # noqa: S101 - `begin` hands nobody out without one
        return self._boundary.session_url or ""

    def open(self, request: RunRequest, upstreams: dict[str, str]) -> None:
        """Announce the run, start its boundary, and make the pass before."""
        run, providers = self._run, reachable(upstreams)
        announce(run, upstreams)
        sentence = "the run is a session within the process that made it: nothing was started"
        run.session.ledger.append(Note(code="in-process", message=sentence), control=True)
        pools = enter_pools(run, self._stack)
        rehearsed = launching.rehearse(request, run.world)
        self._boundary = start_boundary(run, rehearsed, providers, self._breached, Beside(pools=pools))
        self._stack.callback(self._settle, self._boundary)
        run_dir = self._stack.enter_context(live_folder(request.layout, run.session.session_id))
        write_boundary(run_dir, self._boundary.base_url)
        self._before = measuring.measure_before(run)
        self._watch_clock(self._boundary)

    def finish(self, left: Left) -> RunResult:
        """End the run: settle what is in flight, make the pass after, write the receipt."""
        if self._result is None:
            self._result = self._finish(left)
        return self._result

    def _finish(self, left: Left) -> RunResult:
        run, ending = self._run, _ending(left)
        last: list[Note] = []
        try:
            ending = self._breach(ending)
            self._stack.close()
            if self._before is not None:
                after = measuring.measure(run, Phase.AFTER, since=self._before)
                differences = measuring.compare(run, self._before, after)
                if run.request.rollback_on_breach and ending.breached is not None:
                    from docket.engines.supervise.rollback import roll_back  # noqa: PLC0415 - what a breach alone needs

                    # The process of the session is the agent, and goes on.
                    roll_back(run, differences, ending.breached, is_anything_left=True)
        except DocketError as error:
            last.append(Note(code=f"fault-{error.reason}", message=error.detail))
            ending = ends.Ending(exit_code=codes.UNAVAILABLE, exit_source=ExitSource.DOCKET)
        except Exception as error:  # noqa: BLE001 - the session has begun: a fault of docket's own must not lose the receipt
            last.append(Note(code="fault-internal", message=f"{type(error).__name__}: {error}"))
            ending = ends.Ending(exit_code=codes.INTERNAL, exit_source=ExitSource.DOCKET)
        ready = ends.close_record(run, ending, self._settled, last)
        return ends.report(run, ending, ready)

    def _breach(self, ending: ends.Ending) -> ends.Ending:
        run, boundary = self._run, self._boundary
        if boundary is None:
            return ending
        state = boundary.snapshot()
        if state.breach is not None:
            self._breached.report(state.breach)
        if self._overdue.is_set():
            run.session.ledger.append(wall_breach(run, state, self._overdue_detail()), control=True)
        cap = self._breached.cap or (Reason.MAX_WALL_SECONDS if self._overdue.is_set() else None)
        if cap is None:
            return ending
        return ends.Ending(exit_code=codes.CAP, exit_source=ExitSource.CAP, breached=str(cap))

    def _settle(self, boundary: Boundary) -> None:
        self._settled = boundary.stop()

    def _watch_clock(self, boundary: Boundary) -> None:
        seconds = self._run.request.policy.caps.max_wall_seconds
        if seconds is None:
            return

        def refuse() -> None:
            self._overdue.set()
            boundary.refuse_further(Reason.RUN_ENDING, self._overdue_detail())

        timer = threading.Timer(seconds, refuse)
        timer.daemon = True
        timer.start()
        self._stack.callback(timer.join)
        self._stack.callback(timer.cancel)

    def _overdue_detail(self) -> str:
        return f"the run has lasted {self._run.request.policy.caps.max_wall_seconds} s, its cap"


def begin(request: RunRequest, world: RunWorld) -> InsideRun:
    """Begin a run inside this process.

    UsageError, RefusedBeforeStartError or UnavailableError; where the session had begun, its receipt stands.
    """
    if request.policy.workspace.transaction:
        detail = "a session inside the process that makes it cannot have its work staged: workspace.transaction"
        raise RefusedBeforeStartError(Reason.POLICY_INVALID, detail, hint="docket run stages the work of an agent")
    found = launching.rehearse(request, world).upstreams
    reachable(request.upstreams)  # a typed address that is none is a matter of usage, not of policy
    upstreams = {**found, **request.policy.upstreams.mapping(), **request.upstreams}
    try:
        reachable(upstreams)
    except UsageError as error:
        raise RefusedBeforeStartError(error.reason, error.detail, hint=error.hint) from error
    inside = InsideRun(OpenRun(request=request, world=world, session=open_session(request, world)))
    try:
        inside.open(request, upstreams)
    except BaseException:
        inside.finish(Left(exit_code=codes.UNAVAILABLE))
        raise
    return inside


def _ending(left: Left) -> ends.Ending:
    if left.interrupted:
        return ends.interrupted_ending(_SIGINT)
    return ends.Ending(exit_code=left.exit_code, exit_source=ExitSource.AGENT)
