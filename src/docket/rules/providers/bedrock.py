"""Amazon Bedrock: `POST /model/{id}/converse[-stream]` and `/invoke[-with-response-stream]` (AWS API reference).

Rules:
1. The model stands in the path and nowhere else; a prefix for a region (`us.`, `eu.`, `global.`) is a part of its name,
   for the price depends on it. An ARN of a profile, a router or a throughput of the account's own names no model.
2. Whether a reply streams follows from the operation.
3. Converse asks for a tier and a latency in its body, InvokeModel in headers.
4. A request that is signed for its host (Signature Version 4) cannot go on: the signature covers the host's name,
   which is this machine's. `signed_for_host` says why.
"""

from __future__ import annotations

import hashlib
import re

from docket.formats.dataclass import replace
from docket.rules.providers import anthropic_request, openai_request
from docket.rules.providers.bedrock_reply import LATENCY_HEADER, TIER_HEADER, converse_meter, invoke_meter
from docket.rules.providers.body import OpaqueMeter, is_opaque
from docket.rules.providers.counts import count
from docket.rules.providers.interface import (
    NO_TARGET,
    Fields,
    Hidden,
    Meter,
    Refusal,
    RefusalReply,
    RequestFacts,
    RequestTarget,
    model_members,
)
from docket.rules.providers.json_scan import JsonMap, as_items, as_map, as_text
from docket.rules.providers.path_model import bedrock_model
from docket.rules.providers.refusal import members, reply
from docket.rules.providers.request import fingerprint, largest, may_name, parse_request, unreadable_request

CONVERSE_STREAM, INVOKE_STREAM = "/converse-stream", "/invoke-with-response-stream"
_SIGNATURE = "aws4-hmac-sha256"
_ARN = re.compile(r"arn:[^:]*:[^:]*:[^:]*:[^:]*:([^/:]+)")
_NAMES_A_MODEL = ("foundation-model", "inference-profile")
_REASONS = re.compile(r"openai\.gpt|deepseek|thinking")
_NATIVE_LIMITS = (
    ("inferenceConfig", "maxTokens"), ("inferenceConfig", "max_new_tokens"), ("textGenerationConfig", "maxTokenCount"),
)  # fmt: skip
_ERROR_TYPES = {
    401: "UnrecognizedClientException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    429: "ThrottlingException",
    503: "ServiceUnavailableException",
}


class BedrockConverse:
    """The wire format of Converse and ConverseStream."""

    name = "bedrock-converse"

    def read_request(self, body: bytes, target: RequestTarget = NO_TARGET) -> RequestFacts:
        """Read a decoded request body, and the model in the path."""
        streaming = target.bare_path.endswith(CONVERSE_STREAM)
        request = parse_request(body)
        if request is None:
            return _named(unreadable_request(body), target, streaming=streaming)
        parsed = request.members
        extra = as_map(parsed.get("additionalModelRequestFields"))
        thinking = count(as_map(extra.get("thinking")).get("budget_tokens"))
        most = count(as_map(parsed.get("inferenceConfig")).get("maxTokens"))
        facts = RequestFacts(
            max_output_tokens=most + thinking if most is not None and thinking and thinking >= most else most,
            thinking_tokens=thinking,
            hidden=_converse_hidden(parsed, extra, body),
            fingerprint=fingerprint(body, parsed),
            service_tier=as_text(as_map(parsed.get("serviceTier")).get("type")),
            speed=as_text(as_map(parsed.get("performanceConfig")).get("latency")),
            ambiguous=request.ambiguous,
        )
        return _named(facts, target, streaming=streaming)

    def meter(self, content_type: str, *, streaming: bool, headers: Fields = ()) -> Meter:  # noqa: ARG002 - the first byte tells
        """Return a meter for one reply."""
        return converse_meter()

    def refusal(self, refusal: Refusal) -> RefusalReply:
        """Return an error as the service sends it."""
        return bedrock_refusal(refusal)


class BedrockInvoke:
    """The wire format of InvokeModel and its stream: every model in its own."""

    name = "bedrock-invoke"

    def read_request(self, body: bytes, target: RequestTarget = NO_TARGET) -> RequestFacts:
        """Read a decoded request body in the format of the model, and the model in the path."""
        if b'"anthropic_version"' in body:
            facts = anthropic_request.read_request(body)
        else:
            facts = openai_request.read_chat_request(body)
            if facts.max_output_tokens is None:
                facts = replace(facts, max_output_tokens=_native_limit(body))
        tier, latency = as_text(target.field(TIER_HEADER)), as_text(target.field(LATENCY_HEADER))
        facts = replace(facts, service_tier=tier or facts.service_tier, speed=latency or facts.speed)
        return _named(facts, target, streaming=target.bare_path.endswith(INVOKE_STREAM))

    def meter(self, content_type: str, *, streaming: bool, headers: Fields = ()) -> Meter:  # noqa: ARG002 - the first byte tells
        """Return a meter for one reply."""
        return OpaqueMeter() if is_opaque(content_type) else invoke_meter(headers)

    def refusal(self, refusal: Refusal) -> RefusalReply:
        """Return an error as the service sends it."""
        return bedrock_refusal(refusal)


def signed_for_host(target: RequestTarget) -> str | None:
    """Return why a request that is signed for its host cannot go on, None for one that is not signed."""
    by_header = target.field(b"authorization").lower().startswith(_SIGNATURE)
    query = target.path.partition("?")[2].lower()
    if not by_header and "x-amz-signature=" not in query:
        return None
    return (
        "the request is signed for the address docket gave the agent (AWS Signature Version 4 covers the host's name), "
        "so AWS would refuse it; use an Amazon Bedrock API key in AWS_BEARER_TOKEN_BEDROCK, which signs nothing"
    )


def names_no_model(model: str) -> bool:
    """Whether a model id is the ARN of something of the account's own, which hides the model behind it."""
    kind = _ARN.match(model)
    return kind is not None and kind[1] not in _NAMES_A_MODEL


def bedrock_refusal(refusal: Refusal) -> RefusalReply:
    """Return an error object as the service sends it; its type stands in a header."""
    answer = reply(refusal, {"message": refusal.message, "docket": members(refusal)})
    kind = _ERROR_TYPES.get(refusal.status, "ValidationException")
    return answer._replace(headers=(*answer.headers, ("x-amzn-errortype", kind)))


def _named(facts: RequestFacts, target: RequestTarget, *, streaming: bool) -> RequestFacts:
    """Return the facts with what the target says: the model, and whether the reply streams."""
    model, raw = model_members(bedrock_model(target.path))
    hidden: list[Hidden] = [] if streaming else [Hidden.NON_STREAMING]
    hidden += [item for item in facts.hidden if item is not Hidden.NON_STREAMING]
    if _REASONS.search((model or "").lower()) and Hidden.REASONING not in hidden:
        hidden.append(Hidden.REASONING)
    opaque = model is not None and names_no_model(model)
    if opaque and Hidden.STORED_HISTORY not in hidden:
        # A stored prompt is such an ARN too: how long it is nobody sees here.
        hidden.append(Hidden.STORED_HISTORY)
    asked = f"{model}\n{facts.fingerprint}".encode("utf-8", "backslashreplace")
    return replace(
        facts,
        model=model,
        model_raw=raw,
        streaming=streaming,
        hidden=tuple(hidden),
        fingerprint=hashlib.sha256(asked).hexdigest()[:16],
        model_is_exact=model is not None and not opaque,
    )


def _converse_hidden(parsed: JsonMap, extra: JsonMap, body: bytes) -> tuple[Hidden, ...]:
    found = []
    thinks = as_map(extra.get("thinking")).get("type") in ("enabled", "adaptive")
    if thinks or extra.get("reasoning_effort") or extra.get("reasoningConfig") or parsed.get("outputConfig"):
        found.append(Hidden.REASONING)
    if any("systemTool" in as_map(tool) for tool in as_items(as_map(parsed.get("toolConfig")).get("tools"))):
        found.append(Hidden.SERVER_TOOLS)
    if may_name(body, b'"s3Location"'):
        found.append(Hidden.REMOTE_INPUT)
    return tuple(found)


def _native_limit(body: bytes) -> int | None:
    request = parse_request(body)
    if request is None:
        return None
    parsed = request.members
    nested = [count(as_map(parsed.get(outer)).get(inner)) for outer, inner in _NATIVE_LIMITS]
    found = [number for number in (*nested, largest(parsed, "max_gen_len")) if number is not None]
    return max(found, default=None)
