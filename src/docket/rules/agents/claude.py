"""The launch recipe of Claude Code. Tried on 2.1.197.

What it must do (measured): a user's `settings.json` may hold `env.ANTHROPIC_BASE_URL`, which beats the process
environment, and only a `--settings` file beats that; of two `--settings` the last wins alone, so the person's own is
merged in. The same file empties the switches to Bedrock, Vertex and Foundry that a repository's settings could set.
Bedrock works where the person chose it and gave a bearer key: what is signed for an address cannot be forwarded.
A 400 in the protocol's shape ends the agent at the first answer, so its retries stay as they are, for real faults.
"""

from __future__ import annotations

from collections.abc import Mapping

from docket.errors import RefusedBeforeStartError
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.rules.agents.commandline import OptionUse, Program, option_uses, without
from docket.rules.agents.documents import encoded, read_object
from docket.rules.agents.environment import (
    ANTHROPIC,
    BEDROCK,
    CORE,
    ProviderVariables,
    bedrock_address,
    is_on,
    no_proxy,
    pointing,
)
from docket.rules.agents.hook_settings import SWITCHED_OFF, claude_groups, merged_hooks, words_of
from docket.rules.agents.hook_shapes import CLAUDE
from docket.rules.agents.interface import AgentFacts, LaunchPlan, LaunchRequest, RunFile

SETTINGS_NAME = "claude-settings.json"
MANAGED = "/etc/claude-code/managed-settings.json"
TREE_SETTINGS = (".claude/settings.json", ".claude/settings.local.json")

_PROGRAM = Program(names=("claude",), packages=("@anthropic-ai/claude-code",), script_parts=("/claude-code/cli.",))
_ELSEWHERE = {
    "CLAUDE_CODE_USE_BEDROCK": "Amazon Bedrock",
    "CLAUDE_CODE_USE_VERTEX": "Google Vertex AI",
    "CLAUDE_CODE_USE_FOUNDRY": "Microsoft Foundry",
    "CLAUDE_CODE_USE_MANTLE": "Amazon Bedrock",
    "CLAUDE_CODE_USE_ANTHROPIC_AWS": "Amazon Web Services",
}
_BEDROCK = "CLAUDE_CODE_USE_BEDROCK"
_BEARER_KEY, _SKIP_AUTH = "AWS_BEARER_TOKEN_BEDROCK", "CLAUDE_CODE_SKIP_BEDROCK_AUTH"
_ADDRESS = "ANTHROPIC_BASE_URL"
_BEDROCK_ADDRESS = "ANTHROPIC_BEDROCK_BASE_URL"
_ADDRESSES = (_ADDRESS, _BEDROCK_ADDRESS)
_SOCKET = "ANTHROPIC_UNIX_SOCKET"
_NO_HOOKS = "disableAllHooks"
_QUIET = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"
_FACTS = AgentFacts(
    title="Claude Code",
    program="claude",
    also_as="npx or node",
    tried=("2.1.197",),
    packages=_PROGRAM.packages,
    reached="a settings file of the run, given by --settings, because env in your settings.json beats the environment "
    "and only such a file beats that; settings you give yourself with --settings are merged in",
    token="in the address, from the run's file and the environment: what claude starts inherits the address, and "  # noqa: S106
    "would not know of a header",
    quiet="what CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 switches off: telemetry, updates, error reports",
    retries="a refusal is final at once; 429 and 5xx are tried again as claude does",
    signals="Ctrl-C ends it and its tools; docket ends what a kill leaves",
    refused=(
        "Vertex AI, Foundry and signed Bedrock chosen by you; Bedrock by AWS_BEARER_TOKEN_BEDROCK is metered",
        "ANTHROPIC_UNIX_SOCKET anywhere, and an address in the machine's managed settings",
        "settings of yours that are not a JSON object",
    ),
    remarks=("a repository's switches to Bedrock, Vertex and Foundry are emptied, so that it cannot throw them",),
)


@dataclass(frozen=True, slots=True)
class ClaudeRecipe:
    """Claude Code, by environment and a settings file of the run."""

    name: str = "claude-code"
    facts: AgentFacts = field(default=_FACTS, repr=False)

    def recognises(self, argv: tuple[str, ...]) -> bool:
        """Whether the program is `claude`, also through npx or node."""
        return _PROGRAM.arguments_at(argv) is not None

    def wanted_files(self, request: LaunchRequest) -> tuple[str, ...]:
        """The settings that may send the agent elsewhere: managed, the user's, the tree's, the command line's."""
        given = _given(request)
        named = (given[-1].value,) if given and not _is_inline(given[-1].value) else ()
        return (MANAGED, *_user_settings(request), *TREE_SETTINGS, *named)

    def plan(self, request: LaunchRequest) -> LaunchPlan:
        """Point the agent at the boundary; refuse what another place was chosen for."""
        given = _given(request)
        own = _own_settings(request, given)
        users = [_env_of(read_object(request.inputs.get(path), strict=True)) for path in _user_settings(request)]
        environ = {**request.environ, **{k: v for env in users for k, v in env.items()}, **_env_of(own)}
        _refuse_elsewhere(environ)
        _refuse_managed(_env_of(read_object(request.inputs.get(MANAGED), strict=True)))
        notes = _tree_notes(request)
        decided = {ANTHROPIC.provider: environ.get(_ADDRESS) or ANTHROPIC.official}
        table: tuple[ProviderVariables, ...] = CORE
        used = dict.fromkeys(_ELSEWHERE, "")
        if is_on(environ.get(_BEDROCK)):
            table, used = (*CORE, BEDROCK), {**used, _BEDROCK: "1"}
            decided[BEDROCK.provider] = environ.get(_BEDROCK_ADDRESS) or bedrock_address(environ)
        pointed = pointing(request.base_url, environ, table=table, decided=decided)
        quiet = {_QUIET: "1", **no_proxy(environ)}
        address = {name: pointed.variables[name] for name in _ADDRESSES if name in pointed.variables}
        settings_env = {**_env_of(own), **used, **address, **quiet}
        hooks, off = _hooks(request, own)
        settings = {**own, "env": settings_env, **hooks}
        at = _PROGRAM.arguments_at(request.argv) or 1
        rest = without(request.argv, given)
        path = f"{request.run_dir}/{SETTINGS_NAME}"
        return LaunchPlan(
            argv=(*rest[:at], "--settings", path, *rest[at:]),
            env_set={**pointed.variables, **quiet},
            files=(RunFile(name=SETTINGS_NAME, data=encoded(settings)),),
            notes=(*pointed.notes, *notes, *off),
            upstreams=pointed.upstreams,
            agent_headers=("x-claude-code-agent-id",),
            has_hooks=bool(hooks),
        )


def _given(request: LaunchRequest) -> tuple[OptionUse, ...]:
    return option_uses(request.argv, _PROGRAM.arguments_at(request.argv) or 1, ("--settings",))


def _is_inline(value: str) -> bool:
    return value.strip().startswith("{")


def _user_settings(request: LaunchRequest) -> tuple[str, ...]:
    folder = request.environ.get("CLAUDE_CONFIG_DIR")
    home = request.environ.get("HOME")
    if not folder and home:
        folder = f"{home}/.claude"
    return (f"{folder}/settings.json",) if folder else ()


def _own_settings(request: LaunchRequest, given: tuple[OptionUse, ...]) -> Mapping[str, object]:
    if not given:
        return {}
    value = given[-1].value
    data = value.encode("utf-8", "surrogateescape") if _is_inline(value) else request.inputs.get(value)
    settings = read_object(data, strict=True)
    if settings is None:
        what = "the JSON given" if _is_inline(value) else f"the file {value!r} given"
        raise RefusedBeforeStartError(
            Reason.AGENT_UNSUPPORTED,
            f"{what} with --settings cannot be read as a JSON object, so docket cannot add its own settings to it",
        )
    return settings


def _hooks(request: LaunchRequest, own: Mapping[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return what the settings say of hooks, and a note where the person has switched hooks off."""
    words = words_of(request)
    if words is None:
        return {}, ()
    files = {path: read_object(request.inputs.get(path), strict=True) or {} for path in _user_settings(request)}
    off = next((path for path, said in files.items() if said.get(_NO_HOOKS) is True), None)
    if own.get(_NO_HOOKS) is True or (off is not None and own.get(_NO_HOOKS) is not False):
        return {}, (SWITCHED_OFF.format(off or "your settings"),)
    # A repository's settings could switch off what the run's say nothing about.
    return {"hooks": merged_hooks(own.get("hooks"), claude_groups(CLAUDE, words)), _NO_HOOKS: False}, ()


def _env_of(settings: Mapping[str, object] | None) -> dict[str, str]:
    env = (settings or {}).get("env")
    if not isinstance(env, dict):
        return {}
    return {name: value for name, value in env.items() if isinstance(value, str)}


def _refuse_elsewhere(environ: Mapping[str, str]) -> None:
    unsigned = bool(environ.get(_BEARER_KEY)) or is_on(environ.get(_SKIP_AUTH))
    if is_on(environ.get(_BEDROCK)) and not unsigned:
        raise RefusedBeforeStartError(
            Reason.AGENT_UNSUPPORTED,
            f"{_BEDROCK} is set without {_BEARER_KEY}, so claude signs its requests for the address they go to; AWS "
            "would refuse what is signed for docket's, so docket cannot meter them",
            hint=f"set {_BEARER_KEY} to an Amazon Bedrock API key, or unset {_BEDROCK} to call Anthropic",
        )
    for name, place in _ELSEWHERE.items():
        if name != _BEDROCK and is_on(environ.get(name)):
            raise RefusedBeforeStartError(
                Reason.AGENT_UNSUPPORTED,
                f"{name} is set, so claude calls {place}, whose requests are signed for its own address; "
                "docket cannot meter them",
                hint=f"unset {name} to call Anthropic, or use --agent none to run without a budget",
            )
    if environ.get(_SOCKET):
        _refuse_socket("your environment or settings")


def _refuse_socket(where: str) -> None:
    raise RefusedBeforeStartError(
        Reason.AGENT_UNSUPPORTED,
        f"{_SOCKET} is set in {where}, so claude would not call the address docket gives it",
        hint=f"remove {_SOCKET}",
    )


def _refuse_managed(env: Mapping[str, str]) -> None:
    for name in (*_ADDRESSES, *_ELSEWHERE, _SOCKET):
        if env.get(name):
            raise RefusedBeforeStartError(
                Reason.AGENT_UNSUPPORTED,
                f"the managed settings of this machine ({MANAGED}) set {name}, which no run can change",
                hint="ask who manages them, or use --agent none to run without a budget",
            )


def _tree_notes(request: LaunchRequest) -> tuple[str, ...]:
    notes = []
    for path in TREE_SETTINGS:
        env = _env_of(read_object(request.inputs.get(path), strict=True))
        if env.get(_SOCKET):
            _refuse_socket(path)
        ignored = [name for name in (*_ADDRESSES, *_ELSEWHERE) if env.get(name)]
        notes += [f"{name} in {path} is not followed: a repository does not choose where calls go" for name in ignored]
    return tuple(notes)
