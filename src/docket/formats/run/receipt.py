"""The receipt `docket/receipt/v1`: its constants and its usage row (spec/receipt.md).

A receipt is a JSON object written indented for people; what is hashed and signed is its canonical form. The shape
of a whole document is read in `formats.run.receipt_shape`; how its members derive is `rules.receipt`.
"""

from __future__ import annotations

from collections.abc import Sequence

from docket.formats.amount import Usd
from docket.formats.canonical import JsonValue
from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.merkle import Sibling
from docket.formats.run.usage import UsageSource

FORMAT = "docket/receipt/v1"
CHAIN = "hash = sha256(canonical {data, prev, seq, ts, type}); prev = hash of the event before"
PROOF_NOTE = (
    "Each row names its ledger event by number and hash and leads to ledger.merkle_root by its path. Its cost is "
    "recomputed from its tokens and the embedded price table alone."
)
LATENCY_METHOD = "nearest-rank"
TOP_PATHS = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageRow:
    """One priced component of a call; rows of one call cite the same event, the base row stands last.

    `cache_key` stands in the base row of a reply that the response cache has stored.
    """

    seq: int
    model: str
    provider: str
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    usage_source: UsageSource
    cost_usd: Usd
    event_hash: Digest
    latency_ms: int | None = None
    cache_key: str | None = None

    def to_json(self, path: Sequence[Sibling]) -> dict[str, JsonValue]:
        """Return the row with its Merkle path."""
        members: dict[str, JsonValue] = {
            "seq": self.seq,
            "model": self.model,
            "provider": self.provider,
            "input_tokens": self.input_tokens,
            "cached_input_tokens": self.cached_input_tokens,
            "output_tokens": self.output_tokens,
            "usage_source": str(self.usage_source),
            "cost_usd": str(self.cost_usd),
            "event_hash": self.event_hash,
        }
        if self.latency_ms is not None:
            members["latency_ms"] = self.latency_ms
        if self.cache_key is not None:
            members["cache_key"] = self.cache_key
        members["merkle_path"] = [{"side": str(step.side), "hash": step.hash} for step in path]
        return members
