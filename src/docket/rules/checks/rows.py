"""Checks of the usage rows: their proofs, the events they cite, their cost."""

from __future__ import annotations

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue
from docket.formats.merkle import root_from_path
from docket.formats.run.receipt_view import ReceiptView, RowView
from docket.formats.shown import shown
from docket.rules.checks.case import DAMAGED, NO_LEDGER, Answer, Case, broken, held, skipped
from docket.rules.receipt.families import Families
from docket.rules.receipt.public_fold import PublicRow
from docket.rules.wording import count_of

TOO_MANY = "the table has more patterns than can be compared with the models of the rows"


def usage_inclusion_proofs(case: Case) -> Answer:
    """Each row's event leads to the stated root by its path."""
    rows, root = case.receipt.rows, case.receipt.part("ledger", "merkle_root")
    if not rows:
        return held("no usage row to prove")
    if case.receipt.part("appendix", "proof_included") is not True:
        return skipped("the receipt carries no proofs")
    tree = None if case.ledger is None or case.ledger.tree.root != root else case.ledger
    if case.gives_rows and tree is None:
        return broken(f"{_name(0, rows[0])}: its path does not lead to ledger.merkle_root")
    for index, item in enumerate(() if case.gives_rows else rows):
        if tree is not None and tree.is_proven(item.row.seq, item.row.event_hash, item.path):
            continue
        if root_from_path(item.row.event_hash, item.path) != root:
            return broken(f"{_name(index, item)}: its path does not lead to ledger.merkle_root")
    return held(f"{count_of(len(rows), 'row')} with a path to the root")


def usage_rows_rebound(case: Case) -> Answer:
    """The rows are those of the ledger's replies: none missing, none more, each with its event's figures."""
    ledger = case.ledger
    if ledger is None:
        return skipped(NO_LEDGER)
    if not ledger.sound:
        return skipped(DAMAGED)
    if ledger.rows is None:
        fault = ledger.faults.get("public-rows")
        return skipped("the replies in the ledger could not be read") if fault is None else broken(fault)
    stated = case.receipt.rows
    if case.gives_rows:
        return _rebound(len(stated))
    for index, (item, wanted) in enumerate(zip(stated, ledger.rows, strict=False)):
        difference = _difference(item, wanted)
        if difference is not None:
            return broken(f"{_name(index, item)}: {difference}")
    if len(stated) != len(ledger.rows):
        return broken(f"the receipt has {len(stated)} usage rows, the ledger gives {len(ledger.rows)}")
    return _rebound(len(stated))


def _rebound(rows: int) -> Answer:
    return held(f"{count_of(rows, 'row')} as the ledger's events say")


def cost_recomputation(case: Case) -> Answer:
    """Each row costs what the embedded table says of its tokens."""
    families, fault = table(case)
    if families is None:
        return broken(fault)
    for index, item in enumerate(case.receipt.rows):
        row = item.row
        cost = families.cost(row.model, (row.input_tokens, row.cached_input_tokens, row.output_tokens))
        if cost is None:
            return broken(f"{_name(index, item)}: no family of the table prices {shown(row.model)}")
        if cost != row.cost_usd:
            return broken(f"{_name(index, item)}: cost_usd is {row.cost_usd}, its tokens cost {cost}")
    return held(f"{count_of(len(case.receipt.rows), 'row')} priced from the embedded table")


def table(case: Case) -> tuple[Families | None, str]:
    """Return the embedded families, or None and what is wrong with them; read once for all checks."""
    if not case.tables:
        case.tables.append(_table(case.receipt))
    return case.tables[0]


def _table(receipt: ReceiptView) -> tuple[Families | None, str]:
    try:
        return Families.of(receipt.mapping("price_table", "document")), ""
    except InvalidDocumentError as error:
        return None, error.detail


def _difference(item: RowView, wanted: PublicRow) -> str | None:
    row, other = item.row, wanted.row
    pairs: tuple[tuple[str, JsonValue, JsonValue], ...] = (
        ("seq", row.seq, other.seq),
        ("event_hash", row.event_hash, other.event_hash),
        ("model", row.model, other.model),
        ("provider", row.provider, other.provider),
        ("input_tokens", row.input_tokens, other.input_tokens),
        ("cached_input_tokens", row.cached_input_tokens, other.cached_input_tokens),
        ("output_tokens", row.output_tokens, other.output_tokens),
        ("usage_source", str(row.usage_source), str(other.usage_source)),
        ("cost_usd", str(row.cost_usd), str(other.cost_usd)),
        ("latency_ms", row.latency_ms, other.latency_ms),
        ("cache_key", row.cache_key, other.cache_key),
        ("asserted_by", item.asserted_by, wanted.asserted_by),
    )
    for name, stated, found in pairs:
        if stated != found:
            return f"{name} is {shown(stated)}, the ledger gives {shown(found)}"
    return None


def _name(index: int, item: RowView) -> str:
    return f"appendix.usage[{index}] (event {item.row.seq})"
