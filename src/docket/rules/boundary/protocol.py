"""What goes into an exchange and what comes out of it: events and commands, as plain values.

Rules:
1. The driver carries commands out in their order and one after the other; it decides nothing.
2. `Await` holds everything behind it back until the exchange's events are as safe as it says. When they cannot be,
   the rest of that batch is dropped and `EvidenceFailed` goes in.
3. After `SwitchClient` both sides are bytes without framing: `BodyChunk` and `UpstreamChunk` are what comes,
   `BodyEnded` and `UpstreamEnded` that one side sends no more, while the other may.
4. After `Finish` or `Reset` nothing more comes out of an exchange, whatever goes in; `EvidenceFailed` stands for a
   batch that was not carried out to its end, and gives another one.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple, TypeAlias

from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.payload_codec import Payload
from docket.formats.reason import Reason
from docket.formats.run.policy_spending import OnBreach
from docket.rules.boundary.http1 import Framing, RequestHead, ResponseHead
from docket.rules.windows.hook_door import Hook

# ---- events


@dataclass(frozen=True, slots=True)
class HeadArrived:
    """A request's head; `at` is the wall clock's instant, for prices that depend on the date."""

    head: RequestHead
    at: str


@dataclass(frozen=True, slots=True)
class BodyChunk:
    """The next bytes of the request's body."""

    data: bytes


@dataclass(frozen=True, slots=True)
class BodyEnded:
    """The request's body is whole."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Another call released what it held, or admission was closed."""


@dataclass(frozen=True, slots=True)
class Tick:
    """The deadline the exchange asked for has passed."""


@dataclass(frozen=True, slots=True)
class UpstreamHead:
    """The reply's head. `framing` is how its body ends."""

    head: ResponseHead
    framing: Framing


@dataclass(frozen=True, slots=True)
class UpstreamChunk:
    """The next bytes of the reply's body."""

    data: bytes


@dataclass(frozen=True, slots=True)
class UpstreamEnded:
    """The reply is whole by its framing."""


@dataclass(frozen=True, slots=True)
class UpstreamWhole:
    """A reply of a stated length that came at once; in place of its head, its body and its end."""

    head: ResponseHead
    framing: Framing
    body: bytes


@dataclass(frozen=True, slots=True)
class UpstreamFailed:
    """No reply, or a broken one. `sent`: the request, or a part of it, may have reached the upstream."""

    reason: Reason
    detail: str
    sent: bool


@dataclass(frozen=True, slots=True)
class Resolved:
    """The addresses of a name that was to be resolved, none where it has none.

    `through_proxy`: the person's environment names a proxy for it, which takes names.
    """

    addresses: tuple[str, ...]
    through_proxy: bool = False


@dataclass(frozen=True, slots=True)
class Dialed:
    """A connection that was asked for by `Dial` is there."""


@dataclass(frozen=True, slots=True)
class ClientGone:
    """The agent closed its connection."""


@dataclass(frozen=True, slots=True)
class Stopping:
    """The boundary ends: whatever is in flight is to be settled from what was seen."""


@dataclass(frozen=True, slots=True)
class EvidenceFailed:
    """The ledger cannot take what the exchange recorded."""

    detail: str


Event: TypeAlias = (
    "HeadArrived | BodyChunk | BodyEnded | Retry | Tick | UpstreamHead | UpstreamChunk | UpstreamEnded"
    " | UpstreamWhole | UpstreamFailed | Resolved | Dialed | ClientGone | Stopping | EvidenceFailed"
)


class Needs(NamedTuple):
    """What an exchange waits for; the driver feeds nothing else but ClientGone, Tick and Stopping."""

    body: bool = False
    release: bool = False
    upstream: bool = False


# ---- commands

# Schemes of an origin beside http and https: HTTP to an address as it is, without the environment's proxy; bytes
# without framing to one; and such bytes to a name that this proxy is given.
DIRECT, BYTES, TUNNELLED = "direct", "bytes", "tunnelled"


class Placed:
    """Where a recorded event came to stand: `look` gives (seq, hash) once it is durable, None until then."""

    __slots__ = ("look",)

    def __init__(self) -> None:
        self.look: Callable[[], tuple[int, Digest] | None] = lambda: None


@dataclass(frozen=True, slots=True)
class Record:
    """Append an event to the ledger; tell `placed` where it stands.

    `body` is to be kept beside the ledger first, and what became of it said in the event.
    """

    payload: Payload
    placed: Placed | None = None
    body: bytes | None = None


class Mark(Enum):
    """How safe an event is: handed to the operating system, or on the disk."""

    WRITTEN = auto()
    DURABLE = auto()


@dataclass(frozen=True, slots=True)
class Await:
    """Go on once every event recorded by this exchange is at `mark`."""

    mark: Mark


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer the agent with a whole reply of docket's own."""

    head: ResponseHead
    body: bytes


class Reported(Enum):
    """What a boundary is asked about itself that its driver alone knows."""

    READINESS = auto()
    METRICS = auto()


@dataclass(frozen=True, slots=True)
class Report:
    """Answer whoever asks with a report on the boundary itself, as a whole reply."""

    what: Reported


@dataclass(frozen=True, slots=True)
class TellHook:
    """Hand on what a hook said, and go on once that is dealt with, or a hook may be kept waiting no longer."""

    hook: Hook


@dataclass(frozen=True, slots=True)
class Connect:
    """Send a request to `origin` (scheme, host, port). `body` is whole, or None where it follows in pieces.

    `upgrade`: a reply of 101 is an answer, after which the connection is bytes without framing.
    """

    origin: tuple[str, str, int]
    head: RequestHead
    body: bytes | None
    chunked: bool = False
    upgrade: bool = False


@dataclass(frozen=True, slots=True)
class Resolve:
    """Look up the addresses of a host, once; `scheme` says which of the environment's proxies would serve it."""

    scheme: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Dial:
    """Connect to an address, or to a name through the environment's proxy, and pass bytes without framing."""

    host: str
    port: int
    through_proxy: bool = False


@dataclass(frozen=True, slots=True)
class SendUpstream:
    """The next bytes of the request's body."""

    data: bytes


@dataclass(frozen=True, slots=True)
class EndUpstream:
    """The request's body is whole."""


@dataclass(frozen=True, slots=True)
class StartClient:
    """Begin the reply; `framing` says how the upstream's body ends, and so how the agent's copy does."""

    head: ResponseHead
    framing: Framing


@dataclass(frozen=True, slots=True)
class SwitchClient:
    """Give the head of a reply after which both sides are bytes without framing."""

    head: ResponseHead


@dataclass(frozen=True, slots=True)
class EndClient:
    """Say that nothing more comes from the other side; what the agent sends still goes on."""


@dataclass(frozen=True, slots=True)
class SendClient:
    """The next bytes of the reply's body."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Finish:
    """The reply is whole; the connection may be used again."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Break the agent's connection, so that what it has cannot be taken for a whole reply."""


@dataclass(frozen=True, slots=True)
class CloseUpstream:
    """Drop the upstream's connection; nothing more of it is wanted."""


@dataclass(frozen=True, slots=True)
class Released:
    """A hold ended or admission was closed: calls that wait may try again."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A cap was reached. Told once what was sent to the agent before it has left."""

    cap: Reason
    detail: str
    action: OnBreach


Command: TypeAlias = (
    "Record | Await | Refuse | Report | TellHook | Connect | Resolve | Dial | SendUpstream | EndUpstream | StartClient"
    " | SwitchClient | SendClient | EndClient | Finish | Reset | CloseUpstream | Released | Breach"
)


def recorded_first(commands: list[Command]) -> list[Command]:
    """Return the commands with all that they record in front of the first wait among them.

    Calls are numbered and costs added up when commands are made; another exchange that was carried out during the wait
    would be recorded with later figures in an earlier place.
    """
    kinds = [type(command) for command in commands]
    if Await not in kinds or Record not in kinds[kinds.index(Await) :]:
        return commands
    records = [command for command in commands if type(command) is Record]
    return [*records, *(command for command in commands if type(command) is not Record)]
