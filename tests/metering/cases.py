"""Replies typed after the providers' documented examples, with the tokens and the cost worked out by hand.

Prices are dollars per million tokens, so micro-dollars per token; they are docket's own of 29 November 2026. Each
priced part of a call is rounded by itself, half to even.
"""

from __future__ import annotations

from aws_frames import chunk, event
from metering.forms import FRAMES, JSON, SSE, Case, as_json, chat, message, named_events, part, sse, websocket
from metering.other_cases import OTHER_CASES


def _response(model: str, usage: object, **members: object) -> dict[str, object]:
    return {"id": "resp_67ccd", "object": "response", "status": "completed", "model": model, "usage": usage, **members}


def _ended(model: str, usage: object) -> dict[str, object]:
    return {"type": "response.completed", "response": _response(model, usage)}


def _start(model: str, usage: dict[str, object]) -> dict[str, object]:
    return {"type": "message_start", "message": {**message(model, usage), "content": [], "stop_reason": None}}


_TEXT = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello!"}}
_SPLIT = {"ephemeral_5m_input_tokens": 148, "ephemeral_1h_input_tokens": 100}
_CACHED = {"input_tokens": 2048, "cache_read_input_tokens": 1800, "cache_creation_input_tokens": 248,
           "cache_creation": _SPLIT, "output_tokens": 503}  # fmt: skip
_COMPACTED = {
    "input_tokens": 23000, "output_tokens": 1000,
    "iterations": [{"type": "compaction", "input_tokens": 180000, "output_tokens": 3500},
                   {"type": "message", "input_tokens": 23000, "output_tokens": 1000}],
}  # fmt: skip
_SEARCHED = {"input_tokens": 105, "output_tokens": 6039, "cache_read_input_tokens": 7123,
             "cache_creation_input_tokens": 7345, "server_tool_use": {"web_search_requests": 1}}  # fmt: skip
_OPUS, _HAIKU = "claude-opus-4-8", "claude-haiku-4-5"

ANTHROPIC = [
    Case(
        provider="anthropic", form="JSON", path="/v1/messages", content_type=JSON, model=_OPUS,
        body=as_json(message(_OPUS, {"input_tokens": 2095, "output_tokens": 503})),
        tokens=(2095, 0, 0, 503), cost="0.02305", how="2095 x 5 + 503 x 25",
    ),
    Case(
        provider="anthropic", form="events", path="/v1/messages", content_type=SSE, model=_OPUS,
        body=named_events(_start(_OPUS, {"input_tokens": 25, "output_tokens": 1}), _TEXT,
                    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 15}},
                    {"type": "message_stop"}),
        tokens=(25, 0, 0, 15), cost="0.0005", how="25 x 5 + 15 x 25",
    ),
    Case(
        provider="anthropic", form="JSON, cache writes for 5 minutes and an hour", path="/v1/messages", model=_OPUS,
        content_type=JSON, body=as_json(message(_OPUS, _CACHED)), tokens=(4096, 1800, 248, 503), cost="0.02564",
        how="(2048 x 5 + 1800 x 0.5 + 503 x 25) + 148 x 6.25 + 100 x 10",
    ),
    Case(
        provider="anthropic", form="events, cache writes split in the first event alone", path="/v1/messages",
        content_type=SSE, model=_OPUS,
        body=named_events(_start(_OPUS, {**_CACHED, "output_tokens": 1}), _TEXT,
                    {"type": "message_delta", "usage": {"input_tokens": 2048, "cache_read_input_tokens": 1800,
                                                        "cache_creation_input_tokens": 248, "output_tokens": 503}},
                    {"type": "message_stop"}),
        tokens=(4096, 1800, 248, 503), cost="0.02564",
        how="(2048 x 5 + 1800 x 0.5 + 503 x 25) + 148 x 6.25 + 100 x 10",
    ),
    Case(
        provider="anthropic", form="JSON, iterations: a compaction before the answer", path="/v1/messages",
        content_type=JSON, model="claude-sonnet-4-6", body=as_json(message("claude-sonnet-4-6", _COMPACTED)),
        tokens=(203000, 0, 0, 4500), cost="0.6765", how="180000 x 3 + 3500 x 15 + 23000 x 3 + 1000 x 15",
    ),
    Case(
        provider="anthropic", form="JSON, a web search", path="/v1/messages", content_type=JSON, model=_OPUS,
        body=as_json(message(_OPUS, _SEARCHED)), tokens=(14573, 7123, 7345, 6039), cost="0.210968",
        how="(105 x 5 + 7123 x 0.5 + 6039 x 25) + 7345 x 6.25 + 10000",
    ),
]  # fmt: skip

_GPT = "gpt-5.5"
_PLAIN_CHAT = {"prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29,
               "prompt_tokens_details": {"cached_tokens": 0},
               "completion_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip
_CACHED_CHAT = {"prompt_tokens": 2006, "completion_tokens": 300, "total_tokens": 2306,
                "prompt_tokens_details": {"cached_tokens": 1920},
                "completion_tokens_details": {"reasoning_tokens": 256}}  # fmt: skip

CHAT = [
    Case(
        provider="openai", form="Chat, JSON", path="/v1/chat/completions", content_type=JSON, model=_GPT,
        body=as_json(chat(_GPT, _PLAIN_CHAT)), tokens=(19, 0, 0, 10), cost="0.000395", how="19 x 5 + 10 x 30",
    ),
    Case(
        provider="openai", form="Chat, events with `include_usage`", path="/v1/chat/completions", content_type=SSE,
        model=_GPT,
        body=sse(part(_GPT, "Hello!", usage=None), part(_GPT, None, usage=_CACHED_CHAT), done=True),
        tokens=(2006, 1920, 0, 300), cost="0.01039", how="86 x 5 + 1920 x 0.5 + 300 x 30",
    ),
    Case(
        provider="openai", form="Chat, events without usage", path="/v1/chat/completions", content_type=SSE, model=_GPT,
        body=sse(part(_GPT, "Hello there!"), done=True), estimated=True,
        tokens=(25, 0, 0, 3), cost="0.000215", how="100 bytes sent / 4 x 5 + 12 bytes shown / 4 x 30",
    ),
    Case(
        provider="openai", form="Chat, events with usage on every chunk, cumulative", path="/v1/chat/completions",
        content_type=SSE, model=_GPT,
        body=sse(part(_GPT, "Hel", usage={"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}),
                  part(_GPT, "lo!", usage={"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19}),
                  done=True),
        tokens=(12, 0, 0, 7), cost="0.00027", how="12 x 5 + 7 x 30",
    ),
    Case(
        provider="openai", form="Chat, served by the priority tier", path="/v1/chat/completions", content_type=JSON,
        model=_GPT, body=as_json(chat(_GPT, _PLAIN_CHAT, service_tier="priority")), tokens=(19, 0, 0, 10),
        cost="0.000988", how="19 x 12.5 + 10 x 75 = 987.5",
    ),
]  # fmt: skip

_TERRA = "gpt-5.6-terra"
_WRITTEN = {
    "input_tokens": 2600, "output_tokens": 0,
    "input_tokens_details": {"cached_tokens": 2000, "cache_write_tokens": 400,
                             "cache_write_tokens_details": {"ttl_30m_tokens": 400}},
}  # fmt: skip
_STREAMED = {"input_tokens": 37, "output_tokens": 11, "output_tokens_details": {"reasoning_tokens": 0}}
_CREATED = {"type": "response.created", "response": _response(_GPT, None, status="in_progress")}
_DELTA = {"type": "response.output_text.delta", "delta": "Hi"}
_TOOLS = [{"type": "web_search_call", "action": {"type": "search"}}, {"type": "file_search_call"},
          {"type": "code_interpreter_call", "container_id": "cntr_1"},
          {"type": "code_interpreter_call", "container_id": "cntr_1"}]  # fmt: skip

RESPONSES = [
    Case(
        provider="openai", form="Responses, JSON", path="/v1/responses", content_type=JSON, model=_GPT,
        body=as_json(_response(_GPT, {"input_tokens": 36, "input_tokens_details": {"cached_tokens": 0},
                                    "output_tokens": 87, "output_tokens_details": {"reasoning_tokens": 0}})),
        tokens=(36, 0, 0, 87), cost="0.00279", how="36 x 5 + 87 x 30",
    ),
    Case(
        provider="openai", form="Responses, events", path="/v1/responses", content_type=SSE, model=_GPT,
        body=named_events(_CREATED, _DELTA, _ended(_GPT, _STREAMED)), tokens=(37, 0, 0, 11), cost="0.000515",
        how="37 x 5 + 11 x 30",
    ),
    Case(
        provider="openai", form="Responses, WebSocket frames", path="/v1/responses", content_type="websocket",
        model=_GPT, body=websocket(_CREATED, _DELTA, _ended(_GPT, _STREAMED)), tokens=(37, 0, 0, 11), cost="0.000515",
        how="37 x 5 + 11 x 30",
    ),
    Case(
        provider="openai", form="Responses, cached and written tokens inside the input", path="/v1/responses",
        content_type=JSON, model=_TERRA, body=as_json(_response(_TERRA, _WRITTEN)), tokens=(2600, 2000, 400, 0),
        cost="0.0018", how="(200 x 2 + 2000 x 0.2) + 400 x 2.5",
    ),
    Case(
        provider="openai", form="Responses, 272,001 tokens of input", path="/v1/responses", content_type=JSON,
        model=_GPT,
        body=as_json(_response(_GPT, {"input_tokens": 272001, "input_tokens_details": {"cached_tokens": 200000},
                                    "output_tokens": 1000})),
        tokens=(272001, 200000, 0, 1000), cost="0.96501", how="72001 x 10 + 200000 x 1 + 1000 x 45",
    ),
    Case(
        provider="openai", form="Responses, hosted tools", path="/v1/responses", content_type=JSON, model=_GPT,
        body=as_json(_response(_GPT, {"input_tokens": 100, "output_tokens": 10}, output=_TOOLS)),
        tokens=(100, 0, 0, 10), cost="0.0433", how="(100 x 5 + 10 x 30) + 10000 + 2500 + 30000",
    ),
]  # fmt: skip

_FLASH = "gemini-2.5-flash"


def _gemini(text: str, *, ends: bool = True, **counts: int) -> dict[str, object]:
    end = {"finishReason": "STOP"} if ends else {}
    return {
        "candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, "index": 0, **end}],
        "usageMetadata": counts,
        "modelVersion": _FLASH,
        "responseId": "r",
    }


_FIRST = _gemini(
    "AI", ends=False, promptTokenCount=10, candidatesTokenCount=2, totalTokenCount=355, thoughtsTokenCount=343
)
_LAST = _gemini(" is", promptTokenCount=10, candidatesTokenCount=5, totalTokenCount=358, thoughtsTokenCount=343)
_GEMINI_PATH = f"/v1beta/models/{_FLASH}"

GEMINI = [
    Case(
        provider="gemini", form="events (`alt=sse`), cumulative", path=f"{_GEMINI_PATH}:streamGenerateContent?alt=sse",
        content_type=SSE, model=_FLASH, body=sse(_FIRST, _LAST), tokens=(10, 0, 0, 348), cost="0.000873",
        how="10 x 0.3 + (5 + 343) x 2.5",
    ),
    Case(
        provider="gemini", form="one JSON array in pieces", path=f"{_GEMINI_PATH}:streamGenerateContent",
        content_type=JSON, model=_FLASH, body=b"[" + as_json(_FIRST) + b"\n,\r\n" + as_json(_LAST) + b"]",
        tokens=(10, 0, 0, 348), cost="0.000873", how="10 x 0.3 + (5 + 343) x 2.5",
    ),
    Case(
        provider="gemini", form="JSON, cached tokens inside the prompt", path=f"{_GEMINI_PATH}:generateContent",
        content_type=JSON, model=_FLASH,
        body=as_json(_gemini("AI", promptTokenCount=10000, cachedContentTokenCount=8000, candidatesTokenCount=100,
                           totalTokenCount=10100)),
        tokens=(10000, 8000, 0, 100), cost="0.00109", how="2000 x 0.3 + 8000 x 0.03 + 100 x 2.5",
    ),
]  # fmt: skip

_SONNET = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
_GLOBAL = "global.anthropic.claude-haiku-4-5-20251001-v1:0"
_IN_REGION, _ANYWHERE = (f"/model/{name.replace(':', '%3A')}" for name in (_SONNET, _GLOBAL))
_CONVERSED = {"inputTokens": 125, "outputTokens": 60, "totalTokens": 185}
_CONVERSED_CACHED = {
    "inputTokens": 125, "outputTokens": 60, "totalTokens": 3185, "cacheReadInputTokens": 2000,
    "cacheWriteInputTokens": 1000,
    "cacheDetails": [{"ttl": "1h", "inputTokens": 700}, {"ttl": "5m", "inputTokens": 300}],
}  # fmt: skip
_NATIVE = {"input_tokens": 3, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 1000,
           "cache_creation": {"ephemeral_1h_input_tokens": 1000}, "output_tokens": 1}  # fmt: skip

BEDROCK = [
    Case(
        provider="bedrock", form="Converse", path=f"{_IN_REGION}/converse", content_type=JSON, model=_SONNET,
        body=as_json({"output": {"message": {"role": "assistant", "content": [{"text": "Hi"}]}},
                      "stopReason": "end_turn", "usage": _CONVERSED, "metrics": {"latencyMs": 1175}}),
        tokens=(125, 0, 0, 60), cost="0.001402", how="125 x 3.3 + 60 x 16.5 = 1402.5",
    ),
    Case(
        provider="bedrock", form="ConverseStream, cached", path=f"{_IN_REGION}/converse-stream", content_type=FRAMES,
        model=_SONNET,
        body=event("messageStart", {"role": "assistant"})
        + event("contentBlockDelta", {"delta": {"text": "Hi"}, "contentBlockIndex": 0})
        + event("messageStop", {"stopReason": "end_turn"})
        + event("metadata", {"usage": _CONVERSED_CACHED, "metrics": {"latencyMs": 1275}}),
        tokens=(3125, 2000, 1000, 60), cost="0.00792",
        how="(125 x 3.3 + 2000 x 0.33 + 60 x 16.5) + 300 x 4.125 + 700 x 6.6",
    ),
    Case(
        provider="bedrock", form="InvokeModel of Claude", path=f"{_ANYWHERE}/invoke", content_type=JSON, model=_GLOBAL,
        body=as_json(message("claude-haiku-4-5-20251001", {"input_tokens": 3, "output_tokens": 5})),
        tokens=(3, 0, 0, 5), cost="0.000028", how="3 x 1 + 5 x 5",
    ),
    Case(
        provider="bedrock", form="InvokeModelWithResponseStream of Claude",
        path=f"{_IN_REGION}/invoke-with-response-stream", content_type=FRAMES, model=_SONNET,
        body=chunk(_start("claude-sonnet-4-5-20250929", _NATIVE)) + chunk(_TEXT)
        + chunk({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 12}})
        + chunk({"type": "message_stop",
                 "amazon-bedrock-invocationMetrics": {"inputTokenCount": 3, "outputTokenCount": 12}}),
        tokens=(1010, 7, 1000, 12), cost="0.00681", how="(3 x 3.3 + 7 x 0.33 + 12 x 16.5) + 1000 x 6.6",
    ),
]  # fmt: skip

_OSS = "llama3.2"
_VERTEX = "/v1/projects/p/locations/us-east5/publishers/anthropic/models/claude-opus-4-8"
_ROUTED = "anthropic/claude-opus-4.8"

OTHERS = [
    Case(
        provider="azure", form="Chat, JSON: the deployment is in the path, the model in the reply", content_type=JSON,
        path="/openai/deployments/mine/chat/completions?api-version=2025-04-01-preview", model="mine",
        body=as_json(chat("o4-mini-2025-04-16", {"prompt_tokens": 33, "completion_tokens": 557, "total_tokens": 590,
                                                "completion_tokens_details": {"reasoning_tokens": 448}})),
        tokens=(33, 0, 0, 557), cost="0.002487", how="33 x 1.1 + 557 x 4.4 = 2487.1",
    ),
    Case(
        provider="azure", form="Chat, events whose first chunk has no choices", content_type=SSE,
        path="/openai/deployments/mine/chat/completions?api-version=2025-04-01-preview", model="mine",
        body=sse({"choices": [], "id": "", "model": "", "prompt_filter_results": [{"prompt_index": 0}]},
                  part("o4-mini-2025-04-16", "Hi"),
                  part("o4-mini-2025-04-16", None, usage={"prompt_tokens": 33, "completion_tokens": 557}), done=True),
        tokens=(33, 0, 0, 557), cost="0.002487", how="33 x 1.1 + 557 x 4.4 = 2487.1",
    ),
    Case(
        provider="vertex", form="Claude, `rawPredict`", path=f"{_VERTEX}:rawPredict", content_type=JSON, model=_OPUS,
        body=as_json(message(_OPUS, {"input_tokens": 2095, "output_tokens": 503})), tokens=(2095, 0, 0, 503),
        cost="0.02305", how="2095 x 5 + 503 x 25",
    ),
    Case(
        provider="vertex", form="Claude, `streamRawPredict`", path=f"{_VERTEX}:streamRawPredict", content_type=SSE,
        model=_OPUS,
        body=named_events(_start(_OPUS, {"input_tokens": 25, "output_tokens": 1}), _TEXT,
                    {"type": "message_delta", "usage": {"output_tokens": 15}}, {"type": "message_stop"}),
        tokens=(25, 0, 0, 15), cost="0.0005", how="25 x 5 + 15 x 25",
    ),
    Case(
        provider="openrouter", form="Chat, events with comments", path="/api/v1/chat/completions", content_type=SSE,
        model=_ROUTED,
        body=b": OPENROUTER PROCESSING\n\n" + sse(
            part(_ROUTED, "Hi"),
            part(_ROUTED, "", usage={"prompt_tokens": 194, "completion_tokens": 2, "total_tokens": 196,
                                      "prompt_tokens_details": {"cached_tokens": 100}, "cost": 0.00057}), done=True),
        tokens=(194, 100, 0, 2), cost="0.00057", how="94 x 5 + 100 x 0.5 + 2 x 25",
    ),
    Case(
        provider="groq", form="Chat, events with usage under `x_groq`", path="/openai/v1/chat/completions",
        content_type=SSE, model="llama-3.3-70b-versatile",
        body=sse(part("llama-3.3-70b-versatile", "Hi"),
                  part("llama-3.3-70b-versatile", "", x_groq={"id": "req_1", "usage": {
                      "prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500}}), done=True),
        tokens=(1000, 0, 0, 500), cost="0.000985", how="1000 x 0.59 + 500 x 0.79",
    ),
    Case(
        provider="xai", form="Chat, JSON: reasoning beside the completion", path="/v1/chat/completions",
        content_type=JSON, model="grok-4",
        body=as_json(chat("grok-4", {"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135,
                                    "prompt_tokens_details": {"cached_tokens": 8},
                                    "completion_tokens_details": {"reasoning_tokens": 94}})),
        tokens=(32, 8, 0, 103), cost="0.001623", how="24 x 3 + 8 x 0.75 + (9 + 94) x 15",
    ),
    Case(
        provider="ollama", form="lines of JSON", path="/api/chat", content_type="application/x-ndjson", model=_OSS,
        body=as_json({"model": _OSS, "message": {"role": "assistant", "content": "The"}, "done": False}) + b"\n"
        + as_json({"model": _OSS, "message": {"role": "assistant", "content": ""}, "done": True,
                 "prompt_eval_count": 26, "eval_count": 282}) + b"\n",
        tokens=(26, 0, 0, 282), cost="0", how="the host is this machine",
    ),
]  # fmt: skip

CASES = (*ANTHROPIC, *CHAT, *RESPONSES, *GEMINI, *BEDROCK, *OTHERS, *OTHER_CASES)
