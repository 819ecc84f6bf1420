"""What may stand between a weighed call and its admission: pacing, a breaker, a cache, a guard against loops.

Rules:
1. A gate is asked once the policy lets the call's model pass, and again after each pause it asked for.
2. A call that a gate let go or had wait, and that is not sent after all, is told to it as `withdrawn`, one that was
   sent as `ended`; each gets exactly one of the two. `begun` comes in between, with the head of a reply.
3. A gate answers with a value; what it wants recorded stands in the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from docket.formats.dataclass import dataclass
from docket.formats.ledger.model_events import Outcome
from docket.formats.ledger.payload_codec import Payload
from docket.formats.reason import Reason
from docket.rules.boundary.admission import Refused
from docket.rules.boundary.protocol import Command

if TYPE_CHECKING:
    from docket.rules.boundary.weighed import Weighed


@dataclass(frozen=True, slots=True)
class Go:
    """The call may go on to the next gate; `record` is written down before it does."""

    record: tuple[Payload, ...] = ()


@dataclass(frozen=True, slots=True)
class Pause:
    """The call waits; the gate is asked again at `until_ns`, with `heeds_release` after every release too."""

    until_ns: int
    heeds_release: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The call is answered here, and nothing is sent: `commands` end the exchange."""

    commands: tuple[Command, ...]


GateAnswer: TypeAlias = "Go | Pause | Refused | Answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a call that was sent ended. `status` is the upstream's, None where no head came; `reason` names a fault."""

    status: int | None
    outcome: Outcome | None
    reason: Reason | None = None
    sent: bool = True


class Gate(Protocol):
    """One gate of a run; it lives on the boundary's one thread."""

    def ask(self, weighed: Weighed, now_ns: int) -> GateAnswer:
        """Decide whether a call may go on."""
        ...

    def begun(self, weighed: Weighed, status: int, now_ns: int) -> tuple[Payload, ...]:
        """Take the news that the head of the upstream's reply has come; return what is to be recorded.

        A call that is sent a second time, without docket's own question, has two heads.
        """
        ...

    def withdrawn(self, weighed: Weighed, now_ns: int) -> tuple[Payload, ...]:
        """Take the news that a call that was let go is not sent; return what is to be recorded."""
        ...

    def ended(self, weighed: Weighed, ended: Ended, now_ns: int) -> tuple[Payload, ...]:
        """Take the news of how a call ended that was sent; return what is to be recorded."""
        ...
