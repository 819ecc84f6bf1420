"""What a person's Codex configuration says about where its calls go: `config.toml`, a profile, `-c` and the login.

Rules:
1. Layers in Codex's own order: `config.toml`, the profile's file, the command line's `-c` from left to right.
2. A file or value that cannot be read says nothing here: Codex itself will complain about it.
3. Of the login only its kind is looked at; nothing of it is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from docket.formats.dataclass import dataclass, field
from docket.rules.agents.commandline import OptionUse, option_uses
from docket.rules.agents.documents import merged, read_object, table, text_at
from docket.rules.agents.interface import LaunchRequest

CONFIG_OPTIONS = ("-c", "--config")
PROFILE_OPTIONS = ("-p", "--profile")


class Login(StrEnum):
    """By what Codex authenticates."""

    ENVIRONMENT_KEY = "environment-key"
    STORED_KEY = "stored-key"
    CHATGPT = "chatgpt"
    OPENAI_VARIABLE = "openai-variable"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodexFacts:
    """The merged configuration and the kind of login."""

    config: Mapping[str, object] = field(default_factory=dict)
    login: Login = Login.UNKNOWN

    def text(self, name: str) -> str | None:
        """Return a top-level text of the configuration."""
        return text_at(self.config, name)

    def table(self, *path: str) -> Mapping[str, object]:
        """Return a table of the configuration, empty where there is none."""
        return table(self.config, *path)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodexFiles:
    """The paths of the files that matter."""

    config: str
    auth: str
    profile: str | None = None

    @classmethod
    def of(cls, request: LaunchRequest, start: int) -> CodexFiles | None:
        """Return the paths, None where the environment names no home."""
        home = request.environ.get("CODEX_HOME")
        if not home and request.environ.get("HOME"):
            home = f"{request.environ['HOME']}/.codex"
        if not home:
            return None
        profiles = option_uses(request.argv, start, PROFILE_OPTIONS)
        profile = f"{home}/{profiles[-1].value}.config.toml" if profiles else None
        return cls(config=f"{home}/config.toml", auth=f"{home}/auth.json", profile=profile)

    def paths(self) -> tuple[str, ...]:
        """Every path."""
        return (self.config, self.auth, *((self.profile,) if self.profile else ()))


def read_facts(request: LaunchRequest, start: int) -> CodexFacts:
    """Return what the files in `request.inputs` and the command line say."""
    files = CodexFiles.of(request, start)
    config: dict[str, object] = {}
    if files is not None:
        config = merged(config, _toml(request.inputs.get(files.config)))
        config = merged(config, _toml(request.inputs.get(files.profile or "")))
    for use in option_uses(request.argv, start, CONFIG_OPTIONS):
        config = merged(config, _override(use))
    return CodexFacts(config=config, login=_login(request, files, config))


def _toml(data: bytes | None) -> Mapping[str, object]:
    try:
        return _loaded((data or b"").decode("utf-8"))
    except (ValueError, RecursionError):
        return {}


def _loaded(text: str) -> dict[str, object]:
    import tomllib  # noqa: PLC0415 - only runs of Codex read it

    return tomllib.loads(text)


def _override(use: OptionUse) -> Mapping[str, object]:
    key, equals, text = use.value.partition("=")
    if not equals:
        return {}
    try:
        value: object = _loaded(f"value = {text.strip()}")["value"]
    except (ValueError, RecursionError):
        value = text.strip()
    for part in reversed(key.strip().split(".")):
        value = {part: value}
    return value if isinstance(value, Mapping) else {}


def _login(request: LaunchRequest, files: CodexFiles | None, config: Mapping[str, object]) -> Login:
    if request.environ.get("CODEX_API_KEY"):
        return Login.ENVIRONMENT_KEY
    stored = request.inputs.get(files.auth) if files is not None else None
    if stored is not None:
        return _stored_login(stored)
    in_keyring = config.get("cli_auth_credentials_store") in ("keyring", "auto")
    if request.environ.get("OPENAI_API_KEY") and not in_keyring:
        return Login.OPENAI_VARIABLE
    return Login.UNKNOWN


def _stored_login(data: bytes) -> Login:
    auth = read_object(data, strict=True) or {}
    if auth.get("auth_mode") == "chatgpt" or (not auth.get("OPENAI_API_KEY") and auth.get("tokens")):
        return Login.CHATGPT
    return Login.STORED_KEY if auth.get("OPENAI_API_KEY") else Login.UNKNOWN
