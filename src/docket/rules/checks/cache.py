"""Checks of the response cache's member, which says what repeated calls would have cost (spec/receipt.md, Checks)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from docket.errors import InvalidDocumentError
from docket.formats.amount import Usd
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.cache_events import CacheHit, ComponentsHit
from docket.formats.merkle import Sibling, root_from_path
from docket.formats.reading import Reader
from docket.formats.run.receipt import UsageRow
from docket.formats.run.receipt_view import read_path
from docket.formats.shown import shown
from docket.rules.checks.case import DAMAGED, NO_LEDGER, Answer, Case, broken, held, skipped
from docket.rules.checks.ledger_pass import LedgerReading
from docket.rules.checks.rows import table
from docket.rules.receipt.families import Families
from docket.rules.wording import count_of

NO_CACHE = "this run had no response cache"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
    """One group; `several` says that its reply was priced by several components."""

    where: str
    several: bool
    key: str
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
        counts = case.receipt.mapping("event_counts")
        for type_ in (CacheHit.TYPE, ComponentsHit.TYPE):
            if counts.get(type_):
                return broken(f"event_counts has {type_}, the receipt has no member cache")
        return skipped(NO_CACHE)
    families, fault = table(case)
    if families is None:
        return broken(fault)
    try:
        found = _savings(case, cache, families)
    except InvalidDocumentError as error:
        return broken(error.detail)
    found = found or (None if case.ledger is None else case.ledger.faults.get("cache-savings"))
    saved = case.receipt.part("cache", "saved_usd")
    return (
        held(f"{case.receipt.part('cache', 'hits')} hits avoided {saved} dollars") if found is None else broken(found)
    )


def cache_hit_origins(case: Case) -> Answer:
    """Each group names a usage row of the receipt and, with the ledger, exactly its hits."""
    # What the ledger's own events say comes first, with or without a cache: it names the event that is wrong.
    fault = None if case.ledger is None else case.ledger.faults.get("cache-hit-origins")
    if fault is not None:
        return broken(fault)
    return _with_origins(case, _check_origins)


def cache_hit_proofs(case: Case) -> Answer:
    """Each group's pinned hit leads to the stated root."""
    return _with_origins(case, _check_proofs)


def _savings(case: Case, cache: JsonValue, families: Families) -> str | None:
    for several, where, reader in _lists(cache):
        origins = _origins_in(reader, where, several=several)
        for origin in origins:
            cost = _cost(case, origin, families)
            if cost is None:
                return f"{origin.where}: no family of the table prices {shown(origin.model)}"
            if cost != origin.per_hit:
                return f"{origin.where}.avoided_usd_per_hit is {origin.per_hit}, its tokens cost {cost}"
            if origin.total.micros != cost.micros * origin.hits:
                return f"{origin.where}.avoided_usd_total is not {origin.hits} times {cost}"
        sums = (
            sum(origin.hits for origin in origins),
            sum(origin.hits * (origin.tokens[0] + origin.tokens[2]) for origin in origins),
            Usd(sum(origin.hits * origin.per_hit.micros for origin in origins)),
        )
        if (reader.integer("hits"), reader.integer("avoided_tokens"), reader.usd("saved_usd")) != sums:
            return f"{where} states other sums than its groups: {sums[0]} hits, {sums[1]} tokens, {sums[2]} dollars"
    return None


def _cost(case: Case, origin: _Origin, families: Families) -> Usd | None:
    """Return what the reply costs by the table: by its tokens, or the sum of its rows where there are several."""
    if not origin.several:
        return families.cost(origin.model, origin.tokens)
    rows = [item.row for item in case.receipt.rows if item.row.seq == origin.origin_seq]
    costs = [families.cost(row.model, (row.input_tokens, row.cached_input_tokens, row.output_tokens)) for row in rows]
    known = [cost.micros for cost in costs if cost is not None]
    return Usd(sum(known)) if rows and len(known) == len(rows) else None


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
    # Of several rows of one reply the base stands last, and is the one that is found here.
    rows = {(item.row.seq, item.row.event_hash): item.row for item in case.receipt.rows}
    for origin in origins:
        row = rows.get((origin.origin_seq, origin.origin_hash))
        if row is None:
            return broken(f"{origin.where}: no usage row is event {origin.origin_seq}")
        if row.cache_key != origin.key:
            return broken(f"{origin.where}: event {origin.origin_seq} is not recorded as stored under its key")
        if row.model != origin.model or not (origin.several or _tokens(row) == origin.tokens):
            return broken(f"{origin.where}: its model and usage are not those of event {origin.origin_seq}")
        if origin.first_seq <= origin.origin_seq:
            return broken(f"{origin.where}: its first hit stands before event {origin.origin_seq}")
    if case.ledger is None:
        return skipped(NO_LEDGER)
    if not case.ledger.sound:
        return skipped(DAMAGED)
    return _against_ledger(case.ledger, origins)


def _tokens(row: UsageRow) -> tuple[int, int, int]:
    return row.input_tokens, row.cached_input_tokens, row.output_tokens


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
    return held(f"{count_of(len(origins), 'group')} as the ledger's hits")


def _check_proofs(case: Case, origins: tuple[_Origin, ...]) -> Answer:
    root = case.receipt.part("ledger", "merkle_root")
    for origin in origins:
        if root_from_path(origin.event_hash, origin.path) != root:
            return broken(f"{origin.where}: its path does not lead to ledger.merkle_root")
    return held(f"{count_of(len(origins), 'pinned hit')} with a path to the root")


def _origins(cache: JsonValue) -> tuple[_Origin, ...]:
    return tuple(
        origin for several, where, reader in _lists(cache) for origin in _origins_in(reader, where, several=several)
    )


def _lists(cache: JsonValue) -> Iterator[tuple[bool, str, Reader]]:
    """Yield the object of plain groups, then that of groups whose replies had several components, if there is one."""
    reader = Reader(cache, "cache")
    yield False, "cache", reader
    if reader.has("component_hits"):
        yield True, "cache.component_hits", reader.object("component_hits")


def _origins_in(reader: Reader, where: str, *, several: bool) -> tuple[_Origin, ...]:
    items = enumerate(reader.items("by_origin"))
    return tuple(_origin(item, f"{where}.by_origin[{index}]", several=several) for index, item in items)


def _origin(item: JsonValue, where: str, *, several: bool) -> _Origin:
    reader = Reader(item, where)
    usage = reader.object("usage")
    return _Origin(
        where=where,
        several=several,
        key=reader.text("key"),
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
