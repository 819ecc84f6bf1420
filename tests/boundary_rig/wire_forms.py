"""Every wire and stream form with one reply of the same size, typed by hand, and what it costs whole or in part.

Every request is 400 bytes (100 tokens where nobody reports the input), every reply 1000 tokens in and 100 out, and
shows 40 bytes of text (10 tokens) before its middle. Prices are dollars per million tokens.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from aws_frames import chunk as invoke_event
from aws_frames import event as converse_event
from aws_frames import exception

JSON, SSE, FRAMES, LINES = (
    "application/json", "text/event-stream", "application/vnd.amazon.eventstream", "application/x-ndjson",
)  # fmt: skip
TEXT = "forty bytes of text, and not one byte mor"[:40]
_REGION = "/bedrock/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0"
_PADDING = "x" * 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One form: the reply's `pieces`, of which `middle` have passed when it breaks in the middle.

    `whole` and `part` are (input, output, cost, source) of the whole reply and of what passed before its middle;
    `unanswered` the cost of a request that is not answered. `early` is an error instead of a reply, after status 200;
    `junk` what may follow a whole reply and means nothing.
    """

    name: str
    provider: str
    path: str
    request: bytes
    kind: str
    pieces: tuple[bytes, ...]
    middle: int
    whole: tuple[int, int, str, str]
    part: tuple[int, int, str, str]
    unanswered: str
    early: bytes
    junk: bytes

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def begun(self) -> bytes:
        return b"".join(self.pieces[: self.middle])


def _json(value: object) -> bytes:
    return json.dumps(value).encode()


def _event(value: object) -> bytes:
    return b"data: " + _json(value) + b"\n\n"


def _request(**members: object) -> bytes:
    """Return a request of 400 bytes."""
    body = _json({**members, "padding": ""})
    return body[:-2] + b"x" * (400 - len(body)) + b'"}'


def _halved(body: dict[str, object]) -> tuple[bytes, bytes]:
    """Return a body whose first piece is 200 bytes, 50 tokens if they were all output."""
    text = _json(body)
    return text[:200], text[200:]


_ASK = {"messages": [{"role": "user", "content": "hi"}]}
_SONNET = "claude-sonnet-4-5"
_USED = {"input_tokens": 1000, "output_tokens": 100}
_MESSAGE = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": _SONNET, "stop_reason": "end_turn",
    "content": [{"type": "text", "text": TEXT + _PADDING}], "usage": _USED,
}  # fmt: skip


def _claude_events(model: str) -> tuple[dict[str, object], ...]:
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []}
    return (
        {"type": "message_start", "message": {**start, "usage": {"input_tokens": 1000, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": TEXT}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": _PADDING}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 100}},
        {"type": "message_stop"},
    )


_CLAUDE_ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
_SSE_JUNK = b': junk\n\nevent: x\n\ndata: {"a":\n\ndata: []\n\n'

_CHAT_USED = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}


def _chat(model: str, text: str | None, **members: object) -> bytes:
    choices = [] if text is None else [{"index": 0, "delta": {"content": text}, "finish_reason": None}]
    return _event({"id": "c", "object": "chat.completion.chunk", "model": model, "choices": choices, **members})


_CHAT_BODY = {
    "id": "c", "object": "chat.completion", "model": "gpt-4o",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT + _PADDING}, "finish_reason": "stop"}],
    "usage": _CHAT_USED,
}  # fmt: skip
_DONE = b"data: [DONE]\n\n"
_CODEX = "gpt-5.2-codex"
_RESPONSE = {
    "id": "resp_1", "object": "response", "status": "completed", "model": _CODEX,
    "output": [{"type": "message", "content": [{"type": "output_text", "text": TEXT + _PADDING}]}],
    "usage": {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100},
}  # fmt: skip
_FLASH = "gemini-2.5-flash"


def _gemini(text: str, out: int, **candidate: object) -> bytes:
    return _json(
        {
            "candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, "index": 0, **candidate}],
            "usageMetadata": {"promptTokenCount": 1000, "candidatesTokenCount": out, "totalTokenCount": 1000 + out},
            "modelVersion": _FLASH,
        }
    )


_GEMINI = (_gemini(TEXT, 7), _gemini(_PADDING, 60), _gemini("", 100, finishReason="STOP"))
_GEMINI_ERROR = {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}
_GEMINI_ASK = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
_CONVERSE_USED = {"inputTokens": 1000, "outputTokens": 100, "totalTokens": 1100}
_CONVERSE_BODY = {
    "output": {"message": {"role": "assistant", "content": [{"text": TEXT + _PADDING}]}}, "stopReason": "end_turn",
    "usage": _CONVERSE_USED, "metrics": {"latencyMs": 1},
}  # fmt: skip
_CONVERSE_EVENTS = (
    converse_event("messageStart", {"role": "assistant"}),
    converse_event("contentBlockDelta", {"delta": {"text": TEXT}, "contentBlockIndex": 0}),
    converse_event("contentBlockDelta", {"delta": {"text": _PADDING}, "contentBlockIndex": 0}),
    converse_event("messageStop", {"stopReason": "end_turn"}),
    converse_event("metadata", {"usage": _CONVERSE_USED, "metrics": {"latencyMs": 1}}),
)
_THROTTLED = exception("throttlingException", {"message": "busy"})
_LLAMA = "llama3.2"


def _line(text: str, **members: object) -> bytes:
    message = {"role": "assistant", "content": text}
    return _json({"model": _LLAMA, "message": message, "done": False, **members}) + b"\n"


# sonnet 4.5: 3 in, 15 out. 1000 and 100: 3000 + 1500; of a stream's part 1000 and 10: 3000 + 150; of half a body, of
# which nobody can say what is output, 100 and 50: 300 + 750; 100 alone: 300.
_ANTHROPIC = (
    Form(
        name="anthropic-json", provider="anthropic", path="/anthropic/v1/messages", kind=JSON,
        request=_request(model=_SONNET, max_tokens=500, **_ASK), pieces=_halved(_MESSAGE), middle=1,
        whole=(1000, 100, "0.004500", "reported"), part=(100, 50, "0.001050", "estimated"), unanswered="0.000300",
        early=_json(_CLAUDE_ERROR), junk=b"\r\n \n",
    ),
    Form(
        name="anthropic-events", provider="anthropic", path="/anthropic/v1/messages", kind=SSE,
        request=_request(model=_SONNET, max_tokens=500, stream=True, **_ASK),
        pieces=tuple(b"event: %s\n" % str(e["type"]).encode() + _event(e) for e in _claude_events(_SONNET)), middle=3,
        whole=(1000, 100, "0.004500", "reported"), part=(1000, 10, "0.003150", "estimated"), unanswered="0.000300",
        early=b"event: error\n" + _event(_CLAUDE_ERROR), junk=_SSE_JUNK,
    ),
)  # fmt: skip
# gpt-4o: 2.50 in, 10 out. 2500 + 1000; 100 and 10: 250 + 100; 100 and 50: 250 + 500. Without its usage a whole stream
# shows 440 bytes, 110 tokens: 250 + 1100.
_CHAT_FORMS = (
    Form(
        name="chat-json", provider="openai", path="/openai/v1/chat/completions", kind=JSON,
        request=_request(model="gpt-4o", max_tokens=500, **_ASK), pieces=_halved(_CHAT_BODY), middle=1,
        whole=(1000, 100, "0.003500", "reported"), part=(100, 50, "0.000750", "estimated"), unanswered="0.000250",
        early=_json({"error": {"message": "busy", "type": "server_error"}}), junk=b"\r\n \n",
    ),
    Form(
        name="chat-events-with-usage", provider="openai", path="/openai/v1/chat/completions", kind=SSE,
        request=_request(
            model="gpt-4o", max_tokens=500, stream=True, stream_options={"include_usage": True}, **_ASK
        ),
        pieces=(_chat("gpt-4o", TEXT, usage=None), _chat("gpt-4o", _PADDING, usage=None),
                _chat("gpt-4o", None, usage=_CHAT_USED), _DONE), middle=1,
        whole=(1000, 100, "0.003500", "reported"), part=(100, 10, "0.000350", "estimated"), unanswered="0.000250",
        early=_event({"error": {"message": "busy", "type": "server_error"}}), junk=_SSE_JUNK,
    ),
    Form(
        name="chat-events-without-usage", provider="openai", path="/openai/v1/chat/completions", kind=SSE,
        request=_request(model="gpt-4o", max_tokens=500, stream=True, **_ASK),
        pieces=(_chat("gpt-4o", TEXT), _chat("gpt-4o", _PADDING), _DONE), middle=1,
        whole=(100, 110, "0.001350", "estimated"), part=(100, 10, "0.000350", "estimated"), unanswered="0.000250",
        early=_event({"error": {"message": "busy", "type": "server_error"}}), junk=_SSE_JUNK,
    ),
)  # fmt: skip
# gpt-5.2-codex: 1.75 in, 14 out. 1750 + 1400; 100 and 10: 175 + 140; 100 and 50: 175 + 700.
_RESPONSES = (
    Form(
        name="responses-json", provider="openai", path="/openai/v1/responses", kind=JSON,
        request=_request(model=_CODEX, max_output_tokens=500, input="hi"), pieces=_halved(_RESPONSE), middle=1,
        whole=(1000, 100, "0.003150", "reported"), part=(100, 50, "0.000875", "estimated"), unanswered="0.000175",
        early=_json({"id": "resp_1", "object": "response", "status": "failed",
                     "error": {"code": "server_error", "message": "busy"}}), junk=b"\r\n \n",
    ),
    Form(
        name="responses-events", provider="openai", path="/openai/v1/responses", kind=SSE,
        request=_request(model=_CODEX, max_output_tokens=500, input="hi", stream=True),
        pieces=(
            _event({"type": "response.created",
                    "response": {**_RESPONSE, "status": "in_progress", "output": [], "usage": None}}),
            _event({"type": "response.output_text.delta", "item_id": "m", "delta": TEXT}),
            _event({"type": "response.output_text.delta", "item_id": "m", "delta": _PADDING}),
            _event({"type": "response.completed", "response": _RESPONSE}),
        ), middle=2,
        whole=(1000, 100, "0.003150", "reported"), part=(100, 10, "0.000315", "estimated"), unanswered="0.000175",
        early=_event({"type": "error", "code": "server_error", "message": "busy"}), junk=_SSE_JUNK,
    ),
)  # fmt: skip
# gemini-2.5-flash: 0.30 in, 2.50 out. 300 + 250; its counts are cumulative and the text shown may be ahead of them:
# 1000 and 10: 300 + 25; 100 and 50: 30 + 125.
_GOOGLE = (
    Form(
        name="gemini-json", provider="gemini", path=f"/gemini/v1beta/models/{_FLASH}:generateContent", kind=JSON,
        request=_request(**_GEMINI_ASK),
        pieces=_halved(json.loads(_gemini(TEXT + _PADDING, 100, finishReason="STOP"))), middle=1,
        whole=(1000, 100, "0.000550", "reported"), part=(100, 50, "0.000155", "estimated"), unanswered="0.000030",
        early=_json(_GEMINI_ERROR), junk=b"\r\n \n",
    ),
    Form(
        name="gemini-events", provider="gemini", path=f"/gemini/v1beta/models/{_FLASH}:streamGenerateContent?alt=sse",
        kind=SSE, request=_request(**_GEMINI_ASK),
        pieces=tuple(b"data: " + text + b"\r\n\r\n" for text in _GEMINI), middle=1,
        whole=(1000, 100, "0.000550", "reported"), part=(1000, 10, "0.000325", "estimated"), unanswered="0.000030",
        early=_event(_GEMINI_ERROR), junk=_SSE_JUNK,
    ),
    Form(
        name="gemini-array", provider="gemini", path=f"/gemini/v1beta/models/{_FLASH}:streamGenerateContent", kind=JSON,
        request=_request(**_GEMINI_ASK),
        pieces=(b"[" + _GEMINI[0] + b"\n,\r\n", _GEMINI[1] + b"\n,\r\n", _GEMINI[2], b"]"), middle=1,
        whole=(1000, 100, "0.000550", "reported"), part=(1000, 10, "0.000325", "estimated"), unanswered="0.000030",
        early=b"[" + _json(_GEMINI_ERROR) + b"]", junk=b"\r\n \n",
    ),
    # opus 4.8: 5 in, 25 out. 5000 + 2500; 1000 and 10: 5000 + 250; 100: 500.
    Form(
        name="vertex-claude-events", provider="vertex", kind=SSE,
        path="/vertex/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-4-8:streamRawPredict",
        request=_request(anthropic_version="vertex-2023-10-16", max_tokens=500, stream=True, **_ASK),
        pieces=tuple(map(_event, _claude_events("claude-opus-4-8"))), middle=3,
        whole=(1000, 100, "0.007500", "reported"), part=(1000, 10, "0.005250", "estimated"), unanswered="0.000500",
        early=_event(_CLAUDE_ERROR), junk=_SSE_JUNK,
    ),
)  # fmt: skip
# sonnet 4.5 in a region: 3.30 in, 16.50 out. 3300 + 1650; 100 and 50: 330 + 825; 100 and 10: 330 + 165; a native
# stream begins with its input: 3300 + 165.
_BEDROCK = (
    Form(
        name="converse", provider="bedrock", path=f"{_REGION}/converse", kind=JSON,
        request=_request(inferenceConfig={"maxTokens": 500}, **_ASK), pieces=_halved(_CONVERSE_BODY), middle=1,
        whole=(1000, 100, "0.004950", "reported"), part=(100, 50, "0.001155", "estimated"), unanswered="0.000330",
        early=_json({"message": "busy"}), junk=b"\r\n \n",
    ),
    Form(
        name="converse-stream", provider="bedrock", path=f"{_REGION}/converse-stream", kind=FRAMES,
        request=_request(inferenceConfig={"maxTokens": 500}, **_ASK), pieces=_CONVERSE_EVENTS, middle=2,
        whole=(1000, 100, "0.004950", "reported"), part=(100, 10, "0.000495", "estimated"), unanswered="0.000330",
        early=_THROTTLED, junk=b"\x00\x00\x00\x10\xff\xff",
    ),
    Form(
        name="invoke-stream", provider="bedrock", path=f"{_REGION}/invoke-with-response-stream", kind=FRAMES,
        request=_request(anthropic_version="bedrock-2023-05-31", max_tokens=500, **_ASK),
        pieces=(*map(invoke_event, _claude_events(_SONNET)[:-1]),
                invoke_event({"type": "message_stop", "amazon-bedrock-invocationMetrics":
                              {"inputTokenCount": 1000, "outputTokenCount": 100}})), middle=3,
        whole=(1000, 100, "0.004950", "reported"), part=(1000, 10, "0.003465", "estimated"), unanswered="0.000330",
        early=_THROTTLED, junk=b"\x00\x00\x00\x10\xff\xff",
    ),
)  # fmt: skip
# Ollama on this machine is free. Opus 4.8 through a router: 5 in, 25 out.
_ROUTED = "anthropic/claude-opus-4.8"
_OTHERS = (
    Form(
        name="ollama-lines", provider="ollama", path="/ollama/api/chat", kind=LINES,
        request=_request(model=_LLAMA, **_ASK),
        pieces=(_line(TEXT), _line(_PADDING), _line("", done=True, prompt_eval_count=1000, eval_count=100)), middle=1,
        whole=(1000, 100, "0.00", "reported"), part=(100, 10, "0.00", "estimated"), unanswered="0.00",
        early=b'{"error":"busy"}\n', junk=b"\n\nnull\n",
    ),
    Form(
        name="openrouter-events", provider="openrouter", path="/openrouter/api/v1/chat/completions", kind=SSE,
        request=_request(model=_ROUTED, max_tokens=500, stream=True, **_ASK),
        pieces=(b": OPENROUTER PROCESSING\n\n" + _chat(_ROUTED, TEXT), _chat(_ROUTED, _PADDING),
                _chat(_ROUTED, "", usage={**_CHAT_USED, "cost": 0.0075}), _DONE), middle=1,
        whole=(1000, 100, "0.007500", "reported"), part=(100, 10, "0.000750", "estimated"), unanswered="0.000500",
        early=_event({"error": {"code": 502, "message": "busy"}}), junk=_SSE_JUNK,
    ),
)  # fmt: skip
FORMS = (*_ANTHROPIC, *_CHAT_FORMS, *_RESPONSES, *_GOOGLE, *_BEDROCK, *_OTHERS)
