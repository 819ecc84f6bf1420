"""The launch recipe of pi. Tried on 0.73.1.

What it must do (measured): pi reads no address from the environment. An extension given by `-e` can replace a
provider's address and add headers to it, whatever `models.json` says, and is loaded even under `--no-extensions`; so
the run has one of its own and nothing below `~/.pi` is touched. A provider whose address is not known cannot be
replaced: if it is the chosen one, pi is not started. It tries an error again whose text has the digits of certain
statuses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from docket.errors import RefusedBeforeStartError
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.rules.agents.commandline import Program, option_uses
from docket.rules.agents.documents import read_object, table, text_at
from docket.rules.agents.environment import is_on, no_proxy
from docket.rules.agents.hook_settings import plugin_text, words_of
from docket.rules.agents.interface import TOKEN_HEADER, AgentFacts, LaunchPlan, LaunchRequest, RefusalStyle, RunFile
from docket.rules.agents.services import SERVICES, beside, placed, placed_at

EXTENSION = "docket-pi.js"
HOOKS = "docket-pi-hooks.js"

_PROGRAM = Program(
    names=("pi",), packages=("@mariozechner/pi-coding-agent",), script_parts=("/@mariozechner/pi-coding-agent/",)
)
_DEFAULT_PROVIDER = "google"
_MISREAD = ("429", "500", "502", "503", "504")
# What pi's clients append the version to by themselves.
_WITHOUT_VERSION = ("anthropic", "fireworks", "mistral")
# Services of pi that docket has no place for; only the one that is chosen gets one.
_OTHERS = {
    "cerebras": "https://api.cerebras.ai/v1",
    "huggingface": "https://router.huggingface.co/v1",
    "kimi-coding": "https://api.kimi.com/coding",
    "minimax": "https://api.minimax.io/anthropic",
    "minimax-cn": "https://api.minimaxi.com/anthropic",
    "moonshotai": "https://api.moonshot.ai/v1",
    "moonshotai-cn": "https://api.moonshot.cn/v1",
    "vercel-ai-gateway": "https://ai-gateway.vercel.sh",
    "zai": "https://api.z.ai/api/coding/paas/v4",
}
_FACTS = AgentFacts(
    title="pi",
    program="pi",
    also_as="npx or node",
    tried=("0.73.1",),
    packages=_PROGRAM.packages,
    reached="an extension of the run, given by -e, that replaces the address of every provider docket knows and of "
    "every provider in your models.json",
    token="in a header, from the extension's file",  # noqa: S106 - where it stands
    quiet="the version check and the install report",
    retries="a refusal is final at once; 429 and 5xx are tried again as pi does",
    signals="SIGINT ends it and leaves its tools running, which docket ends",
    refused=(
        "a chosen provider whose address cannot be replaced: amazon-bedrock, google-vertex, azure-openai-responses",
        "github-copilot, openai-codex and others whose address docket does not know",
    ),
    remarks=("some digits of a refusal are parted by _, for pi would take them for a status to try again after",),
    limits=("a provider of that kind chosen inside pi is not metered",),
)


@dataclass(frozen=True, slots=True)
class PiRecipe:
    """pi, by an extension of the run."""

    name: str = "pi"
    facts: AgentFacts = field(default=_FACTS, repr=False)

    def recognises(self, argv: tuple[str, ...]) -> bool:
        """Whether the program is `pi`, also through npx or node."""
        return _PROGRAM.arguments_at(argv) is not None

    def wanted_files(self, request: LaunchRequest) -> tuple[str, ...]:
        """The person's models and settings, and the tree's settings."""
        folder = _folder(request)
        return (*((f"{folder}/models.json", f"{folder}/settings.json") if folder else ()), ".pi/settings.json")

    def plan(self, request: LaunchRequest) -> LaunchPlan:
        """Point the agent at the boundary; refuse a provider that cannot be metered."""
        chosen = _chosen(request)
        providers, upstreams = _providers(request, chosen)
        if chosen not in providers:
            raise RefusedBeforeStartError(
                Reason.AGENT_UNSUPPORTED,
                f"pi is set to use the provider {chosen!r}, whose address docket does not know and cannot replace",
                hint="choose another with --provider, give it a baseUrl in pi's models.json, "
                "or use --agent none to run without a budget",
            )
        at = _PROGRAM.arguments_at(request.argv) or 1
        pointed = beside(request, upstreams)
        quiet = {} if is_on(request.environ.get("PI_OFFLINE")) else {"PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}
        words = words_of(request)
        files = [RunFile(name=EXTENSION, data=_extension(providers))]
        files += [] if words is None else [RunFile(name=HOOKS, data=plugin_text("pi", words))]
        extensions = [word for file in files for word in ("-e", f"{request.run_dir}/{file.name}")]
        return LaunchPlan(
            argv=(*request.argv[:at], *extensions, *request.argv[at:]),
            env_set={**pointed.variables, **no_proxy(request.environ), **quiet},
            refusal=RefusalStyle(misread=_MISREAD),
            files=tuple(files),
            has_hooks=words is not None,
            notes=pointed.notes,
            upstreams=pointed.upstreams,
        )


def _folder(request: LaunchRequest) -> str | None:
    home = request.environ.get("HOME")
    return request.environ.get("PI_CODING_AGENT_DIR") or (f"{home}/.pi/agent" if home else None)


def _providers(request: LaunchRequest, chosen: str) -> tuple[dict[str, dict[str, object]], dict[str, str]]:
    """Return (provider -> what replaces its settings, upstreams); others than the chosen one may lead nowhere."""
    token = {TOKEN_HEADER: request.token}
    addresses = {name: placed(request.origin, name, _path(name)).address for name in SERVICES}
    addresses |= {name: f"{request.origin}/{name}" for name in _OTHERS}
    upstreams = {chosen: _OTHERS[chosen]} if chosen in _OTHERS else {}
    own = table(read_object(request.inputs.get(f"{_folder(request)}/models.json")), "providers")
    for name, settings in own.items():
        url = text_at(settings, "baseUrl")
        _refuse_fixed(name, url, settings)
        if url is not None:
            place = placed_at(request.origin, name, url, f"{name} in pi's models.json")
            addresses[name] = place.address
            upstreams |= place.upstreams
    found: dict[str, dict[str, object]] = {}
    for name, address in addresses.items():
        settings = table(own, name)
        # What an extension registers replaces these as a whole.
        kept = {member: settings[member] for member in ("apiKey", "authHeader") if member in settings}
        found[name] = {**kept, "baseUrl": address, "headers": {**table(settings, "headers"), **token}}
    return found, upstreams


def _refuse_fixed(name: str, url: str | None, settings: object) -> None:
    models = table(settings).get("models")
    for model in models if isinstance(models, list) else ():
        fixed = text_at(model, "baseUrl")
        if fixed is not None and fixed != url:
            raise RefusedBeforeStartError(
                Reason.AGENT_UNSUPPORTED,
                f"pi's models.json gives a model of {name} an address of its own, which docket cannot replace",
                hint="make the model a provider of its own in models.json, or use --agent none to run without a budget",
            )


def _path(name: str) -> str | None:
    return "" if name in _WITHOUT_VERSION else None


def _chosen(request: LaunchRequest) -> str:
    start = _PROGRAM.arguments_at(request.argv) or 1
    named = option_uses(request.argv, start, ("--provider",))
    if named:
        return named[-1].value
    models = option_uses(request.argv, start, ("--model",))
    if models and "/" in models[-1].value:
        return models[-1].value.partition("/")[0]
    own = read_object(request.inputs.get(f"{_folder(request)}/settings.json"))
    tree = read_object(request.inputs.get(".pi/settings.json"))
    return text_at(tree, "defaultProvider") or text_at(own, "defaultProvider") or _DEFAULT_PROVIDER


def _extension(providers: Mapping[str, Mapping[str, object]]) -> bytes:
    lines = [
        f"  pi.registerProvider({json.dumps(name)}, {json.dumps(settings)});\n" for name, settings in providers.items()
    ]
    return ("export default function (pi) {\n" + "".join(lines) + "}\n").encode()
