"""A receipt document whose shape was checked, with the members that checks compute with as typed values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, JsonValue, object_at
from docket.formats.dataclass import dataclass, field
from docket.formats.digest import Digest, is_digest
from docket.formats.ledger.session_events import FOLD
from docket.formats.merkle import MerkleTree, Sibling, Side
from docket.formats.reading import Reader
from docket.formats.reason import Reason
from docket.formats.run.receipt import UsageRow
from docket.formats.run.receipt_shape import check_shape
from docket.formats.run.row_sums import RowSum, sums_by_model
from docket.formats.run.usage import UsageSource
from docket.formats.run.usage_array import UsageArray

MAX_PATH_STEPS = 64
KnownSteps: TypeAlias = dict[int, Sibling]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowView:
    """A row of `appendix.usage`: its figures, its path, and what v1 allows beside them."""

    row: UsageRow
    path: tuple[Sibling, ...]
    asserted_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptView:
    """`document` is the whole receipt; `ours` says whether it names this version's fold.

    `tree` is that of the ledger which gives these very rows with these paths, where they were found to be so; the views
    then name no path. `sums` are those of the rows, by model.
    """

    document: JsonObject
    ours: bool
    rows: tuple[RowView, ...]
    tree: MerkleTree | None = None
    sums: Mapping[str, RowSum] = field(default_factory=dict)

    def part(self, *names: str) -> JsonValue:
        """Return a nested member; None where a level is missing."""
        value: JsonValue = self.document
        for name in names:
            if not isinstance(value, Mapping):
                return None
            value = value.get(name)
        return value

    def mapping(self, *names: str) -> JsonObject:
        """Return a nested object, empty where it is missing or null."""
        value = self.part(*names)
        return value if isinstance(value, Mapping) else {}


def is_ours(document: JsonObject) -> bool:
    """Whether the document says that it derives by `docket/fold/v1`."""
    tool = document.get("tool")
    return isinstance(tool, Mapping) and tool.get("fold") == FOLD


def view(document: JsonObject, *, ours: bool) -> ReceiptView:
    """Check the shape and return the view; InvalidDocumentError names the member."""
    appendix = object_at(document, "appendix")
    items = appendix.get("usage")
    if isinstance(items, UsageArray):
        check_shape({**document, "appendix": {**appendix, "usage": []}}, ours=ours)
        made = tuple([RowView(row=row, path=()) for row in items.rows])
        return ReceiptView(document=document, ours=ours, rows=made, tree=items.tree, sums=sums_by_model(items.rows))
    check_shape(document, ours=ours)
    known: KnownSteps = {}
    rows = tuple(_row(item, f"appendix.usage[{at}]", known, ours=ours) for at, item in enumerate(_sequence(items)))
    return ReceiptView(document=document, ours=ours, rows=rows, sums=sums_by_model(item.row for item in rows))


def _sequence(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, (list, tuple)) else ()


def _row(item: JsonValue, where: str, known: KnownSteps, *, ours: bool) -> RowView:
    reader = Reader(item, where)
    row = UsageRow(
        seq=reader.integer("seq"),
        model=reader.text("model"),
        provider=reader.text("provider"),
        input_tokens=reader.integer("input_tokens"),
        cached_input_tokens=reader.integer("cached_input_tokens"),
        output_tokens=reader.integer("output_tokens"),
        usage_source=UsageSource(reader.choice("usage_source", tuple(UsageSource))),
        cost_usd=reader.usd("cost_usd"),
        event_hash=reader.digest("event_hash"),
        latency_ms=reader.optional("latency_ms", reader.integer),
        cache_key=reader.optional("cache_key", reader.text),
    )
    path = read_path(reader.items("merkle_path"), where, known) if ours or reader.has("merkle_path") else ()
    if not ours:
        return RowView(row=row, path=path, asserted_by=reader.optional("asserted_by", reader.text))
    for name, value in (("latency_ms", row.latency_ms), ("cache_key", row.cache_key)):
        if reader.has(name) and value is None:
            raise InvalidDocumentError(Reason.WRONG_TYPE, f"{where}.{name} is null")
    reader.close()
    return RowView(row=row, path=path)


def read_path(steps: Sequence[JsonValue], where: str, known: KnownSteps | None = None) -> tuple[Sibling, ...]:
    """Return the Merkle path of the member `merkle_path` of `where`; InvalidDocumentError names the step.

    `known` holds by identity the steps of the same document that were read before, for they may be shared.
    """
    known = {} if known is None else known
    if len(steps) > MAX_PATH_STEPS:
        raise InvalidDocumentError(Reason.TOO_LARGE, f"{where}.merkle_path has more than {MAX_PATH_STEPS} steps")
    path = []
    for index, step in enumerate(steps):
        found = known.get(id(step))
        if found is None:
            found = known[id(step)] = _step(step, where, index)
        path.append(found)
    return tuple(path)


_SIDES = {str(side): side for side in Side}


def _step(item: JsonValue, where: str, index: int) -> Sibling:
    if isinstance(item, dict) and len(item) == 2:
        side, node = _SIDES.get(str(item.get("side"))), item.get("hash")
        if side is not None and isinstance(node, str) and is_digest(node):
            return Sibling(side, Digest(node))
    raise InvalidDocumentError(
        Reason.WRONG_VALUE, f"{where}.merkle_path[{index}] is not a side, left or right, and a hash"
    )
