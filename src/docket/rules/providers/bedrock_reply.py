"""Reading a Bedrock reply: frames of an event stream, or one JSON value where it is no stream or an error.

Rules:
1. The first byte tells which: a frame begins with its length, whose first byte is 0 or 1 and never a JSON value's.
2. A frame of Converse is `{EVENT: PAYLOAD}`; one of InvokeModel carries an event of the model's own format in base64,
   which is read in whichever of the known formats it comes.
3. An exception may come in a frame after status 200. What was used until then is billed.
4. The model's own counts are preferred to the service's, which lack the lifetimes of what was cached; where the model's
   stop short of the end, the service's output completes them.

What the counts mean is `bedrock_usage`'s; what a request asks for is `bedrock`'s.
"""

from __future__ import annotations

import binascii
from typing import Protocol

from docket.formats.dataclass import replace
from docket.rules.providers.bedrock_usage import METRICS, BedrockUsage
from docket.rules.providers.body import BodyMeter, ReplyState, copied
from docket.rules.providers.eventstream import Frame, FrameStream
from docket.rules.providers.generic import BODY_MEMBERS, AnyState
from docket.rules.providers.interface import Fields, Reading, StreamError, field_of
from docket.rules.providers.json_scan import JsonMap, as_items, as_map, as_text, loads_lenient
from docket.rules.providers.text import error_of, text_bytes
from docket.rules.providers.told import ToldState

_FRAME_BEGINNINGS = b"\x00\x01"
_CONVERSE_BODY = (("usage",), ("serviceTier",), ("performanceConfig",), ("trace", "promptRouter"), ("message",))
_CONVERSE_EVENTS = (("usage",), ("serviceTier",), ("performanceConfig",), ("trace", "promptRouter"))
_INVOKE_BODY = (
    *BODY_MEMBERS, ("message",), ("prompt_token_count",), ("generation_token_count",), ("inputTextTokenCount",),
)  # fmt: skip
TIER_HEADER, LATENCY_HEADER = b"x-amzn-bedrock-service-tier", b"x-amzn-bedrock-performanceconfig-latency"
_SHOWN = ("generation", "outputText", "completion", "text")
_SPOILED = "a part of the reply did not pass its checksum and was not read"


class FramedState(ReplyState, Protocol):
    """A state that also reads frames."""

    def frame(self, frame: Frame) -> None:
        """Take one frame."""
        ...


class BedrockMeter:
    """The meter of one reply, framed or not."""

    __slots__ = ("_body", "_framed", "_frames", "_state")

    def __init__(self, state: FramedState, *, events: tuple[tuple[str, ...], ...], body: BodyMeter) -> None:
        self._state = state
        self._body = body
        self._frames = FrameStream(events)
        self._framed: bool | None = None

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the body."""
        if self._framed is None and data:
            self._framed = data[0] in _FRAME_BEGINNINGS
        if not self._framed:
            self._body.feed(data)
            return
        for frame in self._frames.feed(data):
            self._state.frame(frame)

    @property
    def visible_output_bytes(self) -> int:
        """UTF-8 bytes of model output seen so far."""
        return self._state.visible_output_bytes if self._framed else self._body.visible_output_bytes

    def reading(self) -> Reading:
        """Return what has been read so far."""
        if not self._framed:
            return self._body.reading()
        reading = self._state.reading()
        note = _SPOILED if self._frames.spoiled and reading.note is None else reading.note
        # What was not read of frames that are none says nothing of their end.
        return replace(
            reading, note=note, broken_off=not (reading.terminal or self._frames.spoiled or self._frames.ended)
        )


class ConverseState(ToldState):
    """What a reply of Converse, or of ConverseStream, has said so far."""

    __slots__ = ("_speed", "_usage")

    def __init__(self) -> None:
        super().__init__()
        self._usage = BedrockUsage()
        self._speed: object = None

    def frame(self, frame: Frame) -> None:
        """Take one frame."""
        error = exception_of(frame)
        if error is not None:
            self._error = error
            return
        payload = _payload(frame)
        if payload is not None:
            self.event({frame.headers.get(":event-type", ""): payload})

    def event(self, event: JsonMap) -> None:
        """Take one event, as `{EVENT: PAYLOAD}`."""
        self._show_delta(as_map(as_map(event.get("contentBlockDelta")).get("delta")))
        start = as_map(as_map(as_map(event.get("contentBlockStart")).get("start")).get("toolUse"))
        self._asks_for(start.get("toolUseId"))
        self.visible_output_bytes += text_bytes(start.get("name"))
        metadata = as_map(event.get("metadata"))
        if metadata:
            self._ended(metadata)

    def done(self) -> None:
        """Take a mark that this protocol does not have."""

    def body(self, body: JsonMap) -> None:
        """Take a whole reply."""
        message = as_map(as_map(body.get("output")).get("message"))
        for block in as_items(message.get("content")):
            self._show_block(as_map(block))
        if "usage" not in body and isinstance(body.get("message"), str):
            self._error = error_of(body)
        self._ended(body)

    def reading(self) -> Reading:
        """Return what has been understood."""
        return replace(self._reading(self._usage.total(), self._usage.note()), speed=as_text(self._speed))

    def _ended(self, body: JsonMap) -> None:
        self._usage.converse(as_map(body.get("usage")))
        self._tier = as_map(body.get("serviceTier")).get("type") or self._tier
        self._speed = as_map(body.get("performanceConfig")).get("latency") or self._speed
        self._model = as_map(as_map(body.get("trace")).get("promptRouter")).get("invokedModelId") or self._model
        self._terminal = True

    def _show_delta(self, delta: JsonMap) -> None:
        shown = (delta.get("text"), as_map(delta.get("toolUse")).get("input"))
        thought = as_map(delta.get("reasoningContent")).get("text")
        self.visible_output_bytes += sum(map(text_bytes, (*shown, thought)))

    def _show_block(self, block: JsonMap) -> None:
        tool = as_map(block.get("toolUse"))
        self._asks_for(tool.get("toolUseId"))
        thought = as_map(as_map(block.get("reasoningContent")).get("reasoningText")).get("text")
        self.visible_output_bytes += sum(
            map(text_bytes, (block.get("text"), tool.get("name"), tool.get("input"), thought))
        )


class InvokeState:
    """What a reply of InvokeModel, or of its stream, has said so far."""

    __slots__ = ("_any", "_converse", "_error", "_fields", "_own_bytes", "_terminal", "_unread", "_usage")

    def __init__(self, fields: Fields = ()) -> None:
        self._fields = fields
        self._any = AnyState()
        self._converse = ConverseState()
        self._usage = BedrockUsage()
        self._error: StreamError | None = None
        self._own_bytes = 0
        self._terminal = self._unread = False

    @property
    def visible_output_bytes(self) -> int:
        """The most that any format takes for output."""
        return max(self._any.visible_output_bytes, self._converse.visible_output_bytes, self._own_bytes)

    def frame(self, frame: Frame) -> None:
        """Take one frame."""
        error = exception_of(frame)
        if error is not None:
            self._error = error
            return
        event = _native_event(frame)
        if event is None:
            self._unread = True
            return
        self.event(event)

    def event(self, event: JsonMap) -> None:
        """Take one event of the model's own format."""
        metrics = as_map(event.get(METRICS))
        self._usage.metrics(metrics)
        self._terminal = self._terminal or bool(metrics)
        self._any.event(event)
        self._converse.event(event)
        self._own(event)

    def done(self) -> None:
        """Take the `[DONE]` mark of a model that has one."""
        self._any.done()

    def body(self, body: JsonMap) -> None:
        """Take a whole reply."""
        if isinstance(body.get("message"), str) and "usage" not in body:
            self._error = error_of(body)
        self._any.body(body)
        self._converse.body(body)
        self._own(body)
        self._usage.headers(self._fields)
        self._terminal = True

    def reading(self) -> Reading:
        """Return what has been understood."""
        native, converse = self._any.reading(), self._converse.reading()
        service = self._usage.total()
        reading = native if native.usage is not None or converse.usage is None else converse
        if reading.usage is None and service is not None:
            final = self._usage.output_tokens is not None
            reading = replace(reading, usage=service, usage_final=final, parts=())
        elif reading.usage is not None and not reading.usage_final and self._terminal and service is not None:
            output = max(reading.usage.output_tokens, service.output_tokens)
            reading = replace(reading, usage=replace(reading.usage, output_tokens=output), usage_final=True)
        unread = "a part of the reply could not be read" if self._unread else None
        return replace(
            reading,
            service_tier=as_text(field_of(self._fields, TIER_HEADER)) or reading.service_tier,
            speed=as_text(field_of(self._fields, LATENCY_HEADER)) or reading.speed,
            note=reading.note or self._usage.note() or unread,
            terminal=self._terminal or reading.terminal,
            error=self._error or reading.error,
        )

    def copy(self) -> InvokeState:
        """Return an independent copy."""
        return copied(self, "_any", "_converse", "_usage")

    def _own(self, value: JsonMap) -> None:
        self._usage.native(value)
        parts = (value, *map(as_map, as_items(value.get("results"))), *map(as_map, as_items(value.get("outputs"))))
        for part in parts:
            self._own_bytes += sum(text_bytes(part[name]) for name in _SHOWN if isinstance(part.get(name), str))


def converse_meter() -> BedrockMeter:
    """Return a meter for a reply of Converse or ConverseStream."""
    body = BodyMeter(ConverseState(), events=_CONVERSE_EVENTS, body=_CONVERSE_BODY)
    return BedrockMeter(ConverseState(), events=_CONVERSE_EVENTS, body=body)


def invoke_meter(fields: Fields) -> BedrockMeter:
    """Return a meter for a reply of InvokeModel; `fields` are the reply's headers."""
    body = BodyMeter(InvokeState(fields), events=_INVOKE_BODY, body=_INVOKE_BODY)
    return BedrockMeter(InvokeState(fields), events=(), body=body)


def exception_of(frame: Frame) -> StreamError | None:
    """Return what an exception, or an error that nobody modelled, says; None for an event."""
    kind = frame.headers.get(":message-type", "event")
    if kind == "event":
        return None
    name = frame.headers.get(":exception-type") or frame.headers.get(":error-code") or kind
    payload = _payload(frame) or {}
    text = payload.get("originalMessage") or payload.get("message") or frame.headers.get(":error-message", "")
    return error_of({"type": name, "message": text})


def _payload(frame: Frame) -> JsonMap | None:
    value = loads_lenient(frame.payload) if isinstance(frame.payload, bytes) else frame.payload.result()
    return value if isinstance(value, dict) else None


def _native_event(frame: Frame) -> JsonMap | None:
    text = (_payload(frame) or {}).get("bytes")
    if not isinstance(text, str):
        return None
    try:
        value = loads_lenient(binascii.a2b_base64(text))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
