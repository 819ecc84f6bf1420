"""The members of a receipt that only some runs have: cache, workspace and windows (spec/receipt.md, spec/fold.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from record_vectors.money import amount, micros
from record_vectors.primitives import Json, canonical
from record_vectors.texts import SENTENCES

if TYPE_CHECKING:
    from record_vectors.fold import Record

NOT_TRANSACTIONAL = ["network-calls", "database-writes", "processes-started", "paths-outside-the-declared-surface"]
KEY = ("repository", "provider", "session_id", "turn_id", "mode")


def without(data: Json, *names: str) -> Json:
    """The object without these members."""
    return {name: value for name, value in data.items() if name not in names}


def chosen(data: Json, *names: str) -> Json:
    """These members, null where one is absent."""
    return {name: data.get(name) for name in names}


def counted(names: Iterable[str]) -> dict[str, int]:
    """How often each name stands there."""
    return dict(sorted(Counter(names).items()))


def cache_of(record: Record) -> Json | None:
    """`cache`."""
    policy = (record.last("policy.applied") or {}).get("document", {}).get("cache", {})
    hits = {kind: _hits(record, kind) for kind in ("model.cache_hit", "x-docket.cache-hit")}
    if policy.get("enabled") is not True and not any(found["hits"] for found in hits.values()):
        return None
    reached = any(
        data.get("event") == "cache.hits_ceiling_reached" and "reported_by" not in data for data in record.all("note")
    )
    made = {
        "enabled": policy.get("enabled") is True, "policy": policy, **hits["model.cache_hit"],
        "hits_ceiling_reached": reached, "note": SENTENCES["cache"],
    }  # fmt: skip
    several = hits["x-docket.cache-hit"]
    return made | ({"component_hits": several} if several["hits"] else {})


def _hits(record: Record, kind: str) -> Json:
    groups: dict[bytes, list[Json]] = {}
    same = ("origin", "key", "model", "usage", "usage_source", "avoided_cost_usd")
    for event in record.events:
        if event["type"] == kind:
            groups.setdefault(canonical([event["data"][name] for name in same]), []).append(event)
    made = [_group(record, of) for of in groups.values()]
    return {
        "hits": sum(group["hits"] for group in made),
        "saved_usd": amount(sum(micros(group["avoided_usd_total"]) for group in made)),
        "avoided_tokens": sum(
            (group["usage"]["input_tokens"] + group["usage"]["output_tokens"]) * group["hits"] for group in made
        ),
        "by_origin": made,
    }


def _group(record: Record, of: list[Json]) -> Json:
    data = of[0]["data"]
    return {
        "key": data["key"], "origin_seq": data["origin"]["seq"], "origin_hash": data["origin"]["hash"],
        "model": data["model"], "usage": data["usage"], "usage_source": data["usage_source"],
        "avoided_usd_per_hit": data["avoided_cost_usd"],
        "avoided_usd_total": amount(micros(data["avoided_cost_usd"]) * len(of)), "hits": len(of),
        "first_seq": of[0]["seq"], "last_seq": of[-1]["seq"], **record.proven(of[0]["seq"]),
    }  # fmt: skip


def workspace_of(record: Record) -> Json | None:
    """`workspace`."""
    opened, refused = record.last("x-docket.workspace-opened"), record.last("x-docket.workspace-refused")
    if opened is None:
        if refused is None:
            return None
        told = {"committed": False, "outcome": "not-opened", **refused}
        return {**told, "not_transactional": NOT_TRANSACTIONAL}
    settled = record.last("x-docket.workspace-settled")
    made = chosen(opened, "transaction", "backend", "view", "settle", "approved", "store") | {
        "base_sha256": opened["manifest_sha256"],
        "surface": chosen(opened, "excluded", "shared", "protected"),
        "staged": chosen(opened, "files", "directories", "symlinks", "not_preserved")
        | {"bytes": opened["bytes_staged"]},
        "not_transactional": NOT_TRANSACTIONAL,
    }
    if "unread" in opened:
        made |= {"digests_cover": "changes", "unread": opened["unread"]}
    if settled is None:
        made |= {"committed": False, "outcome": "unsettled", "reason": None, "detail": None}
    else:
        made |= chosen(settled, "outcome", "reason", "detail", "plan_sha256", "applied", "already", "refused")
        made |= {"committed": settled["outcome"] == "committed", "refusals": settled.get("refusals", [])}
    return made | _intended(record.last("x-docket.workspace-intent"))


def _intended(intent: Json | None) -> Json:
    if intent is None:
        return {}
    names = ("result_sha256", "diff_sha256", "approval", "base_moved", "not_preserved", "excluded_writes",
             "excluded_write_count")  # fmt: skip
    return chosen(intent, *names) | {
        "decision": {"is": intent["decision"], **chosen(intent, "reason", "detail")},
        "changes": chosen(intent, "added", "modified", "removed", "retyped"),
        "protected_changes": intent["protected"],
    }


def windows_of(record: Record) -> Json | None:
    """`windows`."""
    entries: dict[str, Json] = {}
    for event in record.events:
        _into(entries, event, record)
    lost = record.all("x-docket.hook-lost")
    if not entries and not lost:
        return None
    deltas = [entry["delta"] for entry in entries.values() if entry["delta"] is not None]
    whole = {delta["delta_sha256"]: delta["files"] for delta in deltas if delta["status"] == "complete"}
    kinds: Counter[str] = Counter()
    for data in lost:
        kinds[data["kind"]] += data["count"]
    for entry in entries.values():
        entry["asked_by"] = _asked_by(entry["id"], record)
    return {
        "count": len(entries),
        "complete": sum(delta["status"] == "complete" for delta in deltas),
        "partial": sum(delta["status"] != "complete" for delta in deltas),
        "open": len(entries) - len(deltas),
        "groups": len({delta.get("group_id") for delta in deltas if delta["scope"] == "concurrent_group"}),
        "files": sum(whole.values()),
        "partial_by_reason": dict(Counter(delta["reason"] for delta in deltas if "reason" in delta)),
        "hooks_lost": dict(kinds),
        "tools": list(entries.values()),
        "note": SENTENCES["windows"],
    }


def _into(entries: dict[str, Json], event: Json, record: Record) -> None:
    data, seq = event["data"], event["seq"]
    window = data.get("window", {})
    name = window.get("window_id", data.get("window_id"))
    if name is None or event["type"] not in ("tool.call", "tool.result", "x-docket.tool-delta"):
        return
    empty = {
        "window_id": name,
        "id": data.get("id"),
        "name": data["name"],
        "before": None,
        "after": None,
        "delta": None,
    }
    entry = entries.setdefault(name, empty)
    if event["type"] == "tool.call":
        entry |= {member: window[member] for member in KEY}
        entry["before"] = {"seq": seq, **without(window, "window_id", *KEY)}
    elif event["type"] == "tool.result":
        entry["after"] = {"seq": seq, "ok": data["ok"]}
    else:
        entry["delta"] = {"seq": seq, **record.proven(seq), **without(data, "window_id", "id", "name")}


def _asked_by(tool_use_id: object, record: Record) -> Json | None:
    for event in record.events:
        ids = event["data"].get("tool_use_ids", [])
        if event["type"] == "model.response" and tool_use_id in ids:
            each, rest = divmod(micros(event["data"]["cost_usd"]), len(ids))
            share = amount(each + (ids.index(tool_use_id) < rest))
            return {
                "call": event["data"]["call"],
                "seq": event["seq"],
                "tools": len(ids),
                "share_usd": share,
                "derived": True,
            }
    return None
