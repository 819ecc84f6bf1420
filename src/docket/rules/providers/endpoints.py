"""What a method and a path stand for: which wire format, and whether the provider bills it.

Rules:
1. The wire follows from the end of the path, so that gateways with prefixes of their own are read too.
2. An endpoint is billed, free, or unknown; an unknown one is the policy's to allow, and is metered where it is.
3. Free is only a path that is written out here from its first slash, at a provider that does not bill it: a server
   that unescapes, cuts at a mark, or routes by the beginning or the end must not find a billed one in it.

Where a provider stands and what it charges is `registry`'s.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from docket.rules.providers.anthropic import AnthropicMessages
from docket.rules.providers.batch_results import BatchResults
from docket.rules.providers.bedrock import BedrockConverse, BedrockInvoke
from docket.rules.providers.generic import AnyWire
from docket.rules.providers.google_endpoints import (
    GEMINI,
    GEMINI_BATCHES,
    GEMINI_INTERACTIONS,
    VERTEX_CLAUDE,
    classify_google,
    fetched_google,
)
from docket.rules.providers.interface import Endpoint, EndpointKind, Wire
from docket.rules.providers.ollama import Ollama
from docket.rules.providers.openai_chat import OpenAiChat
from docket.rules.providers.openai_responses import OpenAiResponses

ANTHROPIC_MESSAGES: Wire = AnthropicMessages()
OPENAI_CHAT: Wire = OpenAiChat()
OPENAI_RESPONSES: Wire = OpenAiResponses()
BEDROCK_CONVERSE: Wire = BedrockConverse()
BEDROCK_INVOKE: Wire = BedrockInvoke()
OLLAMA: Wire = Ollama()
BATCH_RESULTS: Wire = BatchResults()
ANY_WIRE: Wire = AnyWire()

WIRES: Mapping[str, Wire] = {
    wire.name: wire
    for wire in (
        ANTHROPIC_MESSAGES,
        OPENAI_CHAT,
        OPENAI_RESPONSES,
        BEDROCK_CONVERSE,
        BEDROCK_INVOKE,
        GEMINI,
        GEMINI_BATCHES,
        GEMINI_INTERACTIONS,
        VERTEX_CLAUDE,
        OLLAMA,
        BATCH_RESULTS,
        ANY_WIRE,
    )
}

_READING_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_BILLED: tuple[tuple[str, Wire], ...] = (
    ("/messages", ANTHROPIC_MESSAGES),
    ("/chat/completions", OPENAI_CHAT),
    ("/completions", OPENAI_CHAT),
    ("/responses", OPENAI_RESPONSES),
    ("/responses/compact", OPENAI_RESPONSES),
    ("/api/chat", OLLAMA),
    ("/api/generate", OLLAMA),
    ("/api/embed", OLLAMA),
    ("/api/embeddings", OLLAMA),
    ("/embeddings", ANY_WIRE),
)
# What may stand before an endpoint of a provider's own: versions, and the words that providers put there themselves.
_BEFORE = r"(?:/(?:v[0-9][a-z0-9]{0,9}|api|openai|inference|upload|anthropic))*"
_ID = r"[A-Za-z0-9_.-]+"
# POST endpoints that no provider bills.
_FREE_ANYWHERE = re.compile(
    _BEFORE
    + "(?:"
    + "|".join(
        (
            "/messages/count_tokens", f"/messages/batches/{_ID}/cancel", "/responses/input_tokens",
            f"/responses/{_ID}/cancel", f"/interactions/{_ID}/cancel", f"/batches/{_ID}/cancel",
            f"/fine_tuning/jobs/{_ID}/cancel", "/files", "/uploads", f"/uploads/{_ID}/(?:parts|complete|cancel)",
            "/tokenize", "/detokenize",
        )
    )
    + ")"
)  # fmt: skip
_OPENAI = re.compile(
    _BEFORE + rf"(?:/moderations|/conversations(?:/{_ID}(?:/items)?)?|/organization(?:/(?!v[0-9]){_ID})+)"
)
# Those that some bill and these do not: Mistral's conversations and moderations cost, for one.
_FREE_AT = {
    "openai": _OPENAI,
    "azure": _OPENAI,
    "anthropic": re.compile(_BEFORE + rf"(?:/event_logging(?:/{_ID})+|/organizations(?:/(?!v[0-9]){_ID})+)"),
    "ollama": re.compile(
        rf"/api/(?:show|pull|push|create|copy|me|signout|blobs/(?:sha256:)?{_ID})",
    ),
}
_BEDROCK = re.compile(r".*/model/[^/]+/(?:(converse)(?:-stream)?|invoke(?:-with-response-stream)?)")
# An id may hold an escaped colon, and the slash of a profile's ARN.
_BEDROCK_COUNT = re.compile(
    r"/model/(?:arn(?:[A-Za-z0-9._:-]|%3[Aa])*(?:inference-profile|foundation-model)%2[Ff])?"
    r"(?:[A-Za-z0-9._:-]|%3[Aa])+/count-tokens"
)
_FETCHED_RESULTS = re.compile(r"/messages/batches/[^/]+/results$|/files/[^/]+/content$")
_FETCHED_RESPONSE = re.compile(r"/responses/[^/]+$")
_UNKNOWN = Endpoint(EndpointKind.UNKNOWN, ANY_WIRE)
_FREE = Endpoint(EndpointKind.FREE)


def classify(method: str, path: str, provider: str = "") -> Endpoint:
    """Return what a request stands for at a provider; `path` may carry a query."""
    bare = path.partition("?")[0].rstrip("/")
    if method in _READING_METHODS:
        return _fetched(bare) if method == "GET" else _FREE
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
    google = classify_google(bare)
    if google is not None:
        return google
    return _FREE if _is_free(bare, provider) else _UNKNOWN


def _fetched(path: str) -> Endpoint:
    if _FETCHED_RESPONSE.search(path):
        return Endpoint(EndpointKind.FREE, OPENAI_RESPONSES)
    if _FETCHED_RESULTS.search(path):
        return Endpoint(EndpointKind.FREE, BATCH_RESULTS)
    return fetched_google(path) or _FREE


def _is_free(path: str, provider: str) -> bool:
    if _BEDROCK_COUNT.fullmatch(path) or _FREE_ANYWHERE.fullmatch(path):
        return True
    free = _FREE_AT.get(provider)
    return free is not None and free.fullmatch(path) is not None
