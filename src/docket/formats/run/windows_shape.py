"""The shape of the receipt member `windows` (spec/receipt.md, Tool windows)."""

from __future__ import annotations

from docket.formats.shape import amount, anything, array, constant, count, digest, flag, mapping, nullable, record, text

_BEFORE = record({"seq": count}, dict.fromkeys(("group_id", "tree", "hashes", "head", "reason"), text))
_ASKED_BY = record({"call": count, "seq": count, "tools": count, "share_usd": amount, "derived": constant(True)})  # noqa: FBT003 - the value it must hold
_AFTER = record({"seq": count, "ok": flag})
_DELTA = record(
    {
        "seq": count,
        "delta_sha256": digest,
        "scope": text,
        "status": text,
        "members": count,
        "files": count,
        "event_hash": digest,
        "merkle_path": array(anything),
    },
    dict.fromkeys(("group_id", "reason", "tree_before", "tree_after"), text),
)
_WINDOW = record(
    {
        "window_id": text,
        "id": nullable(text),
        "name": text,
        "asked_by": nullable(_ASKED_BY),
        "before": nullable(_BEFORE),
        "after": nullable(_AFTER),
        "delta": nullable(_DELTA),
    },
    dict.fromkeys(("repository", "provider", "session_id", "turn_id", "mode"), text),
)

WINDOWS = record(
    {
        **dict.fromkeys(("count", "complete", "partial", "open", "groups", "files"), count),
        **dict.fromkeys(("partial_by_reason", "hooks_lost"), mapping(count)),
        "tools": array(_WINDOW),
        "note": text,
    }
)
