"""Carrying out `docket run`: from what was asked to a run request, and from its result to words and an exit code."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from docket.engines.supervise.request import RunRequest, RunResult, RunWorld
from docket.engines.supervise.run import supervise
from docket.errors import UnavailableError, UsageError
from docket.formats import lenient
from docket.formats.dataclass import dataclass
from docket.formats.proof.checkpoint import HEAD_WORD, head_words
from docket.formats.run.policy import Policy
from docket.host.clock import SystemClock
from docket.host.ids import SystemIds
from docket.host.isolation import adopt_orphans, protect_supervisor
from docket.host.regular_file import read_regular_file
from docket.host.signals import Signals
from docket.rules.agents.registry import recognise
from docket.rules.proof.vouching import NO_VOUCHER
from docket.stores.layout import Layout
from docket.surfaces.cli import console, wiring
from docket.surfaces.cli.anchoring import anchor_head, try_anchors
from docket.surfaces.cli.key_choice import KeysAsked, voucher_for
from docket.surfaces.cli.policies import decide_policy, own_policy_vouches, snapshot_limits
from docket.surfaces.cli.pool_access import check_pools, enter_pools
from docket.surfaces.cli.pricebook import book_in_force
from docket.surfaces.cli.progress import RunProgress
from docket.surfaces.cli.project import layout_at, run_folder, warn_of_unfinished
from docket.surfaces.cli.transactions import transaction_asked, transaction_world
from docket.surfaces.render import figures, text, workspace

if TYPE_CHECKING:
    from docket.rules.drills.faults import FaultPlan

_MAX_FAULT_FILE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RunArguments:
    """The command line of `docket run`, as typed."""

    command: tuple[str, ...]
    policy: Path | None
    max_usd: str | None
    max_tokens: int | None
    max_calls: int | None
    max_minutes: str | None
    on_breach: str | None
    admission: str | None
    budget_mode: str | None
    agent: str | None
    max_repeats: int | None
    max_calls_per_minute: int | None
    faults: str | None
    fault_seed: int
    upstreams: Mapping[str, str]
    prices: Path | None
    label: str | None
    cwd: Path | None
    docket_dir: Path | None
    port: int
    http_proxy: bool
    report: str
    as_json: bool
    quiet: bool
    pool: tuple[str, ...]
    max_usd_per_model: tuple[str, ...]
    max_usd_per_agent: tuple[str, ...]
    allow_model: tuple[str, ...]
    deny_model: tuple[str, ...]
    cache: bool
    cache_ttl: str | None
    cache_max_hits: int | None
    record_responses: bool
    snapshot: bool | None
    snapshot_max_bytes: int | None
    snapshot_max_file_bytes: int | None
    rollback_on_breach: bool
    windows: bool | None
    workspace_tx: bool
    workspace_tx_exclude: tuple[str, ...]
    workspace_tx_share: tuple[str, ...]
    workspace_tx_protect: tuple[str, ...]
    workspace_tx_approve: bool
    workspace_tx_backend: str | None
    workspace_tx_settle: str | None
    sign: str | None
    seal: bool
    seal_key: Path | None
    anchors: tuple[str, ...] = ()

    def flags(self) -> dict[str, object]:
        """Return what the flags say of the policy, by the names `Overrides.parse` knows."""
        names = ("max_usd", "max_tokens", "max_calls", "max_minutes", "max_repeats", "max_calls_per_minute")
        choices = ("on_breach", "admission", "budget_mode")
        models = {"allow_models": self.allow_model, "deny_models": self.deny_model}
        budgets = {"pools": self.pool, "per_model": self.max_usd_per_model, "per_agent": self.max_usd_per_agent}
        keeping = {
            "http_proxy": self.http_proxy,
            "cache": self.cache or None,
            "cache_ttl": self.cache_ttl,
            "cache_max_hits": self.cache_max_hits,
            "record_responses": self.record_responses or None,
            "rollback_on_breach": self.rollback_on_breach or None,
        }
        snapshot = ("snapshot", "snapshot_max_bytes", "snapshot_max_file_bytes")
        stage = tuple(f"workspace_tx_{name}" for name in ("backend", "settle", "exclude", "share", "protect"))
        keeping["workspace_tx"] = self.workspace_tx or self.workspace_tx_approve or None
        plain = (*names, *choices, *snapshot, *stage, "windows")
        return {name: getattr(self, name) for name in plain} | models | budgets | keeping


def carry_out(asked: RunArguments) -> int:
    """Run the agent and return docket's exit code."""
    protect_supervisor()  # before a key is read
    request = build_request(asked)
    if asked.policy is not None and request.voucher == NO_VOUCHER and own_policy_vouches():
        console.warn("nobody's key vouches for this run: --policy stands in place of your own policy, which names one")
    try_anchors(asked.anchors, request.cwd)
    warn_of_unfinished(request.layout)
    adopt_orphans()
    progress = RunProgress(headline(request), quiet=asked.quiet)
    if request.faults is not None:
        progress.warned(f"this run is a drill: into its calls go the faults {'; '.join(request.faults.spec)}")
    for remark in request.remarks:
        progress.warned(remark.replace(f"{request.cwd}/", ""))
    with Signals() as signals:
        result = supervise(request, world_of(request.layout, request.cwd, signals, progress))
        try:
            tell(asked, result)
        except Exception as error:  # noqa: BLE001 - the run is over, and its exit code is its own
            console.warn(f"the summary cannot be shown: {console.plain(repr(error))}")
        anchor_head(asked.anchors, result, request.voucher)
        _tidy_windows(request)
    return result.exit_code


def _tidy_windows(request: RunRequest) -> None:
    """Let the store of the project's tool windows keep to its limits, when all of the run is done and told."""
    from docket.surfaces.hooks.upkeep import tidy_after_run  # noqa: PLC0415 - when all is done

    tidy_after_run(request.cwd, None if request.layout.is_split else request.layout.docket_dir)


def build_request(asked: RunArguments) -> RunRequest:
    """Resolve everything a run needs; RefusedBeforeStartError or UsageError name what is wrong."""
    cwd = run_folder(asked.cwd)
    layout = layout_at(cwd, asked.docket_dir)
    decided = decide_policy(cwd, asked.policy, asked.flags())
    check_pools(decided.policy)
    book = book_in_force(asked.prices)
    return RunRequest(
        argv=asked.command,
        environ=dict(os.environ),
        cwd=cwd,
        policy=decided.policy,
        policy_source=decided.source,
        protected=decided.protected,
        remarks=decided.remarks,
        recipe=recognise(asked.command, asked.agent),
        upstreams=asked.upstreams,
        label=asked.label,
        port=asked.port,
        layout=layout,
        book=book,
        host_facts=wiring.host_facts(),
        faults=None if asked.faults is None else fault_plan(asked.faults, asked.fault_seed),
        http_proxy=asked.http_proxy,
        snapshot=snapshot_limits(decided.policy.snapshot),
        rollback_on_breach=decided.policy.snapshot.rollback_on_breach,
        transaction=transaction_asked(decided.policy, layout, approved=asked.workspace_tx_approve),
        hook_command=wiring.HOOK_COMMAND if decided.policy.windows.enabled else (),
        voucher=voucher_for(KeysAsked(sign=asked.sign, seal=asked.seal, seal_key=asked.seal_key), decided.policy, cwd),
    )


def fault_plan(asked: str, seed: int) -> FaultPlan:
    """Return the faults that were asked for, as rules or as a file of them; UsageError for what cannot be read."""
    from docket.rules.drills.faults import parse_fault_file, parse_faults  # noqa: PLC0415 - a drill's alone

    if not asked.endswith(".toml"):
        return parse_faults(asked, seed)
    try:
        return parse_fault_file(read_regular_file(Path(asked), _MAX_FAULT_FILE_BYTES), asked, seed)
    except UnavailableError as error:
        raise UsageError(error.reason, f"--faults: {error.detail}") from error


def world_of(layout: Layout, cwd: Path, signals: Signals, progress: RunProgress) -> RunWorld:
    """Return the machine as the ports of a run."""
    return RunWorld(
        clock=SystemClock(),
        ids=SystemIds(),
        signals=signals,
        watcher=progress,
        start_boundary=wiring.start_boundary,
        observe=wiring.observer(layout),
        spawn=wiring.spawn,
        read_file=wiring.file_reader(cwd),
        enter_pools=enter_pools(),
        transactions=lambda: transaction_world(layout),
        windows=wiring.windows,
    )


def headline(request: RunRequest) -> str:
    """Return the run's first line: what bounds it and which agent it is."""
    return f"{bounds(request.policy)}  {request.recipe.name}"


def bounds(policy: Policy) -> str:
    """Return the caps in force in a few words."""
    caps = policy.caps
    named = [f"${caps.max_usd} ({policy.budget.admission})"] if caps.max_usd is not None else []
    named += [f"{caps.max_model_calls} calls"] if caps.max_model_calls is not None else []
    named += [f"{caps.max_tokens:,} tokens"] if caps.max_tokens is not None else []
    named += [lasting(caps.max_wall_seconds)] if caps.max_wall_seconds is not None else []
    named += [figures.plural(caps.max_repeats, "repeat")] if caps.max_repeats is not None else []
    named += [f"${one.max_usd} for {one.pattern}" for one in (*caps.per_model, *caps.per_agent) if one.max_usd]
    named += [f"pool {name}" for name in policy.budget.pools]
    return f"cap {', '.join(named)}" if named else "no cap"


def lasting(seconds: int) -> str:
    """Return whole minutes as minutes, anything else as seconds."""
    return f"{seconds} s" if seconds % 60 else f"{seconds // 60} min"


def tell(asked: RunArguments, result: RunResult) -> None:
    """Say how the run ended and where its record stands."""
    for problem in _problems(result):
        console.warn(console.plain(problem))
    if not asked.as_json and not asked.quiet and result.receipt is not None:
        for line in workspace.block(result.receipt):
            console.note(console.plain(line))
    if asked.as_json:
        console.note(console.as_json(_members(result), indent=None))
        return
    if result.receipt is None:
        console.warn(f"no receipt could be written; the ledger stands at {console.plain(str(result.ledger_path))}")
        return
    if asked.report == "none" or (asked.quiet and asked.report == "summary"):
        return
    if asked.report == "full":
        wiring.print_report(result.receipt)
    else:
        for line in text.summary(result.receipt):
            console.say(console.plain(line))
    console.say(f"receipt {console.plain(_shown(result.receipt_path))}")
    if result.head is not None:
        console.say(f"{HEAD_WORD} {head_words(result.head)}")


def _members(result: RunResult) -> dict[str, object]:
    receipt = result.receipt or {}
    return {
        "docket_number": result.docket_number,
        "exit_code": result.exit_code,
        "exit_source": str(result.exit_source),
        "breached": lenient.part(receipt, "session", "breached"),
        "cost_usd": lenient.part(receipt, "totals", "cost_usd"),
        "calls": lenient.part(receipt, "model_calls", "count"),
        "receipt": None if result.receipt_path is None else str(result.receipt_path),
        "ledger": str(result.ledger_path),
        "head": None if result.head is None else head_words(result.head),
        "problems": _problems(result),
        **({"workspace": receipt["workspace"]} if "workspace" in receipt else {}),
    }


def _problems(result: RunResult) -> list[str]:
    gap = "" if result.receipt is None else figures.gap(result.receipt)
    return [*(problem.detail for problem in result.problems), *([gap] if gap else [])]


def _shown(path: Path | None) -> str:
    """Return a path the short way where it lies below the current folder."""
    if path is None:
        return "nowhere"
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):  # elsewhere, or the current folder is gone
        return str(path)
