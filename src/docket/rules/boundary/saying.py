"""What an agent says on a socket of the Responses API: whole messages out of frames, and what each of them is.

Rules:
1. A message is kept with its frames as they came, up to `MAX_MESSAGE_BYTES`; a longer one is refused, and its bytes
   are dropped. Control frames stand between them by themselves.
2. `response.create` asks for a response. What is said about one that runs bills nothing of its own. A kind that nobody
   knows, and a message that is no JSON object or could be read in two ways, may bill: it passes only where no cap of
   dollars or tokens and no rule for models is set, or the policy lets unknown endpoints pass. Under `strict` nothing is
   added to a response whose worst case is reserved.
3. `background` is not for a socket; a response could go on where nobody hears of its usage.
"""

from __future__ import annotations

from docket.formats.dataclass import dataclass, replace
from docket.formats.reason import Reason
from docket.formats.run.policy import Policy
from docket.formats.run.policy_spending import Admission
from docket.rules.boundary.admission import Refused
from docket.rules.boundary.frames import Piece
from docket.rules.boundary.lanes import stream_id_of
from docket.rules.providers.json_scan import JsonMap, TopLevel, as_text, loads_object

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
CREATE = "response.create"
# About a response that runs: acknowledged, given more to read (inside its own usage), or called off.
_STEER = "response.steer"
_ABOUT_ONE = frozenset(("response.processed", _STEER, "response.cancel"))
_READ = frozenset(("type", "generate", "background", "stream_id"))


@dataclass(frozen=True, slots=True)
class Said:
    """A whole message or control frame; of one that is `too_long` nothing is kept."""

    raw: bytes
    payload: bytes
    control: bool = False
    too_long: bool = False


class Saying:
    """Collects an agent's messages from the pieces of its frames."""

    def __init__(self) -> None:
        self._raw, self._payload, self._control = bytearray(), bytearray(), bytearray()
        self._too_long = False

    def take(self, piece: Piece) -> Said | None:
        """Take the next piece; return what it completes."""
        if piece.is_control:
            self._control += piece.raw
            if not piece.closes:
                return None
            control, self._control = bytes(self._control), bytearray()
            return Said(control, b"", control=True)
        if not self._too_long:
            self._raw += piece.raw
            self._payload += piece.payload
        if len(self._payload) > MAX_MESSAGE_BYTES:
            self._too_long = True
            self._raw, self._payload = bytearray(), bytearray()
        if not piece.closes:
            return None
        said = Said(bytes(self._raw), bytes(self._payload), too_long=self._too_long)
        self._raw, self._payload, self._too_long = bytearray(), bytearray(), False
        return said


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What a message is: it `asks` for a response (one without output where it `warms`), is `refused`, or passes by.

    `raw` are its frames as they came, `stream_id` is the lane that it names.
    """

    raw: bytes = b""
    stream_id: str | None = None
    asks: bool = False
    warms: bool = False
    refused: Refused | None = None


def what_is(said: Said, policy: Policy) -> Message:
    """Return what a message is under a policy."""
    if said.too_long:
        return _no(Reason.TOO_LARGE, f"a message is over {MAX_MESSAGE_BYTES} bytes")
    read = loads_object(said.payload)
    lane = None if read is None else stream_id_of(read.members)
    return replace(_judged(read, policy), raw=said.raw, stream_id=lane)


def _judged(read: TopLevel | None, policy: Policy) -> Message:
    bound = policy.refuses_unknown_endpoints
    if read is None:
        return _no(Reason.BODY_UNREADABLE, "a message is not a JSON object") if bound else Message()
    members = read.members
    if bound and _is_ambiguous(members, read.repeated):
        return _no(Reason.BODY_UNREADABLE, "a message names a member twice, or in a case that some servers take for it")
    kind = members.get("type")
    if kind == CREATE:
        if members.get("background") not in (None, False):
            return _no(Reason.BODY_UNREADABLE, "background is not for a WebSocket")
        return Message(asks=True, warms=members.get("generate") is False)
    if kind == _STEER and bound and policy.budget.admission is Admission.STRICT:
        return _no(Reason.UNKNOWN_ENDPOINT, "more input than was reserved is not added to a response under strict")
    if kind in _ABOUT_ONE or not bound:
        return Message()
    shown = as_text(kind) or "none"
    return _no(Reason.UNKNOWN_ENDPOINT, f"{shown[:64]} is no kind of message docket knows; it may bill unmetered")


def _is_ambiguous(members: JsonMap, repeated: str | None) -> bool:
    return repeated in _READ or any(name not in _READ and name.casefold() in _READ for name in members)


def _no(reason: Reason, detail: str) -> Message:
    return Message(refused=Refused(reason=reason, detail=detail))
