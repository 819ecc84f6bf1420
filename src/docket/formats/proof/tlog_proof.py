"""The proof that one event stands in a ledger, for whoever has neither (c2sp.org/tlog-proof@v1; spec/checkpoint.md).

Rules: the entry that is proven is the 32 raw bytes of the event's hash; the hashes are those of RFC 9162, 2.1.3.1,
from the leaf up; the checkpoint is a signed note, as it is. The opaque line that the format allows is not written.
"""

from __future__ import annotations

from collections.abc import Sequence

from docket.formats.visible import base64_text

HEADER = "c2sp.org/tlog-proof@v1"


def proof_text(index: int, hashes: Sequence[bytes], checkpoint: str) -> str:
    """Return the proof of entry `index` as a text; `checkpoint` is a signed note."""
    lines = [HEADER, f"index {index}", *(base64_text(one) for one in hashes), ""]
    return "\n".join(lines) + "\n" + checkpoint
