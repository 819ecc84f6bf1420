"""Which providers docket knows, where they are and what they charge.

Rules:
1. A provider of another name whose host is this machine is free by rule; a known name keeps its prices wherever
   its upstream stands.
2. A known name that is free by rule is so at a host of this machine alone.
3. A path is appended to the upstream as it came: its escapes, its query and its order stay.

What a method and a path stand for is `endpoints`'.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from docket.errors import UsageError
from docket.formats.dataclass import dataclass, replace
from docket.formats.reason import Reason

if TYPE_CHECKING:  # the wire formats are loaded with the first request, not with a run's start
    from docket.rules.providers.interface import Endpoint

_VERSION = re.compile(r"v\d+(alpha|beta)?\d*")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_VERTEX_HOST = "aiplatform.googleapis.com"
_VERTEX_LOCATION = re.compile(r"/locations/([a-z0-9]+(?:-[a-z0-9]+){0,3})/")
_ADDRESS = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider under the name its base URL carries; `prices` names its section of the price book.

    `free`: calls cost nothing by rule. `versioned`: the upstream's path already holds what a client's base URL
    would (`https://host/v1`), as OpenAI's convention is; else clients append the version themselves.
    """

    name: str
    upstream: str
    prices: str
    free: bool = False
    versioned: bool = True

    def classify(self, method: str, path: str) -> Endpoint:
        """Return what a request stands for; `path` may carry a query."""
        from docket.rules.providers.endpoints import classify  # noqa: PLC0415 - see above

        # Whatever runs on this machine and is called otherwise is most often Ollama, and free.
        return classify(method, path, "ollama" if self.free else self.name)

    def url(self, path: str) -> str:
        """Return the upstream's URL for a path that came in after the provider's name."""
        base = urlsplit(self.upstream)
        path = "/" + path.lstrip("/")
        prefix = base.path.rstrip("/")
        bare, mark, query = path.partition("?")
        host = base.netloc if base.netloc != _VERTEX_HOST else _vertex_host(bare)
        bare = _without_doubled_version(prefix, bare, self.versioned and "/messages" not in bare)
        if base.query:
            mark, query = "?", f"{base.query}&{query}" if query else base.query
        return f"{base.scheme}://{host}{prefix}{bare}{mark}{query}"


def _vertex_host(path: str) -> str:
    """Return the host of the region that a path names; Vertex AI answers for a region at its own host alone."""
    found = _VERTEX_LOCATION.search(path)
    location = "global" if found is None else found[1]
    if location == "global":
        return _VERTEX_HOST
    if location in ("us", "eu"):
        return f"aiplatform.{location}.rep.googleapis.com"
    return f"{location}-{_VERTEX_HOST}"


def _without_doubled_version(prefix: str, path: str, versioned: bool) -> str:  # noqa: FBT001 - a fact of the provider
    head, _, rest = path[1:].partition("/")
    if not _VERSION.fullmatch(head):
        return path
    if prefix.rpartition("/")[2] == head or (versioned and prefix):
        return f"/{rest}"
    return path


_KNOWN: Mapping[str, Provider] = {
    "anthropic": Provider(name="anthropic", upstream="https://api.anthropic.com", prices="anthropic", versioned=False),
    "openai": Provider(name="openai", upstream="https://api.openai.com/v1", prices="openai"),
    "bedrock": Provider(
        name="bedrock", upstream="https://bedrock-runtime.us-east-1.amazonaws.com", prices="aws", versioned=False
    ),
    "deepseek": Provider(name="deepseek", upstream="https://api.deepseek.com/v1", prices="deepseek"),
    "fireworks": Provider(name="fireworks", upstream="https://api.fireworks.ai/inference/v1", prices="fireworks"),
    "gemini": Provider(
        name="gemini", upstream="https://generativelanguage.googleapis.com", prices="google", versioned=False
    ),
    "code-assist": Provider(
        name="code-assist", upstream="https://cloudcode-pa.googleapis.com", prices="google", versioned=False
    ),
    "groq": Provider(name="groq", upstream="https://api.groq.com/openai/v1", prices="groq"),
    "mistral": Provider(name="mistral", upstream="https://api.mistral.ai/v1", prices="mistral"),
    "ollama": Provider(name="ollama", upstream="http://127.0.0.1:11434", prices="ollama", free=True, versioned=False),
    "openrouter": Provider(name="openrouter", upstream="https://openrouter.ai/api/v1", prices="openrouter"),
    "together": Provider(name="together", upstream="https://api.together.xyz/v1", prices="together"),
    "vertex": Provider(name="vertex", upstream="https://aiplatform.googleapis.com", prices="google", versioned=False),
    "xai": Provider(name="xai", upstream="https://api.x.ai/v1", prices="x-ai"),
}
# Providers whose every customer has a host of their own.
_OF_ONES_OWN: Mapping[str, str] = {"azure": "https://RESOURCE.openai.azure.com"}
# Names that people give to providers whose section of the price book is called otherwise.
_SECTIONS: Mapping[str, str] = {"moonshot": "moonshotai", "google": "google", "azure-openai": "azure"}


def names() -> tuple[str, ...]:
    """Return the names of the known providers."""
    return tuple(_KNOWN)


def provider(name: str) -> Provider:
    """Return a known provider; UsageError names the known ones."""
    try:
        return _KNOWN[name]
    except KeyError:
        if name in _OF_ONES_OWN:
            detail = f"{name} stands at an address of your own: give --upstream {name}={_OF_ONES_OWN[name]}"
            raise UsageError(Reason.UNKNOWN_PROVIDER, detail) from None
        known = ", ".join(sorted(_KNOWN))
        raise UsageError(Reason.UNKNOWN_PROVIDER, f"no provider is called {name!r}; known: {known}") from None


def with_upstream(name: str, url: str) -> Provider:
    """Return the provider `name` at another upstream; any name will do. UsageError says what is wrong."""
    parts = _split(name, url)
    known, free = _KNOWN.get(name), is_local_host(parts.hostname or "")
    if known is not None:
        return replace(known, upstream=url, free=known.free and free)
    return Provider(name=name, upstream=url, prices=_SECTIONS.get(name, name), free=free)


def is_local_host(host: str) -> bool:
    """Return whether a host name or address is this machine."""
    bare = host.strip("[]").rstrip(".").lower()
    if bare == "localhost" or bare.endswith(".localhost"):
        return True
    import ipaddress  # noqa: PLC0415 - only an upstream of another name is looked at

    try:
        return ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return False


def _split(name: str, url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port_is_wrong = parts.port == 0
    except ValueError:
        raise _wrong(name, url) from None
    if not (_NAME.fullmatch(name) and _ADDRESS.fullmatch(url)):
        raise _wrong(name, url)
    if parts.scheme not in ("http", "https") or not parts.hostname or port_is_wrong:
        raise _wrong(name, url)
    if parts.username is not None or parts.fragment:
        raise UsageError(Reason.USAGE, f"the upstream of {name!r} must carry no user name, password or fragment")
    return parts


def _wrong(name: str, url: str) -> UsageError:
    return UsageError(Reason.USAGE, f"{name}={url}: write NAME=http(s)://HOST[:PORT][/PATH]")
