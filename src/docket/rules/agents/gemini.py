"""The launch recipe of the Gemini CLI. Tried on 0.61.0.

What it must do (measured): a base URL in the environment makes it choose a way to log in that `-p` then refuses, so
the way has to stand in a settings file; the files of the machine are taken only from folders that root owns. What is
left is `GEMINI_CLI_HOME`: the run has a home whose `.gemini` holds the person's settings with the run's over them, and
for everything else a link to what the person has. The addresses of all three ways to log in are set, for a
repository's settings may choose another way.
"""

from __future__ import annotations

from collections.abc import Mapping

from docket.errors import RefusedBeforeStartError
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.rules.agents.commandline import Program
from docket.rules.agents.documents import encoded, merged, names_in, read_object, table, text_at
from docket.rules.agents.environment import CORE, dotenv_values, is_on, no_proxy, pointing, variables_of
from docket.rules.agents.hook_settings import SWITCHED_OFF, merged_hooks, millisecond_groups, words_of
from docket.rules.agents.hook_shapes import GEMINI
from docket.rules.agents.interface import AgentFacts, LaunchPlan, LaunchRequest, RunFile, RunLink

HOME = "gemini-home"
FOLDER = ".gemini"
TREE = (f"{FOLDER}/.env", ".env")

_PROGRAM = Program(names=("gemini",), packages=("@google/gemini-cli",), script_parts=("/@google/gemini-cli/",))
_SETTINGS = "settings.json"
_GEMINI = variables_of("gemini", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_BASE_URL")
_VERTEX = variables_of("vertex", "GOOGLE_VERTEX_BASE_URL")
_CODE_ASSIST = variables_of("code-assist", "CODE_ASSIST_ENDPOINT")
_PLACES = (_GEMINI, _VERTEX, _CODE_ASSIST)
_NAMES = tuple(name for entry in _PLACES for name in entry.names)
_KEY = "gemini-api-key"
# Which variable chooses which way to log in, the first that is on.
_WAYS = (
    ("GOOGLE_GENAI_USE_GCA", "oauth-personal"),
    ("GOOGLE_GENAI_USE_VERTEXAI", "vertex-ai"),
    ("GEMINI_API_KEY", _KEY),
    ("CLOUD_SHELL", "compute-default-credentials"),
    ("GEMINI_CLI_USE_COMPUTE_ADC", "compute-default-credentials"),
)
_OVER: Mapping[str, object] = {
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
}
_FACTS = AgentFacts(
    title="Gemini CLI",
    program="gemini",
    also_as="npx or node",
    tried=("0.61.0",),
    packages=_PROGRAM.packages,
    reached="GOOGLE_GEMINI_BASE_URL, GOOGLE_VERTEX_BASE_URL and CODE_ASSIST_ENDPOINT, and a home of the run that links "
    "to what stands in your ~/.gemini, with your settings.json and the run's settings over it",
    token="in the address, from the environment",  # noqa: S106 - where it stands
    quiet="usage statistics and updates",
    retries="a refusal is final at once; 429 and 5xx are tried again as gemini does",
    signals="it ends with exit code 0 and leaves its tools running, which docket ends",
    refused=("--sandbox in a container, from which the boundary cannot be reached",),
    limits=(
        "what gemini makes anew in ~/.gemini during the run (a first login, changed settings) goes with the run",
        "the Google login renews its token at Google's own address",
    ),
)


@dataclass(frozen=True, slots=True)
class GeminiRecipe:
    """The Gemini CLI, by environment and a home of the run."""

    name: str = "gemini"
    facts: AgentFacts = field(default=_FACTS, repr=False)

    def recognises(self, argv: tuple[str, ...]) -> bool:
        """Whether the program is `gemini`, also through npx or node."""
        return _PROGRAM.arguments_at(argv) is not None

    def wanted_files(self, request: LaunchRequest) -> tuple[str, ...]:
        """The person's settings and env files, what else stands in their folder, and the tree's env files."""
        home = _home(request)
        own = (f"{home}/{FOLDER}/", f"{home}/{FOLDER}/{_SETTINGS}", f"{home}/.agents/", *_env_files(request))
        return (*own, *TREE) if home else TREE

    def plan(self, request: LaunchRequest) -> LaunchPlan:
        """Point the agent at the boundary; refuse a container."""
        home = _home(request)
        own = read_object(request.inputs.get(f"{home}/{FOLDER}/{_SETTINGS}")) or {}
        _refuse_containers(request, own)
        stored: dict[str, str] = {}
        for path in reversed(_env_files(request)):
            stored |= dotenv_values(request.inputs.get(path), (*_NAMES, *(name for name, _ in _WAYS)))
        pointed = pointing(request.base_url, {**stored, **request.environ}, (*CORE, *_PLACES))
        chosen = text_at(own, "security", "auth", "selectedType") or text_at(own, "selectedAuthType")
        auth = {"security": {"auth": {"selectedType": chosen or _way({**stored, **request.environ})}}}
        hooks, off = _hooks(request, own)
        settings = {**merged(merged(own, _OVER), auth), **hooks}
        return LaunchPlan(
            argv=request.argv,
            env_set={
                **pointed.variables,
                **no_proxy(request.environ),
                "GEMINI_CLI_HOME": f"{request.run_dir}/{HOME}",
            },
            files=(RunFile(name=f"{HOME}/{FOLDER}/{_SETTINGS}", data=encoded(settings)),),
            links=_links(request) if home else (),
            notes=(*pointed.notes, *_notes(request), *off),
            upstreams=pointed.upstreams,
            has_hooks=bool(hooks),
        )


def _hooks(request: LaunchRequest, own: Mapping[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
    words = words_of(request)
    if words is None:
        return {}, ()
    if table(own, "hooksConfig").get("enabled") is False:
        return {}, (SWITCHED_OFF.format("your settings"),)
    return {"hooks": merged_hooks(own.get("hooks"), millisecond_groups(GEMINI, words))}, ()


def _home(request: LaunchRequest) -> str:
    return request.environ.get("GEMINI_CLI_HOME") or request.environ.get("HOME") or ""


def _env_files(request: LaunchRequest) -> tuple[str, ...]:
    home = _home(request)
    return (f"{home}/{FOLDER}/.env", f"{home}/.env") if home else ()


def _way(environ: Mapping[str, str]) -> str:
    return next((way for name, way in _WAYS if is_on(environ.get(name))), _KEY)


def _refuse_containers(request: LaunchRequest, own: Mapping[str, object]) -> None:
    words = request.argv[: request.argv.index("--")] if "--" in request.argv else request.argv
    sandbox = table(own, "tools").get("sandbox", own.get("sandbox"))
    asked = {"-s", "--sandbox"} & set(words) or is_on(request.environ.get("GEMINI_SANDBOX"))
    if asked or sandbox not in (None, False):
        raise RefusedBeforeStartError(
            Reason.AGENT_UNSUPPORTED,
            "gemini is set to run in a container, from which docket's boundary cannot be reached",
            hint="run docket inside the container, or use --agent none to run without a budget",
        )


def _links(request: LaunchRequest) -> tuple[RunLink, ...]:
    home = _home(request)
    names = names_in(request.inputs.get(f"{home}/{FOLDER}/"))
    links = [
        RunLink(name=f"{HOME}/{FOLDER}/{name}", target=f"{home}/{FOLDER}/{name}") for name in names if name != _SETTINGS
    ]
    if request.inputs.get(f"{home}/.env") is not None:
        links.append(RunLink(name=f"{HOME}/.env", target=f"{home}/.env"))
    if request.inputs.get(f"{home}/.agents/") is not None:
        links.append(RunLink(name=f"{HOME}/.agents", target=f"{home}/.agents"))
    return tuple(links)


def _notes(request: LaunchRequest) -> tuple[str, ...]:
    ignored = [f"{name} in {path}" for path in TREE for name in dotenv_values(request.inputs.get(path), _NAMES)]
    return tuple(f"{what} is not followed: a repository does not choose where calls go" for what in ignored)
