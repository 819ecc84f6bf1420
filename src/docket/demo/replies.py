"""Which answer a request to the scripted provider gets, and the record of what was asked.

Rules:
1. Model calls are numbered from 1 in the order they arrive; the script's turns follow that order.
2. Free endpoints (model lists, token counting) never move the script; any other path is a 404 in JSON.
3. A WebSocket upgrade is answered 426, so that a client falls back to HTTP, unless the script speaks it.
4. A record keeps digests and lengths; bodies only where asked for; credentials only as their digest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from urllib.parse import parse_qs

from docket.demo import chat, gemini, messages, responses
from docket.demo.answer import CREATED, NUMBER, Answer, json_answer
from docket.demo.asked import Asked, InvalidAsk, Wire, read_ask, read_message, wire_of
from docket.demo.http1 import Request
from docket.demo.script import Failure, Script, Tokens, Turn
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass, replace
from docket.formats.digest import sha256

CONTROL = "/_scripted/"
# A socket's first message may ask for no output; nothing is counted for it.
WARMED = Turn(tokens=Tokens())
_SECRET_HEADERS = frozenset(
    {"authorization", "x-api-key", "cookie", "proxy-authorization", "api-key", "x-goog-api-key"}
)
_ANSWERS: dict[Wire, Callable[[Turn, Asked], Answer]] = {
    Wire.MESSAGES: messages.answer,
    Wire.CHAT: chat.answer,
    Wire.RESPONSES: responses.answer,
    Wire.GEMINI: gemini.answer,
}


@dataclass(slots=True, kw_only=True)
class Exchange:
    """One request and how its answer went; the last four members are filled in while it is written.

    `call` numbers model calls from 1, None for any other request. `ended` is empty until the answer is over, then
    `complete`, `cut` (by the script) or `client-gone`.
    """

    number: int
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    request_bytes: int
    request_sha256: str
    body: bytes | None = None
    call: int | None = None
    asked: Asked | None = None
    turn: int | None = None
    status: int = 0
    response_bytes: int = 0
    response_sha256: str = ""
    ended: str = ""

    def to_json(self) -> dict[str, JsonValue]:
        """Return the record without bodies."""
        asked = self.asked
        return {
            "number": self.number,
            "call": self.call,
            "turn": self.turn,
            "method": self.method,
            "target": self.target,
            "headers": [list(pair) for pair in self.headers],
            "wire": None if asked is None else str(asked.wire),
            "model": None if asked is None else asked.model,
            "streaming": None if asked is None else asked.streaming,
            "request_bytes": self.request_bytes,
            "request_sha256": self.request_sha256,
            "status": self.status,
            "response_bytes": self.response_bytes,
            "response_sha256": self.response_sha256,
            "ended": self.ended,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What to write for one request. `turn` is None where no script decided it; `control` names an order."""

    exchange: Exchange
    answer: Answer
    turn: Turn | None = None
    release: int = 0
    stops: bool = False

    @property
    def lane(self) -> str | None:
        """The lane of a socket that it belongs to."""
        return None if self.exchange.asked is None else self.exchange.asked.stream_id


class Replies:
    """Decides answers and keeps the records; used by one thread."""

    def __init__(self, script: Script, *, keep_bodies: bool, max_records: int) -> None:
        self.exchanges: deque[Exchange] = deque(maxlen=max_records)
        self.requests = 0
        self.calls = 0
        self._script = script
        self._keep_bodies = keep_bodies
        self._main_calls = 0

    def reply(self, request: Request) -> Reply:
        """Return the answer to `request` and record it (orders of the test routes are not recorded)."""
        if request.path.startswith(CONTROL):
            return self._control(request)
        exchange = self._record(request)
        wire = wire_of(request.method, request.path)
        if wire is None:
            return Reply(exchange=exchange, answer=_free(request))
        asked = read_ask(wire, request.body, request.target)
        self.calls += 1
        exchange.call = self.calls
        if isinstance(asked, InvalidAsk):
            failure = Failure(status=400, code="invalid_request_error", message=asked.detail)
            return Reply(exchange=exchange, answer=answer_to(Turn(failure=failure), Asked(wire=wire)))
        exchange.asked = asked
        exchange.turn, turn = self._turn(asked)
        return Reply(exchange=exchange, answer=answer_to(turn, asked), turn=turn)

    def switches(self, request: Request) -> bool:
        """Whether a request opens a WebSocket that the script speaks; it is recorded."""
        wanted = request.header("upgrade").lower() == "websocket" and request.path.endswith("/responses")
        if not (self._script.websocket and wanted and request.method == "GET"):
            return False
        self._record(request).status = 101
        return True

    def message_reply(self, request: Request, payload: bytes) -> Reply | None:
        """Return the answer to a message of the socket that `request` opened, None to one that asks for nothing."""
        asked = read_message(payload)
        if asked is None:
            return None
        exchange = self._record(replace(request, body=payload))
        self.calls += 1
        exchange.call = self.calls
        if isinstance(asked, InvalidAsk):
            turn = Turn(failure=Failure(status=400, code="invalid_request_error", message=asked.detail))
            return Reply(exchange=exchange, answer=answer_to(turn, Asked(wire=Wire.RESPONSES)), turn=turn)
        exchange.asked = asked
        exchange.status = 200
        exchange.turn, turn = (None, WARMED) if asked.warms else self._turn(asked)
        return Reply(exchange=exchange, answer=answer_to(turn, asked), turn=turn)

    def _turn(self, asked: Asked) -> tuple[int | None, Turn]:
        if self._script.side is not None and not asked.offers_tools:
            return None, self._script.side
        index = min(self._main_calls, len(self._script.turns) - 1)
        self._main_calls += 1
        return index, self._script.turns[index]

    def _record(self, request: Request) -> Exchange:
        self.requests += 1
        exchange = Exchange(
            number=self.requests,
            method=request.method,
            target=request.target,
            headers=tuple((name, _shown(name, value)) for name, value in request.headers),
            request_bytes=len(request.body),
            request_sha256=sha256(request.body),
            body=request.body if self._keep_bodies else None,
        )
        self.exchanges.append(exchange)
        return exchange

    def _control(self, request: Request) -> Reply:
        exchange = Exchange(
            number=0, method=request.method, target=request.target, headers=(), request_bytes=0, request_sha256=""
        )
        order = request.path.removeprefix(CONTROL)
        if (request.method, order) == ("GET", "requests"):
            listed: JsonValue = [item.to_json() for item in self.exchanges]
            answer = json_answer(200, {"requests": self.requests, "calls": self.calls, "exchanges": listed})
            return Reply(exchange=exchange, answer=answer)
        if (request.method, order) == ("POST", "release"):
            count = parse_qs(request.target.partition("?")[2]).get("count", ["1"])[0]
            return Reply(exchange=exchange, answer=json_answer(200, {}), release=int(count) if count.isdigit() else 1)
        if (request.method, order) == ("POST", "stop"):
            return Reply(exchange=exchange, answer=json_answer(200, {}), stops=True)
        return Reply(exchange=exchange, answer=_not_found(request))


def answer_to(turn: Turn, asked: Asked) -> Answer:
    """Return a turn's answer in the wire format that was asked for, with a request id and the turn's own headers."""
    answer = _ANSWERS[asked.wire](turn, asked)
    request_id = "request-id" if asked.wire is Wire.MESSAGES else "x-request-id"
    headers = [(request_id, f"req_{NUMBER}")]
    headers += [(name, str(value)) for name, value in turn.headers.items()]
    return replace(answer, headers=tuple(headers))


def _shown(name: str, value: str) -> str:
    return f"sha256:{sha256(value.encode('latin-1', 'replace'))}" if name in _SECRET_HEADERS else value


def _free(request: Request) -> Answer:
    path = request.path
    if request.header("upgrade"):
        return json_answer(426, {"error": {"message": "only plain HTTP is spoken here", "type": "upgrade_required"}})
    if request.method == "POST" and path.endswith("/messages/count_tokens"):
        return json_answer(200, {"input_tokens": _rough_tokens(request)})
    if request.method == "POST" and path.endswith("/responses/input_tokens"):
        return json_answer(200, {"object": "response.input_tokens", "input_tokens": _rough_tokens(request)})
    if request.method == "POST" and path.endswith(":countTokens"):
        return json_answer(200, {"totalTokens": _rough_tokens(request)})
    if request.method in ("GET", "HEAD") and path.endswith("/models"):
        return json_answer(200, _model_list(anthropic=bool(request.header("anthropic-version"))))
    return _not_found(request)


def _rough_tokens(request: Request) -> int:
    return max(len(request.body) // 4, 1)


def _model_list(*, anthropic: bool) -> JsonValue:
    if anthropic:
        model: JsonValue = {
            "type": "model",
            "id": "scripted-model",
            "display_name": "Scripted model",
            "created_at": "2026-01-01T00:00:00Z",
        }
        return {"data": [model], "has_more": False, "first_id": "scripted-model", "last_id": "scripted-model"}
    entry: JsonValue = {"id": "scripted-model", "object": "model", "created": CREATED, "owned_by": "docket"}
    return {"object": "list", "data": [entry]}


def _not_found(request: Request) -> Answer:
    error: JsonValue = {"type": "not_found_error", "message": f"no such path: {request.method} {request.path}"}
    return json_answer(404, {"type": "error", "error": error})
