"""What a scripted provider answers, as plain values with a JSON form.

Rules:
1. A script is a list of turns; the n-th model call gets the n-th turn, and the last turn answers all that follow.
2. Where `side` is set, a call that offers no tools gets it and does not move the list (agents ask for a title so).
3. The JSON form has one member per field; a member left out keeps its default, an unknown one is refused.

It says nothing about any wire format: `demo.messages`, `demo.chat`, `demo.responses` and `demo.gemini` spell
a turn out.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from types import UnionType
from typing import Any, TypeVar

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, JsonValue, decode_document, encode_document
from docket.formats.reading import Reader
from docket.formats.reason import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """What a turn reports as used. The four input counts are disjoint; `reasoning` is a part of `output`."""

    fresh: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def input(self) -> int:
        """The whole input."""
        return self.fresh + self.cache_read + self.cache_write_5m + self.cache_write_1h


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool the model asks for: `arguments` as an object, or `text` for a free-form tool of Responses."""

    name: str
    arguments: Mapping[str, JsonValue] = field(default_factory=dict)
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An error instead of an answer: an HTTP status, or with `in_band` an error event after HTTP 200."""

    status: int = 500
    code: str = "api_error"
    message: str = "scripted failure"
    in_band: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The connection breaks after this many body bytes, or before the response head where that is None.

    `clean` ends the body without the terminal event instead of resetting the connection.
    """

    after_bytes: int | None = None
    clean: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """When and in what pieces a turn is written.

    `delay_ms` before the head, `pause_ms` between writes, `gated`: each write waits for a release;
    `text_chars` a text delta, `write_bytes` cuts events into writes of that size at most.
    """

    delay_ms: int = 0
    pause_ms: int = 0
    gated: bool = False
    text_chars: int = 64
    write_bytes: int | None = None

    @property
    def immediate(self) -> bool:
        """Whether the whole answer may be written at once."""
        return not (self.delay_ms or self.pause_ms or self.gated or self.write_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filler:
    """Text of `total_bytes` letters after the turn's own, in deltas of `delta_bytes`; never held in memory."""

    total_bytes: int
    delta_bytes: int = 16384


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One answer.

    `tokens` None: no usage is reported. `extra_usage`: further members of the usage object, as they stand.
    `model` and `service_tier` are what the reply names (default: the model asked for, and none).
    `coding`: gzip or deflate, used where the client accepts it. `truncated`: the answer stopped at its limit.
    """

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tokens: Tokens | None = Tokens()
    extra_usage: Mapping[str, JsonValue] = field(default_factory=dict)
    model: str | None = None
    service_tier: str | None = None
    truncated: bool = False
    failure: Failure | None = None
    cut: Cut | None = None
    pace: Pace = Pace()
    filler: Filler | None = None
    coding: str = "identity"
    headers: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.coding not in ("identity", "gzip", "deflate"):
            raise InvalidDocumentError(Reason.WRONG_VALUE, f"a turn's coding is {self.coding!r}, not gzip or deflate")

    @property
    def immediate(self) -> bool:
        """Whether the same bytes can be written at once to every caller who asks alike."""
        return self.pace.immediate and self.cut is None and self.filler is None and self.coding == "identity"


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """The turns of one provider, in order. `websocket`: the Responses API is spoken over a WebSocket too."""

    turns: tuple[Turn, ...]
    side: Turn | None = None
    websocket: bool = False

    def __post_init__(self) -> None:
        if not self.turns:
            raise InvalidDocumentError(Reason.WRONG_VALUE, "a script needs at least one turn")


def parse_script(data: bytes) -> Script:
    """Read a script's JSON form; InvalidDocumentError names the member that is wrong."""
    return _read(Script, decode_document(data), "script")


def encode_script(script: Script) -> bytes:
    """Return the JSON form, members with their default left out."""
    return encode_document(_members(script))


T = TypeVar("T")


def _members(value: object) -> JsonObject:
    members: dict[str, JsonValue] = {}
    for item in fields(value):  # type: ignore[arg-type]
        member = getattr(value, item.name)
        default = item.default_factory() if item.default_factory is not MISSING else item.default
        if member != default:
            members[item.name] = _to_json(member)
    return members


def _to_json(member: Any) -> JsonValue:  # noqa: ANN401 - the annotations of the classes above say which types come
    if isinstance(member, tuple):
        return [_members(item) for item in member]
    return _members(member) if is_dataclass(member) else member


def _read(cls: type[T], value: JsonValue, where: str) -> T:
    reader = Reader(value, where)
    # A JSON value is taken as it stands; its recursive alias cannot be resolved outside its own module.
    hints = typing.get_type_hints(cls, localns={"JsonValue": object})
    arguments: dict[str, Any] = {}
    for item in fields(cls):  # type: ignore[arg-type]
        if reader.has(item.name):
            arguments[item.name] = _member(reader, item.name, hints[item.name])
        elif item.default is MISSING and item.default_factory is MISSING:
            raise InvalidDocumentError(Reason.MISSING_MEMBER, f"{where} has no member {item.name!r}")
    reader.close()
    return cls(**arguments)


def _member(reader: Reader, name: str, kind: Any) -> Any:  # noqa: ANN401
    if typing.get_origin(kind) in (UnionType, typing.Union):
        inner = next(arg for arg in typing.get_args(kind) if arg is not type(None))
        return reader.optional(name, lambda _: _member(reader, name, inner))
    if typing.get_origin(kind) is tuple:
        inner, items = typing.get_args(kind)[0], reader.items(name)
        return tuple(_read(inner, item, f"{reader.where}.{name}[{i}]") for i, item in enumerate(items))
    if kind is str:
        return reader.text(name)
    if kind is bool:
        return reader.flag(name)
    if kind is int:
        return reader.integer(name)
    if is_dataclass(kind):
        return _read(kind, reader.any(name), f"{reader.where}.{name}")  # type: ignore[arg-type]
    return reader.mapping(name)
