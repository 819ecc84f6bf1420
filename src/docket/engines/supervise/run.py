"""A run from its opening to its receipt.

Rules:
1. Once the session is open there is a receipt, whatever happens: a missing program, a crash, a cap, Ctrl-C, a full
   disk, a fault of docket's own.
2. The last pass over the tree is made when no process of the run is left.
3. Nothing here decides about a call or a file; the rules do.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

from docket.engines.boundary import Boundary, BoundaryEnd, BoundaryRequest, BoundaryState, BoundaryWorld
from docket.engines.supervise import ending as ends
from docket.engines.supervise import launch as launching
from docket.engines.supervise import measure as measuring
from docket.engines.supervise.hooks import RunHooks, run_hooks
from docket.engines.supervise.pooled import enter_pools
from docket.engines.supervise.request import RunRequest, RunResult, RunWorld
from docket.engines.supervise.session import OpenRun, announce, open_session
from docket.engines.supervise.watch import Breached, Watched, watch
from docket.errors import DocketError, RefusedBeforeStartError, UsageError
from docket.formats.dataclass import dataclass, field, replace
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.session_events import ExitSource, Note
from docket.formats.ledger.spending_events import CapExceeded
from docket.formats.ledger.tree_events import Phase
from docket.formats.reason import Reason
from docket.formats.run import exit_code as codes
from docket.formats.tree.listing import Listing
from docket.host.process import Agent, StopPlan
from docket.rules.agents.interface import LaunchPlan
from docket.rules.boundary.state import LedgerFacts
from docket.rules.providers.registry import Provider, names, provider, with_upstream
from docket.stores.ledger import LedgerWriter
from docket.stores.live import live_folder
from docket.stores.live_boundary import write_boundary

if TYPE_CHECKING:
    from docket.engines.pools.entry import PoolEntry
    from docket.engines.supervise.workspace import Staged


def supervise(request: RunRequest, world: RunWorld) -> RunResult:
    """Run the agent and return how it ended.

    UsageError, RefusedBeforeStartError or UnavailableError only before the session began; afterwards everything ends
    in a result.
    """
    rehearsed = launching.rehearse(request, world)
    reachable(request.upstreams)  # a typed address that is none is a matter of usage, not of policy
    upstreams = {**rehearsed.upstreams, **request.policy.upstreams.mapping(), **request.upstreams}
    try:
        providers = reachable(upstreams)
    except UsageError as error:
        raise RefusedBeforeStartError(error.reason, error.detail, hint=error.hint) from error
    run = OpenRun(request=request, world=world, session=open_session(request, world))
    course = _Course()
    try:
        world.watcher.started(run.session.docket_number)
        announce(run, upstreams)
        _between(run, rehearsed, providers, course)
    except measuring.PassInterruptedError as interrupted:
        course.ending = ends.interrupted_ending(interrupted.number)
    except RefusedBeforeStartError as refused:
        course.fault(str(refused.reason), refused.detail, codes.REFUSED)
        world.watcher.warned(refused.detail if refused.hint is None else f"{refused.detail}; {refused.hint}")
    except DocketError as error:
        course.fault(str(error.reason), error.detail, codes.UNAVAILABLE)
        world.watcher.warned(error.detail)
    except Exception as error:  # noqa: BLE001 - the session has begun: a fault of docket's own must not lose the receipt
        course.fault("internal", f"{type(error).__name__}: {error}", codes.INTERNAL)
        world.watcher.warned(f"a fault in docket: {type(error).__name__}: {error}")
    ready = ends.close_record(run, course.ending, course.settled, course.last)
    return ends.report(run, course.ending, ready)


@dataclass(slots=True)
class _Course:
    """What has become of the run so far; each phase fills its part, so that a fault in one loses no other."""

    ending: ends.Ending = field(
        default_factory=lambda: ends.Ending(exit_code=codes.INTERNAL, exit_source=ExitSource.DOCKET)
    )
    settled: BoundaryEnd | None = None
    last: list[Payload] = field(default_factory=list)

    def fault(self, code: str, detail: str, exit_code: int) -> None:
        """Note a fault of docket's own; a cap that was reached, or a signal, keeps its say."""
        self.last.append(Note(code=f"fault-{code}", message=detail))
        if self.ending.breached is None and not self.ending.interrupted:
            self.ending = ends.Ending(exit_code=exit_code, exit_source=ExitSource.DOCKET)


def _between(run: OpenRun, rehearsed: LaunchPlan, providers: tuple[Provider, ...], course: _Course) -> None:
    """The phases between the announcement and the record's last events."""
    breached = Breached(run.world.signals.wake)
    with ExitStack() as until_settled:
        with ExitStack() as stack:
            pools = enter_pools(run, stack)
            hooks = run_hooks(run)
            if hooks is not None:
                stack.callback(hooks.end)  # behind the boundary's end: no hook comes any more
            boundary = start_boundary(run, rehearsed, providers, breached, Beside(pools=pools, hooks=hooks))
            stack.callback(_settle, boundary, course)
            run, stage, before = _staged_and_measured(run, until_settled)
            if hooks is not None:
                hooks.stage = run.stage
            watched = _agents_time(run, boundary, breached, stack)
            state = boundary.snapshot()
            if state.breach is not None:
                breached.report(state.breach)
            course.ending = ends.ending_of(watched, breached)
            if watched.cap is Reason.MAX_WALL_SECONDS:
                run.session.ledger.append(wall_breach(run, state, watched.detail), control=True)
            run.session.ledger.append(ends.exit_payload(watched), control=True)
        _afterwards(run, before, watched, course, stage)


def _staged_and_measured(run: OpenRun, stack: ExitStack) -> tuple[OpenRun, Staged | None, Listing]:
    """Open the run's transaction and make the pass before; one that keeps contents comes first, for it may refuse."""
    kept = None if run.request.snapshot is None else measuring.measure_before(run)
    stage = _stage(run, stack)
    if stage is not None:
        run = replace(run, stage=stage.opened)
    return run, stage, measuring.measure_before(run) if kept is None else kept


def _stage(run: OpenRun, stack: ExitStack) -> Staged | None:
    """Open the run's transaction, where it is to have one."""
    if run.request.transaction is None:
        return None
    from docket.engines.supervise.workspace import staged  # noqa: PLC0415 - what a stage alone needs

    return stack.enter_context(staged(run))


def _afterwards(run: OpenRun, before: Listing, watched: Watched, course: _Course, stage: Staged | None) -> None:
    """The phases when no process of the run is left: the pass after, and what becomes of what changed."""
    after = measuring.measure(run, Phase.AFTER, since=before)
    differences = measuring.compare(run, before, after)
    if stage is not None:
        from docket.engines.supervise.workspace import landed  # noqa: PLC0415 - what a stage alone needs

        violated = len(measuring.forbidden_changes(run, differences, after))
        if not landed(run, stage, course.ending, (watched.survivors, violated), (after, differences)):
            course.ending = ends.Ending(exit_code=codes.COMMIT_REFUSED, exit_source=ExitSource.DOCKET)
    elif run.request.rollback_on_breach and course.ending.breached is not None:
        from docket.engines.supervise.rollback import roll_back  # noqa: PLC0415 - what a breach alone needs

        event = roll_back(run, differences, course.ending.breached, is_anything_left=watched.survivors > 0)
        course.last += [] if event is None else [event]
    _remark_on_end(run, watched, course)


def _agents_time(run: OpenRun, boundary: Boundary, breached: Breached, stack: ExitStack) -> Watched:
    run_dir = stack.enter_context(live_folder(run.request.layout, run.session.session_id))
    planned = launching.plan(run.request, run.world, (boundary.base_url, boundary.session_url), run_dir)
    if run.request.http_proxy:
        planned = launching.through_proxy(planned, run.request.environ, boundary.base_url)
    write_boundary(run_dir, boundary.base_url)
    agent = launching.launch(run, planned, run_dir, boundary.session_url)
    try:
        watched = watch(run, agent, breached, boundary.refuse_further)
        survivors = _remark_on_survivors(run, agent)
    finally:
        agent.close()
    return replace(watched, survivors=survivors)


def _remark_on_survivors(run: OpenRun, agent: Agent) -> int:
    survivors = agent.stop(StopPlan(grace_seconds=0)).survivors
    if survivors:
        sentence = f"{survivors} processes of the run could not be ended: they belong to another user, or hang"
        run.session.ledger.append(Note(code="survivors", message=sentence), control=True)
        run.world.watcher.warned(sentence)
    return survivors


def _settle(boundary: Boundary, course: _Course) -> None:
    course.settled = boundary.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What a run has beside its boundary, and the boundary uses: its part in pools, and its tool windows."""

    pools: PoolEntry | None = None
    hooks: RunHooks | None = None


def start_boundary(
    run: OpenRun,
    rehearsed: LaunchPlan,
    providers: tuple[Provider, ...],
    breached: Breached,
    beside: Beside,
) -> Boundary:
    """Start the run's boundary, with a token for the agent's calls and one for what it says of itself."""
    asked = BoundaryRequest(
        policy=run.request.policy,
        token=run.world.ids.token(),
        docket_number=run.session.docket_number,
        providers=providers,
        refusal=rehearsed.refusal,
        tolerates_usage_injection=rehearsed.tolerates_usage_injection,
        faults=run.request.faults,
        port=run.request.port,
        http_proxy=run.request.http_proxy,
        session_token=run.world.ids.token(),
        agent_headers=rehearsed.agent_headers,
    )
    around = BoundaryWorld(
        ledger=run.session.ledger,
        clock=run.world.clock,
        book=run.request.book,
        environ=run.request.environ,
        on_breach=breached.report,
        pools=beside.pools,
        responses=run.session.responses,
        ledger_facts=lambda: _facts(run.session.ledger),
        hooks=beside.hooks,
    )
    return run.world.start_boundary(asked, around)


def _facts(ledger: LedgerWriter) -> LedgerFacts:
    failure = ledger.failure
    return LedgerFacts(
        events=ledger.durable_events,
        size_bytes=ledger.size_bytes,
        is_full=ledger.is_full,
        failure=None if failure is None else failure.detail,
    )


def reachable(upstreams: Mapping[str, str]) -> tuple[Provider, ...]:
    """Return the known providers and the named ones, each at the upstream that was asked for."""
    known = tuple(provider(name) for name in names() if name not in upstreams)
    return (*known, *(with_upstream(name, url) for name, url in sorted(upstreams.items())))


def wall_breach(run: OpenRun, state: BoundaryState, detail: str) -> CapExceeded:
    """Return the event of a run that has lasted as long as it may."""
    seconds = (run.world.clock.monotonic_ns() - run.session.started_ns) // 1_000_000_000
    return CapExceeded(
        cap=str(Reason.MAX_WALL_SECONDS),
        limit=str(run.request.policy.caps.max_wall_seconds),
        used=str(seconds),
        cost_usd=state.spent,
        tokens=state.tokens,
        calls=state.calls,
        action="kill",
        detail=detail,
    )


def _remark_on_end(run: OpenRun, watched: Watched, course: _Course) -> None:
    """Say why the agent never ran, or that no call of it arrived: it may have spoken to its provider directly."""
    settled = course.settled
    if watched.exit.failure is not None:
        run.session.ledger.append(Note(code=str(watched.exit.failure), message=watched.exit.detail), control=True)
        run.world.watcher.warned(watched.exit.detail)
    elif settled is not None and settled.state.admitted + settled.state.denied == 0:
        sentence = "no model call of the agent arrived at the boundary"
        run.session.ledger.append(Note(code="no-calls", message=sentence), control=True)
        run.world.watcher.warned(f"{sentence}: if it made any, docket neither saw nor limited them")
