"""The model services that agents of many providers know by name, and where each stands behind the boundary.

Rules:
1. A service is known by the agent's name for it; a known one without an address of the person's goes to its own.
2. An address the person gave a service becomes its upstream. Under a name docket does not know the service keeps that
   name; what is merely called OpenAI-compatible is `openai`, or `local` on this machine, where calls are free.
3. A service whose address is not known cannot be metered, and its recipe says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from docket.rules.agents.environment import OPENAI, ProviderVariables, kept_upstream, variables_of
from docket.rules.providers.registry import is_local_host

_NOT_A_NAME = re.compile(r"[^a-z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service at its own address; `path` is what a client's base URL has behind the host of the boundary."""

    entry: ProviderVariables
    path: str


def _service(provider: str, path: str = "/v1") -> Service:
    return Service(entry=variables_of(provider), path=path)


# Clients of the Vercel AI SDK append to these what they append to the services' own.
SERVICES: Mapping[str, Service] = {
    "anthropic": _service("anthropic"),
    "openai": _service("openai"),
    "google": _service("gemini", "/v1beta"),
    "deepseek": _service("deepseek"),
    "fireworks": _service("fireworks"),
    "groq": _service("groq"),
    "mistral": _service("mistral"),
    "openrouter": _service("openrouter"),
    "together": _service("together"),
    "xai": _service("xai"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where an agent finds a service behind the boundary, and what the boundary forwards to if not its own address."""

    address: str
    upstreams: Mapping[str, str] = field(default_factory=dict)


def placed(origin: str, name: str, path: str | None = None) -> Placed:
    """Return a known service's place; `origin` is the boundary's, with the token or without."""
    service = SERVICES[name]
    return Placed(address=f"{origin}/{service.entry.provider}{service.path if path is None else path}")


def placed_at(origin: str, name: str, url: str, source: str) -> Placed:
    """Return the place of the service `name`, which the person has at `url`; what cannot be kept refuses the run.

    The boundary appends to the upstream what the agent appends to its address, so nothing stands behind the name.
    """
    known = SERVICES.get(name)
    entry = known.entry if known else ProviderVariables(provider=_slug(name), names=(), official="")
    kept_upstream(entry, url, source)
    upstream = url.rstrip("/")
    return Placed(
        address=f"{origin}/{entry.provider}",
        # A host alone is not enough: the agent appends to the whole address what the provider's own may not end in.
        upstreams={} if upstream == entry.official else {entry.provider: upstream},
    )


def compatible_name(url: str) -> str:
    """Return the name of an OpenAI-compatible service that has none of its own."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        host = ""
    return "local" if is_local_host(host) else OPENAI.provider


def nested(url: str, headers: Mapping[str, object], token_header: str) -> str:
    """Return the address of another run's boundary with that run's token in it, for whoever calls it from here."""
    token = next((value for name, value in headers.items() if name.lower() == token_header), None)
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host}/{token}{slash}{path}" if isinstance(token, str) else url


def _slug(name: str) -> str:
    return _NOT_A_NAME.sub("-", name.lower()).strip("-_")[:64] or "other"
