"""What a person reads of a cap: why a call does not fit, what crossed it, what can be done."""

from __future__ import annotations

from collections.abc import Mapping

from docket.formats.reason import Reason
from docket.formats.run.policy_spending import Admission
from docket.rules.spending.caps import amount_text
from docket.rules.spending.reservation import Account, Claim
from docket.rules.spending.scope import Crossing, Scope, ScopeKind

FLAGS: Mapping[Reason, str] = {
    Reason.MAX_USD: "--max-usd",
    Reason.MAX_TOKENS: "--max-tokens",
    Reason.MAX_MODEL_CALLS: "--max-calls",
    Reason.MAX_WALL_SECONDS: "--max-minutes",
    Reason.MAX_REPEATS: "--max-repeats",
}
_SUB_FLAGS: Mapping[ScopeKind, str] = {
    ScopeKind.MODEL: "--max-usd-per-model",
    ScopeKind.AGENT: "--max-usd-per-agent",
}
_UNITS: Mapping[Reason, str] = {
    Reason.MAX_USD: "US dollars",
    Reason.MAX_TOKENS: "tokens",
    Reason.MAX_MODEL_CALLS: "model calls",
}


def no_room(account: Account, claim: Claim, crossing: Crossing) -> str:
    """Return why a call does not fit."""
    cap = crossing.cap
    asked = claim.worst if account.admission is Admission.STRICT else claim.likely
    limit, spent = amount_text(cap, account.caps.limit), amount_text(cap, account.spent)
    parts = [f"{_limit(crossing, limit)} leaves no room for this call: {spent} used"]
    if account.holds and account.admission is not Admission.CEILING:
        parts.append(f"{amount_text(cap, account.held)} held by {len(account.holds)} running")
    if cap is not Reason.MAX_MODEL_CALLS and account.admission is not Admission.CEILING:
        word = "may cost up to" if account.admission is Admission.STRICT else "needs about"
        parts.append(f"the call {word} {amount_text(cap, asked)}")
    return ", ".join(parts)


def crossed(account: Account, crossing: Crossing, *, reported: bool) -> str:
    """Return what a settled call did to a cap."""
    cap = crossing.cap
    once = (
        "the provider had reported what the call used"
        if reported
        else "the call's use had been estimated, for the provider did not report it to the end"
    )
    limit = _limit(crossing, account.caps.limit_text(cap))
    return f"{limit} was crossed: {amount_text(cap, account.spent)} used once {once}"


def remedy(cap: Reason, scope: Scope | None) -> str:
    """Return what a person can do about a cap, in one sentence."""
    if scope is None:
        return f"Run again with a higher {FLAGS[cap]} to go on."
    if scope.kind is ScopeKind.POOL:
        return f"docket pools show {scope.name} says who used it; docket pools set {scope.name} gives it more."
    what = "models" if scope.kind is ScopeKind.MODEL else "agents"
    return f"Other {what} may go on; {_SUB_FLAGS[scope.kind]} or caps.per_{scope.kind} of the policy gives it more."


def _limit(crossing: Crossing, limit: str) -> str:
    unit = _UNITS[crossing.cap]
    if crossing.scope is None:
        return f"{crossing.words} of {limit} {unit}"
    return f"{crossing.words} ({limit} {unit})"
