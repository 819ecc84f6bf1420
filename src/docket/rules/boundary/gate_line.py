"""One call on its way past the gates of a run, and the news of it that they get.

Rules:
1. Gates are asked in their order; a call goes on from the gate that had it wait.
2. Every gate that let the call go or had it wait hears once what became of it, in the gates' order.
3. What a gate wants recorded is recorded before anything that follows from its answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from docket.rules.boundary.admission import Refused
from docket.rules.boundary.gates import Answer, Ended, Gate, Go, Pause
from docket.rules.boundary.protocol import Command, Record, Released
from docket.rules.boundary.weighed import Weighed


class GateLine:
    """The gates before one call."""

    def __init__(self, gates: Sequence[Gate]) -> None:
        self._gates = gates
        self._passed = 0
        self._waits: Pause | None = None

    def ask(self, weighed: Weighed, now_ns: int) -> tuple[list[Command], Pause | Refused | Answer | None]:
        """Go on to the end of the line; return what is recorded on the way, and what holds the call up, if anything.

        After a refusal or an answer the caller tells the gates that the call is not sent.
        """
        recorded: list[Command] = []
        self._waits = None
        while self._passed < len(self._gates):
            answer = self._gates[self._passed].ask(weighed, now_ns)
            if not isinstance(answer, Go):
                self._waits = answer if isinstance(answer, Pause) else None
                return recorded, answer
            recorded += [Record(event) for event in answer.record]
            self._passed += 1
        return recorded, None

    @property
    def heeds_release(self) -> bool:
        """Whether the gate that had the call wait wants to be asked again at the news of a release."""
        return self._waits is not None and self._waits.heeds_release

    def begun(self, weighed: Weighed, status: int, now_ns: int) -> list[Command]:
        """Tell that a head has come."""
        return [Record(event) for gate in self._gates[: self._passed] for event in gate.begun(weighed, status, now_ns)]

    def withdraw(self, weighed: Weighed, now_ns: int) -> list[Command]:
        """Tell that the call is not sent; calls that wait may try again."""
        told = self._gates[: self._passed + (self._waits is not None)]
        self._passed, self._waits = 0, None
        recorded: list[Command] = [Record(event) for gate in told for event in gate.withdrawn(weighed, now_ns)]
        return [*recorded, Released()] if told else []

    def ended(self, weighed: Weighed, ended: Ended, now_ns: int) -> list[Command]:
        """Tell how the call ended that was sent."""
        told, self._passed = self._gates[: self._passed], 0
        return [Record(event) for gate in told for event in gate.ended(weighed, ended, now_ns)]
