"""A run for a session that stands in none: the machine as its ports, the policy files as `docket run` reads them."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from docket.engines.supervise.inside import InsideRun, begin
from docket.engines.supervise.request import RunRequest, RunWorld
from docket.errors import UsageError
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.host.clock import SystemClock
from docket.host.ids import SystemIds
from docket.host.process import Agent, SpawnRequest
from docket.rules.agents.registry import recognise
from docket.stores.layout import Layout
from docket.surfaces.cli import wiring
from docket.surfaces.cli.policies import decide_policy, snapshot_limits
from docket.surfaces.cli.pool_access import check_pools, enter_pools
from docket.surfaces.cli.pricebook import book_in_force
from docket.surfaces.cli.project import layout_at, run_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnRun:
    """What a run of a session's own is asked to be; `limits` are the flags of `docket run`, by name."""

    policy: Path | None = None
    limits: Mapping[str, object] = field(default_factory=dict)
    upstreams: Mapping[str, str] = field(default_factory=dict)
    prices: Path | None = None
    label: str | None = None
    cwd: Path | None = None
    docket_dir: Path | None = None


def begin_alone(asked: OwnRun) -> InsideRun:
    """Begin the run; UsageError, RefusedBeforeStartError or UnavailableError say why it cannot be."""
    cwd = run_folder(asked.cwd, "cwd=")
    layout = layout_at(cwd, asked.docket_dir)
    decided = decide_policy(cwd, asked.policy, asked.limits)
    check_pools(decided.policy)
    argv = tuple(sys.orig_argv) or (sys.executable,)
    request = RunRequest(
        argv=argv,
        environ=dict(os.environ),
        cwd=cwd,
        policy=decided.policy,
        policy_source=decided.source,
        protected=decided.protected,
        remarks=(*decided.remarks, *_keyless(decided.policy)),
        recipe=recognise(argv, "generic"),
        upstreams=asked.upstreams,
        label=asked.label,
        port=0,
        layout=layout,
        book=book_in_force(asked.prices),
        host_facts=wiring.host_facts(),
        snapshot=snapshot_limits(decided.policy.snapshot),
        rollback_on_breach=decided.policy.snapshot.rollback_on_breach,
    )
    return begin(request, _world(layout, cwd))


def _keyless(policy: Policy) -> tuple[str, ...]:
    """Return what is not followed of a policy's keys: the process of a session is the agent, and would hold them."""
    named = (("proof.sign", bool(policy.proof.sign)), ("proof.seal", policy.proof.seal))
    return tuple(
        f"{key} is not followed in a session: its own process would hold the key" for key, is_set in named if is_set
    )


def _world(layout: Layout, cwd: Path) -> RunWorld:
    return RunWorld(
        clock=SystemClock(),
        ids=SystemIds(),
        signals=_NoSignals(),
        watcher=_Nobody(),
        start_boundary=wiring.start_boundary,
        observe=wiring.observer(layout),
        spawn=_no_spawn,
        read_file=wiring.file_reader(cwd),
        enter_pools=enter_pools(),
    )


class _NoSignals:
    """A library takes no signals: they are the program's own."""

    def wait(self, timeout_seconds: float | None) -> tuple[int, ...]:  # noqa: ARG002 - the port's signature
        """None come."""
        return ()

    def wake(self) -> None:
        """Nobody waits."""


class _Nobody:
    """A library says nothing on its own."""

    def started(self, docket_number: str) -> None:
        """Not told."""

    def scanned(self, files: int, size_bytes: int) -> None:
        """Not told."""

    def scan_ended(self) -> None:
        """Not told."""

    def warned(self, sentence: str) -> None:
        """Not told; what matters stands in the record."""

    def stopping(self, sentence: str) -> None:
        """Not told."""


def _no_spawn(request: SpawnRequest) -> Agent:
    raise UsageError(Reason.USAGE, f"a session within a process starts nothing, and not {request.argv[0]}")
