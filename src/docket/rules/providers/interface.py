"""The words every wire format speaks: what a request asks for, what a reply used, how a refusal looks.

Rules:
1. A parser is pure and incremental: the same bytes give the same reading however they are cut.
2. A parser never raises on what an upstream or an agent sent; what it cannot read is `None` with a note.
3. A parser keeps no text: memory does not grow with the length of a stream.
4. A zero that was reported is a zero; an unreported count is None until someone estimates it.

Which wire a path speaks is the registry's to say; what a usage costs is `rules.spending.pricing`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol

from docket.formats.dataclass import dataclass, field
from docket.formats.reason import Reason
from docket.formats.run.usage import Usage, UsagePart

Fields = tuple[tuple[bytes, bytes], ...]
MAX_MODEL_CHARACTERS = 256
MAX_COUNT = 10**12
MAX_TOOL_USES, MAX_TOOL_USE_CHARACTERS = 128, 128


class EndpointKind(StrEnum):
    """What a request to an endpoint costs."""

    BILLED = "billed"
    FREE = "free"
    UNKNOWN = "unknown"


class Hidden(StrEnum):
    """A way in which a call can bill what its stream does not show while it runs."""

    NON_STREAMING = "non-streaming"
    REASONING = "reasoning"
    SERVER_TOOLS = "server-tools"
    STORED_HISTORY = "stored-history"
    REMOTE_INPUT = "remote-input"
    BACKGROUND = "background"
    SEVERAL_MODELS = "several-models"
    ITERATIONS = "iterations"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTarget:
    """What of a request's head a wire format may read: some name the model in the path and the tier in a header.

    `path` is what follows the provider's name, from its slash, with its escapes and its query; it may hold a key and
    is never recorded as it is. `headers` are the field lines as they came.
    """

    path: str = ""
    headers: Fields = ()

    @property
    def bare_path(self) -> str:
        """The path without its query."""
        return self.path.partition("?")[0]

    def field(self, name: bytes) -> str:
        """Return the first header of this name (in lower case), empty where there is none."""
        return field_of(self.headers, name)


NO_TARGET = RequestTarget()


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFacts:
    """What a request asks for, as far as its body and its target can be read.

    `model` is fit for a record (`model_text`); `model_raw` holds the exact UTF-8 bytes where they differ from it.
    `max_output_tokens` bounds the whole output, thinking included; None where the request sets no bound.
    `hidden` holds members of `Hidden`. `choices` is how many answers were asked for, each with its own output bound.
    `web_search_limit` is the most searches the request allows, None where it allows any number or has no such tool.
    `model_is_exact` says that the request names the model more exactly than the reply will: with the place of serving.
    `ambiguous` says in words why another reader could read the body differently; None where none could.
    `fingerprint` is 16 hexadecimal digits, equal for bodies that ask the same thing again.
    """

    model: str | None = None
    model_raw: bytes | None = None
    model_is_exact: bool = False
    streaming: bool = False
    max_output_tokens: int | None = None
    thinking_tokens: int | None = None
    choices: int = 1
    hidden: tuple[Hidden, ...] = ()
    fingerprint: str = ""
    include_usage: bool | None = None
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    web_search_limit: int | None = None
    previous_response_id: str | None = None
    note: str | None = None
    ambiguous: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamError:
    """An error the upstream reported in the body of a reply."""

    type: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reply has said of itself so far.

    `usage` is the whole call, `parts` its split where tokens were billed at models of their own (empty otherwise).
    `usage_final` says that the reported output is not merely the count at the beginning of the stream.
    `upstream_cost_usd` is what the provider says the call cost, a decimal; it is noted beside docket's own figure.
    `terminal` says that the event which ends a reply of this protocol was seen, `broken_off` that more must follow: a
    JSON value that has not ended, or events without the last one. `tool_use_ids` are the ids of the tool uses that
    the reply asks the agent for, in their order, the first MAX_TOOL_USES of them.
    """

    usage: Usage | None = None
    usage_final: bool = False
    parts: tuple[UsagePart, ...] = ()
    model: str | None = None
    model_raw: bytes | None = None
    service_tier: str | None = None
    speed: str | None = None
    inference_geo: str | None = None
    response_id: str | None = None
    upstream_cost_usd: str | None = None
    note: str | None = None
    terminal: bool = False
    broken_off: bool = False
    error: StreamError | None = None
    tool_use_ids: tuple[str, ...] = ()


class Meter(Protocol):
    """Reads a copy of one reply's decoded body."""

    def feed(self, data: bytes) -> None:
        """Take the next bytes; never raises on their content."""
        ...

    @property
    def visible_output_bytes(self) -> int:
        """UTF-8 bytes of model output seen so far (text, shown thinking, tool arguments)."""
        ...

    def reading(self) -> Reading:
        """Return what has been read so far; may be asked at any time."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A request that docket turns away."""

    reason: Reason
    message: str
    docket_number: str
    status: int = 400
    retry_after_seconds: int | None = None


class RefusalReply(NamedTuple):
    """The answer to the agent: status, end-to-end headers, body."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Wire(Protocol):
    """One wire format."""

    @property
    def name(self) -> str:
        """The name a record uses."""
        ...

    def read_request(self, body: bytes, target: RequestTarget = NO_TARGET) -> RequestFacts:
        """Read a decoded request body, and what the request's target says beside it."""
        ...

    def meter(self, content_type: str, *, streaming: bool, headers: Fields = ()) -> Meter:
        """Return a meter for a reply of this content type; `streaming` is what the request asked for.

        `headers` are the reply's field lines, for formats that say there what was served.
        """
        ...

    def refusal(self, refusal: Refusal) -> RefusalReply:
        """Return the refusal in the protocol's own error shape."""
        ...


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What a method and a path of a provider stand for; `wire` is None where no model call is made."""

    kind: EndpointKind
    wire: Wire | None = field(default=None)


def field_of(headers: Fields, name: bytes) -> str:
    """Return the first field of this name (in lower case) among field lines, empty where there is none."""
    return next((value.decode("latin-1") for key, value in headers if key.lower() == name), "")


def model_text(name: str) -> str:
    """Return a model's name as a record carries it: lone surrogates and control characters as literal escapes."""
    clean = name.encode("utf-8", "backslashreplace").decode("utf-8")
    if clean.isprintable():
        return clean
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in clean)


def model_members(name: object) -> tuple[str | None, bytes | None]:
    """Return (text for a record, exact bytes where they differ) of a model's name; (None, None) for none."""
    if not isinstance(name, str) or not 0 < len(name) <= MAX_MODEL_CHARACTERS:
        return None, None
    text, raw = model_text(name), name.encode("utf-8", "surrogatepass")
    return text, None if raw == text.encode() else raw
