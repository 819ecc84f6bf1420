"""The shape of the receipt member `workspace` (spec/receipt.md, Workspace).

Rules: `not_transactional` is the one list, whole and in its order; a member that lacks a token is no receipt's.
"""

from __future__ import annotations

from docket.formats.shape import array, constant, count, digest, flag, nullable, record, text
from docket.formats.workspace.scope import NOT_TRANSACTIONAL

_PATH = record({}, {"path": text, "path_b64": text})
_PATH_AND_REASON = record({"reason": text}, {"path": text, "path_b64": text, "detail": text})

_REFUSED = record({"reason": text}, {"path": text, "path_b64": text, "detail": text, "transaction": text})

WORKSPACE = record(
    {
        "committed": flag,
        "outcome": text,
        "reason": nullable(text),
        "detail": nullable(text),
        "not_transactional": constant(list(NOT_TRANSACTIONAL)),
    },
    {
        **dict.fromkeys(("transaction", "backend", "view", "settle", "store", "approval"), text),
        **dict.fromkeys(("base_sha256", "result_sha256", "diff_sha256"), digest),
        "surface": record(dict.fromkeys(("excluded", "shared", "protected"), count)),
        "staged": record(dict.fromkeys(("files", "directories", "symlinks", "bytes", "not_preserved"), count)),
        "changes": record(dict.fromkeys(("added", "modified", "removed", "retyped"), count)),
        "decision": record({"is": text, "reason": nullable(text), "detail": nullable(text)}),
        "approved": flag,
        "plan_sha256": nullable(digest),
        **dict.fromkeys(("applied", "already", "refused"), nullable(count)),
        "protected_changes": count,
        "base_moved": flag,
        "digests_cover": constant("changes"),
        "unread": count,
        "refusals": array(_REFUSED),
        "not_preserved": array(_PATH_AND_REASON),
        "excluded_writes": array(_PATH),
        "excluded_write_count": count,
    },
)
