"""One run in a list of runs: what its receipt says of it, read member by member.

Rules:
1. Only the members that a list shows are read; one that is missing or mistyped is an InvalidDocumentError that names
   it, so that a damaged receipt never passes for a run that spent nothing.
2. How a run ended is one word of a closed list (`End`). One that ended well and whose changes wait on a stage, or did
   not land, is told as that.
"""

from __future__ import annotations

from enum import StrEnum

from docket.formats.amount import ZERO, Usd
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.reading import Reader
from docket.formats.workspace.scope import Settled


class End(StrEnum):
    """What became of a run."""

    LIVE = "live"
    OK = "ok"
    REVIEW = "review"
    NOT_LANDED = "not-landed"
    FAILED = "failed"
    CAP = "cap"
    INTERRUPTED = "interrupted"
    INCOMPLETE = "incomplete"
    KILLED = "killed"
    DAMAGED = "damaged"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run in figures. `detail` says why it is damaged; `files` is None where what changed is not known.

    `tokens` are input and output together; `began_at` is an RFC 3339 instant or whatever another writer put there;
    `transaction` is that of a run with a stage.
    """

    docket_number: str
    end: End
    began_at: str = ""
    session_id: str | None = None
    agent: str | None = None
    label: str | None = None
    exit_code: int | None = None
    breached: str | None = None
    calls: int = 0
    denied: int = 0
    tokens: int = 0
    cost_usd: Usd = ZERO
    duration_ms: int | None = None
    files: int | None = None
    project: str | None = None
    transaction: str | None = None
    path: str | None = None
    detail: str | None = None

    def to_json(self) -> dict[str, JsonValue]:
        """Return the members."""
        members: dict[str, JsonValue] = {name: getattr(self, name) for name in self.__slots__}
        return members | {"end": str(self.end), "cost_usd": str(self.cost_usd)}


def row_of_receipt(document: JsonValue, docket_number: str) -> RunRow:
    """Return the row of a receipt that stands under `docket_number`."""
    receipt = Reader(document, "receipt")
    session, totals, calls = receipt.object("session"), receipt.object("totals"), receipt.object("model_calls")
    number = receipt.choice("docket_number", (docket_number,))
    code = session.optional("exit_code", lambda name: session.integer(name, minimum=-(2**31)))
    breached = session.optional("breached", session.text)
    interrupted = session.optional("interrupted", session.flag)
    has_gap = _has_gap(receipt)
    end = end_of(exit_code=code, breached=breached, interrupted=bool(interrupted), has_gap=has_gap)
    stage = Reader(receipt.any("workspace"), "receipt.workspace") if receipt.has("workspace") else None
    return RunRow(
        docket_number=number,
        end=end if stage is None or end is not End.OK else _settled(stage),
        began_at=session.text("started_at") if session.has("started_at") else receipt.text("created_at"),
        session_id=session.text("id"),
        agent=session.text("agent") if session.has("agent") else None,
        label=receipt.optional("label", receipt.text),
        exit_code=code,
        breached=breached,
        calls=calls.integer("count"),
        denied=calls.integer("denied"),
        tokens=totals.integer("total_tokens"),
        cost_usd=totals.usd("cost_usd"),
        duration_ms=milliseconds(session.optional("duration_seconds", session.text)),
        files=None if has_gap else _files(receipt.object("files")),
        transaction=None if stage is None else stage.optional("transaction", stage.text),
    )


def end_of(*, exit_code: int | None, breached: str | None, interrupted: bool, has_gap: bool = False) -> End:
    """Return how a run ended by its last event; without an exit code there was none, and a gap leaves no run well."""
    if exit_code is None:
        return End.INCOMPLETE
    if breached is not None:
        return End.CAP
    if interrupted:
        return End.INTERRUPTED
    if exit_code != 0:
        return End.FAILED
    return End.INCOMPLETE if has_gap else End.OK


def _settled(stage: Reader) -> End:
    """Return how a run that ended well left its stage."""
    outcome = stage.text("outcome")
    if outcome == Settled.COMMITTED:
        return End.OK
    return End.REVIEW if outcome == Settled.LEFT_FOR_REVIEW else End.NOT_LANDED


def _has_gap(receipt: Reader) -> bool:
    """Whether events of the run could not be recorded; what changed and what was spent is then not all there."""
    evidence = receipt.mapping("evidence") if receipt.has("evidence") else {}
    return evidence.get("unwritten_events") not in (None, 0)


def milliseconds(seconds: str | None) -> int | None:
    """Return a duration of seconds with three decimals in milliseconds, None where it is none."""
    whole, point, rest = (seconds or "").partition(".")
    is_one = bool(point) and len(rest) == 3 and len(whole) <= 12 and (whole + rest).isascii() and whole.isdigit()
    return int(whole + rest) if is_one and rest.isdigit() else None


def _files(files: Reader) -> int | None:
    changed = files.integer("changed")
    if not files.has("passes"):
        return changed
    passes = files.mapping("passes")
    return None if None in (passes.get("before"), passes.get("after")) else changed
