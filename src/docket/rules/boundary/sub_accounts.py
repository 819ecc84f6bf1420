"""The accounts of a run's sub-budgets: one for each pattern of models, one for each agent.

Rules:
1. A sub-budget is held by the same account, under the same admission, as the run's own caps.
2. An agent's limits are, each by itself, the least of all patterns that match it.
3. At most `_MAX_AGENTS` sub-agents have accounts of their own. Who comes later counts in one account for each pattern
   that matches, which all of them share, so that an agent that invents names gains neither memory nor money. The main
   agent always has its own.

Which of them a refusal names, and what it does to the run, is `admission`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from docket.formats.amount import Usd
from docket.formats.ledger.spending_events import ScopeUse
from docket.formats.run.policy import Policy
from docket.formats.run.sub_budgets import SubBudget
from docket.rules.spending.caps import Caps
from docket.rules.spending.reservation import Account
from docket.rules.spending.scope import MAIN_AGENT, Scope, ScopeKind, Whose

_MAX_AGENTS = 1024


class SubAccounts:
    """The latest account of every scope that has been met; they are replaced, never changed."""

    def __init__(self, policy: Policy) -> None:
        self.accounts: dict[Scope, Account] = {}
        self._policy = policy
        self._agents: dict[str, Scope] = {}
        self._models = [(one, Scope(ScopeKind.MODEL, one.pattern)) for one in policy.caps.per_model]

    def of(self, whose: Whose) -> tuple[Scope, ...]:
        """Return the scopes that a call counts in, those of its model first."""
        if not self._models and not self._policy.caps.per_agent:
            return ()
        found = [scope for budget, scope in self._models if self._matched(budget, scope, whose.model)]
        return (*found, *self._of_agent(whose.agent))

    def uses(self) -> Iterator[ScopeUse]:
        """Yield how each sub-budget held, in the order of kind and name."""
        for scope in sorted(self.accounts, key=lambda one: (one.kind, one.name)):
            account = self.accounts[scope]
            yield ScopeUse(
                scope=scope.kind,
                name=scope.name,
                cap_usd=account.caps.usd,
                cap_tokens=account.caps.tokens,
                cap_calls=account.caps.calls,
                spent_usd=Usd(account.spent.micros),
                tokens=account.spent.tokens,
                calls=account.spent.calls,
                bound_usd=Usd(account.bound_micros),
            )

    def _matched(self, budget: SubBudget, scope: Scope, model: str) -> bool:
        if not budget.matches(model):
            return False
        if scope not in self.accounts:
            self._open(scope, (budget,))
        return True

    def _of_agent(self, name: str) -> tuple[Scope, ...]:
        own = self._agents.get(name)
        if own is not None:
            return (own,)
        # A name that no budget is for is not remembered: it would take the place of one that has a budget.
        budgets = [one for one in self._policy.caps.per_agent if one.matches(name)]
        if not budgets:
            return ()
        if len(self._agents) >= _MAX_AGENTS and name != MAIN_AGENT:
            return tuple(self._shared(budget) for budget in budgets)
        own = self._agents[name] = Scope(ScopeKind.AGENT, name)
        self._open(own, budgets)
        return (own,)

    def _shared(self, budget: SubBudget) -> Scope:
        scope = Scope(ScopeKind.AGENT, budget.pattern)
        if scope not in self.accounts:
            self._open(scope, (budget,))
        return scope

    def _open(self, scope: Scope, budgets: Sequence[SubBudget]) -> None:
        caps = Caps(
            usd=min((one.max_usd for one in budgets if one.max_usd is not None), default=None),
            tokens=min((one.max_tokens for one in budgets if one.max_tokens is not None), default=None),
            calls=min((one.max_model_calls for one in budgets if one.max_model_calls is not None), default=None),
            warn_at=self._policy.caps.warn_at,
        )
        self.accounts[scope] = Account(caps=caps, admission=self._policy.budget.admission)
