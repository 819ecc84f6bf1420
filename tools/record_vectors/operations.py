"""What kept a run within its pace, and the bodies and pools it had: `ops`, `pools`, `responses` (spec/receipt.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from record_vectors.further import chosen, counted, without
from record_vectors.primitives import Json

if TYPE_CHECKING:
    from record_vectors.fold import Record

WORST = ("open", "half_open", "closed")
FAULTS = ("upstream_unreachable", "upstream_broken", "injected_fault")
ANSWERED = ("upstream_status", "upstream_error_event")
MOST_PATHS = 25
LIMITS = ("daily_usd", "weekly_usd", "total_usd")
USES = ("spent_usd", "unknown_usd", "overshoot_usd", "bound_usd")


def operations_of(record: Record) -> Json:
    """`ops`."""
    changes = record.all("x-docket.breaker")
    made: Json = {
        "circuit_breaker": {name: _breaker(record, name) for name in {change["provider"] for change in changes}},
        "rate_limiter": _limiter(record),
        "snapshot": _snapshot(record),
        "rollback": _rollback(record),
    }
    plan = record.last("x-docket.fault-plan")
    if plan is not None:
        faults = record.all("x-docket.fault")
        made["chaos_run"] = True
        made["fault_injection"] = plan | {
            "injections": len(faults),
            "upstream_asked": sum(fault["asked"] for fault in faults),
            "by_kind": counted(fault["kind"] for fault in faults),
        }
    return made


def _breaker(record: Record, provider: str) -> Json:
    changes = [change for change in record.all("x-docket.breaker") if change["provider"] == provider]
    last = {change["upstream"]: change for change in changes}
    worst = min(last.values(), key=lambda change: (WORST.index(change["state"]), change["upstream"]))
    errors = [error for error in record.all("model.error") if error["provider"] == provider]
    replies = [reply for reply in record.all("model.response") if reply["provider"] == provider]
    broken = [reply["outcome"] == "upstream_broken" or reply["status"] >= 500 for reply in replies]
    failed = [error["reason"] in FAULTS or (error["reason"] in ANSWERED and error["status"] >= 500) for error in errors]
    return {
        "state": worst["state"], "consecutive_failures": worst["failures"], "cooldown_ms": worst["cooldown_ms"],
        "openings": sum(change["state"] == "open" for change in changes), "total_failures": sum(broken) + sum(failed),
        "total_successes": broken.count(False)
        + sum(error["reason"] == "upstream_status" and error["status"] < 500 for error in errors),
    }  # fmt: skip


def _limiter(record: Record) -> Json | None:
    policy = (record.last("policy.applied") or {}).get("document", {}).get("resilience", {})
    minute, second = policy.get("max_calls_per_minute"), policy.get("max_calls_per_second")
    if minute is None and second is None:
        return None
    waits = [paced["waited_ms"] for paced in record.all("x-docket.paced")]
    return {
        "per_minute": minute, "per_second": second, "allowed": len(record.all("model.request")),
        "refused": sum(denied["reason"] == "rate_limited" for denied in record.all("model.denied")),
        "waited": len(waits), "waited_ms": sum(waits), "longest_wait_ms": max(waits, default=0),
    }  # fmt: skip


def _snapshot(record: Record) -> Json | None:
    kept, refused = record.last("fs.snapshot", phase="contents"), record.last("x-docket.snapshot-refused")
    if refused is not None:
        return {"taken": False, **refused}
    if kept is None:
        return None
    omitted = [
        one for data in record.all("x-docket.omissions") if data["phase"] == "contents" for one in data["omissions"]
    ]
    return without(kept, "phase", "not_covered") | {
        "taken": True,
        "not_covered": [without(one, "detail") for one in omitted[:MOST_PATHS]],
        "not_covered_count": kept.get("not_covered"),
    }


def _rollback(record: Record) -> Json | None:
    applied = "x-docket.rollback-applied"
    found = [event for event in record.events if event["type"] in (applied, "x-docket.rollback-refused")]
    return {"applied": found[-1]["type"] == applied, **found[-1]["data"]} if found else None


def pools_of(record: Record) -> list[Json]:
    """`pools`."""
    found = []
    for name in sorted({data["pool"] for data in record.all("x-docket.pool")}):
        limits, use = record.last("x-docket.pool", pool=name) or {}, record.last("x-docket.pool-use", pool=name) or {}
        found.append({"pool": name, **chosen(limits, *LIMITS), **chosen(use, *USES)})
    return found


def responses_of(record: Record) -> Json | None:
    """`responses`."""
    policy = (record.last("policy.applied") or {}).get("document", {}).get("evidence", {})
    if policy.get("record_responses") is not True:
        return None
    replies = record.all("model.response")
    return {
        "kept": sum(reply.get("response_retained") is True for reply in replies),
        "kept_bytes": sum(reply.get("response_stored_bytes", 0) for reply in replies),
        "truncated": sum(reply.get("response_truncated") is True for reply in replies),
        "not_kept": sum(reply.get("response_retained") is False for reply in replies),
    }
