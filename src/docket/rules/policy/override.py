"""What the flags of a command line make of a policy: the person who types has the last word.

Rules:
1. A flag replaces the key it names, and one that tunes the cache or the snapshot switches it on; `--deny-model` and
   `--pool` add to what the policy lists, for a flag never un-denies; a sub-budget of a flag replaces the dollars of the
   pattern it names.
2. A flag that cannot mean anything is a usage error naming the flag.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from docket.errors import InvalidDocumentError, UsageError
from docket.formats.amount import Usd
from docket.formats.dataclass import dataclass, replace
from docket.formats.reason import Reason
from docket.formats.run.policy import (
    KEYS,
    Admission,
    BudgetMode,
    CachePolicy,
    OnBreach,
    Policy,
    SnapshotPolicy,
    WorkspaceBackend,
    WorkspacePolicy,
    WorkspaceSettle,
)
from docket.formats.run.sub_budgets import SubBudget

_KINDS = {key.path: key.kind for key in KEYS}
_FLAGS: Mapping[str, str] = {
    "max_usd": "caps.max_usd",
    "max_tokens": "caps.max_tokens",
    "max_calls": "caps.max_model_calls",
    "max_repeats": "caps.max_repeats",
    "max_calls_per_minute": "resilience.max_calls_per_minute",
    "on_breach": "caps.on_breach",
    "budget_mode": "budget.mode",
    "admission": "budget.admission",
    "pools": "budget.pools",
    "allow_models": "models.allow",
    "deny_models": "models.deny",
    "cache": "cache.enabled",
    "cache_ttl": "cache.ttl_seconds",
    "cache_max_hits": "cache.max_hits",
    "record_responses": "evidence.record_responses",
    "snapshot": "snapshot.enabled",
    "snapshot_max_bytes": "snapshot.max_bytes",
    "snapshot_max_file_bytes": "snapshot.max_file_bytes",
    "rollback_on_breach": "snapshot.rollback_on_breach",
    "windows": "windows.enabled",
    "workspace_tx": "workspace.transaction",
    "workspace_tx_backend": "workspace.backend",
    "workspace_tx_settle": "workspace.settle",
    "workspace_tx_exclude": "workspace.exclude",
    "workspace_tx_share": "workspace.share",
    "workspace_tx_protect": "workspace.protect",
}
_FLAG_NAMES = {
    "pools": "--pool",
    "per_model": "--max-usd-per-model",
    "per_agent": "--max-usd-per-agent",
    "allow_models": "--allow-model",
    "deny_models": "--deny-model",
}
_MAX_MINUTES = Decimal(10**7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """What was said by flags; None where nothing was. `max_seconds` is the wall clock's cap."""

    max_usd: Usd | None = None
    max_tokens: int | None = None
    max_calls: int | None = None
    max_seconds: int | None = None
    max_repeats: int | None = None
    max_calls_per_minute: int | None = None
    on_breach: OnBreach | None = None
    budget_mode: BudgetMode | None = None
    admission: Admission | None = None
    pools: tuple[str, ...] | None = None
    per_model: tuple[SubBudget, ...] | None = None
    per_agent: tuple[SubBudget, ...] | None = None
    allow_models: tuple[str, ...] | None = None
    deny_models: tuple[str, ...] | None = None
    cache: bool | None = None
    cache_ttl: Decimal | None = None
    cache_max_hits: int | None = None
    record_responses: bool | None = None
    snapshot: bool | None = None
    snapshot_max_bytes: int | None = None
    snapshot_max_file_bytes: int | None = None
    rollback_on_breach: bool | None = None
    windows: bool | None = None
    workspace_tx: bool | None = None
    workspace_tx_backend: WorkspaceBackend | None = None
    workspace_tx_settle: WorkspaceSettle | None = None
    workspace_tx_exclude: tuple[str, ...] | None = None
    workspace_tx_share: tuple[str, ...] | None = None
    workspace_tx_protect: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, flags: Mapping[str, object]) -> Overrides:
        """Read flags by their names (`max_usd`, `max_calls`, `max_minutes` …), None where not given.

        `max_minutes` may have a fraction; it is rounded down to a whole second. UsageError names a wrong flag.
        """
        values: dict[str, Any] = {}
        for name, path in _FLAGS.items():
            given = flags.get(name)
            if given is not None and given != ():
                values[name] = _read(name, given, _KINDS[path].from_toml)
        for name in ("per_model", "per_agent"):
            if flags.get(name):
                values[name] = _sub_budgets(name, flags[name])
        minutes = flags.get("max_minutes")
        if minutes is not None:
            values["max_seconds"] = _seconds(minutes)
        return cls(**values)


def override(policy: Policy, overrides: Overrides) -> Policy:
    """Return the policy with the flags put over it; UsageError where they contradict it."""
    caps = _changed(
        policy.caps,
        max_usd=overrides.max_usd,
        max_tokens=overrides.max_tokens,
        max_model_calls=overrides.max_calls,
        max_wall_seconds=overrides.max_seconds,
        max_repeats=overrides.max_repeats,
        on_breach=overrides.on_breach,
    )
    for name in ("per_model", "per_agent"):
        caps = replace(caps, **{name: _over(getattr(caps, name), getattr(overrides, name) or ())})
    pools = tuple(dict.fromkeys((*policy.budget.pools, *(overrides.pools or ()))))
    budget = _changed(policy.budget, mode=overrides.budget_mode, admission=overrides.admission, pools=pools)
    denied = tuple(dict.fromkeys((*policy.models.deny, *(overrides.deny_models or ()))))
    resilience = _changed(policy.resilience, max_calls_per_minute=overrides.max_calls_per_minute)
    models = _changed(policy.models, allow=overrides.allow_models, deny=denied)
    evidence = _changed(policy.evidence, record_responses=overrides.record_responses)
    try:
        return replace(
            policy,
            caps=caps,
            cache=_cache(policy.cache, overrides),
            budget=budget,
            models=models,
            resilience=resilience,
            evidence=evidence,
            snapshot=_snapshot(policy.snapshot, overrides),
            windows=_changed(policy.windows, enabled=overrides.windows),
            workspace=_workspace(policy.workspace, overrides),
        )
    except InvalidDocumentError as error:
        raise UsageError(
            Reason.USAGE, error.detail, hint="change --max-usd or --budget-mode, or the policy they stand over"
        ) from error


def _cache(section: CachePolicy, overrides: Overrides) -> CachePolicy:
    """Return the cache section; a flag that tunes the cache switches it on, as its key in a file does."""
    tuned = _changed(section, ttl_seconds=overrides.cache_ttl, max_hits=overrides.cache_max_hits)
    asked = overrides.cache or overrides.cache_ttl is not None or overrides.cache_max_hits is not None
    return replace(tuned, enabled=True) if asked else section


def _snapshot(section: SnapshotPolicy, overrides: Overrides) -> SnapshotPolicy:
    """Return the snapshot section; a flag that tunes the snapshot, or means to roll back, switches it on."""
    changes = {
        "max_bytes": overrides.snapshot_max_bytes,
        "max_file_bytes": overrides.snapshot_max_file_bytes,
        "rollback_on_breach": overrides.rollback_on_breach,
    }
    stated = {name: value for name, value in changes.items() if value is not None}
    if overrides.snapshot is False:
        if stated:
            detail = "--no-snapshot keeps no contents, and another flag asks for a snapshot"
            raise UsageError(Reason.USAGE, detail, hint="name the one or the other")
        return replace(section, enabled=False, rollback_on_breach=False)
    return _changed(section, enabled=True, **stated) if stated or overrides.snapshot else section


def _workspace(section: WorkspacePolicy, overrides: Overrides) -> WorkspacePolicy:
    """Return the workspace section; a flag that shapes the transaction asks for one, and its patterns come on top."""
    tuned = _changed(section, backend=overrides.workspace_tx_backend, settle=overrides.workspace_tx_settle)
    added = {
        "exclude": overrides.workspace_tx_exclude,
        "share": overrides.workspace_tx_share,
        "protect": overrides.workspace_tx_protect,
    }
    for name, patterns in added.items():
        tuned = replace(tuned, **{name: tuple(dict.fromkeys((*getattr(tuned, name), *(patterns or ()))))})
    asked = (overrides.workspace_tx, overrides.workspace_tx_backend, overrides.workspace_tx_settle, *added.values())
    return replace(tuned, transaction=True) if any(asked) else section


def _changed(section: Any, **values: object) -> Any:  # noqa: ANN401 - any section, and back the same
    return replace(section, **{name: value for name, value in values.items() if value is not None})


def _read(name: str, given: object, read: Callable[[object], object]) -> object:
    value = (
        int(given) if isinstance(given, str) and name in ("max_tokens", "max_calls") and given.isdecimal() else given
    )
    listed = tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
    try:
        return read(listed)
    except InvalidDocumentError as error:
        flag = _FLAG_NAMES.get(name, f"--{name.replace('_', '-')}")
        raise UsageError(Reason.USAGE, f"{flag} {error.detail}") from error


def _sub_budgets(name: str, given: object) -> tuple[SubBudget, ...]:
    """Read `PATTERN=USD`, for agents also `USD` alone, which is for each of them."""
    table: dict[str, str] = {}
    for text in given if isinstance(given, tuple) else ():
        pattern, equals, amount = str(text).rpartition("=")
        if not equals and name == "per_agent":
            pattern = "*"
        elif not equals or not pattern:
            wanted = "PATTERN=USD, as in '*opus*=2.00'"
            raise UsageError(Reason.USAGE, f"{_FLAG_NAMES[name]}: {str(text)[:60]!r} is not {wanted}")
        if pattern in table:
            raise UsageError(Reason.USAGE, f"{_FLAG_NAMES[name]} names {pattern!r} twice")
        table[pattern] = amount
    return _read(name, table, _KINDS[f"caps.{name}"].from_toml)  # type: ignore[return-value]


def _over(budgets: tuple[SubBudget, ...], flagged: tuple[SubBudget, ...]) -> tuple[SubBudget, ...]:
    """Return the budgets with the flags' dollars put over those of the same pattern."""
    merged = {one.pattern.lower(): one for one in budgets}
    for one in flagged:
        mine = merged.get(one.pattern.lower())
        merged[one.pattern.lower()] = one if mine is None else replace(mine, max_usd=one.max_usd)
    return tuple(sorted(merged.values(), key=lambda one: one.pattern))


def _seconds(minutes: object) -> int:
    try:
        seconds = Decimal(str(minutes)) * 60
        whole = int(seconds) if 1 <= seconds <= _MAX_MINUTES * 60 else 0
    except (ArithmeticError, ValueError):
        whole = 0
    if whole < 1:
        raise UsageError(
            Reason.USAGE, f"--max-minutes must be a number of minutes such as 20 or 0.5, not {str(minutes)[:40]}"
        )
    return whole
