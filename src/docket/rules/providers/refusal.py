"""What all refusals share: the headers that tell a client not to try again, and the body's encoding."""

from __future__ import annotations

import json

from docket.rules.providers.interface import Refusal, RefusalReply

JSON_TYPE = "application/json"


def reply(refusal: Refusal, body: object) -> RefusalReply:
    """Return the refusal with `body` as JSON; a client that heeds `x-should-retry` does not come back."""
    data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
    return RefusalReply(refusal.status, headers(refusal), data)


def headers(refusal: Refusal) -> tuple[tuple[str, str], ...]:
    """Return the end-to-end headers of a refusal; `Retry-After` only where waiting helps."""
    fixed = (
        ("content-type", JSON_TYPE),
        ("x-docket-reason", str(refusal.reason)),
        ("x-docket-number", refusal.docket_number),
    )
    if refusal.retry_after_seconds is None:
        return (*fixed, ("x-should-retry", "false"))
    return (*fixed, ("retry-after", str(refusal.retry_after_seconds)))


def members(refusal: Refusal) -> dict[str, str]:
    """Return the members by which a program tells docket's refusal from the provider's."""
    return {"reason": str(refusal.reason), "docket_number": refusal.docket_number}


_OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def openai_refusal(refusal: Refusal) -> RefusalReply:
    """Return an OpenAI error object; `code` holds docket's reason."""
    kind = _OPENAI_TYPES.get(refusal.status, "invalid_request_error")
    error = {"message": refusal.message, "type": kind, "param": None, "code": str(refusal.reason)}
    return reply(refusal, {"error": error, "docket": members(refusal)})


_GOOGLE_STATUSES = {401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}


def google_refusal(refusal: Refusal) -> RefusalReply:
    """Return an error object of Google's APIs (google.rpc.Status as JSON); its details hold docket's reason."""
    details: list[dict[str, object]] = [
        {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": str(refusal.reason),
            "domain": "docket",
            "metadata": {"docket_number": refusal.docket_number},
        }
    ]
    if refusal.retry_after_seconds is not None:
        delay = f"{refusal.retry_after_seconds}s"
        details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay})
    status = _GOOGLE_STATUSES.get(refusal.status, "INTERNAL" if refusal.status >= 500 else "FAILED_PRECONDITION")
    error = {"code": refusal.status, "message": refusal.message, "status": status, "details": details}
    return reply(refusal, {"error": error, "docket": members(refusal)})


def plain_refusal(refusal: Refusal) -> RefusalReply:
    """Return an error whose object is its text, as Ollama answers."""
    return reply(refusal, {"error": refusal.message, "docket": members(refusal)})


def socket_refusal(refusal: Refusal, stream_id: str | None, *, final: bool) -> bytes:
    """Return the error message of a WebSocket; `final`: clients are to take it for the end of the account's money."""
    kind = _OPENAI_TYPES.get(refusal.status, "invalid_request_error")
    code = "insufficient_quota" if final else str(refusal.reason)
    event: dict[str, object] = {
        "type": "error",
        "status": refusal.status,
        "error": {"type": kind, "code": code, "message": refusal.message, "param": None},
        "docket": members(refusal),
    }
    if refusal.retry_after_seconds is not None:
        event["headers"] = {"retry-after": str(refusal.retry_after_seconds)}
    if stream_id is not None:
        event["stream_id"] = stream_id
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
