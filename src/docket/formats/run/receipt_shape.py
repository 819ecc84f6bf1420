"""The two shapes of a receipt document: ours, closed in every member, and v1 as other writers fill it.

Rules (spec/receipt.md, Members): a document that names `docket/fold/v1` in `tool.fold` has exactly the members this
version writes; any other has at least the v1 members with their v1 types, and may have more.
"""

from __future__ import annotations

from docket.formats.canonical import JsonObject
from docket.formats.ledger.event import FORMAT as LEDGER_FORMAT
from docket.formats.run.price_table import SCHEMA
from docket.formats.run.proof_shape import PROOF
from docket.formats.run.receipt import CHAIN, FORMAT, LATENCY_METHOD, PROOF_NOTE
from docket.formats.run.redaction_shape import REDACTION
from docket.formats.run.usage import LATER, Usage
from docket.formats.run.windows_shape import WINDOWS
from docket.formats.run.workspace_shape import WORKSPACE
from docket.formats.shape import (
    Shape,
    amount,
    anything,
    array,
    constant,
    count,
    digest,
    flag,
    instant,
    integer,
    mapping,
    nullable,
    record,
    text,
)

_COUNTS = mapping(count)
_TEXTS = array(text)
_TOKENS = {"input_tokens": count, "cached_input_tokens": count, "output_tokens": count}
_BY_MODEL = array(record({"model": text, "calls": count, **_TOKENS, "cost_usd": amount}))
_TOTALS = {
    "calls": count,
    **_TOKENS,
    "total_tokens": count,
    "cost_usd": amount,
    "cost_basis": text,
    "usage_reported_calls": count,
    "usage_estimated_calls": count,
    "asserted_calls": count,
    "assumed_price_models": _TEXTS,
    "by_model": _BY_MODEL,
}
_LATENCY = record(
    {
        "method": constant(LATENCY_METHOD),
        "measured_calls": count,
        "total_rows": count,
        "total_ms": count,
        "max_ms": count,
        "p50_ms": count,
        "p95_ms": count,
        "p99_ms": count,
    }
)
_PASS_MEMBERS: dict[str, Shape] = {
    "roots": _TEXTS,
    "files": count,
    "directories": count,
    "symlinks": count,
    "omissions": count,
    "bytes_watched": count,
    "tree_sha256": digest,
}
_NOT_COVERED = record({"reason": text}, {"path": text, "path_b64": text})
_SNAPSHOT = record(
    {"taken": flag},
    {
        **_PASS_MEMBERS,
        **dict.fromkeys(("bytes_stored", "bytes_shared", "needed", "allowed"), count),
        **dict.fromkeys(("format", "store", "reason", "detail"), text),
        "manifest_sha256": digest,
        "not_covered": array(_NOT_COVERED),
        "not_covered_count": nullable(count),
    },
)
_ROLLBACK = record(
    {"applied": flag, "trigger": text},
    {
        **dict.fromkeys(("restored", "already", "refused", "kept", "not_covered"), count),
        **dict.fromkeys(("reason", "detail", "record"), text),
        "plan_sha256": digest,
        "refusals": array(record({"reason": text}, {"path": text, "path_b64": text, "detail": text})),
    },
)
_OPS = record(
    {
        "circuit_breaker": mapping(
            record(
                {
                    "state": text,
                    "consecutive_failures": count,
                    "total_failures": count,
                    "total_successes": count,
                    "openings": count,
                    "cooldown_ms": count,
                }
            )
        ),
        "rate_limiter": nullable(
            record(
                {
                    "per_minute": nullable(count),
                    "per_second": nullable(text),
                    "allowed": count,
                    "refused": count,
                    "waited": count,
                    "waited_ms": count,
                    "longest_wait_ms": count,
                }
            )
        ),
        "snapshot": nullable(_SNAPSHOT),
        "rollback": nullable(_ROLLBACK),
    },
    {
        "chaos_run": constant(True),  # noqa: FBT003 - the value the member must hold
        "fault_injection": record(
            {"seed": count, "spec": _TEXTS, "injections": count, "upstream_asked": count, "by_kind": _COUNTS}
        ),
    },
)
_ASSERTED = record({"calls": count, **_TOKENS, "notes": _COUNTS})
_HIT_GROUP = record(
    {
        "key": text,
        "origin_seq": count,
        "origin_hash": digest,
        "model": text,
        "usage": mapping(count),
        "usage_source": text,
        "avoided_usd_per_hit": amount,
        "avoided_usd_total": amount,
        "hits": count,
        "first_seq": count,
        "last_seq": count,
        "event_hash": digest,
        "merkle_path": array(anything),
    }
)
_HITS = {"hits": count, "saved_usd": amount, "avoided_tokens": count, "by_origin": array(_HIT_GROUP)}
_CACHE = record(
    {"enabled": flag, "policy": mapping(anything), **_HITS, "hits_ceiling_reached": flag, "note": text},
    {"component_hits": record(_HITS)},
)
_RESPONSES = record({"kept": count, "kept_bytes": count, "truncated": count, "not_kept": count})
_PASS = record(_PASS_MEMBERS, {"unread": count})
_POOLS = array(
    record(
        {
            "pool": text,
            **dict.fromkeys(("daily_usd", "weekly_usd", "total_usd"), nullable(amount)),
            **dict.fromkeys(("spent_usd", "unknown_usd", "overshoot_usd", "bound_usd"), nullable(amount)),
        }
    )
)
_PRICE = {"pattern": text, "input": text, "output": text}

_OURS = record(
    {
        "format": constant(FORMAT),
        "docket_number": text,
        "label": nullable(text),
        "created_at": instant,
        "tool": record({"name": text, "version": text, "format": constant(FORMAT), "fold": text}),
        "session": record(
            {
                "id": text,
                "argv": _TEXTS,
                "cwd": text,
                "agent": text,
                "started_at": instant,
                "exit_code": nullable(integer),
                "exit_source": nullable(text),
                "duration_seconds": nullable(text),
                "breached": nullable(text),
                "interrupted": nullable(flag),
                "agent_exit": nullable(mapping(anything)),
                "host": mapping(anything),
            },
            {"argv_b64": _TEXTS, "cwd_b64": text},
        ),
        "policy": nullable(
            record({"name": text, "digest": digest, "document": mapping(anything), "source": nullable(text)})
        ),
        "boundary": record({"admission": text, "listener": mapping(anything), "upstream_overrides": mapping(anything)}),
        "totals": record(_TOTALS),
        "model_calls": record(
            {
                "count": count,
                "by_provider": _COUNTS,
                "denied": count,
                "errors": count,
                "admitted": count,
                "unsettled": integer,
                "outcomes": _COUNTS,
                "denied_by_reason": _COUNTS,
                "errors_by_reason": _COUNTS,
                "estimated": count,
                "altered": count,
                "other_exchanges": count,
                "usage": record(
                    {name: count for name in Usage.__dataclass_fields__ if name not in LATER},
                    dict.fromkeys(LATER, count),
                ),
            }
        ),
        "budget": nullable(mapping(anything)),
        "tools": record({"calls": count, "names": _TEXTS, "failures": count}),
        "files": record(
            {
                "changed": count,
                "added": count,
                "modified": count,
                "removed": count,
                "retyped": count,
                "violations": count,
                "violations_by_rule": _COUNTS,
                "top_paths": _TEXTS,
                "passes": record({"before": nullable(_PASS), "after": nullable(_PASS)}),
            }
        ),
        "network": record({"tunnels_allowed": count, "tunnels_denied": count, "turned_away": count}),
        "caps": record({"exceeded": count, "warnings": count}),
        "notes": _COUNTS,
        "event_counts": _COUNTS,
        "ledger": record(
            {
                "format": constant(LEDGER_FORMAT),
                "events": count,
                "head": digest,
                "genesis": digest,
                "merkle_root": digest,
                "file_sha256": digest,
                "chain": constant(CHAIN),
            }
        ),
        "price_table": record(
            {
                "schema": constant(SCHEMA),
                "as_of": nullable(text),
                "digest": digest,
                "document": record(
                    {
                        "_meta": mapping(anything),
                        "families": array(record({**_PRICE, "source": text}, {"cached_input": text})),
                    }
                ),
            }
        ),
        "appendix": record(
            {
                "usage": array(mapping(anything)),
                "proof_included": constant(True),  # noqa: FBT003 - the value the member must hold
                "note": constant(PROOF_NOTE),
            }
        ),
        "evidence": record(
            {
                "ledger_complete": flag,
                "ended": flag,
                "unwritten_events": count,
                "first_failing_seq": nullable(count),
                "write_failures": count,
                "note": text,
            }
        ),
        "ops": _OPS,
        "isolation": nullable(record({"launcher": _TEXTS})),
        "findings": array(anything),
        "limits_disclosure": mapping(_TEXTS),
        "seal": nullable(mapping(anything)),
        "signature": nullable(mapping(anything)),
    },
    {
        "latency": _LATENCY,
        "pools": _POOLS,
        "asserted": _ASSERTED,
        "cache": _CACHE,
        "responses": _RESPONSES,
        "workspace": WORKSPACE,
        "windows": WINDOWS,
        "proof": PROOF,
        "redaction": REDACTION,
    },
)

_V1 = record(
    {
        "format": constant(FORMAT),
        "docket_number": text,
        "label": nullable(text),
        "created_at": text,
        "tool": record({"name": text, "version": text}, {"format": constant(FORMAT)}, closed=False),
        "session": record(
            {
                "id": text,
                "argv": _TEXTS,
                "cwd": nullable(text),
                "exit_code": nullable(integer),
                "duration_seconds": nullable(text),
                "breached": nullable(text),
                "interrupted": nullable(flag),
            },
            closed=False,
        ),
        "policy": nullable(record({"name": text, "digest": digest, "document": mapping(anything)}, closed=False)),
        "totals": record(_TOTALS, closed=False),
        "model_calls": record({"count": count, "by_provider": _COUNTS, "denied": count, "errors": count}, closed=False),
        "tools": record({"calls": count, "names": _TEXTS, "failures": count}, closed=False),
        "files": record(
            {
                "changed": count,
                "added": count,
                "modified": count,
                "removed": count,
                "violations": count,
                "top_paths": _TEXTS,
            },
            closed=False,
        ),
        "network": record({"tunnels_allowed": count, "tunnels_denied": count}, closed=False),
        "caps": record({"exceeded": count, "warnings": count}, closed=False),
        "event_counts": _COUNTS,
        "ledger": record(
            {
                "format": constant(LEDGER_FORMAT),
                "events": count,
                "head": digest,
                "genesis": digest,
                "merkle_root": digest,
                "file_sha256": digest,
            },
            closed=False,
        ),
        "price_table": record(
            {
                "digest": digest,
                "document": record({"families": array(record(_PRICE, closed=False))}, closed=False),
            },
            closed=False,
        ),
        "appendix": record({"usage": array(mapping(anything)), "proof_included": flag}, closed=False),
        "evidence": record({"ledger_complete": flag, "unwritten_events": count}, closed=False),
        "findings": array(anything),
        "limits_disclosure": mapping(_TEXTS),
        "seal": nullable(mapping(anything)),
        "signature": nullable(mapping(anything)),
    },
    {"latency": _LATENCY, "cache": mapping(anything)},
    closed=False,
)


def check_shape(document: JsonObject, *, ours: bool) -> None:
    """Raise InvalidDocumentError that names the first member which has not its form."""
    (_OURS if ours else _V1)(document, "receipt")
