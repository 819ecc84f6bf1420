"""The payload of a checkpoint: the ledger says of itself what it was (spec/checkpoint.md)."""

from __future__ import annotations

from typing import ClassVar

from docket.formats.dataclass import dataclass
from docket.formats.digest import Digest
from docket.formats.ledger.payload_codec import Payload


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointMade(Payload):
    """The checkpoint `number`, from 1, was kept: over the first `size` events, with this root."""

    TYPE: ClassVar[str] = "x-docket.checkpoint"
    number: int
    size: int
    root: Digest
