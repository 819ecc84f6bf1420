"""The policy of a run: which files are read, and what the flags and the file in the tree make of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from docket.errors import InvalidDocumentError, RefusedBeforeStartError
from docket.formats.amount import Usd
from docket.formats.run.policy import Policy, Admission, OnBreach, BudgetMode
from docket.formats.run.policy_toml import parse_policy

if TYPE_CHECKING:
    from docket.surfaces.cli.running import Asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    policy: Policy
    source: str | None
    protected: tuple[str, ...]
    remarks: tuple[str, ...]


def effective_policy(asked: Asked, cwd: Path) -> Decided:
    try:
        pol = Policy() if asked.policy is None else parse_policy(asked.policy.read_bytes(), str(asked.policy))
        caps = pol.caps
        if asked.max_usd: caps = replace(caps, max_usd=Usd.parse(asked.max_usd))
        if asked.max_tokens is not None: caps = replace(caps, max_tokens=asked.max_tokens)
        if asked.max_calls is not None: caps = replace(caps, max_model_calls=asked.max_calls)
        if asked.max_minutes is not None: caps = replace(caps, max_wall_seconds=round(float(asked.max_minutes)*60))
        if asked.on_breach: caps = replace(caps, on_breach=OnBreach(asked.on_breach))
        bud = pol.budget
        if asked.admission: bud = replace(bud, admission=Admission(asked.admission))
        if asked.budget_mode: bud = replace(bud, mode=BudgetMode(asked.budget_mode))
        pol = replace(pol, caps=caps, budget=bud)
    except InvalidDocumentError as error:
        raise RefusedBeforeStartError(error.reason, error.detail) from error
    return Decided(policy=pol, source=None if asked.policy is None else str(asked.policy), protected=(), remarks=())
