"""What a Gemini request asks for: the model and the streaming in its path, the rest in its body.

Rules:
1. Google reads a member under two spellings (`generationConfig`, `generation_config`); so does this, and a body that
   uses both for one member is ambiguous, as is one whose model is not the path's.
2. Code Assist puts the request into a member of its own and the model beside it.
3. Thoughts count against the output's bound; a budget for them that is larger than the bound is added to it.
"""

from __future__ import annotations

import re

from docket.formats.dataclass import dataclass, replace
from docket.rules.providers.counts import count
from docket.rules.providers.interface import Hidden, RequestFacts, RequestTarget, model_members, model_text
from docket.rules.providers.json_scan import JsonMap, as_items, as_map, as_text
from docket.rules.providers.path_model import TWO_MODELS, google_model, google_verb
from docket.rules.providers.request import choices, fingerprint, largest, may_name, parse_request, unreadable_request

# Models that think although the request does not say so.
_THINKS = re.compile(r"gemini-(2\.5-(?!flash-lite)|[3-9]|\d\d)(?!.*(image|tts|embedding|live))")
_CLIENT_TOOLS = frozenset(("functiondeclarations", "computeruse"))
_FILES = (b"fileData", b"file_data", b"fileUri", b"file_uri")
_EMBEDDING_VERBS = frozenset(("embedContent", "batchEmbedContents"))
_STREAMING_VERBS = frozenset(("streamGenerateContent", "serverStreamingPredict", "streamRawPredict"))
_SESSION_MEMBERS = frozenset(("session_id", "sessionId"))
_MEMBERS = (
    "contents", "content", "requests", "generationConfig", "cachedContent", "tools", "systemInstruction",
    "serviceTier", "model", "request",
)  # fmt: skip
_TIER_HEADER = b"x-vertex-ai-llm-shared-request-type"
_KIND_HEADER = b"x-vertex-ai-llm-request-type"


def _other_spelling(name: str) -> str:
    return re.sub(r"[A-Z]", lambda match: "_" + match[0].lower(), name)


_SPELT = {spelling: name for name in _MEMBERS for spelling in (name, _other_spelling(name))}
_FOLDED = {name.casefold().replace("_", ""): name for name in _MEMBERS}
_KEPT = tuple((name,) for name in _SPELT if name not in ("contents", "content", "requests", "request")) + tuple(
    ("request", name) for name in _SPELT if name not in ("contents", "content", "requests", "request")
)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request's members under their first spelling, and why another reader could read them differently."""

    members: JsonMap
    ambiguous: str | None


def read_gemini_request(body: bytes, target: RequestTarget) -> RequestFacts:
    """Read a decoded request of the generateContent family and its path."""
    verb = google_verb(target.path)
    request = parse_request(body, kept=_KEPT, read=frozenset())
    in_path = google_model(target.path)
    streaming = verb in _STREAMING_VERBS
    if request is None:
        model, raw = model_members(in_path)
        return replace(unreadable_request(body), model=model, model_raw=raw, streaming=streaming)
    outer = _spelt(request.members, request.ambiguous)
    asked = outer
    if in_path is None and isinstance(outer.members.get("request"), dict):
        inner = _spelt(outer.members["request"], outer.ambiguous)
        asked = _Asked({**inner.members, "model": outer.members.get("model")}, inner.ambiguous)
    model, raw = model_members(in_path if in_path is not None else bare_model(asked.members.get("model")))
    ambiguous = asked.ambiguous or _other_model(in_path, asked.members.get("model"))
    facts = _facts(asked.members, verb, target)
    kept = {name: value for name, value in asked.members.items() if name not in _SESSION_MEMBERS}
    return replace(
        facts,
        model=model,
        model_raw=raw,
        streaming=streaming,
        hidden=_hidden(asked.members, body, model or "", streaming=streaming),
        fingerprint=fingerprint(body, {**kept, "model": in_path if in_path is not None else kept.get("model")}),
        ambiguous=ambiguous,
    )


def _facts(members: JsonMap, verb: str, target: RequestTarget) -> RequestFacts:
    config = as_map(members.get("generationConfig"))
    thinking = _thinking_tokens(config)
    most = largest(config, "maxOutputTokens", "max_output_tokens")
    if most is not None and thinking is not None and thinking >= most:
        most += thinking
    if verb in _EMBEDDING_VERBS:
        most = 0
    return RequestFacts(
        max_output_tokens=most,
        thinking_tokens=thinking,
        choices=choices(config, "candidateCount", "candidate_count"),
        service_tier=_tier(members, target),
    )


def _tier(members: JsonMap, target: RequestTarget) -> str | None:
    asked = as_text(members.get("serviceTier")) or target.field(_TIER_HEADER)
    if not asked and target.field(_KIND_HEADER).lower() == "dedicated":
        asked = "provisioned_throughput"
    lowered = asked.lower()[:64]
    return None if lowered in ("", "unspecified", "service_tier_unspecified") else model_text(lowered)


def _hidden(members: JsonMap, body: bytes, model: str, *, streaming: bool) -> tuple[Hidden, ...]:
    found = []
    if not streaming:
        found.append(Hidden.NON_STREAMING)
    if _thinks(as_map(members.get("generationConfig")), model):
        found.append(Hidden.REASONING)
    if any(map(_is_server_tool, as_items(members.get("tools")))):
        found.append(Hidden.SERVER_TOOLS)
    if members.get("cachedContent"):
        found.append(Hidden.STORED_HISTORY)
    if may_name(body, *_FILES):
        found.append(Hidden.REMOTE_INPUT)
    return tuple(found)


def _thinks(config: JsonMap, model: str) -> bool:
    budget = _budget(config)
    if budget is not None:
        return budget != 0
    asked = _thinking(config)
    return bool(asked) or _THINKS.search(model.lower()) is not None


def _thinking(config: JsonMap) -> JsonMap:
    return as_map(config.get("thinkingConfig")) or as_map(config.get("thinking_config"))


def _budget(config: JsonMap) -> int | None:
    thinking = _thinking(config)
    value = thinking.get("thinkingBudget", thinking.get("thinking_budget"))
    # -1 leaves the budget to the model.
    return -1 if value == -1 else count(value)


def _thinking_tokens(config: JsonMap) -> int | None:
    budget = _budget(config)
    return None if budget is None or budget < 0 else budget


def _is_server_tool(tool: object) -> bool:
    return any(name.casefold().replace("_", "") not in _CLIENT_TOOLS for name in as_map(tool))


def _spelt(members: JsonMap, ambiguous: str | None) -> _Asked:
    """Return the members under their first spelling; another spelling of a read member makes them ambiguous."""
    found: dict[str, object] = {}
    for name, value in members.items():
        known = _SPELT.get(name)
        meant = _FOLDED.get(name.casefold().replace("_", ""))
        if meant is not None and (known is None or meant in found):
            ambiguous = ambiguous or f'the request names "{meant}" in more than one way or in an unusual one'
        found[known or name] = value
    return _Asked(found, ambiguous)


def bare_model(name: object) -> object:
    """Return a model's name without the collection that Google puts before it; anything else as it is."""
    return name.removeprefix("models/") if isinstance(name, str) else name


def _other_model(in_path: str | None, in_body: object) -> str | None:
    if in_path is None or not isinstance(in_body, str) or in_body.rpartition("/")[2] == in_path.rpartition("/")[2]:
        return None
    return TWO_MODELS
