"""The launch recipe of aider. Tried on 0.86.2.

What it must do (measured): aider reads `.env` files of the repository OVER the environment, and the file of
`--env-file` last, so the addresses go into one of the run's own that ends with them; the person's own is kept above
them. `OPENAI_BASE_URL` beats `OPENAI_API_BASE`, so all names are set. A repository's `.aider.conf.yml` may hold
`set-env`, which only `AIDER_SET_ENV` or an argument replaces. A Chat stream is asked for without usage, and an added
usage chunk is tolerated. Every error of a provider ends aider with exit code 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from docket.errors import RefusedBeforeStartError
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.rules.agents.commandline import OptionUse, Program, option_uses, without
from docket.rules.agents.environment import CORE_NAMES, OPENAI, dotenv_values, no_proxy, pointing
from docket.rules.agents.interface import AgentFacts, LaunchPlan, LaunchRequest, RunFile

ENV_NAME = "aider.env"
CONFIG = ".aider.conf.yml"
MODELS = ".aider.model.settings.yml"
DOTENV = ".env"

_PROGRAM = Program(names=("aider",), packages=("aider-chat",), modules=("aider", "aider.main"))
_ENV_FILE = "--env-file"
_BASE = "--openai-api-base"
_SET_ENV = "--set-env"
_QUIET = {
    "AIDER_CHECK_UPDATE": "false",
    "AIDER_ANALYTICS": "false",
    "AIDER_SHOW_RELEASE_NOTES": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
_BASE_LINE = re.compile(rb"^openai-api-base[ \t]*:[ \t]*[\"']?([^\s\"'#]+)", re.MULTILINE)
_FACTS = AgentFacts(
    title="aider",
    program="aider",
    also_as="uvx or python -m aider",
    tried=("0.86.2",),
    packages=_PROGRAM.packages,
    reached="an env file of the run, which aider reads last, below yours; set-env in a repository's .aider.conf.yml is "
    "overruled",
    token="in the address, from the run's file and the environment",  # noqa: S106 - where it stands
    quiet="the update check, analytics, release notes and the fetch of model prices",
    retries="a refusal is final at once; other errors are tried again as aider does",
    signals="Ctrl-C and SIGTERM end it",
    refused=(
        "a model settings file with an api_base or base_url",
        "set-env with an address in your own .aider.conf.yml",
    ),
    limits=(
        "exit code 0 on every error of a provider: the receipt says what ended the run",
        "in a folder below the repository's root, the files at the root are not looked at",
    ),
    remarks=("a Chat stream is asked for usage, which aider does not do itself, and the answer to that is taken out",),
)


@dataclass(frozen=True, slots=True)
class AiderRecipe:
    """aider, by an env file of the run."""

    name: str = "aider"
    facts: AgentFacts = field(default=_FACTS, repr=False)

    def recognises(self, argv: tuple[str, ...]) -> bool:
        """Whether the program is `aider`, also as a Python module or through uvx."""
        return _PROGRAM.arguments_at(argv) is not None

    def wanted_files(self, request: LaunchRequest) -> tuple[str, ...]:
        """The configuration and env files of the person and of the working directory."""
        env_file = _env_file(request)
        return (CONFIG, MODELS, DOTENV, *_homes(request), *((env_file,) if env_file else ()))

    def plan(self, request: LaunchRequest) -> LaunchPlan:
        """Point the agent at the boundary; refuse what gives a model an address that cannot be replaced."""
        _refuse_fixed_addresses(request)
        start = _start(request)
        bases = option_uses(request.argv, start, (_BASE,))
        set_env = option_uses(request.argv, start, (_SET_ENV,))
        set_bases = tuple(use for use in set_env if use.value.partition("=")[0].strip() in CORE_NAMES)
        pointed = pointing(request.base_url, {**_stored(request), **_chosen(bases, set_bases)})
        variables = {**pointed.variables, **no_proxy(request.environ)}
        quiet = {name: value for name, value in _QUIET.items() if name not in request.environ}
        if len(set_env) == len(set_bases):
            quiet |= _set_env_variable(request, pointed.variables)
        env_files = option_uses(request.argv, start, (_ENV_FILE,))
        rest = without(request.argv, (*bases, *set_bases, *env_files))
        return LaunchPlan(
            argv=(*rest[:start], _ENV_FILE, f"{request.run_dir}/{ENV_NAME}", *rest[start:]),
            env_set={**variables, **quiet},
            files=(_run_file(request, {**quiet, **variables}),),
            notes=(*pointed.notes, *_notes(request)),
            tolerates_usage_injection=True,
            upstreams=pointed.upstreams,
        )


def _start(request: LaunchRequest) -> int:
    return _PROGRAM.arguments_at(request.argv) or 1


def _env_file(request: LaunchRequest) -> str | None:
    uses = option_uses(request.argv, _start(request), (_ENV_FILE,))
    return uses[-1].value if uses else request.environ.get("AIDER_ENV_FILE") or None


def _homes(request: LaunchRequest) -> tuple[str, ...]:
    home = request.environ.get("HOME")
    return (f"{home}/{CONFIG}", f"{home}/{MODELS}", f"{home}/{DOTENV}") if home else ()


def _stored(request: LaunchRequest) -> dict[str, str]:
    """Return the person's environment with the addresses of their own files, in aider's order."""
    stored = dict(request.environ)
    for path in _homes(request)[:1]:
        base = _BASE_LINE.search(request.inputs.get(path) or b"")
        if base is not None and not stored.get("AIDER_OPENAI_API_BASE"):
            stored["AIDER_OPENAI_API_BASE"] = base.group(1).decode("utf-8", "replace")
    files = (*_homes(request)[2:], _env_file(request) or "")
    for path in files:
        stored |= dotenv_values(request.inputs.get(path), CORE_NAMES)
    return stored


def _chosen(bases: tuple[OptionUse, ...], set_bases: tuple[OptionUse, ...]) -> Mapping[str, str]:
    chosen = {}
    for use in set_bases:
        name, _, value = use.value.partition("=")
        chosen[name.strip()] = value.strip()
    if bases:
        chosen |= dict.fromkeys(OPENAI.names, bases[-1].value)
    return chosen


def _set_env_variable(request: LaunchRequest, variables: Mapping[str, str]) -> Mapping[str, str]:
    if b"set-env" not in (request.inputs.get(CONFIG) or b""):
        return {}
    old = (request.environ.get("AIDER_SET_ENV") or "").strip()
    own = [old.removeprefix("[").removesuffix("]")] if old else []
    return {"AIDER_SET_ENV": f"[{','.join([*own, *(f'{name}={value}' for name, value in variables.items())])}]"}


def _run_file(request: LaunchRequest, variables: Mapping[str, str]) -> RunFile:
    env_file = _env_file(request)
    own = request.inputs.get(env_file) if env_file else None
    above = b"" if own is None else own.rstrip(b"\n") + b"\n"
    lines = "".join(f"{name}={value}\n" for name, value in variables.items())
    return RunFile(name=ENV_NAME, data=above + lines.encode("utf-8", "surrogateescape"))


def _refuse_fixed_addresses(request: LaunchRequest) -> None:
    homes = _homes(request)
    for path in (MODELS, *homes[1:2]):
        for word in ("api_base", "base_url"):
            if word.encode() in (request.inputs.get(path) or b""):
                raise _refused(f"{path} gives a model an address of its own ({word})", f"remove {word} from it")
    for path in homes[:1]:
        for name in CORE_NAMES:
            if name.encode() + b"=" in (request.inputs.get(path) or b""):
                raise _refused(f"{path} sets {name} with set-env", f"set {name} in your environment instead")


def _refused(detail: str, hint: str) -> RefusedBeforeStartError:
    return RefusedBeforeStartError(Reason.AGENT_UNSUPPORTED, f"{detail}, which docket cannot replace", hint=hint)


def _notes(request: LaunchRequest) -> tuple[str, ...]:
    config, dotenv = request.inputs.get(CONFIG) or b"", request.inputs.get(DOTENV)
    ignored = [f"{name} in {DOTENV}" for name in dotenv_values(dotenv, CORE_NAMES)]
    ignored += [f"{word} in {CONFIG}" for word in ("set-env", "openai-api-base") if word.encode() in config]
    return tuple(f"{what} is not followed: a repository does not choose where calls go" for what in ignored)
