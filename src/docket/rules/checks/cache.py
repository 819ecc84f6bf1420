"""Checks of the response cache's member, which says what repeated calls would have cost (spec/receipt.md, Checks)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import JsonValue
from docket.formats.digest import Digest
from docket.formats.merkle import Sibling, root_from_path
from docket.formats.reading import Reader
from docket.formats.run.receipt_view import read_path
from docket.formats.shown import shown
from docket.rules.checks.case import DAMAGED, NO_LEDGER, Answer, Case, broken, held, skipped
from docket.rules.checks.ledger_pass import LedgerReading
from docket.rules.checks.rows import table
from docket.rules.receipt.families import Families

NO_CACHE = "this run had no response cache"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
    where: str
    origin_seq: int
    origin_hash: Digest
    model: str
    tokens: tuple[int, int, int]
    per_hit: Usd
    total: Usd
    hits: int
    first_seq: int
    last_seq: int
    event_hash: Digest
    path: tuple[Sibling, ...]


def cache_savings(case: Case) -> Answer:
    """Hits, avoided tokens and the saving follow from the groups and the embedded table."""
    cache = case.receipt.part("cache")
    if cache is None:
        if case.receipt.mapping("event_counts").get("model.cache_hit"):
            return broken("event_counts has model.cache_hit, the receipt has no member cache")
        return skipped(NO_CACHE)
    families, fault = table(case.receipt)
    if families is None:
        return broken(fault)
    try:
        return _savings(cache, families)
    except InvalidDocumentError as error:
        return broken(error.detail)


def cache_hit_origins(case: Case) -> Answer:
    """Each group names a usage row of the receipt and, with the ledger, exactly its hits."""
    return _with_origins(case, _check_origins)


def cache_hit_proofs(case: Case) -> Answer:
    """Each group's pinned hit leads to the stated root."""
    return _with_origins(case, _check_proofs)


def _savings(cache: JsonValue, families: Families) -> Answer:
    reader, origins = Reader(cache, "cache"), _origins(cache)
    hits = sum(origin.hits for origin in origins)
    saved = Usd(sum(origin.total.micros for origin in origins))
    avoided = sum(origin.hits * (origin.tokens[0] + origin.tokens[2]) for origin in origins)
    for origin in origins:
        cost = families.cost(origin.model, origin.tokens)
        if cost is None:
            return broken(f"{origin.where}: no family of the table prices {shown(origin.model)}")
        if cost != origin.per_hit:
            return broken(f"{origin.where}.avoided_usd_per_hit is {origin.per_hit}, its tokens cost {cost}")
        if origin.total.micros != cost.micros * origin.hits:
            return broken(f"{origin.where}.avoided_usd_total is not {origin.hits} times {cost}")
    stated = (reader.integer("hits"), reader.integer("avoided_tokens"), reader.usd("saved_usd"))
    if stated != (hits, avoided, saved):
        return broken(f"cache states other sums than its groups: {hits} hits, {avoided} tokens, {saved} dollars")
    return held(f"{hits} hits avoided {saved} dollars")


def _with_origins(case: Case, check: Callable[[Case, tuple[_Origin, ...]], Answer]) -> Answer:
    cache = case.receipt.part("cache")
    if cache is None:
        return skipped(NO_CACHE)
    try:
        origins = _origins(cache)
    except InvalidDocumentError as error:
        return broken(error.detail)
    return check(case, origins)


def _check_origins(case: Case, origins: tuple[_Origin, ...]) -> Answer:
    rows = {(item.row.seq, item.row.event_hash): item.row for item in case.receipt.rows}
    for origin in origins:
        row = rows.get((origin.origin_seq, origin.origin_hash))
        if row is None:
            return broken(f"{origin.where}: no usage row is event {origin.origin_seq}")
        if row.model != origin.model or (row.input_tokens, row.cached_input_tokens, row.output_tokens) != origin.tokens:
            return broken(f"{origin.where}: its model and usage are not those of event {origin.origin_seq}")
    if case.ledger is None:
        return skipped(NO_LEDGER)
    if not case.ledger.sound:
        return skipped(DAMAGED)
    return _against_ledger(case.ledger, origins)


def _against_ledger(ledger: LedgerReading, origins: tuple[_Origin, ...]) -> Answer:
    found = dict(ledger.cache_hits)
    for origin in origins:
        seqs = found.pop((origin.origin_seq, origin.origin_hash), (0, -1, -1))
        if seqs != (origin.hits, origin.first_seq, origin.last_seq):
            return broken(f"{origin.where}: the ledger has {seqs[0]} hits of event {origin.origin_seq}")
        if ledger.hashes[origin.first_seq] != origin.event_hash:
            return broken(f"{origin.where}: its pinned hit is not event {origin.first_seq}")
    if found:
        return broken(f"the ledger has hits of event {min(found)[0]} that no group names")
    return held(f"{len(origins)} groups equal the ledger's hits")


def _check_proofs(case: Case, origins: tuple[_Origin, ...]) -> Answer:
    root = case.receipt.part("ledger", "merkle_root")
    for origin in origins:
        if root_from_path(origin.event_hash, origin.path) != root:
            return broken(f"{origin.where}: its path does not lead to ledger.merkle_root")
    return held(f"{len(origins)} pinned hits lead to the root")


def _origins(cache: JsonValue) -> tuple[_Origin, ...]:
    items = Reader(cache, "cache").items("by_origin")
    return tuple(_origin(item, f"cache.by_origin[{index}]") for index, item in enumerate(items))


def _origin(item: JsonValue, where: str) -> _Origin:
    reader = Reader(item, where)
    usage = reader.object("usage")
    return _Origin(
        where=where,
        origin_seq=reader.integer("origin_seq"),
        origin_hash=reader.digest("origin_hash"),
        model=reader.text("model"),
        tokens=(usage.integer("input_tokens"), usage.integer("cached_input_tokens"), usage.integer("output_tokens")),
        per_hit=reader.usd("avoided_usd_per_hit"),
        total=reader.usd("avoided_usd_total"),
        hits=reader.integer("hits", minimum=1),
        first_seq=reader.integer("first_seq"),
        last_seq=reader.integer("last_seq"),
        event_hash=reader.digest("event_hash"),
        path=read_path(reader.items("merkle_path"), where),
    )
