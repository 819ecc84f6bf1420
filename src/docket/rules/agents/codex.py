"""The launch recipe of Codex. Tried on 0.171.0.

What it must do (measured): `OPENAI_BASE_URL` is ignored, `-c openai_base_url` is not, for every kind of login; the
WebSocket it tries first is given up at once when it is refused. A provider of the run's own would bound retries, but
Codex ties a session to its provider: one made without docket could not be resumed under it, nor the other way. A 400
ends it at the first answer anyway. A repository's `.codex/config.toml` cannot beat `-c`; a later `-c` can, so the
person's own come first. A provider the person chose is kept and only its address replaced. The provider is named in
any case, for a resumed session would else bring its own.

The token comes from the environment: a chosen provider sends it in a header of its own, the built-in one before the
value of `OPENAI_PROJECT`, which it sends with every request and every WebSocket.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from docket.errors import RefusedBeforeStartError
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.rules.agents.codex_config import CONFIG_OPTIONS, CodexFacts, CodexFiles, Login, read_facts
from docket.rules.agents.commandline import Program, option_uses
from docket.rules.agents.environment import ANTHROPIC, CORE, OPENAI, kept_upstream, local_address, no_proxy, pointing
from docket.rules.agents.hook_settings import codex_overrides, words_of
from docket.rules.agents.hook_shapes import CODEX
from docket.rules.agents.interface import CARRIED_TOKEN, TOKEN_HEADER, AgentFacts, LaunchPlan, LaunchRequest

TOKEN_VARIABLE = "DOCKET_BOUNDARY_TOKEN"  # noqa: S105 - a variable's name, not a secret
CARRIER_VARIABLE = "OPENAI_PROJECT"
CHATGPT = "https://chatgpt.com/backend-api/codex"

_PROGRAM = Program(names=("codex",), packages=("@openai/codex",), script_parts=("/@openai/codex/",))
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HOOKS = re.compile(r"\s*(?:hooks\b|features\.hooks\b)")
_BUILT_IN = "openai"
_LOCAL = ("ollama", "ollama-chat", "lmstudio")
_FEATURE_OPTIONS = ("--enable", "--disable")
_QUIET_FEATURES = ("plugins", "apps")
_FACTS = AgentFacts(
    title="Codex",
    program="codex",
    also_as="npx or node",
    tried=("0.171.0",),
    packages=_PROGRAM.packages,
    reached="openai_base_url by -c, after any -c of yours; a provider you chose in config.toml, a profile or by -c is "
    "kept, and only its address replaced",
    token="in a header, from the environment: before the value of OPENAI_PROJECT, or in the chosen provider's own",  # noqa: S106
    quiet="plugins, apps and analytics, unless your configuration uses them",
    retries="a refusal is final at once; 429 and 5xx are tried again as codex does",
    signals="Ctrl-C ends it and its tool; docket ends what a kill leaves",
    refused=("--oss and local providers", "Amazon Bedrock", "a provider without a base_url"),
    limits=("a login held in a keyring cannot be seen, and is taken for an API key: a note says what to add",),
    remarks=(
        "your login is used as it is; without one, OPENAI_API_KEY is handed on as CODEX_API_KEY",
        "with a ChatGPT login calls go to chatgpt.com/backend-api/codex, at list prices that the plan does not charge",
        'budget.mode = "quota" counts the tokens and calls of a plan instead of dollars',
        "the WebSocket codex tries first is metered too; an upstream that has none is called over HTTP",
        "sessions made with and without docket can be resumed alike",
    ),
)


@dataclass(frozen=True, slots=True)
class CodexRecipe:
    """Codex, by `-c` overrides of the run."""

    name: str = "codex"
    facts: AgentFacts = field(default=_FACTS, repr=False)

    def recognises(self, argv: tuple[str, ...]) -> bool:
        """Whether the program is `codex`, also through npx or node."""
        return _PROGRAM.arguments_at(argv) is not None

    def wanted_files(self, request: LaunchRequest) -> tuple[str, ...]:
        """Codex's configuration, the chosen profile's, and its login."""
        files = CodexFiles.of(request, _start(request))
        return () if files is None else files.paths()

    def plan(self, request: LaunchRequest) -> LaunchPlan:
        """Point the agent at the boundary; refuse a provider that cannot be metered."""
        start = _start(request)
        facts = read_facts(request, start)
        provider = facts.text("model_provider") or _BUILT_IN
        _refuse_unmetered(request, start, provider)
        upstream = _upstream(facts, provider)
        address = _Address.of(request, upstream, custom=provider != _BUILT_IN)
        hooks, off = _hooks(request, start)
        own = (f'model_provider="{provider}"', *_address_settings(provider, address), *hooks)
        at = max([start, *(use.end for use in option_uses(request.argv, start, (*CONFIG_OPTIONS, *_FEATURE_OPTIONS)))])
        overrides = [word for setting in (*own, *_quiet(request, start, facts)) for word in ("-c", setting)]
        kept = kept_upstream(OPENAI, upstream, _source(provider))
        # What codex alone is configured for is no address for the other programs of the run.
        table = (ANTHROPIC,) if kept else CORE
        pointed = pointing(request.base_url, request.environ, table, decided={OPENAI.provider: upstream})
        return LaunchPlan(
            argv=(*request.argv[:at], *overrides, *request.argv[at:]),
            env_set={**pointed.variables, **no_proxy(request.environ), **address.variables, **_key(request, facts)},
            notes=(*pointed.notes, *_notes(facts, custom=address.custom), *off),
            upstreams={**pointed.upstreams, **kept},
            has_hooks=bool(hooks),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Address:
    base_url: str
    custom: bool
    variables: Mapping[str, str]

    @classmethod
    def of(cls, request: LaunchRequest, upstream: str, *, custom: bool) -> _Address:
        variables = {TOKEN_VARIABLE: request.token} if custom else {CARRIER_VARIABLE: _carried(request)}
        return cls(base_url=local_address(request.origin, OPENAI, upstream), custom=custom, variables=variables)


def _carried(request: LaunchRequest) -> str:
    own = request.environ.get(CARRIER_VARIABLE, "").strip()
    if own.startswith(f"{CARRIED_TOKEN} "):  # a run within a run: the outer token is not the provider's to see
        own = own.split(" ", 2)[2] if own.count(" ") > 1 else ""
    return f"{CARRIED_TOKEN} {request.token} {own}".rstrip()


def _start(request: LaunchRequest) -> int:
    return _PROGRAM.arguments_at(request.argv) or 1


def _refuse_unmetered(request: LaunchRequest, start: int, provider: str) -> None:
    behind = request.argv[start:]
    words = behind[: behind.index("--")] if "--" in behind else behind
    if "--oss" in words or provider in _LOCAL:
        raise RefusedBeforeStartError(
            Reason.AGENT_UNSUPPORTED,
            "codex is set to use a model on this machine, which it looks for at an address of its own",
            hint="use --agent none: a local model costs nothing, and there is nothing to meter",
        )
    if provider == "amazon-bedrock":
        raise RefusedBeforeStartError(
            Reason.AGENT_UNSUPPORTED,
            "codex is set to call Amazon Bedrock, whose requests are signed for its own address; "
            "docket cannot meter them",
            hint="choose another model_provider, or use --agent none to run without a budget",
        )


def _source(provider: str) -> str:
    return "openai_base_url" if provider == _BUILT_IN else f"model_providers.{provider}.base_url"


def _upstream(facts: CodexFacts, provider: str) -> str:
    if provider == _BUILT_IN:
        return facts.text("openai_base_url") or (CHATGPT if facts.login is Login.CHATGPT else OPENAI.official)
    url = facts.table("model_providers", provider).get("base_url")
    if not isinstance(url, str) or not url or not _BARE.fullmatch(provider):
        raise RefusedBeforeStartError(
            Reason.AGENT_UNSUPPORTED,
            f"codex's model_provider {provider!r} has no base_url that docket can find and replace",
            hint=f"define [model_providers.{provider}] with a base_url in codex's config.toml",
        )
    return url


def _address_settings(provider: str, address: _Address) -> tuple[str, ...]:
    if not address.custom:
        return (f'openai_base_url="{address.base_url}"',)
    at = f"model_providers.{provider}"
    return (f'{at}.base_url="{address.base_url}"', f'{at}.env_http_headers.{TOKEN_HEADER}="{TOKEN_VARIABLE}"')


def _hooks(request: LaunchRequest, start: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the settings of the run's hooks, and a note where the person's own leave no place for them."""
    words = words_of(request)
    if words is None:
        return (), ()
    given = [use.value for use in option_uses(request.argv, start, CONFIG_OPTIONS)]
    disabled = [use.value for use in option_uses(request.argv, start, ("--disable",))]
    if "hooks" in disabled or any(_HOOKS.match(value) for value in given):
        return (), ("your own -c of hooks is kept, so what each tool call changed cannot be shown",)
    return codex_overrides(CODEX, words), ()


def _key(request: LaunchRequest, facts: CodexFacts) -> dict[str, str]:
    # Without a login codex sends no key at all, whatever OPENAI_API_KEY holds.
    by_variable = facts.login is Login.OPENAI_VARIABLE
    return {"CODEX_API_KEY": request.environ["OPENAI_API_KEY"]} if by_variable else {}


def _quiet(request: LaunchRequest, start: int, facts: CodexFacts) -> tuple[str, ...]:
    chosen = {use.value for use in option_uses(request.argv, start, _FEATURE_OPTIONS)}
    features = [
        name
        for name in _QUIET_FEATURES
        if name not in chosen and name not in facts.table("features") and not facts.table(name)
    ]
    settings = [f"features.{name}=false" for name in features]
    if "enabled" not in facts.table("analytics"):
        settings.append("analytics.enabled=false")
    return tuple(settings)


def _notes(facts: CodexFacts, *, custom: bool) -> tuple[str, ...]:
    notes = []
    if custom:
        return ()
    if facts.login is Login.CHATGPT:
        notes.append(
            "codex is logged in with ChatGPT: its calls count against that plan, and dollars shown are list prices; "
            'budget.mode = "quota" counts without them'
        )
    if facts.login is Login.UNKNOWN:
        notes.append(
            "docket cannot see how codex is logged in and takes it for an API key; "
            f"for a ChatGPT login held in a keyring add --upstream openai={CHATGPT}"
        )
    if facts.login is Login.OPENAI_VARIABLE:
        notes.append("codex does not read OPENAI_API_KEY by itself; docket hands it on as CODEX_API_KEY")
    return tuple(notes)
