"""The model services that agents of many providers know by name, and where each stands behind the boundary.

Rules:
1. A service is known by the agent's name for it; a known one without an address of the person's goes to its own.
2. An address the person gave a service becomes its upstream. Under a name docket does not know the service keeps that
   name; what is merely called OpenAI-compatible is `openai`, or `local` on this machine, where calls are free.
   Where there are several of these, no two addresses share a name.
3. A service whose address is not known cannot be metered, and its recipe says so.
4. An address that one agent is configured for is none for the other programs of the run: their keys are not for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from docket.formats.dataclass import dataclass, field, replace
from docket.rules.agents.environment import (
    CORE,
    OPENAI,
    Pointing,
    ProviderVariables,
    kept_upstream,
    pointing,
    variables_of,
)
from docket.rules.agents.interface import LaunchRequest
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


def compatible_name(url: str, taken: Mapping[str, str] | None = None) -> str:
    """Return a name for an OpenAI-compatible service that has none of its own; `taken` maps names to addresses."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return OPENAI.provider  # what is wrong with it is told where it is kept
    known = [name for name, service in SERVICES.items() if urlsplit(service.entry.official).hostname == host]
    names = (*known, "local" if is_local_host(host) else OPENAI.provider)
    wanted = url.rstrip("/")
    free = (name for name in names if (taken or {}).get(name, wanted) == wanted)
    return next(free, _slug(f"{parts.netloc}{parts.path}"))


def beside(request: LaunchRequest, upstreams: Mapping[str, str]) -> Pointing:
    """Return what points the other programs of a run at the boundary, where the agent's own services have these."""
    environ = request.environ
    table, notes = [], []
    for entry in CORE:
        own = upstreams.get(entry.provider)
        given = [name for name in entry.names if environ.get(name)]
        if own is None or any(environ[name].rstrip("/") == own for name in given):
            table.append(entry)
        else:
            notes += [
                f"{name} is left as it is, for it names another address: its calls are not metered" for name in given
            ]
    pointed = pointing(request.base_url, environ, tuple(table))
    return replace(pointed, notes=(*pointed.notes, *notes), upstreams={**pointed.upstreams, **upstreams})


def nested(url: str, headers: Mapping[str, object], token_header: str) -> str:
    """Return the address of another run's boundary with that run's token in it, for whoever calls it from here."""
    token = next((value for name, value in headers.items() if name.lower() == token_header), None)
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host}/{token}{slash}{path}" if isinstance(token, str) else url


def _slug(name: str) -> str:
    return _NOT_A_NAME.sub("-", name.lower()).strip("-_")[:64] or "other"
