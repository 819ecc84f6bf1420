"""Which providers docket knows, where they are, and what a method and a path of theirs stand for.

Rules:
1. The wire follows from the end of the path, so that gateways with prefixes of their own are read too.
2. An endpoint is billed, free, or unknown; an unknown one is the policy's to allow, and is metered where it is.
3. A provider of another name whose host is this machine is free by rule; a known name keeps its prices wherever
   its upstream stands.
4. A path is appended to the upstream as it came: its escapes, its query and its order stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import SplitResult, urlsplit

from docket.errors import UsageError
from docket.formats.reason import Reason
from docket.rules.providers.anthropic import AnthropicMessages
from docket.rules.providers.bedrock import BedrockConverse, BedrockInvoke
from docket.rules.providers.generic import AnyWire
from docket.rules.providers.interface import Endpoint, EndpointKind, Wire
from docket.rules.providers.openai_chat import OpenAiChat
from docket.rules.providers.openai_responses import OpenAiResponses

ANTHROPIC_MESSAGES: Wire = AnthropicMessages()
OPENAI_CHAT: Wire = OpenAiChat()
OPENAI_RESPONSES: Wire = OpenAiResponses()
BEDROCK_CONVERSE: Wire = BedrockConverse()
BEDROCK_INVOKE: Wire = BedrockInvoke()
ANY_WIRE: Wire = AnyWire()

WIRES: Mapping[str, Wire] = {
    wire.name: wire
    for wire in (ANTHROPIC_MESSAGES, OPENAI_CHAT, OPENAI_RESPONSES, BEDROCK_CONVERSE, BEDROCK_INVOKE, ANY_WIRE)
}

_READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_BILLED: tuple[tuple[str, Wire], ...] = (
    ("/messages", ANTHROPIC_MESSAGES),
    ("/chat/completions", OPENAI_CHAT),
    ("/responses", OPENAI_RESPONSES),
)
# POST endpoints that providers do not bill, by the end of the path or by a part of it.
_FREE_ENDS = (
    "/count_tokens", "/input_tokens", "/files", "/uploads", "/moderations", "/conversations", "/cancel", "/tokenize",
    "/detokenize",
)  # fmt: skip
_FREE_INSIDE = ("/files/", "/uploads/", "/organizations/", "/organization/", "/event_logging/", "/conversations/")
_FREE_BELOW_BILLED = ("/count_tokens", "/input_tokens", "/cancel")
_BEDROCK = re.compile(r".*/model/[^/]+/(?:(converse)(?:-stream)?|invoke(?:-with-response-stream)?)")
# An id may hold an escaped colon, and the slash of a profile's ARN.
_BEDROCK_COUNT = re.compile(
    r"/model/(?:arn(?:[A-Za-z0-9._:-]|%3[Aa])*(?:inference-profile|foundation-model)%2[Ff])?"
    r"(?:[A-Za-z0-9._:-]|%3[Aa])+/count-tokens"
)
_PLAIN = re.compile(r"[A-Za-z0-9/._~:@-]*")
_FETCHED_RESPONSE = re.compile(r"/responses/[^/]+$")
_VERSION = re.compile(r"v\d+(alpha|beta)?\d*")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_ADDRESS = re.compile(r"[!-~]+")
_UNKNOWN = Endpoint(EndpointKind.UNKNOWN, ANY_WIRE)
_FREE = Endpoint(EndpointKind.FREE)


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
        bare = path.partition("?")[0].rstrip("/")
        if method in _READING_METHODS:
            fetched = method == "GET" and _FETCHED_RESPONSE.search(bare)
            return Endpoint(EndpointKind.FREE, OPENAI_RESPONSES) if fetched else _FREE
        if method == "DELETE":
            return _FREE
        if method != "POST":
            return _UNKNOWN
        if "/threads" in bare:
            return _UNKNOWN
        for end, wire in _BILLED:
            if bare.endswith(end):
                return Endpoint(EndpointKind.BILLED, wire)
        bedrock = _BEDROCK.fullmatch(bare)
        if bedrock is not None:
            return Endpoint(EndpointKind.BILLED, BEDROCK_CONVERSE if bedrock[1] else BEDROCK_INVOKE)
        return _FREE if _is_free(bare) else _UNKNOWN

    def url(self, path: str) -> str:
        """Return the upstream's URL for a path that came in after the provider's name."""
        base = urlsplit(self.upstream)
        path = "/" + path.lstrip("/")
        prefix = base.path.rstrip("/")
        bare, mark, query = path.partition("?")
        bare = _without_doubled_version(prefix, bare, self.versioned and "/messages" not in bare)
        if base.query:
            mark, query = "?", f"{base.query}&{query}" if query else base.query
        return f"{base.scheme}://{base.netloc}{prefix}{bare}{mark}{query}"


def _is_free(path: str) -> bool:
    # Free only where every server reads the path as the same endpoint: one that unescapes, cuts at a mark or routes
    # by the beginning could find a billed one in it.
    if _BEDROCK_COUNT.fullmatch(path):
        return True
    if not _PLAIN.fullmatch(path):
        return False
    if any(f"{end}/" in path for end, _ in _BILLED):
        return path.endswith(_FREE_BELOW_BILLED)
    return path.endswith(_FREE_ENDS) or any(part in path for part in _FREE_INSIDE)


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
    # OpenAI-compatible, at addresses that agents' own variables name; their other wires are not read yet.
    "bedrock": Provider(
        name="bedrock", upstream="https://bedrock-runtime.us-east-1.amazonaws.com", prices="aws", versioned=False
    ),
    "deepseek": Provider(name="deepseek", upstream="https://api.deepseek.com/v1", prices="deepseek"),
    "fireworks": Provider(name="fireworks", upstream="https://api.fireworks.ai/inference/v1", prices="fireworks"),
    "gemini": Provider(name="gemini", upstream="https://generativelanguage.googleapis.com", prices="google"),
    "groq": Provider(name="groq", upstream="https://api.groq.com/openai/v1", prices="groq"),
    "mistral": Provider(name="mistral", upstream="https://api.mistral.ai/v1", prices="mistral"),
    "openrouter": Provider(name="openrouter", upstream="https://openrouter.ai/api/v1", prices="openrouter"),
    "together": Provider(name="together", upstream="https://api.together.xyz/v1", prices="together"),
    "xai": Provider(name="xai", upstream="https://api.x.ai/v1", prices="x-ai"),
}
# Names that people give to providers whose section of the price book is called otherwise.
_SECTIONS: Mapping[str, str] = {"xai": "x-ai", "gemini": "google", "bedrock": "aws", "moonshot": "moonshotai"}


def names() -> tuple[str, ...]:
    """Return the names of the known providers."""
    return tuple(_KNOWN)


def provider(name: str) -> Provider:
    """Return a known provider; UsageError names the known ones."""
    try:
        return _KNOWN[name]
    except KeyError:
        known = ", ".join(sorted(_KNOWN))
        raise UsageError(Reason.UNKNOWN_PROVIDER, f"no provider is called {name!r}; known: {known}") from None


def with_upstream(name: str, url: str) -> Provider:
    """Return the provider `name` at another upstream; any name will do. UsageError says what is wrong."""
    parts = _split(name, url)
    known = _KNOWN.get(name)
    if known is not None:
        return replace(known, upstream=url)
    free = is_local_host(parts.hostname or "")
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
