"""What a recipe does, read off a plan it makes for a person who has nothing configured but what it cannot do without.

It sets and writes nothing; `docket agents` and the reference page show it.
"""

from __future__ import annotations

from collections.abc import Mapping

from docket.formats.dataclass import dataclass, replace
from docket.rules.agents.environment import CORE_NAMES
from docket.rules.agents.interface import LaunchRequest, Recipe

_BASE_URL = "http://127.0.0.1:PORT/TOKEN"
_RUN_DIR = "RUN"
_HOME = "/home/you"
_ENVIRON: Mapping[str, Mapping[str, str]] = {
    "copilot": {"COPILOT_PROVIDER_BASE_URL": "https://api.openai.com/v1"},
    "codex": {"CODEX_API_KEY": "key"},
}
_INPUTS: Mapping[str, Mapping[str, bytes]] = {
    "cline": {f"{_HOME}/.cline/data/settings/providers.json": b'{"lastUsedProvider": "anthropic"}'},
}
_PROXY_NAMES = ("NO_PROXY", "no_proxy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a plan sets: variables beside those that every recipe sets, added arguments, files of the run.

    `shared` are the variables of the run's other programs and of the proxies; `refusal_status` is the HTTP status of
    a refusal, `asks_for_usage` whether usage is asked for where the agent does not ask, `has_hooks` whether the agent
    can tell of its tool calls.
    """

    variables: tuple[str, ...]
    shared: tuple[str, ...]
    arguments: tuple[str, ...]
    files: tuple[str, ...]
    refusal_status: int
    asks_for_usage: bool
    agent_headers: tuple[str, ...]
    has_hooks: bool


def described(recipe: Recipe) -> Description:
    """Return what a recipe does."""
    program = recipe.facts.program or "program"
    request = LaunchRequest(
        argv=(program,),
        environ={"HOME": _HOME, **_ENVIRON.get(recipe.name, {})},
        base_url=_BASE_URL,
        run_dir=_RUN_DIR,
        inputs=_INPUTS.get(recipe.name, {}),
    )
    planned = recipe.plan(request)
    common = {*CORE_NAMES, *_PROXY_NAMES}
    return Description(
        variables=tuple(sorted(name for name in planned.env_set if name not in common)),
        shared=tuple(name for name in (*CORE_NAMES, *_PROXY_NAMES) if name in planned.env_set),
        arguments=planned.argv[1:],
        files=tuple(file.name for file in planned.files),
        refusal_status=planned.refusal.status,
        asks_for_usage=planned.tolerates_usage_injection,
        agent_headers=planned.agent_headers,
        has_hooks=recipe.plan(replace(request, hook_command=("docket",))).has_hooks,
    )
