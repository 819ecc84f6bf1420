"""The launch recipe of Qwen Code. Tried on 0.15.10.

What it must do (measured): the file that `QWEN_CODE_SYSTEM_SETTINGS_PATH` names is put over the person's and the
tree's settings, and any path will do; so the run has one of its own, with the machine's below it. Addresses come from
`modelProviders`, then from variables, then from `security.auth.baseUrl`. The lists of `modelProviders` are replaced one
by one, so each list that a repository could bring stands in the run's file, empty if need be.
"""

from __future__ import annotations

from collections.abc import Mapping

from docket.errors import RefusedBeforeStartError
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.rules.agents.commandline import Program, option_uses, without
from docket.rules.agents.documents import encoded, merged, read_object, table, text_at
from docket.rules.agents.environment import ANTHROPIC, CORE_NAMES, OPENAI, dotenv_values, is_on, no_proxy, pointing
from docket.rules.agents.hook_settings import SWITCHED_OFF, merged_hooks, millisecond_groups, words_of
from docket.rules.agents.hook_shapes import QWEN
from docket.rules.agents.interface import AgentFacts, LaunchPlan, LaunchRequest, RunFile
from docket.rules.agents.services import Placed, compatible_name, placed_at

SETTINGS = "qwen-settings.json"
PATH_VARIABLE = "QWEN_CODE_SYSTEM_SETTINGS_PATH"
MANAGED = "/etc/qwen-code/settings.json"
TREE = (".qwen/settings.json", ".qwen/.env", ".env")

_PROGRAM = Program(names=("qwen",), packages=("@qwen-code/qwen-code",), script_parts=("/@qwen-code/qwen-code/",))
_BASE = "--openai-base-url"
_NO_HOOKS = "disableAllHooks"
_KINDS = {"openai": OPENAI, "anthropic": ANTHROPIC}
_OTHER_KINDS = ("gemini", "vertex-ai", "qwen-oauth")
_FACTS = AgentFacts(
    title="Qwen Code",
    program="qwen",
    also_as="npx or node",
    tried=("0.15.10",),
    packages=_PROGRAM.packages,
    reached="OPENAI_BASE_URL, and a settings file of the run above yours and the repository's, in which every address "
    "of your modelProviders is replaced",
    token="in the address, from the environment and the run's file",  # noqa: S106 - where it stands
    quiet="usage statistics and updates",
    retries="a refusal is final at once; 429 and 5xx are tried again as qwen does",
    signals="SIGINT ends it and leaves its tools running, which docket ends",
    refused=(
        "the login with Qwen OAuth, Gemini and Vertex AI: their addresses cannot be replaced",
        "--sandbox in a container, from which the boundary cannot be reached",
    ),
    limits=(
        "what qwen does for DashScope's own address alone, it does not do behind docket",
        "a second address in modelProviders is a provider of its own, whose models have no price unless you give one",
    ),
)


@dataclass(frozen=True, slots=True)
class QwenRecipe:
    """Qwen Code, by environment and a settings file of the run."""

    name: str = "qwen"
    facts: AgentFacts = field(default=_FACTS, repr=False)

    def recognises(self, argv: tuple[str, ...]) -> bool:
        """Whether the program is `qwen`, also through npx or node."""
        return _PROGRAM.arguments_at(argv) is not None

    def wanted_files(self, request: LaunchRequest) -> tuple[str, ...]:
        """The settings and env files of the person, the machine and the tree."""
        return (*_own_files(request), _managed(request), *TREE)

    def plan(self, request: LaunchRequest) -> LaunchPlan:
        """Point the agent at the boundary; refuse a login whose address is fixed."""
        start = _PROGRAM.arguments_at(request.argv) or 1
        own, managed = _own_settings(request), read_object(request.inputs.get(_managed(request))) or {}
        kind = _kind(request, merged(own, managed))
        _refuse_unreachable(request, kind, merged(own, managed))
        bases = option_uses(request.argv, start, (_BASE,))
        stored = _stored(request, own, kind)
        if bases:
            stored |= dict.fromkeys(OPENAI.names, bases[-1].value)
        pointed = pointing(request.base_url, stored)
        taken = {entry.provider: pointed.upstreams.get(entry.provider, entry.official) for entry in _KINDS.values()}
        providers, upstreams = _providers(request, merged(own, managed), taken)
        auth: dict[str, object] = {"selectedType": kind}
        if kind == "openai":
            auth["baseUrl"] = pointed.variables[OPENAI.names[0]]
        over: dict[str, object] = {
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False},
            "security": {"auth": auth},
        }
        hooks, off = _hooks(request, own, managed)
        settings = {**merged(managed, over), "modelProviders": providers, **hooks}
        return LaunchPlan(
            argv=without(request.argv, bases),
            env_set={
                **pointed.variables,
                **no_proxy(request.environ),
                PATH_VARIABLE: f"{request.run_dir}/{SETTINGS}",
            },
            files=(RunFile(name=SETTINGS, data=encoded(settings)),),
            notes=(*pointed.notes, *_notes(request), *off),
            tolerates_usage_injection=True,
            upstreams={**pointed.upstreams, **upstreams},
            has_hooks=bool(hooks),
        )


def _hooks(
    request: LaunchRequest, own: Mapping[str, object], managed: Mapping[str, object]
) -> tuple[dict[str, object], tuple[str, ...]]:
    words = words_of(request)
    if words is None:
        return {}, ()
    if own.get(_NO_HOOKS) is True or managed.get(_NO_HOOKS) is True:
        return {}, (SWITCHED_OFF.format("your settings"),)
    groups = millisecond_groups(QWEN, words)
    return {"hooks": merged_hooks(managed.get("hooks"), groups), _NO_HOOKS: False}, ()


def _folder(request: LaunchRequest) -> str | None:
    home = request.environ.get("HOME")
    return request.environ.get("QWEN_HOME") or (f"{home}/.qwen" if home else None)


def _managed(request: LaunchRequest) -> str:
    return request.environ.get(PATH_VARIABLE) or MANAGED


def _own_files(request: LaunchRequest) -> tuple[str, ...]:
    folder, home = _folder(request), request.environ.get("HOME")
    return (
        *((f"{folder}/settings.json", f"{folder}/.env") if folder else ()),
        *((f"{home}/.env",) if home else ()),
    )


def _own_settings(request: LaunchRequest) -> dict[str, object]:
    return read_object(request.inputs.get(f"{_folder(request)}/settings.json")) or {}


def _kind(request: LaunchRequest, settings: Mapping[str, object]) -> str:
    start = _PROGRAM.arguments_at(request.argv) or 1
    named = option_uses(request.argv, start, ("--auth-type",))
    if named:
        return named[-1].value
    selected = text_at(settings, "security", "auth", "selectedType")
    return selected or request.environ.get("QWEN_DEFAULT_AUTH_TYPE") or "openai"


def _refuse_unreachable(request: LaunchRequest, kind: str, settings: Mapping[str, object]) -> None:
    if kind not in _KINDS:
        raise _refused(
            f"qwen is set to log in by {kind!r}, whose address docket cannot replace",
            "choose --auth-type openai or anthropic with a key",
        )
    words = request.argv[: request.argv.index("--")] if "--" in request.argv else request.argv
    sandbox = table(settings, "tools").get("sandbox")
    if {"-s", "--sandbox"} & set(words) or is_on(request.environ.get("QWEN_SANDBOX")) or sandbox not in (None, False):
        raise _refused("qwen is set to run in a container, from which docket's boundary cannot be reached",
                       "run docket inside the container")  # fmt: skip


def _stored(request: LaunchRequest, own: Mapping[str, object], kind: str) -> dict[str, str]:
    """Return the environment with the addresses of the person's own files, in qwen's order."""
    stored: dict[str, str] = {}
    url = text_at(own, "security", "auth", "baseUrl")
    if url is not None:
        stored[_KINDS[kind].names[0]] = url
    stored |= {k: v for k, v in table(own, "env").items() if k in CORE_NAMES and isinstance(v, str)}
    for path in reversed(_own_files(request)[1:]):
        stored |= dotenv_values(request.inputs.get(path), CORE_NAMES)
    return stored | dict(request.environ)


def _providers(
    request: LaunchRequest, settings: Mapping[str, object], taken: dict[str, str]
) -> tuple[dict[str, object], dict[str, str]]:
    """Return (modelProviders with the boundary's addresses, upstreams); `taken` gains the names that are given."""
    tree = table(read_object(request.inputs.get(TREE[0])), "modelProviders")
    found: dict[str, object] = {kind: [] for kind in (*_KINDS, *_OTHER_KINDS, *tree)}
    upstreams: dict[str, str] = {}
    for kind, models in table(settings, "modelProviders").items():
        entries: list[object] = []
        for model in models if isinstance(models, list) else ():
            url = text_at(model, "baseUrl")
            place = _place(request, kind, url, taken)
            upstreams |= place.upstreams
            taken |= place.upstreams
            entries.append({**model, "baseUrl": place.address} if isinstance(model, Mapping) else model)
        found[kind] = entries
    return found, upstreams


def _place(request: LaunchRequest, kind: str, url: str | None, taken: Mapping[str, str]) -> Placed:
    entry = _KINDS.get(kind)
    if url is None:
        # Nothing stands behind the name of a kind that cannot be metered, so a call to it is refused.
        version = entry.version if entry else ""
        return Placed(address=f"{request.base_url}/{entry.provider if entry else kind}{version}")
    name = kind if taken.get(kind) == url.rstrip("/") else compatible_name(url, taken)
    return placed_at(request.base_url, name, url, f"modelProviders.{kind} in qwen's settings")


def _notes(request: LaunchRequest) -> tuple[str, ...]:
    tree = read_object(request.inputs.get(TREE[0])) or {}
    ignored = [f"{name} in {path}" for path in TREE[1:] for name in dotenv_values(request.inputs.get(path), CORE_NAMES)]
    ignored += [f"modelProviders in {TREE[0]}"] if "modelProviders" in tree else []
    ignored += [f"security.auth.baseUrl in {TREE[0]}"] if text_at(tree, "security", "auth", "baseUrl") else []
    return tuple(f"{what} is not followed: a repository does not choose where calls go" for what in ignored)


def _refused(detail: str, hint: str) -> RefusedBeforeStartError:
    return RefusedBeforeStartError(
        Reason.AGENT_UNSUPPORTED, detail, hint=f"{hint}, or use --agent none to run without a budget"
    )
