"""Messages of the Responses API over a WebSocket, typed by hand, and upstreams that speak them.

`websockets` is the foreign program on either side. gpt-5.2-codex: 1.75 in, 0.175 cached, 14 out, dollars per million.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any, Self

from websockets.sync.client import ClientConnection, connect
from websockets.sync.server import Server, ServerConnection, serve

from boundary_rig.rig import TOKEN, Rig

MODEL = "gpt-5.2-codex"
PATH = "/openai/v1/responses"


def create(**members: Any) -> str:
    return json.dumps({"type": "response.create", "model": MODEL, "input": "hello", **members})


def created(response_id: str, **members: Any) -> str:
    response = {"id": response_id, "object": "response", "status": "in_progress", "model": MODEL, "usage": None}
    return json.dumps({"type": "response.created", "response": response, **members})


def delta(text: str, **members: Any) -> str:
    return json.dumps({"type": "response.output_text.delta", "item_id": "msg_1", "delta": text, **members})


def completed(response_id: str, fresh: int = 1000, output: int = 50, cached: int = 0, **members: Any) -> str:
    usage = {
        "input_tokens": fresh + cached,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": fresh + cached + output,
    }
    response = {"id": response_id, "object": "response", "status": "completed", "model": MODEL, "usage": usage}
    return json.dumps({"type": "response.completed", "response": response, **members})


def error(status: int, code: str, message: str = "no", **members: Any) -> str:
    body = {"type": "invalid_request_error", "code": code, "message": message}
    return json.dumps({"type": "error", "status": status, "error": body, **members})


class SocketUpstream:
    """An upstream of the `websockets` package; `handler` is called with each socket, `heads` are the handshakes'."""

    def __init__(self, handler: Callable[[ServerConnection], None], **options: Any) -> None:
        self.heads: list[dict[str, str]] = []
        self.messages: list[str | bytes] = []

        def handle(socket: ServerConnection) -> None:
            assert socket.request is not None
            self.heads.append({name.lower(): value for name, value in socket.request.headers.raw_items()})
            self.paths.append(socket.request.path)
            handler(socket)

        self.paths: list[str] = []
        self.server: Server = serve(handle, "127.0.0.1", 0, **options)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.socket.getsockname()[1]}/v1"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.thread.join(10)


def answering(*turns: tuple[str, ...]) -> Callable[[ServerConnection], None]:
    """Return a handler that answers each message with the messages of the next turn."""
    left = list(turns)

    def handle(socket: ServerConnection) -> None:
        for _ in socket:
            for message in left.pop(0):
                socket.send(message)

    return handle


@contextlib.contextmanager
def socket_to(rig: Rig, path: str = PATH, **options: Any) -> Iterator[ClientConnection]:
    with connect(f"ws://127.0.0.1:{rig.port}/{TOKEN}{path}", proxy=None, **options) as socket:
        yield socket


def until_end(socket: ClientConnection) -> list[dict[str, Any]]:
    """Return the messages up to the one that ends a response."""
    found = []
    while True:
        found.append(json.loads(socket.recv(timeout=20)))
        if found[-1]["type"] in ("response.completed", "response.failed", "error"):
            return found


def until_broken(socket: ClientConnection) -> None:
    """Read until the connection breaks, which raises."""
    while True:
        socket.recv(timeout=20)
