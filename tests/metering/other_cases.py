"""Replies of the providers that speak OpenAI's form with words of their own, of models that answer otherwise than in
text, and of what is fetched long after it was asked for; typed and worked out as `cases` are.
"""

from __future__ import annotations

from aws_frames import chunk
from metering.forms import FRAMES, JSON, SSE, Case, as_json, chat, message, part, sse

_LINES, _MP3 = "application/x-jsonl", "audio/mpeg"
_CHAT = "/v1/chat/completions"
_DEEPSEEK, _DEEPSEEK_PRO = "deepseek-v4-flash", "deepseek-v4-pro"
_MISTRAL, _GROQ, _GROK = "mistral-large-2512", "openai/gpt-oss-120b", "grok-4.3"
_TOGETHER = "meta-llama/Llama-3.3-70B-Instruct-Turbo"
_FIREWORKS = "accounts/fireworks/models/deepseek-v3p2"

COMPATIBLE = [
    Case(
        provider="deepseek", form="Chat, JSON: cached tokens as `prompt_cache_hit_tokens`", path="/chat/completions",
        content_type=JSON, model=_DEEPSEEK,
        body=as_json(chat(_DEEPSEEK, {"prompt_tokens": 1000, "completion_tokens": 200, "total_tokens": 1200,
                                      "prompt_cache_hit_tokens": 800, "prompt_cache_miss_tokens": 200})),
        tokens=(1000, 800, 0, 200), cost="0.000152", how="200 x 0.15 + 800 x 0.003 + 200 x 0.6 = 152.4",
    ),
    Case(
        provider="deepseek", form="Chat, events: reasoning inside the completion", path="/chat/completions",
        content_type=SSE, model=_DEEPSEEK_PRO,
        body=b": keep-alive\n\n" + sse(
            part(_DEEPSEEK_PRO, "Hi"),
            part(_DEEPSEEK_PRO, "", usage={
                "prompt_tokens": 500, "completion_tokens": 100, "total_tokens": 600, "prompt_cache_hit_tokens": 0,
                "prompt_cache_miss_tokens": 500, "completion_tokens_details": {"reasoning_tokens": 60}}), done=True),
        tokens=(500, 0, 0, 100), cost="0.000528", how="500 x 0.66 + 100 x 1.98",
    ),
    Case(
        provider="mistral", form="Chat, JSON", path=_CHAT, content_type=JSON, model=_MISTRAL,
        body=as_json(chat(_MISTRAL, {"prompt_tokens": 16, "completion_tokens": 34, "total_tokens": 50})),
        tokens=(16, 0, 0, 34), cost="0.000059", how="16 x 0.5 + 34 x 1.5",
    ),
    Case(
        provider="mistral", form="Chat, events: usage beside the last choice", path=_CHAT, content_type=SSE,
        model=_MISTRAL,
        body=sse(part(_MISTRAL, "Hi"),
                 part(_MISTRAL, "", usage={"prompt_tokens": 1200, "completion_tokens": 40, "total_tokens": 1240,
                                           "prompt_tokens_details": {"cached_tokens": 1000}}), done=True),
        tokens=(1200, 1000, 0, 40), cost="0.00021", how="200 x 0.5 + 1000 x 0.05 + 40 x 1.5",
    ),
    Case(
        provider="groq", form="Chat, JSON: usage with times, an id under `x_groq`", path="/openai/v1/chat/completions",
        content_type=JSON, model=_GROQ,
        body=as_json(chat(_GROQ, {"queue_time": 0.026959759, "prompt_tokens": 4641, "prompt_time": 0.009995497,
                                  "completion_tokens": 1817, "completion_time": 5.57691751, "total_tokens": 6458,
                                  "total_time": 5.586913007, "prompt_tokens_details": {"cached_tokens": 4608}},
                          x_groq={"id": "req_01"})),
        tokens=(4641, 4608, 0, 1817), cost="0.001441", how="33 x 0.15 + 4608 x 0.075 + 1817 x 0.6 = 1440.75",
    ),
    Case(
        provider="xai", form="Chat, events: usage so far on every chunk, reasoning beside the completion", path=_CHAT,
        content_type=SSE, model=_GROK,
        body=sse(part(_GROK, "", usage={"prompt_tokens": 199, "completion_tokens": 0, "total_tokens": 300,
                                        "prompt_tokens_details": {"cached_tokens": 163},
                                        "completion_tokens_details": {"reasoning_tokens": 101}}),
                 part(_GROK, "3", usage={"prompt_tokens": 199, "completion_tokens": 1, "total_tokens": 411,
                                         "prompt_tokens_details": {"cached_tokens": 163},
                                         "completion_tokens_details": {"reasoning_tokens": 211}}), done=True),
        tokens=(199, 163, 0, 212), cost="0.000608", how="36 x 1.25 + 163 x 0.2 + (1 + 211) x 2.5 = 607.6",
    ),
    Case(
        provider="together", form="Chat, events: usage beside the last choice", path=_CHAT, content_type=SSE,
        model=_TOGETHER,
        body=sse(part(_TOGETHER, "Hi", usage=None),
                 part(_TOGETHER, "", usage={"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150,
                                            "cached_tokens": 0}), done=True),
        tokens=(100, 0, 0, 50), cost="0.000132", how="100 x 0.88 + 50 x 0.88",
    ),
    Case(
        provider="fireworks", form="Chat, JSON", path="/inference/v1/chat/completions", content_type=JSON,
        model=_FIREWORKS,
        body=as_json(chat(_FIREWORKS, {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100,
                                       "prompt_tokens_details": {"cached_tokens": 500}})),
        tokens=(1000, 500, 0, 100), cost="0.000588", how="500 x 0.56 + 500 x 0.28 + 100 x 1.68",
    ),
    Case(
        provider="gateway", form="Chat, JSON, at an `--upstream` of another name: the model's maker sets the price",
        path=_CHAT, content_type=JSON, model="gpt-5.5",
        body=as_json(chat("gpt-5.5", {"prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29})),
        tokens=(19, 0, 0, 10), cost="0.000395", how="19 x 5 + 10 x 30", assumed=True,
    ),
    Case(
        provider="vllm", form="Chat, events, at an `--upstream` on this machine", path=_CHAT, content_type=SSE,
        model="my-model",
        body=sse(part("my-model", "Hi"),
                 part("my-model", None, usage={"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}),
                 done=True),
        tokens=(7, 0, 0, 3), cost="0", how="the host is this machine",
    ),
]  # fmt: skip

_EMBEDDING, _IMAGE, _AUDIO = "text-embedding-3-small", "gpt-image-1", "gpt-audio"
_PAINTER, _SPEAKER, _LISTENER = "gemini-2.5-flash-image", "gpt-4o-mini-tts", "gpt-4o-mini-transcribe"
_PAINTED = {
    "candidates": [{"content": {"parts": [{"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}],
                                "role": "model"}, "finishReason": "STOP", "index": 0}],
    "usageMetadata": {
        "promptTokenCount": 10, "candidatesTokenCount": 1300, "totalTokenCount": 1310,
        "candidatesTokensDetails": [{"modality": "IMAGE", "tokenCount": 1290}],
    },
    "modelVersion": _PAINTER,
}  # fmt: skip

NOT_TEXT = [
    Case(
        provider="openai", form="Embeddings", path="/v1/embeddings", content_type=JSON, model=_EMBEDDING,
        body=as_json({"object": "list", "model": _EMBEDDING,
                      "data": [{"object": "embedding", "index": 0, "embedding": [0.0023, -0.0093]}],
                      "usage": {"prompt_tokens": 1500, "total_tokens": 1500}}),
        tokens=(1500, 0, 0, 0), cost="0.00003", how="1500 x 0.02",
    ),
    Case(
        provider="openai", form="Images, JSON", path="/v1/images/generations", content_type=JSON, model=_IMAGE,
        body=as_json({"created": 1713833628, "data": [{"b64_json": "iVBORw0KGgo="}],
                      "usage": {"total_tokens": 100, "input_tokens": 50, "output_tokens": 50,
                                "input_tokens_details": {"text_tokens": 10, "image_tokens": 40}}}),
        tokens=(50, 0, 0, 50), cost="0.00245", how="10 x 5 + 40 x 10 + 50 x 40",
    ),
    Case(
        provider="gemini", form="JSON, an image and a line of text", path=f"/v1beta/models/{_PAINTER}:generateContent",
        content_type=JSON, model=_PAINTER, body=as_json(_PAINTED), tokens=(10, 0, 0, 1300), cost="0.038728",
        how="10 x 0.3 + 10 x 2.5 + 1290 x 30",
    ),
    Case(
        provider="openai", form="Chat, JSON: audio in the answer", path=_CHAT, content_type=JSON, model=_AUDIO,
        body=as_json(chat(_AUDIO, {"prompt_tokens": 18, "completion_tokens": 158, "total_tokens": 176,
                                   "prompt_tokens_details": {"audio_tokens": 0, "text_tokens": 18},
                                   "completion_tokens_details": {"audio_tokens": 126, "text_tokens": 32}})),
        tokens=(18, 0, 0, 158), cost="0.008429", how="18 x 2.5 + 32 x 10 + 126 x 64",
    ),
    Case(
        provider="openai", form="Transcription, JSON", path="/v1/audio/transcriptions", content_type=JSON,
        model=_LISTENER,
        body=as_json({"text": "Imagine the wildest idea", "usage": {
            "type": "tokens", "input_tokens": 14, "input_token_details": {"text_tokens": 0, "audio_tokens": 14},
            "output_tokens": 45, "total_tokens": 59}}),
        tokens=(14, 0, 0, 45), cost="0.000267", how="14 x 3 + 45 x 5",
    ),
    Case(
        provider="openai", form="Speech, an audio file", path="/v1/audio/speech", content_type=_MP3, model=_SPEAKER,
        body=b"ID3\x04" + bytes(44), estimated=True,
        tokens=(25, 0, 0, 12), cost="0.000159", how="100 bytes sent / 4 x 0.6 + 48 bytes of audio / 4 x 12",
    ),
]  # fmt: skip

_FLASH = "gemini-2.5-flash"
_INTERACTION = {
    "id": "v1_ChdPU0F4YWFtNkFwS2kxZThQZ05lbXdROBIX", "model": _FLASH, "object": "interaction", "status": "completed",
    "usage": {"total_input_tokens": 100, "total_cached_tokens": 40, "total_output_tokens": 20,
              "total_thought_tokens": 30, "total_tool_use_tokens": 0, "total_tokens": 150},
}  # fmt: skip
_INTERACTED = "60 x 0.3 + 40 x 0.03 + (20 + 30) x 2.5 = 144.2"
_IN_BATCH = {
    "response": {"candidates": [{"content": {"parts": [{"text": "AI"}], "role": "model"}, "finishReason": "STOP"}],
                 "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 3,
                                   "totalTokenCount": 18}},
}  # fmt: skip

INTERACTIONS = [
    Case(
        provider="gemini", form="Interactions, JSON", path="/v1beta/interactions", content_type=JSON, model=_FLASH,
        body=as_json({**_INTERACTION, "outputs": [{"type": "text", "text": "Hi"}]}), tokens=(100, 40, 0, 50),
        cost="0.000144", how=_INTERACTED,
    ),
    Case(
        provider="gemini", form="Interactions, events", path="/v1beta/interactions", content_type=SSE, model=_FLASH,
        body=sse({"event_type": "interaction.created", "interaction": {**_INTERACTION, "status": "in_progress",
                                                                        "usage": None}},
                 {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "Hi"}},
                 {"event_type": "interaction.completed", "interaction": _INTERACTION}),
        tokens=(100, 40, 0, 50), cost="0.000144", how=_INTERACTED,
    ),
]  # fmt: skip

_LLAMA, _NOVA, _TITAN = "us.meta.llama3-3-70b-instruct-v1:0", "amazon.nova-lite-v1:0", "amazon.titan-text-express-v1"
_BEDROCK_MISTRAL, _TITAN_EMBED = "mistral.mistral-large-2402-v1:0", "amazon.titan-embed-text-v2:0"


def _invoke(model: str, operation: str = "invoke") -> str:
    return f"/model/{model.replace(':', '%3A')}/{operation}"


INVOKED = [
    Case(
        provider="bedrock", form="InvokeModel of Llama", path=_invoke(_LLAMA), content_type=JSON, model=_LLAMA,
        body=as_json({"generation": "Hi", "prompt_token_count": 25, "generation_token_count": 50,
                      "stop_reason": "stop"}),
        tokens=(25, 0, 0, 50), cost="0.000054", how="25 x 0.72 + 50 x 0.72",
    ),
    Case(
        provider="bedrock", form="InvokeModelWithResponseStream of Llama", content_type=FRAMES, model=_LLAMA,
        path=_invoke(_LLAMA, "invoke-with-response-stream"),
        body=chunk({"generation": "H", "prompt_token_count": 25, "generation_token_count": 1, "stop_reason": None})
        + chunk({"generation": "i", "prompt_token_count": None, "generation_token_count": 50, "stop_reason": "stop",
                 "amazon-bedrock-invocationMetrics": {"inputTokenCount": 25, "outputTokenCount": 50}}),
        tokens=(25, 0, 0, 50), cost="0.000054", how="25 x 0.72 + 50 x 0.72",
    ),
    Case(
        provider="bedrock", form="InvokeModel of Nova", path=_invoke(_NOVA), content_type=JSON, model=_NOVA,
        body=as_json({"output": {"message": {"role": "assistant", "content": [{"text": "Hi"}]}},
                      "stopReason": "end_turn",
                      "usage": {"inputTokens": 500, "outputTokens": 100, "totalTokens": 1600,
                                "cacheReadInputTokenCount": 1000, "cacheWriteInputTokenCount": 0}}),
        tokens=(1500, 1000, 0, 100), cost="0.000069", how="500 x 0.06 + 1000 x 0.015 + 100 x 0.24",
    ),
    Case(
        provider="bedrock", form="InvokeModel of Titan", path=_invoke(_TITAN), content_type=JSON, model=_TITAN,
        body=as_json({"inputTextTokenCount": 5, "results": [{"tokenCount": 50, "outputText": "Hi",
                                                             "completionReason": "FINISH"}]}),
        tokens=(5, 0, 0, 50), cost="0.000031", how="5 x 0.2 + 50 x 0.6",
    ),
    Case(
        provider="bedrock", form="InvokeModel of Mistral: the counts are in the reply's head", content_type=JSON,
        path=_invoke(_BEDROCK_MISTRAL), model=_BEDROCK_MISTRAL,
        headers=((b"X-Amzn-Bedrock-Input-Token-Count", b"20"), (b"X-Amzn-Bedrock-Output-Token-Count", b"30")),
        body=as_json({"outputs": [{"text": "Hi", "stop_reason": "stop"}]}),
        tokens=(20, 0, 0, 30), cost="0.00044", how="20 x 4 + 30 x 12",
    ),
    Case(
        provider="bedrock", form="InvokeModel of an embedding", path=_invoke(_TITAN_EMBED), content_type=JSON,
        model=_TITAN_EMBED, body=as_json({"embedding": [0.01, -0.02], "inputTextTokenCount": 500}),
        tokens=(500, 0, 0, 0), cost="0.00001", how="500 x 0.02",
    ),
]  # fmt: skip

_OPUS, _MINI = "claude-opus-4-8", "gpt-4o-mini-2024-07-18"


def _result(custom_id: str, **usage: int) -> bytes:
    result = {"type": "succeeded", "message": message(_OPUS, dict(usage))}
    return as_json({"custom_id": custom_id, "result": result}) + b"\n"


def _answered(custom_id: str, **usage: int) -> bytes:
    response = {"status_code": 200, "request_id": "c187", "body": chat(_MINI, usage)}
    return as_json({"id": f"batch_{custom_id}", "custom_id": custom_id, "response": response, "error": None}) + b"\n"


BATCHES = [
    Case(
        provider="anthropic", form="a batch's results, one of them an error", method="GET", content_type=_LINES,
        path="/v1/messages/batches/msgbatch_1/results", model=None,
        body=_result("a", input_tokens=10, output_tokens=34)
        + as_json({"custom_id": "b", "result": {"type": "errored", "error": {"type": "invalid_request"}}}) + b"\n"
        + _result("c", input_tokens=11, output_tokens=36),
        tokens=(21, 0, 0, 70), cost="0.000928", how="(10 + 11) x 2.5 + (34 + 36) x 12.5 = 927.5",
    ),
    Case(
        provider="openai", form="a batch's results", method="GET", path="/v1/files/file-1/content", model=None,
        content_type="application/octet-stream",
        body=_answered("a", prompt_tokens=1200, completion_tokens=100, total_tokens=1300)
        + _answered("b", prompt_tokens=800, completion_tokens=200, total_tokens=1000),
        tokens=(2000, 0, 0, 300), cost="0.00024", how="(1200 + 800) x 0.075 + (100 + 200) x 0.3",
    ),
    Case(
        provider="gemini", form="a batch with its responses in line", method="GET", path="/v1beta/batches/123",
        content_type=JSON, model=None,
        body=as_json({"name": "batches/123", "done": True,
                      "metadata": {"model": f"models/{_FLASH}", "state": "BATCH_STATE_SUCCEEDED"},
                      "response": {"inlinedResponses": {"inlinedResponses": [_IN_BATCH, _IN_BATCH]}}}),
        tokens=(20, 0, 0, 16), cost="0.000023", how="2 x 10 x 0.15 + 2 x (5 + 3) x 1.25",
    ),
]  # fmt: skip

OTHER_CASES = (*COMPATIBLE, *NOT_TEXT, *INTERACTIONS, *INVOKED, *BATCHES)
