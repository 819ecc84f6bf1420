"""Which providers docket knows, where they are, and what a method and a path of theirs stand for.

Rules:
1. The wire follows from the end of the path, so that gateways with prefixes of their own are read too.
2. An endpoint is billed, free, or unknown; unknown ones are for the policy to allow.
3. A provider of another name whose host is this machine is free by rule; a known name keeps its prices wherever
   its upstream stands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from docket.errors import UsageError
from docket.formats.reason import Reason
from docket.rules.providers.anthropic import AnthropicMessages
from docket.rules.providers.interface import Endpoint, EndpointKind, Wire

ANTHROPIC_MESSAGES: Wire = AnthropicMessages()

WIRES: Mapping[str, Wire] = {wire.name: wire for wire in (ANTHROPIC_MESSAGES,)}

_BILLED: tuple[tuple[re.Pattern[str], Wire], ...] = ((re.compile(r"/messages$"), ANTHROPIC_MESSAGES),)
_UNKNOWN = Endpoint(EndpointKind.UNKNOWN)
_FREE = Endpoint(EndpointKind.FREE)
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider under the name its base URL carries; `prices` names its section of the price book."""

    name: str
    upstream: str
    prices: str
    free: bool = False

    def classify(self, method: str, path: str) -> Endpoint:
        """Return what a request stands for; `path` may carry a query."""
        bare = path.partition("?")[0].rstrip("/")
        if method in ("GET", "HEAD", "OPTIONS"):
            return _FREE
        if bare.endswith("/count_tokens"):
            return _FREE
        for pattern, wire in _BILLED:
            if method == "POST" and pattern.search(bare):
                return Endpoint(EndpointKind.BILLED, wire)
        return _UNKNOWN


_KNOWN: Mapping[str, Provider] = {
    "anthropic": Provider(name="anthropic", upstream="https://api.anthropic.com", prices="anthropic"),
    "openai": Provider(name="openai", upstream="https://api.openai.com/v1", prices="openai"),
}


def provider(name: str) -> Provider:
    """Return a known provider; UsageError names the known ones."""
    try:
        return _KNOWN[name]
    except KeyError:
        known = ", ".join(sorted(_KNOWN))
        raise UsageError(Reason.UNKNOWN_PROVIDER, f"no provider is called {name!r}; known: {known}") from None


def with_upstream(name: str, url: str) -> Provider:
    """Return the provider `name` at another upstream; any name will do."""
    parts = urlsplit(url)
    if not _NAME.fullmatch(name) or parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(Reason.USAGE, f"{name}={url}: write NAME=http(s)://HOST[/PATH]")
    known = _KNOWN.get(name)
    if known is not None:
        return replace(known, upstream=url)
    return Provider(name=name, upstream=url, prices=name)
