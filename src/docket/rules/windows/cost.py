"""What a tool use cost: its share of the model call that asked for it. Derived, in no total (spec/windows.md, Cost).

Rules:
1. A call is joined with the tool uses that its reply asks for by the ids on the wire, and by nothing else: where the
   wire has none, or the agent's hooks have others, nothing is known.
2. A call's cost is shared alike over all the tool uses that it asks for, whether they ran or not, in whole
   micro-dollars: each has the quotient, and the first of them, in their order on the wire, a micro-dollar of the rest
   each. The shares add up to the call's cost.
3. A call that asks for no tool is shared by none. An id that stands in several replies is the first one's.
"""

from __future__ import annotations

from docket.formats.amount import Usd
from docket.formats.dataclass import dataclass, field
from docket.formats.ledger.model_events import ModelResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedBy:
    """The call that asked for a tool use, among `tools` of them, and what of its cost is this one's."""

    call: int
    seq: int
    provider: str
    model: str
    tools: int
    share_usd: Usd


def shares(cost: Usd, count: int) -> tuple[Usd, ...]:
    """Return a cost in `count` parts that differ by a micro-dollar at most, the larger ones first."""
    if count < 1:
        return ()
    quotient, rest = divmod(cost.micros, count)
    return tuple(Usd(quotient + (place < rest)) for place in range(count))


@dataclass(slots=True)
class AskedTools:
    """The tool uses that the replies of a ledger ask for, by their ids."""

    by_id: dict[str, AskedBy] = field(default_factory=dict)

    def response(self, payload: ModelResponse, seq: int) -> None:
        """Take a billed reply."""
        ids = payload.tool_use_ids or ()
        for tool_use_id, share in zip(ids, shares(payload.cost_usd, len(ids)), strict=True):
            asked = AskedBy(
                call=payload.call,
                seq=seq,
                provider=payload.provider,
                model=payload.model,
                tools=len(ids),
                share_usd=share,
            )
            self.by_id.setdefault(tool_use_id, asked)
