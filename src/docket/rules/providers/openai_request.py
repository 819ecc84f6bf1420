"""What Chat Completions and Responses requests ask for."""

from __future__ import annotations

import re

from docket.formats.dataclass import replace
from docket.rules.providers.counts import count
from docket.rules.providers.interface import Hidden, RequestFacts, RequestTarget, model_members
from docket.rules.providers.json_scan import JsonMap, as_items, as_map, as_text
from docket.rules.providers.path_model import azure_deployment
from docket.rules.providers.request import (
    choices,
    fingerprint,
    flag,
    largest,
    may_name,
    parse_request,
    sources,
    unreadable_request,
)

# Models that reason although the request does not say so; their reasoning is billed and not shown.
_REASONS = re.compile(r"(^|[/:])(o[1-9]|gpt-([5-9]|\d\d)(?!.*chat)|codex)")
_CLIENT_TOOLS = ("function", "custom", "local_shell", "shell", "apply_patch", "namespace")


def read_chat_request(body: bytes) -> RequestFacts:
    """Read a decoded Chat Completions request."""
    request = parse_request(body)
    if request is None:
        return unreadable_request(body)
    parsed = request.members
    model, raw = model_members(parsed.get("model"))
    options = parsed.get("stream_options")
    hidden = _shared_hidden(parsed, model, parsed.get("reasoning_effort"))
    if parsed.get("web_search_options") is not None or _has_server_tools(parsed):
        hidden.append(Hidden.SERVER_TOOLS)
    if may_name(body, b'"url"', b'"file_id"') and any(map(_is_remote_chat, sources(parsed, "messages"))):
        hidden.append(Hidden.REMOTE_INPUT)
    return RequestFacts(
        model=model,
        model_raw=raw,
        streaming=flag(parsed.get("stream")),
        max_output_tokens=largest(parsed, "max_completion_tokens", "max_tokens"),
        choices=choices(parsed, "n", "best_of"),
        hidden=tuple(hidden),
        fingerprint=fingerprint(body, parsed),
        include_usage=None if options is None else flag(as_map(options).get("include_usage")),
        service_tier=as_text(parsed.get("service_tier")),
        ambiguous=request.ambiguous,
    )


def read_responses_request(body: bytes) -> RequestFacts:
    """Read a decoded Responses request."""
    request = parse_request(body)
    if request is None:
        return unreadable_request(body)
    parsed = request.members
    model, raw = model_members(parsed.get("model"))
    hidden = _shared_hidden(parsed, model, as_map(parsed.get("reasoning")).get("effort"))
    previous = as_text(parsed.get("previous_response_id"))
    if previous or parsed.get("conversation") or parsed.get("prompt") or may_name(body, b'"item_reference"'):
        hidden.append(Hidden.STORED_HISTORY)
    if flag(parsed.get("background")):
        hidden.append(Hidden.BACKGROUND)
    if _has_server_tools(parsed):
        hidden.append(Hidden.SERVER_TOOLS)
    if may_name(body, b'"image_url"', b'"file_url"', b'"file_id"') and any(
        map(_is_remote_item, sources(parsed, "input"))
    ):
        hidden.append(Hidden.REMOTE_INPUT)
    if parsed.get("context_management"):
        hidden.append(Hidden.ITERATIONS)
    return RequestFacts(
        model=model,
        model_raw=raw,
        streaming=flag(parsed.get("stream")),
        max_output_tokens=largest(parsed, "max_output_tokens"),
        hidden=tuple(hidden),
        fingerprint=fingerprint(body, parsed),
        service_tier=as_text(parsed.get("service_tier")),
        web_search_limit=count(parsed.get("max_tool_calls")),
        previous_response_id=previous,
        ambiguous=request.ambiguous,
    )


def of_deployment(facts: RequestFacts, target: RequestTarget) -> RequestFacts:
    """Return the facts with the deployment that an Azure path names: it is what serves, whatever the body says."""
    model, raw = model_members(azure_deployment(target.path))
    return facts if model is None else replace(facts, model=model, model_raw=raw)


def _shared_hidden(parsed: JsonMap, model: str | None, effort: object) -> list[Hidden]:
    found = []
    if not flag(parsed.get("stream")):
        found.append(Hidden.NON_STREAMING)
    if effort not in (None, "none") or (effort is None and _REASONS.search((model or "").lower())):
        found.append(Hidden.REASONING)
    return found


def _has_server_tools(parsed: JsonMap) -> bool:
    kinds = [as_map(tool).get("type") for tool in as_items(parsed.get("tools"))]
    return any(isinstance(kind, str) and kind not in _CLIENT_TOOLS for kind in kinds)


def _is_remote_chat(part: JsonMap) -> bool:
    image, file = as_map(part.get("image_url")), as_map(part.get("file"))
    return _is_remote_url(image.get("url")) or "file_id" in file


def _is_remote_item(part: JsonMap) -> bool:
    return "file_id" in part or _is_remote_url(part.get("image_url")) or _is_remote_url(part.get("file_url"))


def _is_remote_url(value: object) -> bool:
    return isinstance(value, str) and not value.startswith("data:")
