"""What a method and a path stand for: which wire format, and whether the provider bills it.

Rules:
1. The wire follows from the end of the path, so that gateways with prefixes of their own are read too.
2. An endpoint is billed, free, or unknown; an unknown one is the policy's to allow, and is metered where it is.
3. Free is only what every server reads as the same endpoint: one that unescapes, cuts at a mark or routes by the
   beginning must not find a billed one in it.

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
# POST endpoints that providers do not bill, by the end of the path or by a part of it.
_FREE_ENDS = (
    "/count_tokens", "/input_tokens", "/files", "/uploads", "/moderations", "/conversations", "/cancel", "/tokenize",
    "/detokenize", "/api/show", "/api/pull", "/api/push", "/api/create", "/api/copy", "/api/me", "/api/signout",
)  # fmt: skip
_FREE_INSIDE = (
    "/files/",
    "/uploads/",
    "/organizations/",
    "/organization/",
    "/event_logging/",
    "/conversations/",
    "/api/blobs/",
)
# A reply to one of these is billed under the path before the slash; below it stand other methods.
_BILLED_BELOW = (*(f"{end}/" for end, _ in _BILLED), "/interactions/")
_FREE_BELOW_BILLED = ("/count_tokens", "/input_tokens", "/cancel")
_BEDROCK = re.compile(r".*/model/[^/]+/(?:(converse)(?:-stream)?|invoke(?:-with-response-stream)?)")
# An id may hold an escaped colon, and the slash of a profile's ARN.
_BEDROCK_COUNT = re.compile(
    r"/model/(?:arn(?:[A-Za-z0-9._:-]|%3[Aa])*(?:inference-profile|foundation-model)%2[Ff])?"
    r"(?:[A-Za-z0-9._:-]|%3[Aa])+/count-tokens"
)
_PLAIN = re.compile(r"[A-Za-z0-9/._~:@-]*")
_FETCHED_RESULTS = re.compile(r"/messages/batches/[^/]+/results$|/files/[^/]+/content$")
_FETCHED_RESPONSE = re.compile(r"/responses/[^/]+$")
_UNKNOWN = Endpoint(EndpointKind.UNKNOWN, ANY_WIRE)
_FREE = Endpoint(EndpointKind.FREE)


def classify(method: str, path: str) -> Endpoint:
    """Return what a request stands for; `path` may carry a query."""
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
    if google is not None and (google.kind is not EndpointKind.FREE or not _is_below_billed(bare)):
        return google
    return _FREE if _is_free(bare) else _UNKNOWN


def _fetched(path: str) -> Endpoint:
    if _FETCHED_RESPONSE.search(path):
        return Endpoint(EndpointKind.FREE, OPENAI_RESPONSES)
    if _FETCHED_RESULTS.search(path):
        return Endpoint(EndpointKind.FREE, BATCH_RESULTS)
    return fetched_google(path) or _FREE


def _is_below_billed(path: str) -> bool:
    return any(below in path for below in _BILLED_BELOW)


def _is_free(path: str) -> bool:
    # Free only where every server reads the path as the same endpoint: one that unescapes, cuts at a mark or routes
    # by the beginning could find a billed one in it.
    if _BEDROCK_COUNT.fullmatch(path):
        return True
    if not _PLAIN.fullmatch(path):
        return False
    if ":" in path.rpartition("/")[0]:
        return False
    if _is_below_billed(path):
        return path.endswith(_FREE_BELOW_BILLED)
    return path.endswith(_FREE_ENDS) or any(part in path for part in _FREE_INSIDE)
