"""The environment variables that point programs at a provider, and what the person had in them.

Rules (docs/reference/agents.md):
1. A provider stands at `{base_url}/{provider}`; an OpenAI-shaped address ends in `/v1` where the upstream's does.
2. An address the person had set becomes that provider's upstream. Of two different ones for a provider the first
   variable of the table wins; the other is left alone and a note names it.
3. `NO_PROXY` and `no_proxy` keep what they held and gain the loopback, for some agents send even that to a proxy.
4. An address that cannot be forwarded to refuses the run; it is never dropped silently.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from docket.errors import InvalidDocumentError, RefusedBeforeStartError
from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.formats.run.policy_reach import check_upstream
from docket.rules.providers.registry import provider

_PROXIES = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")

_ASSIGNMENT = re.compile(r"\s*(?:export\s+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*=(?P<value>.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderVariables:
    """The variables of one provider, the most widely read first; `official` is where its own clients go."""

    provider: str
    names: tuple[str, ...]
    official: str
    version: str = ""


def variables_of(name: str, *names: str, version: str = "") -> ProviderVariables:
    """Return the variables of a provider that docket knows, which stands where the registry says."""
    return ProviderVariables(provider=name, names=names, official=provider(name).upstream, version=version)


ANTHROPIC = variables_of("anthropic", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE")
OPENAI = variables_of("openai", "OPENAI_BASE_URL", "OPENAI_API_BASE", "AIDER_OPENAI_API_BASE", version="/v1")
BEDROCK = variables_of("bedrock", "ANTHROPIC_BEDROCK_BASE_URL")
CORE = (ANTHROPIC, OPENAI)
CORE_NAMES = tuple(name for entry in CORE for name in entry.names)
FULL = (
    *CORE,
    variables_of("gemini", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_BASE_URL"),
    variables_of("deepseek", "DEEPSEEK_BASE_URL", version="/v1"),
    variables_of("mistral", "MISTRAL_BASE_URL", version="/v1"),
    variables_of("openrouter", "OPENROUTER_BASE_URL", version="/v1"),
    variables_of("groq", "GROQ_BASE_URL", version="/v1"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointing:
    """What points programs at the boundary, and what it forwards to."""

    variables: Mapping[str, str] = field(default_factory=dict)
    upstreams: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def pointing(
    base_url: str,
    environ: Mapping[str, str],
    table: tuple[ProviderVariables, ...] = CORE,
    decided: Mapping[str, str] | None = None,
) -> Pointing:
    """Return the variables, upstreams and notes for the providers of `table`.

    `decided` maps a provider to the address its agent is known to use, whatever the variables say.
    """
    variables: dict[str, str] = {}
    upstreams: dict[str, str] = {}
    notes: list[str] = []
    for entry in table:
        given = {name: environ[name] for name in entry.names if environ.get(name)}
        upstream = (decided or {}).get(entry.provider) or next(iter(given.values()), entry.official)
        upstreams.update(kept_upstream(entry, upstream, next(iter(given), entry.names[0])))
        others = [name for name, url in given.items() if url.rstrip("/") != upstream.rstrip("/")]
        notes += [
            f"{name} is left as it is, for it names another address: its calls are not metered" for name in others
        ]
        address = local_address(base_url, entry, upstream)
        variables.update({name: address for name in entry.names if name not in others})
    return Pointing(variables=variables, upstreams=upstreams, notes=tuple(notes))


def bedrock_address(environ: Mapping[str, str]) -> str:
    """Return where Bedrock's clients go by themselves: the region the variables name, else the first one."""
    region = environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    return f"https://bedrock-runtime.{region}.amazonaws.com"


def local_address(base_url: str, entry: ProviderVariables, upstream: str) -> str:
    """Return the boundary's address for a provider, with the version segment where the upstream's has it."""
    version = entry.version if upstream.rstrip("/").endswith(entry.version) else ""
    return f"{base_url}/{entry.provider}{version}"


def kept_upstream(entry: ProviderVariables, url: str, source: str) -> dict[str, str]:
    """Return {provider: url} for an address the person set in `source`, nothing for the provider's own."""
    try:
        check_upstream(entry.provider, url)
    except InvalidDocumentError as error:
        raise RefusedBeforeStartError(
            Reason.AGENT_UNSUPPORTED,
            f"{source} {error.detail}, so docket cannot forward {entry.provider} calls to it",
            hint=f"unset {source}, or give the address with --upstream {entry.provider}=URL",
        ) from error
    here = urlsplit(url)
    official = urlsplit(entry.official)
    if here.scheme == official.scheme and here.netloc == official.netloc and here.path.strip("/") in (
        "", official.path.strip("/"),
    ):  # fmt: skip
        return {}
    return {entry.provider: url.rstrip("/")}


def proxy_variables(base_url: str) -> dict[str, str]:
    """Return the variables that make a boundary the proxy of a program and its children; the token is the password."""
    origin, _, token = base_url.rpartition("/")
    proxy = f"http://docket:{token}@{origin.partition('://')[2]}"
    # Node's own fetch looks at the others only with the last one.
    return {**dict.fromkeys(_PROXIES, proxy), "NODE_USE_ENV_PROXY": "1"}


def no_proxy(environ: Mapping[str, str]) -> dict[str, str]:
    """Return NO_PROXY and no_proxy with the loopback added to what the person had."""
    return {
        name: _with_loopback(environ.get(name) or environ.get(other) or "")
        for name, other in (("NO_PROXY", "no_proxy"), ("no_proxy", "NO_PROXY"))
    }


def _with_loopback(old: str) -> str:
    hosts = [host.strip() for host in old.split(",") if host.strip()]
    if hosts == ["*"]:
        return "*"
    return ",".join(hosts + [host for host in LOOPBACK_HOSTS if host not in hosts])


def dotenv_values(data: bytes | None, names: tuple[str, ...]) -> dict[str, str]:
    """Return the values a `.env` file gives these names, the last of each; other lines are not looked at."""
    found: dict[str, str] = {}
    for line in (data or b"").decode("utf-8", "replace").splitlines():
        match = _ASSIGNMENT.fullmatch(line)
        if match is not None and match.group("name") in names:
            value = match.group("value").strip()
            end = value.find(value[0], 1) if value[:1] in ("'", '"') else -1
            found[match.group("name")] = value[1:end] if end > 0 else value.partition(" #")[0].strip()
    return found


def is_on(value: str | None) -> bool:
    """Whether a variable that switches something on does."""
    return (value or "").strip().lower() not in ("", "0", "false", "no", "off")
