"""What a boundary answers about itself: whether it is ready, and its counters.

The counters' text is made by a library that is loaded with the first question for them, in a thread of its own: the
calls of the run do not wait for it.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from docket.rules.boundary.own import bytes_reply, readiness
from docket.rules.boundary.protocol import Refuse, Reported

if TYPE_CHECKING:
    from docket.engines.boundary.room import Room

_EXPOSITION = "docket.engines.boundary.exposition"


def is_loaded(what: Reported) -> bool:
    """Whether the question can be answered at once."""
    return what is not Reported.METRICS or _EXPOSITION in sys.modules


def load() -> None:
    """Load what makes the counters' text; any thread may call it."""
    importlib.import_module(_EXPOSITION)


def answer(what: Reported, room: Room) -> Refuse:
    """Return the answer as a whole reply."""
    facts = None if room.ledger_facts is None else room.ledger_facts()
    if what is Reported.READINESS:
        return readiness(facts, room.shared)
    from docket.engines.boundary.exposition import CONTENT_TYPE, Measured, exposition  # noqa: PLC0415 - see above

    cap = room.terms.policy.caps.max_usd
    measured = Measured(
        tally=room.tally,
        state=room.shared.desk.state(),
        cap_micros=None if cap is None else cap.micros,
        ledger=facts,
        docket_number=room.terms.docket_number,
    )
    return bytes_reply(exposition(measured), CONTENT_TYPE)
