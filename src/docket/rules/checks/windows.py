"""Checks of the receipt's tool windows: their course, their sums, their proofs, and the deltas that are at hand.

Rules (spec/receipt.md, Checks):
1. Without a ledger the sums of the member and the proofs of its deltas are checked; with it, the course too.
2. A delta that stands beside the ledger is read: its bytes are those that were named, and it is about the tool uses
   that the windows say. One that is not there is not missed: a receipt and its ledger may travel without them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.window_events import HookLost, ToolDelta
from docket.formats.merkle import root_from_path
from docket.formats.reading import Reader
from docket.formats.run.receipt_view import read_path
from docket.formats.shown import shown
from docket.rules.checks.case import DAMAGED, NO_LEDGER, Answer, Case, broken, held, skipped
from docket.rules.wording import count_of

NO_WINDOWS = "this run had no tool windows"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDelta:
    """A delta beside the ledger: what is wrong with its bytes, or the facts that a receipt restates of it."""

    fault: str | None = None
    status: str = ""
    scope: str = ""
    reason: str | None = None
    files: int = 0
    tool_use_ids: tuple[str, ...] = ()


FoundDeltas = Mapping[Digest, FoundDelta]


def tool_windows(case: Case) -> Answer:
    """Windows run their course, their sums are right, and each delta's event leads to the stated root."""
    fault = None if case.ledger is None else case.ledger.faults.get("tool-windows")
    if fault is not None:
        return broken(fault)
    windows = case.receipt.part("windows")
    if windows is None:
        counts = case.receipt.mapping("event_counts")
        named = next((type_ for type_ in (ToolDelta.TYPE, HookLost.TYPE) if counts.get(type_)), None)
        if named is not None and case.receipt.ours:
            return broken(f"event_counts has {named}, the receipt has no member windows")
        return skipped(NO_WINDOWS)
    if not case.receipt.ours:
        return skipped("another writer's windows are not known here")
    try:
        found = _sums(case) or _proofs(case)
    except InvalidDocumentError as error:
        return broken(error.detail)
    if found is not None:
        return broken(found)
    return held(f"{count_of(sum(1 for _ in _windows(case)), 'window')}, each delta with a path to the root")


def tool_deltas(case: Case) -> Answer:
    """Every delta that stands beside the ledger is the one that was named."""
    if case.receipt.part("windows") is None or not case.receipt.ours:
        return skipped(NO_WINDOWS)
    if case.ledger is None:
        return skipped(NO_LEDGER)
    if not case.ledger.sound:
        return skipped(DAMAGED)
    found, read = case.deltas or {}, 0
    for where, window, delta in _deltas(case):
        here = found.get(Digest(str(delta["delta_sha256"])))
        if here is None:
            continue
        read += 1
        fault = here.fault or _disagreement(here, window, delta)
        if fault is not None:
            return broken(f"{where}: {fault}")
    if not read:
        return skipped("the deltas are not beside the ledger")
    return held(f"{count_of(read, 'delta')} read, each the one that was named")


def _sums(case: Case) -> str | None:
    member = case.receipt.mapping("windows")
    tools = list(_windows(case))
    deltas = [delta for _, _, delta in _deltas(case)]
    complete = [delta for delta in deltas if delta["status"] == "complete"]
    reasons = Counter(str(delta["reason"]) for delta in deltas if "reason" in delta)
    wanted: dict[str, JsonValue] = {
        "count": len(tools),
        "complete": len(complete),
        "partial": len(deltas) - len(complete),
        "open": len(tools) - len(deltas),
        "groups": len({str(delta.get("group_id")) for delta in deltas if delta["scope"] == "concurrent_group"}),
        "files": sum({str(delta["delta_sha256"]): _number(delta["files"]) for delta in complete}.values()),
        "partial_by_reason": dict(reasons),
    }
    for name, value in wanted.items():
        if member.get(name) != value:
            return f"windows.{name} is {shown(member.get(name))}, its tools give {shown(value)}"
    return None


def _proofs(case: Case) -> str | None:
    root = case.receipt.part("ledger", "merkle_root")
    for where, _, delta in _deltas(case):
        reader = Reader(delta, where)
        if root_from_path(reader.digest("event_hash"), read_path(reader.items("merkle_path"), where)) != root:
            return f"{where}: its path does not lead to ledger.merkle_root"
    return None


def _windows(case: Case) -> Iterator[tuple[str, JsonObject]]:
    tools = case.receipt.part("windows", "tools")
    items = enumerate(tools if isinstance(tools, (list, tuple)) else ())
    yield from ((f"windows.tools[{index}]", item) for index, item in items if isinstance(item, Mapping))


def _deltas(case: Case) -> Iterator[tuple[str, JsonObject, JsonObject]]:
    for where, window in _windows(case):
        delta = window["delta"]
        if isinstance(delta, Mapping):
            yield f"{where}.delta", window, delta


def _disagreement(found: FoundDelta, window: JsonObject, delta: JsonObject) -> str | None:
    if window["id"] not in found.tool_use_ids:
        return "the delta is not about this tool use"
    said = (delta["status"], delta["scope"], delta.get("reason"), delta["files"], delta["members"])
    if said != (found.status, found.scope, found.reason, found.files, len(found.tool_use_ids)):
        return "the delta says otherwise of its status, scope, reason, files or members"
    return None


def _number(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0
