"""docket's own price book: what every model of every provider costs, by date, tier and length.

Rules:
1. The book is one JSON document with one provider a line (`docket/price-book/v1`); a line is parsed when its
   provider is first asked for. A `docket/prices/v1` table may stand in for it: it holds for all providers.
2. A model is found by its own name, then without a vendor's prefix, then with a compact date spelled out; at last
   in the section of the provider that makes it, which is an assumption about what the reseller asks.
3. Prices are exact: integers of micro-dollars per million tokens, or per million uses.

Turning a usage into components is `rules.spending.pricing`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonObject, JsonValue, decode_document
from docket.formats.dataclass import dataclass
from docket.formats.nearest import nearest as nearest_names
from docket.formats.reason import Reason
from docket.formats.run.price_table import SCHEMA as TABLE_SCHEMA
from docket.formats.run.price_table import PriceTable, alternatives, read_price_table
from docket.rules.spending.price_section import fits, load_object, read_section

SCHEMA = "docket/price-book/v1"
_COMPACT_DATE = re.compile(r"-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")
_MAX_REMEMBERED = 1024


@dataclass(frozen=True, slots=True)
class Found:
    """A model's entry in a section.

    `assumed`: the section is not the asked provider's own. `stands_in`: the entry is the requested model's, for a
    reply that named one the book does not list.
    """

    section: str
    entry: Mapping[str, Any]
    assumed: bool
    stands_in: bool = False

    @property
    def steps(self) -> tuple[int, ...]:
        """The input lengths above which any of its prices changes, ascending."""
        listed = (*self.entry["prices"], *self.entry.get("variants", ()))
        return tuple(sorted({start for price in listed for start, _ in price.get("above", ())}))


@dataclass(frozen=True, slots=True)
class UnknownModel:
    """The book has no price for this model; `nearest` are names it might have meant."""

    provider: str
    model: str
    nearest: tuple[str, ...]


class PriceBook:
    """A price book over its bytes. It remembers what it has looked up and is otherwise immutable.

    `tariffs` is room for `rules.spending.tariff` to remember what it has resolved.
    """

    def __init__(self, *, meta: JsonObject, digest: str, lines: Mapping[str, bytes], table: PriceTable | None) -> None:
        self.meta = meta
        self.digest = digest
        self.table = table
        self._lines = lines
        self._sections: dict[str, Mapping[str, Any]] = {}
        self._found: dict[tuple[str, str], Found | UnknownModel] = {}
        self.tariffs: dict[tuple[object, ...], Any] = {}

    @classmethod
    def parse(cls, data: bytes) -> PriceBook:
        """Read a book, or a `docket/prices/v1` table in its place; InvalidDocumentError if it is neither."""
        digest = hashlib.sha256(data).hexdigest()
        head, newline, rest = data.partition(b"\n")
        if newline and head.startswith(b'{"_meta":') and head.endswith(b',"providers":{'):
            meta = load_object(head.removesuffix(b',"providers":{') + b"}", "price book").get("_meta")
            lines = {_name(line): line for line in rest.split(b"\n") if line.startswith(b'"')}
            if not isinstance(meta, dict) or meta.get("schema") != SCHEMA or not lines:
                raise InvalidDocumentError(Reason.UNKNOWN_FORMAT, f"price book._meta.schema is not {SCHEMA!r}")
            return cls(meta=meta, digest=digest, lines=lines, table=None)
        table = read_price_table(decode_document(data))
        if not table.families:
            raise InvalidDocumentError(Reason.WRONG_VALUE, "price table.families is empty: nothing could be priced")
        return cls(meta=table.meta, digest=digest, lines={}, table=table)

    @property
    def as_of(self) -> str:
        """The date the prices were collected."""
        return str(self.meta.get("as_of", "unknown"))

    @property
    def imported(self) -> JsonObject | None:
        """Where an imported table comes from: {source, date, sha256}; None for any other."""
        origin = self.meta.get("imported")
        if not isinstance(origin, dict):
            return None
        return {name: origin[name] for name in ("source", "date", "sha256") if name in origin}

    @property
    def schema(self) -> str:
        """The schema of the document."""
        return TABLE_SCHEMA if self.table is not None else SCHEMA

    def session_members(self) -> dict[str, JsonValue]:
        """Return what the start of a session records of the book."""
        members: dict[str, JsonValue] = {"schema": self.schema, "as_of": self.as_of, "digest": self.digest}
        return members if self.imported is None else {**members, "imported": dict(self.imported)}

    def providers(self) -> tuple[str, ...]:
        """Return the names of the sections."""
        return tuple(self._lines)

    def section(self, name: str) -> Mapping[str, Any]:
        """Return a provider's section, empty where the book has none; InvalidDocumentError if it cannot be read."""
        known = self._sections.get(name)
        if known is None:
            line = self._lines.get(name)
            known = self._sections[name] = {} if line is None else read_section(line, name)
        return known

    def find(self, provider: str, model: str) -> Found | UnknownModel:
        """Return the entry of a model at a provider."""
        key = (provider, model)
        found = self._found.get(key)
        if found is None:
            if len(self._found) >= _MAX_REMEMBERED:
                self._found.clear()
            found = self._found[key] = self._find(provider, model)
        return found

    def nearest(self, provider: str, model: str) -> tuple[str, ...]:
        """Return priced names that a model without a price might have meant, the nearest first."""
        if self.table is not None:
            patterns = (name for family in self.table.families for name in alternatives(family.pattern))
            return nearest_names(model.lower(), [name for name in patterns if "+" not in name], most=3)
        found = self.find(provider, model)
        return found.nearest if isinstance(found, UnknownModel) else ()

    def _find(self, provider: str, model: str) -> Found | UnknownModel:
        names = _spellings(model)
        own = self._entry(provider, names)
        if own is not None:
            return Found(provider, own, assumed=False)
        for other in self._lines:
            serves = self.section(other).get("serves")
            if other != provider and serves is not None and any(fits(serves, name) for name in names):
                entry = self._entry(other, names)
                if entry is not None:
                    return Found(other, entry, assumed=True)
        return UnknownModel(provider, model, self._nearest(provider, names[-1]))

    def _entry(self, section: str, names: Sequence[str]) -> Mapping[str, Any] | None:
        entries: Sequence[Mapping[str, Any]] = self.section(section).get("models", ())
        for name in names:
            for entry in entries:
                if fits(entry["match"], name):
                    return entry
        return None

    def _nearest(self, provider: str, name: str) -> tuple[str, ...]:
        section = provider if provider in self._lines else next(iter(self._lines), provider)
        known = [str(entry["id"]) for entry in self.section(section).get("models", ())]
        return nearest_names(name, known, most=3)


def _spellings(model: str) -> tuple[str, ...]:
    lowered = model.lower().strip()
    names = [lowered]
    if "/" in lowered:
        names.append(lowered.rpartition("/")[2])
    names += [_COMPACT_DATE.sub(r"-\1-\2-\3", name) for name in names]
    return tuple(dict.fromkeys(names))


def _name(line: bytes) -> str:
    return line[1:].partition(b'"')[0].decode("utf-8", "replace")
