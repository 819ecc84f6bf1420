"""What the request bodies of all wire formats have in common: reading them and telling repetitions.

Rules:
1. Reading never changes a byte: the facts come from a parsed copy.
2. A body that is no JSON object has no model and is `Hidden.UNREADABLE`.
3. A body that two readers could read differently is told as ambiguous: a name that stands twice (some take the first),
   or one that a rule reads in another case (some take it for the same).
4. The fingerprint is the first 16 hexadecimal digits of the SHA-256 of the body without what changes from one
   attempt to the next: ids of the request and the user, stream flags, and Claude Code's billing line.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from docket.rules.providers.counts import count
from docket.rules.providers.interface import Hidden, RequestFacts, model_text
from docket.rules.providers.json_scan import JsonMap, MemberScan, as_items, as_map, loads_object

MAX_PARSED_BYTES = 32 * 1024 * 1024
BILLING_LINE = "x-anthropic-billing-header:"
_BILLING_BYTES = BILLING_LINE.encode()
# Nobody has to write a letter so, and servers read it as one.
_ESCAPED_LETTER = re.compile(rb"\\u00[4-7]")
_NUMBER = re.compile(r"\+?([0-9]{1,9})(?:\.0*)?", re.ASCII)
# What was read from JSON holds no circles to look for.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), check_circular=False)
_CHANGING = frozenset(
    {
        "metadata", "request_id", "idempotency_key", "stream", "stream_options", "user", "user_id",
        "safety_identifier", "prompt_cache_key", "client_metadata",
    }
)  # fmt: skip
_LARGE_BODY_MEMBERS = (
    ("model",), ("stream",), ("max_tokens",), ("max_completion_tokens",), ("max_output_tokens",), ("n",), ("best_of",),
    ("service_tier",), ("thinking",), ("reasoning",), ("stream_options",), ("tools",), ("previous_response_id",),
    ("background",), ("conversation",), ("speed",), ("inference_geo",),
)  # fmt: skip
_READ = frozenset(
    {
        *(name for (name,) in _LARGE_BODY_MEMBERS), "max_tokens_to_sample", "max_tool_calls", "web_search_options",
        "reasoning_effort", "prompt", "mcp_servers", "container", "fallbacks", "compaction", "context_management",
        "messages", "input", "system",
    }
)  # fmt: skip
_SHOWN_CHARACTERS = 64


class ParsedRequest(NamedTuple):
    """The members of a request, and in words why another reader could read them differently."""

    members: JsonMap
    ambiguous: str | None = None


def parse_request(
    body: bytes, *, kept: tuple[tuple[str, ...], ...] = _LARGE_BODY_MEMBERS, read: frozenset[str] = _READ
) -> ParsedRequest | None:
    """Return the object a request body holds, of a very large one the members at `kept`; None if it is no object.

    `read` are the names that a rule reads, for which another spelling's case would matter.
    """
    if len(body) > MAX_PARSED_BYTES:
        scan = MemberScan(kept)
        scan.feed(body)
        return ParsedRequest(scan.result(), _twice(scan.repeated))
    value = loads_object(body)
    if value is None:
        return None
    members, repeated = value
    for name in members:
        # Decoders of one widespread language match names whatever their case.
        if name not in read and (meant := name.casefold()) in read:
            return ParsedRequest(
                members, f'the request names "{_shown(name)}", which some servers read as "{meant}" and others do not'
            )
    return ParsedRequest(members, _twice(repeated))


def _twice(name: str | None) -> str | None:
    if name is None:
        return None
    return f'the request names "{_shown(name)}" more than once, so that it may be served otherwise than it is read here'


def _shown(name: str) -> str:
    return model_text(name[:_SHOWN_CHARACTERS])


def unreadable_request(body: bytes) -> RequestFacts:
    """Return the facts of a body that is no JSON object."""
    note = "the request body is empty" if not body else "the request body is not a JSON object"
    return RequestFacts(hidden=(Hidden.UNREADABLE,), fingerprint=_digest(body), note=note)


def fingerprint(body: bytes, parsed: JsonMap) -> str:
    """Return 16 hexadecimal digits that are equal for two bodies which ask the same thing again."""
    if len(body) > MAX_PARSED_BYTES:
        return _digest(body)
    kept = {name: value for name, value in parsed.items() if name not in _CHANGING}
    if _BILLING_BYTES in body:
        kept["system"] = _without_billing_line(kept.get("system"))
    try:
        return _digest(_ENCODER.encode(kept).encode("ascii"))
    except (RecursionError, ValueError):
        return _digest(body)


def may_name(body: bytes, *names: bytes) -> bool:
    """Whether a body may hold one of these names: as it stands, or with a letter written as an escape.

    Looking for a word costs far less than walking every part of a conversation, which most bodies need not.
    """
    if any(name in body for name in names):
        return True
    return b"\\u00" in body and _ESCAPED_LETTER.search(body) is not None


def largest(parsed: JsonMap, *names: str) -> int | None:
    """Return the largest count among members, None if there is none, or something there that is no count.

    Which of them a server goes by, and what it makes of a text where it wants a number, nobody knows: no limit then.
    """
    found = [count(parsed[name]) for name in names if parsed.get(name) is not None]
    known = [number for number in found if number is not None]
    return max(known, default=None) if len(known) == len(found) else None


def choices(parsed: JsonMap, *names: str) -> int:
    """Return how many answers are asked for by the most demanding of the members, at least one.

    A number in a text is one too: servers that read bodies into declared types take it.
    """
    return max(1, *(_coerced(parsed.get(name)) for name in names))


def _coerced(value: object) -> int:
    written = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    return count(value if written is None else int(written[1])) or 1


def flag(value: object) -> bool:
    """Return whether a JSON value is `true`."""
    return value is True


def sources(parsed: JsonMap, member: str) -> Iterator[JsonMap]:
    """Yield every message or item in `member` with its parts, those of a tool's result included."""
    for message in as_items(parsed.get(member)):
        yield as_map(message)
        for part in _parts(message):
            yield part
            yield from _parts(part)


def _parts(value: object) -> Iterator[JsonMap]:
    members = as_map(value)
    for name in ("content", "output"):
        for part in as_items(members.get(name)):
            yield as_map(part)


def _without_billing_line(system: object) -> object:
    if not isinstance(system, list):
        return system
    return [block for block in system if not str(as_map(block).get("text", "")).lstrip().startswith(BILLING_LINE)]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
