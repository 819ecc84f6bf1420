"""The launch recipe for any other program: every variable a client might read, and nothing else.

A program that reads none of them goes straight to its provider; then no call arrives, and the run says so at its end.
"""

from __future__ import annotations

from docket.formats.dataclass import dataclass, field
from docket.rules.agents.environment import FULL, no_proxy, pointing
from docket.rules.agents.interface import AgentFacts, LaunchPlan, LaunchRequest

_GENERIC = AgentFacts(
    title="any other program",
    program="",
    tried=(),
    reached="every variable a client of a provider might read",
    token="in the address, from the environment",  # noqa: S106 - where it stands
    retries="as the program does",
    signals="as the program does; docket ends what is left",
    limits=("a program that reads none of these variables is not metered, and the run says so at its end",),
)
_UNTOUCHED = AgentFacts(
    title="no recipe",
    program="",
    tried=(),
    reached="nothing: the program is started as it is",
    token="nowhere",  # noqa: S106 - where it stands
    retries="as the program does",
    signals="as the program does; docket ends what is left",
    limits=("calls are neither metered nor capped; chosen by --agent none alone",),
)


@dataclass(frozen=True, slots=True)
class GenericRecipe:
    """Any program, by environment alone."""

    name: str = "generic"
    facts: AgentFacts = field(default=_GENERIC, repr=False)

    def recognises(self, argv: tuple[str, ...]) -> bool:
        """Every command line that starts a program."""
        return bool(argv)

    def wanted_files(self, _request: LaunchRequest) -> tuple[str, ...]:
        """None."""
        return ()

    def plan(self, request: LaunchRequest) -> LaunchPlan:
        """Set the variables."""
        pointed = pointing(request.base_url, request.environ, FULL)
        return LaunchPlan(
            argv=request.argv,
            env_set={**pointed.variables, **no_proxy(request.environ)},
            notes=pointed.notes,
            upstreams=pointed.upstreams,
        )


@dataclass(frozen=True, slots=True)
class UntouchedRecipe:
    """`--agent none`: the program as it is; its calls go where they go, and no budget holds for them."""

    name: str = "none"
    facts: AgentFacts = field(default=_UNTOUCHED, repr=False)

    def recognises(self, _argv: tuple[str, ...]) -> bool:
        """Never: it is chosen by name alone."""
        return False

    def wanted_files(self, _request: LaunchRequest) -> tuple[str, ...]:
        """None."""
        return ()

    def plan(self, request: LaunchRequest) -> LaunchPlan:
        """Change nothing."""
        return LaunchPlan(
            argv=request.argv,
            env_set={},
            notes=("nothing points this program at docket: calls it makes are neither metered nor capped",),
        )
