"""Which model call asked for a tool use, and what of its cost is that tool's: from the ledger of the run it was in.

Rules (spec/windows.md, Cost):
1. A window's event names the run that told of it; a ledger is read once, however many windows are asked for.
2. Nothing is guessed: outside a run, without the ledger, or without the wire's id, no call is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from docket.engines.windows.blame import ModelCall
from docket.errors import DocketError
from docket.formats.ledger.event import Event
from docket.formats.ledger.model_events import ModelResponse
from docket.formats.ledger.vocabulary import read_payload
from docket.formats.windows.key import WindowKey
from docket.formats.windows.records import ClosedWindow
from docket.rules.windows.cost import AskedBy, AskedTools
from docket.stores.layout import RUNS, Layout, ledger_name
from docket.stores.ledger_reader import read_ledger
from docket.stores.receipts import SESSION_ID
from docket.stores.windows.evidence import Evidence


class AskedCalls:
    """The calls of the runs whose ledgers are at hand. `ledgers` says where a session's ledger may stand."""

    def __init__(self, evidence: Evidence, ledgers: Callable[[str], Iterable[Path]]) -> None:
        self._evidence, self._ledgers = evidence, ledgers
        self._read: dict[str, AskedTools] = {}

    def __call__(self, key: WindowKey) -> ModelCall | None:
        """Return the call that asked for the tool use of a window, for those who know no more than its key."""
        found = None
        with suppress(DocketError):
            record = self._evidence.closed(key.window_id)
            found = None if record is None else self.of(record)
        if found is None:
            return None
        return ModelCall(provider=found.provider, model=found.model, cost_usd=str(found.share_usd))

    def of(self, record: ClosedWindow) -> AskedBy | None:
        """Return the call that asked for the tool use of a window that is over, None where none is known."""
        session_id, _, named = record.event_id.partition(".")
        if named != record.key.window_id or not SESSION_ID.fullmatch(session_id):
            return None
        if session_id not in self._read:
            self._read[session_id] = self._tools_of(session_id)
        return self._read[session_id].by_id.get(record.key.tool_use_id)

    def _tools_of(self, session_id: str) -> AskedTools:
        for path in self._ledgers(session_id):
            asked = AskedTools()
            try:
                for item in read_ledger(path):
                    if isinstance(item, Event) and item.type == ModelResponse.TYPE:
                        _take(asked, item)
            except DocketError:
                continue
            return asked
        return AskedTools()


def ledgers_of(evidence: Evidence, layout: Layout) -> Callable[[str], Iterable[Path]]:
    """Return where the ledger of a session may stand: where its run said, or with the windows' own project."""

    def places(session_id: str) -> Iterable[Path]:
        noted = evidence.ledger_of(session_id)
        own = (folder / RUNS / ledger_name(session_id) for folder in (layout.state, layout.docket_dir))
        return dict.fromkeys((*([] if noted is None else [noted]), *own))

    return places


def _take(asked: AskedTools, event: Event) -> None:
    with suppress(DocketError):
        payload = read_payload(event)
        if isinstance(payload, ModelResponse):
            asked.response(payload, event.seq)
