"""The launch recipe of mini-swe-agent. Tried on 2.4.6.

What it must do (measured): the process environment beats every `.env` it reads, so variables suffice, all of them, for
a repository's `.env` could add one that is missing. It takes every answer for a passing fault and tries it ten times,
but for 401 and 404: a refusal is a 404, and its retries stay as they are for real faults.
"""

from __future__ import annotations

from docket.formats.dataclass import dataclass, field
from docket.rules.agents.commandline import Program
from docket.rules.agents.environment import CORE_NAMES, dotenv_values, no_proxy, pointing
from docket.rules.agents.interface import AgentFacts, LaunchPlan, LaunchRequest, RefusalStyle

_PROGRAM = Program(
    names=("mini", "mini-swe-agent"), packages=("mini-swe-agent",), modules=("minisweagent", "minisweagent.run.mini")
)
_QUIET = {
    "MSWEA_CONFIGURED": "true",
    "MSWEA_COST_TRACKING": "ignore_errors",
    "MSWEA_SILENT_STARTUP": "1",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
_STOPS_AT_ONCE = 404
_FACTS = AgentFacts(
    title="mini-swe-agent",
    program="mini",
    also_as="mini-swe-agent, uvx or python -m minisweagent",
    tried=("2.4.6",),
    packages=_PROGRAM.packages,
    reached="variables, which beat every .env it reads",
    token="in the address, from the environment",  # noqa: S106 - where it stands
    quiet="its start screen, its own cost tracking and the fetch of model prices, unless you set them",
    retries="a refusal has status 404, which is final at once; any other error is tried ten times",
    signals="docket signals the whole group and ends the tools that are left running",
    limits=("its openrouter, portkey and requesty model classes have fixed addresses and are not metered",),
)


@dataclass(frozen=True, slots=True)
class MiniRecipe:
    """mini-swe-agent, by environment."""

    name: str = "mini-swe-agent"
    facts: AgentFacts = field(default=_FACTS, repr=False)

    def recognises(self, argv: tuple[str, ...]) -> bool:
        """Whether the program is `mini` or `mini-swe-agent`, also as a Python module or through uvx."""
        return _PROGRAM.arguments_at(argv) is not None

    def wanted_files(self, request: LaunchRequest) -> tuple[str, ...]:
        """The agent's own `.env`, in which a person may have named an address."""
        return _settings(request)

    def plan(self, request: LaunchRequest) -> LaunchPlan:
        """Point the agent at the boundary."""
        stored: dict[str, str] = {}
        for path in _settings(request):
            stored |= dotenv_values(request.inputs.get(path), CORE_NAMES)
        pointed = pointing(request.base_url, {**stored, **request.environ})
        quiet = {name: value for name, value in _QUIET.items() if name not in request.environ}
        return LaunchPlan(
            argv=request.argv,
            env_set={**pointed.variables, **no_proxy(request.environ), **quiet},
            notes=pointed.notes,
            refusal=RefusalStyle(status=_STOPS_AT_ONCE),
            upstreams=pointed.upstreams,
        )


def _settings(request: LaunchRequest) -> tuple[str, ...]:
    environ = request.environ
    folder = environ.get("MSWEA_GLOBAL_CONFIG_DIR")
    if folder:
        return (f"{folder}/.env",)
    home = environ.get("HOME")
    config = environ.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else None)
    linux = (f"{config}/mini-swe-agent/.env",) if config else ()
    macos = (f"{home}/Library/Application Support/mini-swe-agent/.env",) if home else ()
    return (*macos, *linux)
