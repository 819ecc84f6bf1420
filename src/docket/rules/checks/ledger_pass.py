"""One pass over a ledger: what the checks compare a receipt with.

Rules: each event is read once; a ledger of docket's own is folded by `docket/fold/v1` and watched for its shape,
order and arithmetic, any other by the public fold; memory is proportional to the usage rows and the event hashes.
The first thing wrong of each kind is kept as a sentence that names its event, and the pass goes on where it can.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias, overload

from docket.errors import InvalidDocumentError
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass, field
from docket.formats.digest import Digest
from docket.formats.ledger.checkpoint_events import CheckpointMade
from docket.formats.ledger.event import Event
from docket.formats.ledger.lines import TornTail
from docket.formats.ledger.model_events import ModelRequest, ModelResponse
from docket.formats.ledger.payload_codec import Payload
from docket.formats.ledger.session_events import FOLD, SessionEnd
from docket.formats.ledger.tree_events import FsChange
from docket.formats.merkle import MerkleTree, Sibling
from docket.formats.run.receipt import UsageRow
from docket.rules.checks.arithmetic import Arithmetic
from docket.rules.checks.cache_course import HitOrigins, HitSavings
from docket.rules.checks.caps import CapLimits
from docket.rules.checks.course import EventOrder, SessionShape
from docket.rules.checks.kept_claims import KeptClaims
from docket.rules.checks.retained import KeptBody, kept_body
from docket.rules.checks.typed import typed
from docket.rules.checks.windows_course import WindowsCourse
from docket.rules.receipt.assemble import LedgerFigures, assemble
from docket.rules.receipt.fold import Folded, LedgerFold
from docket.rules.receipt.public_fold import PublicFold, PublicRow


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerReading:
    """What a ledger was found to be.

    `fold` is what its session.start names; `damage` why reading stopped before the end; `torn` what stands after the
    last LF; `faults` holds, by check, the first fault found. `folded` is the fold of docket's own, None for others and
    where a payload was refused. `cache_hits` gives, by the number and hash of the event that was replayed, how many
    hits there were and the numbers of the first and last; `kept` is what the replies say of their kept bodies,
    `checkpoints` what the ledger says of its own checkpoints, each with the number of its event.
    """

    ours: bool
    fold: JsonValue
    events: int
    head: Digest | None
    tree: MerkleTree
    hashes: list[Digest]
    file_sha256: Digest
    damage: str | None
    torn: TornTail | None
    ended: bool
    faults: dict[str, str]
    folded: Folded | None
    rows: Sequence[PublicRow] | None
    public: dict[str, JsonValue] | None
    cache_hits: Mapping[tuple[int, str], tuple[int, int, int]]
    kept: tuple[KeptBody, ...] = ()
    checkpoints: tuple[tuple[int, CheckpointMade], ...] = ()

    @property
    def sound(self) -> bool:
        """Whether every event could be read."""
        return self.damage is None and self.torn is None

    def is_proven(self, seq: int, event_hash: Digest, path: Sequence[Sibling]) -> bool:
        """Whether this is the event of that number and its path in the tree: it then leads to the root, unhashed."""
        return seq < self.events and self.hashes[seq] == event_hash and self.tree.is_path(seq, path)

    def rebuilt(self) -> dict[str, JsonValue] | None:
        """Return the receipt that this ledger gives by docket's own fold, without usage rows; None if it gives none."""
        if self.folded is None or self.head is None:
            return None
        figures = LedgerFigures(events=self.events, head=self.head, tree=self.tree, file_sha256=self.file_sha256)
        return assemble(
            Folded(start=self.folded.start, last_at=self.folded.last_at, rows=(), members=self.folded.members), figures
        )


class Watch(Protocol):
    """Something that follows the events of docket's own ledger and says what is wrong with one."""

    def take(self, event: Event, payload: Payload | None, /) -> str | None:
        """Return what is wrong with the next event, or None."""
        ...


class _FoldedRows(Sequence[PublicRow]):
    """The rows of docket's own fold as those of any ledger; seldom is one asked for, where the receipt repeats them."""

    __hash__ = None  # type: ignore[assignment] # as a list

    def __init__(self, rows: Sequence[UsageRow]) -> None:
        self._rows = rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _FoldedRows) and self._rows == other._rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int, /) -> PublicRow: ...

    @overload
    def __getitem__(self, index: slice, /) -> Sequence[PublicRow]: ...

    def __getitem__(self, index: int | slice, /) -> PublicRow | Sequence[PublicRow]:
        if isinstance(index, slice):
            return _FoldedRows(self._rows[index])
        return PublicRow(row=self._rows[index], asserted_by=None)


FEW_WATCH: Mapping[type[Payload], tuple[str, ...]] = {
    FsChange: ("event-order",),
    ModelRequest: ("session-shape", "event-order", "cap-limits"),
    ModelResponse: (
        "event-order", "components", "cap-limits", "cache-hit-origins", "cache-savings", "retained-responses",
    ),
}  # fmt: skip
"""Of which events no other watch has anything to say before the end: of these a long ledger has the most."""

_Asked: TypeAlias = "tuple[tuple[str, Callable[[Event, Payload | None], str | None]], ...]"


def _watches() -> dict[str, Watch]:
    return {
        "session-shape": SessionShape(),
        "event-order": EventOrder(),
        "components": Arithmetic(),
        "cap-limits": CapLimits(),
        "cache-hit-origins": HitOrigins(),
        "cache-savings": HitSavings(),
        "retained-responses": KeptClaims(),
        "tool-windows": WindowsCourse(),
    }


@dataclass(slots=True)
class LedgerPass:
    """Takes events in order; `finish` gives the reading."""

    ours: bool = False
    named_fold: JsonValue = None
    hashes: list[Digest] = field(default_factory=list)
    faults: dict[str, str] = field(default_factory=dict)
    torn: TornTail | None = None
    last_type: str = ""
    fold: LedgerFold = field(default_factory=LedgerFold)
    public: PublicFold = field(default_factory=PublicFold)
    kept: list[KeptBody] = field(default_factory=list)
    checkpoints: list[tuple[int, CheckpointMade]] = field(default_factory=list)
    watches: Mapping[str, Watch] = field(default_factory=_watches)
    _all: _Asked = field(init=False)
    _few: dict[type[Payload], _Asked] = field(init=False)

    def __post_init__(self) -> None:
        self._all = self._asked(tuple(self.watches))
        self._few = {cls: self._asked(names) for cls, names in FEW_WATCH.items()}

    def _asked(self, names: Sequence[str]) -> _Asked:
        return tuple((name, self.watches[name].take) for name in names)

    def take(self, item: Event | TornTail) -> None:
        """Take the next event, or the torn tail."""
        if isinstance(item, TornTail):
            self.torn = item
            return
        if item.seq == 0:
            self.named_fold = item.data.get("fold") if item.type == "session.start" else None
            self.ours = self.named_fold == FOLD
        self.hashes.append(item.hash)
        self.last_type = item.type
        if self.ours:
            self._take_ours(item)
        else:
            self._take_public(item)

    def _take_ours(self, event: Event) -> None:
        try:
            payload: Payload | None = typed(event) if event.payload is None else event.payload
            self.fold.take(event, payload)
        except InvalidDocumentError as error:
            self.faults.setdefault("ledger-payloads", error.detail)
            return
        asked = self._few.get(type(payload))  # type: ignore[arg-type] # None is no key, and is for every watch
        if asked is None:
            asked = self._all
            self._seldom(event, payload)
        if isinstance(payload, ModelResponse) and payload.response_retained:
            self._keep(event)
        for name, take in asked:
            fault = take(event, payload)
            if fault is not None:
                self.faults.setdefault(name, f"event {event.seq} ({event.type}): {fault}")

    def _seldom(self, event: Event, payload: Payload | None) -> None:
        if isinstance(payload, CheckpointMade):
            self.checkpoints.append((event.seq, payload))
        elif isinstance(payload, SessionEnd):
            self._few = {}  # what stands behind it is for every watch

    def _take_public(self, event: Event) -> None:
        self._keep(event)
        try:
            self.public.take(event)
        except InvalidDocumentError as error:
            self.faults.setdefault("public-rows", error.detail)

    def _keep(self, event: Event) -> None:
        body = kept_body(event)
        if body is not None:
            self.kept.append(body)

    def finish(self, *, file_sha256: Digest, damage: str | None) -> LedgerReading:
        """Return the reading; `damage` is why the events ended early, if they did."""
        folded = self._folded()
        if self.ours:
            rows: Sequence[PublicRow] | None = None if folded is None else _FoldedRows(folded.rows)
        else:
            rows = None if "public-rows" in self.faults else tuple(self.public.rows)
            if self.public.hit_fault is not None:
                self.faults["cache-hit-origins"] = self.public.hit_fault
        return LedgerReading(
            ours=self.ours,
            fold=self.named_fold,
            events=len(self.hashes),
            head=self.hashes[-1] if self.hashes else None,
            tree=MerkleTree(self.hashes),
            hashes=self.hashes,
            file_sha256=file_sha256,
            damage=damage,
            torn=self.torn,
            ended=self.last_type == "session.end",
            faults=self.faults,
            folded=folded,
            rows=rows,
            public=None if self.ours else self.public.members(),
            cache_hits=self.fold.cache.by_origin() if self.ours else self.public.hits,
            kept=tuple(self.kept),
            checkpoints=tuple(self.checkpoints),
        )

    def _folded(self) -> Folded | None:
        if not self.ours or "ledger-payloads" in self.faults:
            return None
        return self.fold.result()
