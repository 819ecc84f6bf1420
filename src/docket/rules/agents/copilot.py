"""The launch recipe of the GitHub Copilot CLI with a provider of one's own. Tried on 1.0.102.

What it must do (measured): `COPILOT_PROVIDER_BASE_URL` sends every model call to that address and
`COPILOT_PROVIDER_HEADERS` goes with it; with `COPILOT_OFFLINE` no other host is contacted. Without a provider of one's
own the calls go to GitHub's, which no variable replaces.
"""

from __future__ import annotations

from collections.abc import Mapping

from docket.errors import RefusedBeforeStartError
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.rules.agents.commandline import Program
from docket.rules.agents.documents import encoded
from docket.rules.agents.environment import no_proxy
from docket.rules.agents.hook_settings import NAME, copilot_entries, words_of
from docket.rules.agents.hook_shapes import COPILOT
from docket.rules.agents.interface import TOKEN_HEADER, AgentFacts, LaunchPlan, LaunchRequest, RunFile
from docket.rules.agents.services import beside, compatible_name, nested, placed_at

ADDRESS = "COPILOT_PROVIDER_BASE_URL"
HEADERS = "COPILOT_PROVIDER_HEADERS"
PLUGIN = "copilot-plugin"
_HOOKS = "hooks.json"

_PROGRAM = Program(names=("copilot",), packages=("@github/copilot",), script_parts=("/@github/copilot/",))
_QUIET = {"COPILOT_AUTO_UPDATE": "false", "COPILOT_OFFLINE": "true"}
_FACTS = AgentFacts(
    title="GitHub Copilot CLI",
    program="copilot",
    also_as="npx or node",
    tried=("1.0.102",),
    packages=_PROGRAM.packages,
    reached="COPILOT_PROVIDER_BASE_URL, for a model provider of your own",
    token="in a header, from the environment",  # noqa: S106 - where it stands
    quiet="updates, telemetry, and with COPILOT_OFFLINE=true the GitHub login, its MCP server and the web tools; "
    "what you set of these yourself stays",
    retries="a refusal is final at once; 429 and 5xx are tried again as copilot does",
    signals="SIGINT ends it and leaves its tools running, which docket ends",
    refused=(
        "copilot without COPILOT_PROVIDER_BASE_URL: it calls GitHub's models, whose address cannot be replaced",
        "COPILOT_PROVIDER_TYPE=azure and COPILOT_PROVIDER_TRANSPORT=websockets",
    ),
    remarks=("COPILOT_OFFLINE=false in your environment keeps the GitHub login, its MCP server and the web tools",),
)


@dataclass(frozen=True, slots=True)
class CopilotRecipe:
    """The Copilot CLI, by environment."""

    name: str = "copilot"
    facts: AgentFacts = field(default=_FACTS, repr=False)

    def recognises(self, argv: tuple[str, ...]) -> bool:
        """Whether the program is `copilot`, also through npx or node."""
        return _PROGRAM.arguments_at(argv) is not None

    def wanted_files(self, _request: LaunchRequest) -> tuple[str, ...]:
        """None: a provider of one's own is named in the environment alone."""
        return ()

    def plan(self, request: LaunchRequest) -> LaunchPlan:
        """Point the agent at the boundary; refuse GitHub's own models."""
        environ = request.environ
        url, kind = environ.get(ADDRESS), (environ.get("COPILOT_PROVIDER_TYPE") or "openai").strip().lower()
        if not url:
            raise _refused(
                f"{ADDRESS} is not set, so copilot would call GitHub's models, whose address docket cannot replace",
                f"set {ADDRESS}, COPILOT_PROVIDER_API_KEY and COPILOT_MODEL to a provider of your own",
            )
        if kind not in ("openai", "anthropic"):
            raise _refused(
                f"COPILOT_PROVIDER_TYPE is {kind!r}, whose addresses docket does not put together",
                "use the type openai with the deployment's /openai/v1 address",
            )
        if (environ.get("COPILOT_PROVIDER_TRANSPORT") or "http").strip().lower() != "http":
            raise _refused("COPILOT_PROVIDER_TRANSPORT is not http", "unset it")
        own = _lines(environ.get(HEADERS, ""))
        there = nested(url, own, TOKEN_HEADER)
        name = compatible_name(url) if kind == "openai" else kind
        place = placed_at(request.origin, name, there, ADDRESS)
        pointed = beside(request, place.upstreams)
        headers = {**{k: v for k, v in own.items() if k.lower() != TOKEN_HEADER}, TOKEN_HEADER: request.token}
        quiet = {variable: value for variable, value in _QUIET.items() if variable not in environ}
        argv, files = _plugin(request)
        return LaunchPlan(
            argv=argv,
            files=files,
            has_hooks=bool(files),
            env_set={
                **pointed.variables,
                **no_proxy(environ),
                **quiet,
                ADDRESS: place.address,
                HEADERS: "\n".join(f"{k}: {v}" for k, v in headers.items()),
            },
            notes=pointed.notes,
            upstreams=pointed.upstreams,
        )


def _plugin(request: LaunchRequest) -> tuple[tuple[str, ...], tuple[RunFile, ...]]:
    """Return the command line with a plugin of the run that holds its hooks, and the plugin's files."""
    words = words_of(request)
    if words is None:
        return request.argv, ()
    at = _PROGRAM.arguments_at(request.argv) or 1
    manifest = {"name": NAME, "version": "1.0.0", "description": "Shows what each tool call changed", "hooks": _HOOKS}
    files = (
        RunFile(name=f"{PLUGIN}/plugin.json", data=encoded(manifest)),
        RunFile(name=f"{PLUGIN}/{_HOOKS}", data=encoded({"version": 1, "hooks": copilot_entries(COPILOT, words)})),
    )
    return (*request.argv[:at], "--plugin-dir", f"{request.run_dir}/{PLUGIN}", *request.argv[at:]), files


def _lines(text: str) -> Mapping[str, str]:
    """Return the headers of a text that parts them by line ends, also by `\\n` spelt out."""
    pairs = (line.partition(":") for line in text.replace("\\n", "\n").splitlines())
    return {name.strip(): value.strip() for name, mark, value in pairs if mark and name.strip()}


def _refused(detail: str, hint: str) -> RefusedBeforeStartError:
    return RefusedBeforeStartError(
        Reason.AGENT_UNSUPPORTED, detail, hint=f"{hint}, or use --agent none to run without a budget"
    )
