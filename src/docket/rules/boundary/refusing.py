"""How a request is turned away: the answer in the protocol's own shape, and the event that says so.

Rules:
1. A refusal that will not change is `RefusalStyle.status` (400 by default), which agents take as final. One that
   only waits for calls in flight, or for its turn, is 429 with Retry-After, and one by an open breaker 503: agents wait
   and try again. An upstream that cannot be reached is 502.
2. Where no wire format is known the answer is a plain JSON error with the same members.
3. Digits that an agent would misread for the status of a passing fault are parted by `_` in the message and escaped
   elsewhere in the body; the record keeps them as they are.
4. Message and detail name the cap, what was used, the limit, the docket number and what can be done.
"""

from __future__ import annotations

from collections.abc import Sequence

from docket.formats.dataclass import dataclass
from docket.formats.ledger.model_events import ModelDenied
from docket.formats.reason import Reason
from docket.rules.agents.interface import RefusalStyle
from docket.rules.boundary.admission import Refused, advice
from docket.rules.boundary.http1 import ResponseHead
from docket.rules.boundary.protocol import Refuse
from docket.rules.providers.interface import Refusal, RefusalReply, Wire
from docket.rules.providers.refusal import reply

RETRY_AFTER_SECONDS = 1
_FIRST_PASSING = 429
PHRASES = {
    200: b"OK",
    400: b"Bad Request",
    401: b"Unauthorized",
    402: b"Payment Required",
    403: b"Forbidden",
    404: b"Not Found",
    405: b"Method Not Allowed",
    407: b"Proxy Authentication Required",
    413: b"Content Too Large",
    415: b"Unsupported Media Type",
    426: b"Upgrade Required",
    429: b"Too Many Requests",
    502: b"Bad Gateway",
    503: b"Service Unavailable",
}
_FIXED_STATUS = {
    Reason.UNKNOWN_PROVIDER: 404,
    Reason.UPGRADE_REFUSED: 426,
    Reason.UPSTREAM_UNREACHABLE: 502,
    Reason.UPSTREAM_BROKEN: 502,
    Reason.TOO_LARGE: 413,
    Reason.CLIENT_GONE: 499,
    Reason.RATE_LIMITED: 429,
    Reason.CIRCUIT_OPEN: 503,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is known of the request that is refused."""

    provider: str
    path: str
    wire: Wire | None = None
    model: str = "unknown"
    streaming: bool = False


def refuse(refused: Refused, asked: Asked, style: RefusalStyle, docket_number: str) -> tuple[Refuse, ModelDenied]:
    """Return the answer to the agent and the event for the record."""
    answer = answer_with(refusal_of(refused, style, docket_number), asked.wire, style.misread)
    event = ModelDenied(
        provider=asked.provider,
        model=asked.model,
        reason=refused.reason,
        cap=refused.cap,
        detail=refused.detail,
        status=answer.head.status,
        path=asked.path,
    )
    return answer, event


def refusal_of(refused: Refused, style: RefusalStyle, docket_number: str) -> Refusal:
    """Return what the agent is told, whatever the protocol."""
    retry_after = refused.retry_after_seconds
    if retry_after is None and refused.passing:
        retry_after = RETRY_AFTER_SECONDS
    return Refusal(
        reason=refused.reason,
        message=_parted(f"docket {docket_number}: {refused.detail}. {advice(refused)}".rstrip(), style.misread),
        docket_number=docket_number,
        status=_status(refused, style),
        retry_after_seconds=retry_after,
    )


def answer_with(refusal: Refusal, wire: Wire | None, misread: Sequence[str] = ()) -> Refuse:
    """Return a refusal as a whole reply."""
    answer = _plain(refusal) if wire is None else wire.refusal(refusal)
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers]
    # A status of this size stands as a number in some bodies, and there the agent is right about it.
    body = _escaped(answer.body, misread) if answer.status < _FIRST_PASSING else answer.body
    return Refuse(_head(answer.status, headers), body)


def _parted(text: str, misread: Sequence[str]) -> str:
    for digits in misread:
        text = text.replace(digits, f"{digits[0]}_{digits[1:]}")
    return text


def _escaped(body: bytes, misread: Sequence[str]) -> bytes:
    """Return JSON that says the same, with the second of such digits in a text as its escape.

    The first one's would end in the digit itself.
    """
    for digits in misread:
        body = body.replace(digits.encode(), f"{digits[0]}\\u{ord(digits[1]):04x}{digits[2:]}".encode())
    return body


def not_found() -> Refuse:
    """Return what everybody without the token gets."""
    return plain_text(404, "not found\n")


def plain_text(status: int, text: str) -> Refuse:
    """Return a reply for a request that speaks no provider's protocol."""
    return Refuse(_head(status, [(b"content-type", b"text/plain; charset=utf-8")]), text.encode())


def _head(status: int, headers: list[tuple[bytes, bytes]]) -> ResponseHead:
    if status == 426:
        headers = [*headers, (b"upgrade", b"HTTP/1.1")]
    return ResponseHead(status=status, reason=PHRASES.get(status, b""), headers=tuple(headers))


def _status(refused: Refused, style: RefusalStyle) -> int:
    if refused.passing:
        return 429
    return _FIXED_STATUS.get(refused.reason, style.status)


def _plain(refusal: Refusal) -> RefusalReply:
    error = {"type": "docket_refusal", "code": str(refusal.reason), "message": refusal.message}
    return reply(refusal, {"error": error})
