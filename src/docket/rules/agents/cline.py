"""The launch recipe of the Cline CLI. Tried on 3.0.65.

What it must do (measured): addresses stand in `providers.json`, which `CLINE_PROVIDER_SETTINGS_PATH` names, so the run
has a copy of the person's with every address replaced. By default cline hands its calls to a hub that goes on running
behind it, outside any run; `CLINE_SESSION_BACKEND_MODE=local` keeps them in the process. Telemetry is off by the copy
of its global settings; what it asks its vendor of features is off by `E2E_TEST` alone, which it reads for nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping

from docket.errors import RefusedBeforeStartError
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.rules.agents.commandline import Program, option_uses
from docket.rules.agents.documents import encoded, read_object, table, text_at
from docket.rules.agents.environment import is_on, no_proxy
from docket.rules.agents.interface import TOKEN_HEADER, AgentFacts, LaunchPlan, LaunchRequest, RunFile
from docket.rules.agents.services import Placed, beside, compatible_name, nested, placed, placed_at

PROVIDERS, GLOBAL = "cline-providers.json", "cline-global-settings.json"
PROVIDERS_VARIABLE, GLOBAL_VARIABLE = "CLINE_PROVIDER_SETTINGS_PATH", "CLINE_GLOBAL_SETTINGS_PATH"

_PROGRAM = Program(names=("cline",), packages=("cline",), script_parts=("/cline/bin/", "/@cline/cli-"))
# Cline's names for services, and those of other agents for them.
_NAMES = {"openai-native": "openai", "gemini": "google"} | {
    name: name for name in ("anthropic", "deepseek", "fireworks", "groq", "mistral", "openrouter", "together", "xai")
}
_COMPATIBLE = "openai-compatible"
_OFF_LIMITS = ("hub", "connect", "schedule", "kanban", "dashboard")
_QUIET = {"CLINE_NO_AUTO_UPDATE": "1", "E2E_TEST": "true"}
_NEVER = "1970-01-01T00:00:00.000Z"
_FACTS = AgentFacts(
    title="Cline CLI",
    program="cline",
    also_as="npx",
    tried=("3.0.65",),
    packages=_PROGRAM.packages,
    reached="a copy of your providers.json in which every address is replaced, and CLINE_SESSION_BACKEND_MODE=local, "
    "which keeps the calls in the process instead of a hub that outlives it",
    token="in a header, from the run's file",  # noqa: S106 - where it stands
    quiet="telemetry, updates and, with E2E_TEST=true, the request for feature switches",
    retries="a refusal is final at once; 429 and 5xx are tried again as cline does",
    signals="it ends with exit code 0 and its tools with it",
    refused=(
        "the provider cline, the default without a login of another, and others whose address docket does not know",
        "--data-dir, --zen and the commands that start a hub",
    ),
    limits=("a provider or key that is set inside cline during a run is not kept",),
)


@dataclass(frozen=True, slots=True)
class ClineRecipe:
    """The Cline CLI, by copies of its settings."""

    name: str = "cline"
    facts: AgentFacts = field(default=_FACTS, repr=False)

    def recognises(self, argv: tuple[str, ...]) -> bool:
        """Whether the program is `cline`, also through npx."""
        return _PROGRAM.arguments_at(argv) is not None

    def wanted_files(self, request: LaunchRequest) -> tuple[str, ...]:
        """The person's providers and global settings."""
        return (_providers_path(request), _global_path(request))

    def plan(self, request: LaunchRequest) -> LaunchPlan:
        """Point the agent at the boundary; refuse a hub and a provider that cannot be metered."""
        _refuse_hubs(request)
        own = read_object(request.inputs.get(_providers_path(request))) or {}
        places = _places(request, own)
        chosen = _chosen(request, own)
        if chosen not in places:
            raise _refused(
                f"cline is set to use the provider {chosen!r}, whose address docket does not know",
                "choose another with -P, or log in to one with cline auth -p anthropic -k KEY",
            )
        pointed = beside(request, {name: url for place in places.values() for name, url in place.upstreams.items()})
        quiet = {name: value for name, value in _QUIET.items() if name not in request.environ}
        settings = {
            **(read_object(request.inputs.get(_global_path(request))) or {}),
            "telemetryOptOut": True,
            "autoUpdateEnabled": False,
        }
        return LaunchPlan(
            argv=request.argv,
            env_set={
                **pointed.variables,
                **no_proxy(request.environ),
                **quiet,
                "CLINE_SESSION_BACKEND_MODE": "local",
                PROVIDERS_VARIABLE: f"{request.run_dir}/{PROVIDERS}",
                GLOBAL_VARIABLE: f"{request.run_dir}/{GLOBAL}",
            },
            files=(
                RunFile(name=PROVIDERS, data=encoded(_providers(request, own, places))),
                RunFile(name=GLOBAL, data=encoded(settings)),
            ),
            notes=pointed.notes,
            tolerates_usage_injection=True,
            upstreams=pointed.upstreams,
        )


def _data_folder(request: LaunchRequest) -> str:
    environ, start = request.environ, _PROGRAM.arguments_at(request.argv) or 1
    configs = option_uses(request.argv, start, ("--config",))
    folder = configs[-1].value if configs else environ.get("CLINE_DIR") or f"{environ.get('HOME', '')}/.cline"
    return environ.get("CLINE_DATA_DIR") or f"{folder}/data"


def _providers_path(request: LaunchRequest) -> str:
    return request.environ.get(PROVIDERS_VARIABLE) or f"{_data_folder(request)}/settings/providers.json"


def _global_path(request: LaunchRequest) -> str:
    return request.environ.get(GLOBAL_VARIABLE) or f"{_data_folder(request)}/settings/global-settings.json"


def _refuse_hubs(request: LaunchRequest) -> None:
    start = _PROGRAM.arguments_at(request.argv) or 1
    words = request.argv[start:]
    if option_uses(request.argv, start, ("--data-dir",)) or is_on(request.environ.get("CLINE_SANDBOX")):
        raise _refused("--data-dir makes cline read its addresses from that folder", "set CLINE_DATA_DIR instead")
    if {"-z", "--zen"} & set(words) or words[:1] in {(command,) for command in _OFF_LIMITS}:
        raise _refused("this makes cline work in a hub that goes on running outside this run", "leave it out")


def _chosen(request: LaunchRequest, own: Mapping[str, object]) -> str:
    uses = option_uses(request.argv, _PROGRAM.arguments_at(request.argv) or 1, ("-P", "--provider"))
    chosen = uses[-1].value if uses else text_at(own, "lastUsedProvider") or "cline"
    return _COMPATIBLE if chosen == "openai" else chosen


def _places(request: LaunchRequest, own: Mapping[str, object]) -> dict[str, Placed]:
    """Return where each provider stands that can be metered: the known ones, and those with an address of their own."""
    # Cline's client of Gemini appends the version by itself.
    found = {
        name: placed(request.origin, service, "" if name == "gemini" else None) for name, service in _NAMES.items()
    }
    for name, entry in table(own, "providers").items():
        url = text_at(entry, "settings", "baseUrl")
        if url is not None:
            there = nested(url, table(entry, "settings", "headers"), TOKEN_HEADER)
            service = compatible_name(url) if name == _COMPATIBLE else _NAMES.get(name, name)
            found[name] = placed_at(request.origin, service, there, f"{name} in cline's settings")
    return found


def _providers(request: LaunchRequest, own: Mapping[str, object], places: Mapping[str, Placed]) -> dict[str, object]:
    entries: dict[str, object] = {name: entry for name, entry in table(own, "providers").items() if name in places}
    for name, place in places.items():
        settings = table(own, "providers", name, "settings")
        headers = {**table(settings, "headers"), TOKEN_HEADER: request.token}
        entries[name] = {
            "updatedAt": _NEVER,
            "tokenSource": "manual",
            **table(own, "providers", name),
            "settings": {"provider": name, **settings, "baseUrl": place.address, "headers": headers},
        }
    return {"version": 1, "modes": {}, **own, "providers": entries}


def _refused(detail: str, hint: str) -> RefusedBeforeStartError:
    return RefusedBeforeStartError(
        Reason.AGENT_UNSUPPORTED, detail, hint=f"{hint}, or use --agent none to run without a budget"
    )
