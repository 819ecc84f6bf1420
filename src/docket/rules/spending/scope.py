"""What a limit is about, where it is not the whole run: the models of a pattern, one agent, a pool.

Rules:
1. A call counts in every sub-budget whose pattern its requested model matches, and in that of the agent it is of.
2. A request without a sub-agent's name is of `main`; one with a name is of `sub:` and that name.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from docket.formats.dataclass import dataclass
from docket.formats.reason import Reason

MAIN_AGENT = "main"
SUB_AGENT = "sub:"


class ScopeKind(StrEnum):
    """What a scope names."""

    MODEL = "model"
    AGENT = "agent"
    POOL = "pool"


@dataclass(frozen=True, slots=True)
class Scope:
    """A part of the run that has a budget of its own; `name` is a pattern of models, an agent or a pool."""

    kind: ScopeKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Whose(NamedTuple):
    """Whose call it is: the requested model, the agent that makes it."""

    model: str = "unknown"
    agent: str = MAIN_AGENT


NOBODY = Whose()


class Crossing(NamedTuple):
    """A limit that something lies beyond; `scope` None is the run itself."""

    cap: Reason
    scope: Scope | None = None

    @property
    def words(self) -> str:
        """The limit as a sentence names it."""
        return f"the cap {self.cap}" if self.scope is None else f"the cap {self.cap} of {self.scope}"
