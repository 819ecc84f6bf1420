"""A copy of a wire's state goes its own way."""

from __future__ import annotations

import pytest

from docket.rules.providers.bedrock_reply import ConverseState
from docket.rules.providers.body import ReplyState
from docket.rules.providers.gemini import GeminiState
from docket.rules.providers.gemini_batches import BatchState
from docket.rules.providers.gemini_interactions import InteractionState
from docket.rules.providers.json_scan import JsonMap
from docket.rules.providers.ollama import OllamaState
from docket.rules.providers.openai_chat import ChatState
from docket.rules.providers.openai_responses import ResponsesState

_BATCH = {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}}
REPLIES: list[tuple[type[ReplyState], JsonMap]] = [
    (ChatState, {"model": "m", "usage": {"prompt_tokens": 3, "completion_tokens": 4}}),
    (ResponsesState, {"model": "m", "status": "completed", "usage": {"input_tokens": 3, "output_tokens": 4}}),
    (ConverseState, {"usage": {"inputTokens": 3, "outputTokens": 4}}),
    (GeminiState, {"modelVersion": "m", **_BATCH}),
    (InteractionState, {"status": "completed", "usage": {"total_input_tokens": 3, "total_output_tokens": 4}}),
    (OllamaState, {"model": "m", "done": True, "prompt_eval_count": 3, "eval_count": 4}),
    (BatchState, {"done": True, "response": {"inlinedResponses": {"inlinedResponses": [{"response": _BATCH}]}}}),
]


@pytest.mark.parametrize(("kind", "reply"), REPLIES, ids=lambda value: getattr(value, "__name__", ""))
def test_what_a_copy_takes_the_first_does_not_know(kind: type[ReplyState], reply: JsonMap) -> None:
    state = kind()
    before = state.reading()
    copy = state.copy()
    copy.body(reply)
    usage = copy.reading().usage

    assert state.reading() == before
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (3, 4)
    assert copy.copy().reading() == copy.reading()
    assert type(copy) is kind
