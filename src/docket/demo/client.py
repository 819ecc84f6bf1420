"""The scripted agent's side of the three wire formats: a conversation in, what the model said out.

Rules:
1. A refusal (any status but 200, or an error event in a stream) is a value with the provider's own message.
2. A broken stream is a `Broken` value; nothing of it counts as said.
3. One keep-alive connection; a request is never sent twice.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from docket.demo.asked import Wire
from docket.formats.dataclass import dataclass, field

MAX_REPLY_BYTES = 8 * 1024 * 1024
_PATHS = {Wire.MESSAGES: "/v1/messages", Wire.CHAT: "/chat/completions", Wire.RESPONSES: "/responses"}


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedTool:
    """A tool the model asked for; `arguments` is empty where they were no object."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A whole answer."""

    text: str
    tools: tuple[WantedTool, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """No answer; `message` is the provider's `error.message`, or the start of what came instead."""

    status: int
    message: str
    retry_after_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """The connection failed or ended too early."""

    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One exchange already had: what the model said and what its tools returned."""

    said: Said
    results: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What is sent: the task and the steps so far."""

    model: str
    task: str
    tools: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    max_tokens: int = 1024
    streaming: bool = True


class ModelClient:
    """One connection to a model provider at `base_url`, speaking `wire`."""

    def __init__(self, base_url: str, wire: Wire, key: str, *, timeout_seconds: float = 60.0) -> None:
        parts = urlsplit(base_url)
        self._prefix = parts.path.rstrip("/")
        self._wire = wire
        self._key = key
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname or "127.0.0.1", parts.port, timeout=timeout_seconds)

    def ask(self, conversation: Conversation) -> Said | Refused | Broken:
        """Send the conversation; return what came back."""
        body = json.dumps(request_body(self._wire, conversation)).encode()
        headers = {"content-type": "application/json", "authorization": f"Bearer {self._key}"}
        if self._wire is Wire.MESSAGES:
            headers = {
                "content-type": "application/json",
                "x-api-key": self._key,
                "anthropic-version": "2023-06-01",
            }
        try:
            self._connection.request("POST", self._prefix + _PATHS[self._wire], body, headers)
            response = self._connection.getresponse()
            data = response.read(MAX_REPLY_BYTES)
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            return Broken(detail=f"{type(error).__name__}: {error}")
        if response.status != 200:
            waits = response.getheader("retry-after", "")
            return Refused(
                status=response.status,
                message=_message(data),
                retry_after_seconds=int(waits) if waits.isdecimal() else None,
            )
        return read_reply(self._wire, data, streaming=conversation.streaming)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def request_body(wire: Wire, conversation: Conversation) -> dict[str, Any]:
    """Return the JSON body that asks for the next answer."""
    body: dict[str, Any] = {"model": conversation.model, "stream": conversation.streaming}
    schema = {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}}
    if wire is Wire.MESSAGES:
        body |= {"max_tokens": conversation.max_tokens, "messages": _messages(conversation)}
        tools = [{"name": name, "input_schema": schema} for name in conversation.tools]
    elif wire is Wire.CHAT:
        body |= {"max_completion_tokens": conversation.max_tokens, "messages": _chat(conversation)}
        if conversation.streaming:
            body["stream_options"] = {"include_usage": True}
        tools = [{"type": "function", "function": {"name": name, "parameters": schema}} for name in conversation.tools]
    else:
        body |= {"max_output_tokens": conversation.max_tokens, "input": _input(conversation), "store": False}
        tools = [{"type": "function", "name": name, "parameters": schema} for name in conversation.tools]
    return body | {"tools": tools} if tools else body


def read_reply(wire: Wire, data: bytes, *, streaming: bool) -> Said | Refused | Broken:
    """Read a reply with status 200."""
    try:
        if not streaming:
            return _WHOLE[wire](json.loads(data))
        events = list(_events(data))
        failure = next((event for event in events if _is_error(event)), None)
        if failure is not None:
            return Refused(status=200, message=_error_message(failure))
        return _STREAM[wire](events)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        return Broken(detail=f"the reply cannot be read: {type(error).__name__}")


def _messages(conversation: Conversation) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": conversation.task}]
    for step in conversation.steps:
        content: list[dict[str, Any]] = [{"type": "text", "text": step.said.text}] if step.said.text else []
        content += [
            {"type": "tool_use", "id": tool.id, "name": tool.name, "input": tool.arguments} for tool in step.said.tools
        ]
        results = [
            {"type": "tool_result", "tool_use_id": tool.id, "content": result}
            for tool, result in zip(step.said.tools, step.results, strict=True)
        ]
        messages += [{"role": "assistant", "content": content}, {"role": "user", "content": results or "go on"}]
    return messages


def _chat(conversation: Conversation) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": conversation.task}]
    for step in conversation.steps:
        calls = [
            {
                "id": tool.id,
                "type": "function",
                "function": {"name": tool.name, "arguments": json.dumps(tool.arguments)},
            }
            for tool in step.said.tools
        ]
        said: dict[str, Any] = {"role": "assistant", "content": step.said.text}
        messages.append(said | {"tool_calls": calls} if calls else said)
        messages += [
            {"role": "tool", "tool_call_id": tool.id, "content": result}
            for tool, result in zip(step.said.tools, step.results, strict=True)
        ] or [{"role": "user", "content": "go on"}]
    return messages


def _function(tool: WantedTool) -> dict[str, str]:
    return {"name": tool.name, "arguments": json.dumps(tool.arguments)}


def _input(conversation: Conversation) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = [{"role": "user", "content": conversation.task}]
    for step in conversation.steps:
        if step.said.text:
            items.append({"role": "assistant", "content": step.said.text})
        for tool, result in zip(step.said.tools, step.results, strict=True):
            items.append({"type": "function_call", "call_id": tool.id} | _function(tool))
            items.append({"type": "function_call_output", "call_id": tool.id, "output": result})
    return items


def _events(data: bytes) -> Iterable[dict[str, Any]]:
    for block in data.decode().split("\n\n"):
        lines = [line[6:] for line in block.split("\n") if line.startswith("data: ")]
        if lines and lines != ["[DONE]"]:
            yield json.loads("\n".join(lines))


def _is_error(event: dict[str, Any]) -> bool:
    return event.get("type") in ("error", "response.failed") or (event.get("error") is not None)


def _error_message(event: dict[str, Any]) -> str:
    error = event.get("error") or event.get("response", {}).get("error") or {}
    return str(error.get("message", "an error without a message"))


def _message(data: bytes) -> str:
    try:
        return str(json.loads(data)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return data[:300].decode("utf-8", "replace") or "no message"


@dataclass(slots=True)
class _Parts:
    """Tools of a stream, put together by position."""

    text: list[str] = field(default_factory=list)
    tools: dict[int, dict[str, str]] = field(default_factory=dict)

    def tool(self, index: int, **members: str | None) -> None:
        """Add to the tool at `index`: arguments grow, other members are set where they have a value."""
        tool = self.tools.setdefault(index, {"id": "", "name": "", "arguments": ""})
        for name, value in members.items():
            if value:
                tool[name] = tool[name] + value if name == "arguments" else value

    def said(self) -> Said:
        """The whole answer."""
        return Said(text="".join(self.text), tools=tuple(_wanted(**tool) for _, tool in sorted(self.tools.items())))


def _wanted(id: str, name: str, arguments: str) -> WantedTool:  # noqa: A002 - the member's name on every wire
    value = json.loads(arguments or "{}")
    return WantedTool(id=id, name=name, arguments=value if isinstance(value, dict) else {})


def _messages_whole(value: dict[str, Any]) -> Said:
    parts = _Parts()
    for index, block in enumerate(value["content"]):
        if block["type"] == "text":
            parts.text.append(block["text"])
        elif block["type"] == "tool_use":
            parts.tool(index, id=block["id"], name=block["name"], arguments=json.dumps(block["input"]))
    return parts.said()


def _messages_stream(events: list[dict[str, Any]]) -> Said | Broken:
    parts = _Parts()
    for event in events:
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
            block = event["content_block"]
            parts.tool(event["index"], id=block["id"], name=block["name"])
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            parts.text.append(delta.get("text", ""))
            if "partial_json" in delta:
                parts.tool(event["index"], arguments=delta["partial_json"])
    ended = any(event["type"] == "message_stop" for event in events)
    return parts.said() if ended else Broken(detail="the stream has no message_stop")


def _chat_whole(value: dict[str, Any]) -> Said:
    message = value["choices"][0]["message"]
    parts = _Parts(text=[message.get("content") or ""])
    for index, call in enumerate(message.get("tool_calls") or []):
        parts.tool(index, id=call["id"], **call["function"])
    return parts.said()


def _chat_stream(events: list[dict[str, Any]]) -> Said | Broken:
    parts, ended = _Parts(), False
    for choice in (choice for event in events for choice in event["choices"]):
        ended = ended or choice.get("finish_reason") is not None
        parts.text.append(choice["delta"].get("content") or "")
        for call in choice["delta"].get("tool_calls") or []:
            parts.tool(call["index"], id=call.get("id"), **call.get("function", {}))
    return parts.said() if ended else Broken(detail="the stream has no finish_reason")


def _responses_whole(value: dict[str, Any]) -> Said:
    parts = _Parts()
    for index, item in enumerate(value["output"]):
        if item["type"] == "function_call":
            parts.tool(index, id=item["call_id"], name=item["name"], arguments=item["arguments"])
        elif item["type"] == "message":
            parts.text += [part["text"] for part in item["content"] if part["type"] == "output_text"]
    return parts.said()


def _responses_stream(events: list[dict[str, Any]]) -> Said | Broken:
    last = next((e for e in events if e["type"] in ("response.completed", "response.incomplete")), None)
    return Broken(detail="the stream has no end") if last is None else _responses_whole(last["response"])


_WHOLE: dict[Wire, Callable[[dict[str, Any]], Said]] = {
    Wire.MESSAGES: _messages_whole,
    Wire.CHAT: _chat_whole,
    Wire.RESPONSES: _responses_whole,
}
_STREAM: dict[Wire, Callable[[list[dict[str, Any]]], Said | Broken]] = {
    Wire.MESSAGES: _messages_stream,
    Wire.CHAT: _chat_stream,
    Wire.RESPONSES: _responses_stream,
}
