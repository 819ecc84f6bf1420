"""Asks one question through each provider's own Python SDK; prints what they understood as JSON.

Run by the Python of the folder that holds the SDKs. They find their provider by ANTHROPIC_BASE_URL and
OPENAI_BASE_URL, as programs built on them do.
"""

import json
import warnings

import anthropic
import openai
from anthropic.types import RawMessageStreamEvent
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

warnings.simplefilter("ignore", DeprecationWarning)
QUESTION = [{"role": "user", "content": "hi"}]


def strictly(kind, event):
    """Validate an event against the SDK's own types, which building one does not."""
    TypeAdapter(kind).validate_python(event.to_dict())


def messages():
    client = anthropic.Anthropic(max_retries=0)
    asked = {"model": "claude-haiku-4-5", "max_tokens": 100, "messages": QUESTION}
    whole = client.messages.create(**asked)
    for event in client.messages.create(stream=True, **asked):
        strictly(RawMessageStreamEvent, event)
    with client.messages.stream(**asked) as stream:
        streamed = stream.get_final_message()
    return [
        [message.content[0].text, message.stop_reason, message.usage.input_tokens, message.usage.output_tokens]
        for message in (whole, streamed)
    ]


def chat():
    client = openai.OpenAI(max_retries=0)
    asked = {"model": "gpt-4o-mini", "messages": QUESTION, "max_completion_tokens": 100}
    whole = client.chat.completions.create(**asked)
    text, usage = "", None
    for chunk in client.chat.completions.create(stream=True, stream_options={"include_usage": True}, **asked):
        strictly(ChatCompletionChunk, chunk)
        text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
        usage = chunk.usage or usage
    return [
        [whole.choices[0].message.content, whole.usage.prompt_tokens, whole.usage.completion_tokens],
        [text, usage.prompt_tokens, usage.completion_tokens],
    ]


def responses():
    client = openai.OpenAI(max_retries=0)
    asked = {"model": "gpt-4o-mini", "input": "hi", "max_output_tokens": 100}
    whole = client.responses.create(**asked)
    for event in client.responses.create(stream=True, **asked):
        strictly(ResponseStreamEvent, event)
    with client.responses.stream(**asked) as stream:
        for _ in stream:
            pass
        streamed = stream.get_final_response()
    return [[answer.output_text, answer.usage.input_tokens, answer.usage.output_tokens] for answer in (whole, streamed)]


print(json.dumps({"messages": messages(), "chat": chat(), "responses": responses()}))
