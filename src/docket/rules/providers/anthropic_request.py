"""What a Messages request asks for."""

from __future__ import annotations

from docket.rules.providers.counts import count
from docket.rules.providers.interface import Hidden, RequestFacts, model_members
from docket.rules.providers.json_scan import JsonMap, as_items, as_map, as_text
from docket.rules.providers.request import (
    fingerprint,
    flag,
    largest,
    may_name,
    parse_request,
    sources,
    unreadable_request,
)

# Tools whose type names them but which the client runs itself.
_CLIENT_TOOLS = ("custom", "bash_", "text_editor_", "computer_", "memory_")
_REMOTE = ("url", "file")


def read_request(body: bytes) -> RequestFacts:
    """Read a decoded request body."""
    request = parse_request(body)
    if request is None:
        return unreadable_request(body)
    parsed = request.members
    model, raw = model_members(parsed.get("model"))
    thinking = _thinking_tokens(parsed)
    most = largest(parsed, "max_tokens", "max_tokens_to_sample")
    return RequestFacts(
        model=model,
        model_raw=raw,
        streaming=flag(parsed.get("stream")),
        max_output_tokens=most + thinking if most is not None and thinking is not None and thinking >= most else most,
        thinking_tokens=thinking,
        hidden=_hidden(parsed, body),
        fingerprint=fingerprint(body, parsed),
        service_tier=as_text(parsed.get("service_tier")),
        speed=as_text(parsed.get("speed")),
        inference_geo=as_text(parsed.get("inference_geo")),
        web_search_limit=_web_search_limit(parsed),
        ambiguous=request.ambiguous,
    )


def _thinking_tokens(parsed: JsonMap) -> int | None:
    return count(as_map(parsed.get("thinking")).get("budget_tokens"))


def _hidden(parsed: JsonMap, body: bytes) -> tuple[Hidden, ...]:
    found = []
    if not flag(parsed.get("stream")):
        found.append(Hidden.NON_STREAMING)
    if as_map(parsed.get("thinking")).get("type") in ("enabled", "adaptive"):
        found.append(Hidden.REASONING)
    if parsed.get("mcp_servers") or parsed.get("container") or any(map(_is_server_tool, as_items(parsed.get("tools")))):
        found.append(Hidden.SERVER_TOOLS)
    if _has_remote_input(parsed, body):
        found.append(Hidden.REMOTE_INPUT)
    if parsed.get("fallbacks") or any(as_map(tool).get("model") for tool in as_items(parsed.get("tools"))):
        found.append(Hidden.SEVERAL_MODELS)
    if parsed.get("compaction") or as_map(parsed.get("context_management")).get("edits"):
        found.append(Hidden.ITERATIONS)
    return tuple(found)


def _is_server_tool(tool: object) -> bool:
    kind = as_map(tool).get("type")
    return isinstance(kind, str) and not kind.startswith(_CLIENT_TOOLS)


def _web_search_limit(parsed: JsonMap) -> int | None:
    limits = [
        count(as_map(tool).get("max_uses"))
        for tool in as_items(parsed.get("tools"))
        if str(as_map(tool).get("type")).startswith("web_search")
    ]
    known = [limit for limit in limits if limit is not None]
    return sum(known) if known and len(known) == len(limits) else None


def _has_remote_input(parsed: JsonMap, body: bytes) -> bool:
    # Walking every block costs more than finding the two words, which most bodies do not hold.
    if not may_name(body, b'"url"', b'"file"'):
        return False
    return any(as_map(block.get("source")).get("type") in _REMOTE for block in sources(parsed, "messages"))
