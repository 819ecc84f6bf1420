"""The fold over the response cache: the receipt members `cache` and `responses` (spec/receipt.md, Response cache).

Hits of one reply are one group, pinned by the first of them. The public format's groups hold hits whose reply is one
usage row; those of replies priced by several components stand apart in `component_hits`, where its readers do not look.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from docket.formats.amount import Usd
from docket.formats.canonical import JsonObject, JsonValue, object_at
from docket.formats.dataclass import dataclass, field
from docket.formats.digest import Digest
from docket.formats.ledger.cache_events import CEILING_EVENT, CacheHit, ComponentsHit
from docket.formats.ledger.model_events import ModelResponse
from docket.formats.ledger.session_events import Note
from docket.formats.merkle import MerkleTree

CACHE_NOTE = (
    "Each group names the call whose reply was given again and pins the first of its hits to ledger.merkle_root. What "
    "was saved stands beside what was spent and in no total."
)
_BY_ORIGIN, _COMPONENT_HITS = "by_origin", "component_hits"


@dataclass(slots=True)
class _Group:
    """The hits of one reply; `first` is the hit that pins it."""

    first: CacheHit
    first_seq: int
    event_hash: Digest
    hits: int = 0
    last_seq: int = 0

    def to_json(self) -> dict[str, JsonValue]:
        hit = self.first
        return {
            "key": hit.key,
            "origin_seq": hit.origin.seq,
            "origin_hash": hit.origin.hash,
            "model": hit.model,
            "usage": hit.usage.to_json(),
            "usage_source": str(hit.usage_source),
            "avoided_usd_per_hit": str(hit.avoided_cost_usd),
            "avoided_usd_total": str(Usd(self.saved_micros)),
            "hits": self.hits,
            "first_seq": self.first_seq,
            "last_seq": self.last_seq,
            "event_hash": self.event_hash,
        }

    @property
    def saved_micros(self) -> int:
        return self.hits * self.first.avoided_cost_usd.micros

    @property
    def avoided_tokens(self) -> int:
        return self.hits * self.first.usage.total_tokens


@dataclass(slots=True)
class CacheFold:
    """The hits seen so far, those of one row and those of several components apart."""

    groups: dict[tuple[object, ...], _Group] = field(default_factory=dict)
    reached_ceiling: bool = False

    def hit(self, payload: CacheHit, seq: int, event_hash: Digest) -> None:
        """Take a hit."""
        key = (
            type(payload), payload.origin, payload.key, payload.model, payload.usage, payload.usage_source,
            payload.avoided_cost_usd,
        )  # fmt: skip
        group = self.groups.setdefault(key, _Group(first=payload, first_seq=seq, event_hash=event_hash))
        group.hits, group.last_seq = group.hits + 1, seq

    def note(self, payload: Note) -> None:
        """Take a remark of docket's."""
        self.reached_ceiling = self.reached_ceiling or payload.event == CEILING_EVENT

    def by_origin(self) -> dict[tuple[int, str], tuple[int, int, int]]:
        """Return (hits, number of the first, number of the last) by the number and hash of the reply."""
        found: dict[tuple[int, str], tuple[int, int, int]] = {}
        for group in self.groups.values():
            origin = group.first.origin.seq, group.first.origin.hash
            hits, first, last = found.get(origin, (0, group.first_seq, group.last_seq))
            found[origin] = (hits + group.hits, min(first, group.first_seq), max(last, group.last_seq))
        return found

    def member(self, policy: JsonObject) -> dict[str, JsonValue] | None:
        """Return the receipt member `cache` without its paths; None where there was no cache."""
        section = object_at(policy, "cache")
        enabled = section.get("enabled") is True
        if not enabled and not self.groups:
            return None
        several = [group for group in self.groups.values() if isinstance(group.first, ComponentsHit)]
        plain = [group for group in self.groups.values() if not isinstance(group.first, ComponentsHit)]
        member: dict[str, JsonValue] = {
            "enabled": enabled,
            "policy": dict(section),
            **_sums(plain),
            "hits_ceiling_reached": self.reached_ceiling,
            "note": CACHE_NOTE,
        }
        return member | {_COMPONENT_HITS: _sums(several)} if several else member


def _sums(groups: Iterable[_Group]) -> dict[str, JsonValue]:
    ordered = sorted(groups, key=lambda group: group.first_seq)
    return {
        "hits": sum(group.hits for group in ordered),
        "saved_usd": str(Usd(sum(group.saved_micros for group in ordered))),
        "avoided_tokens": sum(group.avoided_tokens for group in ordered),
        _BY_ORIGIN: [group.to_json() for group in ordered],
    }


def with_paths(member: JsonObject, tree: MerkleTree) -> dict[str, JsonValue]:
    """Return the member `cache` with the path of each group's pinned hit."""
    proven = dict(member) | {_BY_ORIGIN: _proven(member[_BY_ORIGIN], tree)}
    several = member.get(_COMPONENT_HITS)
    if isinstance(several, Mapping):
        proven[_COMPONENT_HITS] = dict(several) | {_BY_ORIGIN: _proven(several[_BY_ORIGIN], tree)}
    return proven


def _proven(groups: JsonValue, tree: MerkleTree) -> JsonValue:
    items = groups if isinstance(groups, (list, tuple)) else ()
    return [_with_path(group, tree) for group in items if isinstance(group, Mapping)]


def _with_path(group: JsonObject, tree: MerkleTree) -> JsonValue:
    seq = group["first_seq"]
    steps = tree.path(seq) if isinstance(seq, int) else ()
    return {**group, "merkle_path": [{"side": str(step.side), "hash": step.hash} for step in steps]}


@dataclass(slots=True)
class ResponsesFold:
    """The bodies that were to be kept."""

    kept: int = 0
    kept_bytes: int = 0
    truncated: int = 0
    not_kept: int = 0

    def response(self, payload: ModelResponse) -> None:
        """Take a billed reply."""
        self.kept += payload.response_retained is True
        self.kept_bytes += payload.response_stored_bytes or 0
        self.truncated += payload.response_truncated is True
        self.not_kept += payload.response_retained is False

    def member(self, policy: JsonObject) -> dict[str, JsonValue] | None:
        """Return the receipt member `responses`; None where no body was to be kept."""
        if object_at(policy, "evidence").get("record_responses") is not True:
            return None
        return {
            "kept": self.kept,
            "kept_bytes": self.kept_bytes,
            "truncated": self.truncated,
            "not_kept": self.not_kept,
        }
