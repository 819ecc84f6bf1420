"""What the replies of most wire formats tell of themselves alike, and the reading that is made of it.

Rules:
1. A later word wins, but an empty or missing one never erases an earlier.
2. Of the answers that a reply gives side by side only so many are told apart: the rest count as the first one, so that
   what is kept does not grow with the numbers a reply may name.

3. Of the tools that the agent is asked for the ids are kept, bounded, and nothing of what they are asked.

A wire's own state adds its usage, its events and its output.
"""

from __future__ import annotations

from typing import NamedTuple, Self

from docket.formats.run.usage import Usage
from docket.rules.providers.body import copied
from docket.rules.providers.interface import (
    MAX_TOOL_USE_CHARACTERS,
    MAX_TOOL_USES,
    Reading,
    StreamError,
    model_members,
)
from docket.rules.providers.json_scan import JsonMap, as_text
from docket.rules.providers.text import error_of

_MAX_ANSWERS = 128
BILLED_APART = "hosted tools were used that are billed apart and are not counted here"
"""The note on a reply that used tools of the provider's own whose price is not known here."""


class ToldState:
    """The members that most states share; a state's usage stands in `_usage`."""

    __slots__ = ("_answers", "_error", "_id", "_model", "_terminal", "_tier", "_tool_uses", "visible_output_bytes")

    def __init__(self) -> None:
        self.visible_output_bytes = 0
        self._model: object = None
        self._tier: object = None
        self._id: object = None
        self._error: StreamError | None = None
        self._answers = Answers()
        self._terminal = False
        self._tool_uses: tuple[str, ...] = ()

    def done(self) -> None:
        """Take the mark that ends a stream, in some formats only at compatible servers."""
        self._terminal = True

    def copy(self) -> Self:
        """Return an independent copy."""
        return copied(self, "_usage")

    @property
    def _is_terminal(self) -> bool:
        # A stream may end without a mark: every answer that began has then said why it finished.
        return self._terminal or self._answers.all_finished

    def _asks_for(self, tool_use_id: object) -> None:
        """Take the id of a tool use that the agent is asked for: the id alone, and only so many."""
        if isinstance(tool_use_id, str) and 0 < len(tool_use_id) <= MAX_TOOL_USE_CHARACTERS:
            known = self._tool_uses
            if len(known) < MAX_TOOL_USES and tool_use_id not in known and tool_use_id.isprintable():
                self._tool_uses = (*known, tool_use_id)

    def _take_told(self, reply: JsonMap) -> None:
        """Take model, tier, id and error where they are called so."""
        self._model = reply.get("model") or self._model
        self._tier = reply.get("service_tier") or self._tier
        self._id = reply.get("id") or self._id
        if reply.get("error"):
            self._error = error_of(reply["error"])

    def _reading(
        self, usage: Usage | None, note: str | None, *, final: bool = True, upstream_cost_usd: str | None = None
    ) -> Reading:
        """Return the reading; `final` says that a usage that is known is the last one."""
        model, raw = model_members(self._model)
        return Reading(
            usage=usage,
            usage_final=final and usage is not None,
            model=model,
            model_raw=raw,
            service_tier=as_text(self._tier),
            response_id=as_text(self._id),
            upstream_cost_usd=upstream_cost_usd,
            note=note,
            terminal=self._is_terminal,
            error=self._error,
            tool_use_ids=self._tool_uses,
        )


class Answers(NamedTuple):
    """The answers of a reply that began, and those of them that were said to be finished."""

    met: frozenset[object] = frozenset()
    finished: frozenset[object] = frozenset()

    def after(self, place: object, *, finished: bool) -> Answers:
        """Return them after a word of the one at `place`."""
        mark = {place}
        return Answers(self.met | mark, self.finished | mark if finished else self.finished)

    @property
    def all_finished(self) -> bool:
        """Whether every one that began is finished, and at least one began."""
        return bool(self.met) and self.met == self.finished


def place_of(answer: JsonMap) -> int:
    """Return the number of an answer, 0 where it has none that is told apart."""
    number = answer.get("index", 0)
    return number if isinstance(number, int) and 0 <= number < _MAX_ANSWERS else 0
