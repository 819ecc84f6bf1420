"""A receipt made of the events of a ledger, as spec/fold.md tells it; written from the specification alone."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterator, Sequence

from record_vectors.disclosed import disclosure
from record_vectors.further import cache_of, counted, windows_of, workspace_of
from record_vectors.money import amount, family_of, micros, rank
from record_vectors.operations import operations_of, pools_of, responses_of
from record_vectors.primitives import GENESIS, Json, digest, digest_of, lines_of, path, root
from record_vectors.texts import SENTENCES

FOLD, RECEIPT = "docket/fold/v1", "docket/receipt/v1"
COUNTS = ("input_tokens", "cached_input_tokens", "output_tokens")
USAGE = (
    *COUNTS, "cache_write_tokens", "cache_write_5m_tokens", "cache_write_30m_tokens", "cache_write_1h_tokens",
    "cache_write_12h_tokens", "reasoning_tokens", "audio_input_tokens", "audio_output_tokens", "web_searches",
    "file_searches",
)  # fmt: skip
RARE = ("image_input_tokens", "image_output_tokens", "code_sessions", "audio_seconds")
UNPRICED = {"pattern": "(no call was priced)", "input": "0", "output": "0", "source": "placeholder"}


class Record:
    """The events of a ledger by type."""

    def __init__(self, events: Sequence[Json]) -> None:
        self.events = list(events)
        self.hashes = [event["hash"] for event in events]

    def all(self, *types: str) -> list[Json]:
        """The data of every event of these types."""
        return [event["data"] for event in self.events if event["type"] in types]

    def last(self, type_: str, **members: str) -> Json | None:
        """The data of the last event of a type that has these members."""
        found = [data for data in self.all(type_) if members.items() <= data.items()]
        return found[-1] if found else None

    def proven(self, seq: int) -> Json:
        """The hash of an event and its way to the root."""
        return {"event_hash": self.hashes[seq], "merkle_path": path(self.hashes, seq)}


def receipt_of(events: Sequence[Json]) -> Json:
    """The receipt, without seal and signature."""
    record = Record(events)
    start = events[0]["data"]
    policy, end = record.last("policy.applied"), record.last("session.end")
    rows = list(rows_of(record))
    made = {
        "format": RECEIPT,
        "docket_number": start["docket_number"],
        "label": start.get("label"),
        "created_at": events[-1]["ts"],
        "tool": {"name": start["tool"], "version": start["version"], "format": RECEIPT, "fold": start["fold"]},
        "session": _session(record, start, end or {}),
        "policy": policy and {"source": None, **policy},
        "boundary": {
            "admission": start["admission"], "listener": start["boundary"],
            "upstream_overrides": start["upstream_overrides"],
        },
        "totals": totals_of(rows, record),
        "model_calls": _model_calls(record),
        "budget": record.last("x-docket.budget"),
        "tools": _tools(record),
        "files": _files(record),
        "network": _network(record),
        "caps": {"exceeded": len(record.all("cap.exceeded")), "warnings": len(record.all("cap.warning"))},
        "notes": counted(data["code"] for data in record.all("note") if "reported_by" not in data),
        "event_counts": counted(event["type"] for event in events),
        "ledger": {
            "format": "docket/ledger/v1", "events": len(events), "head": events[-1]["hash"], "genesis": GENESIS,
            "merkle_root": root(record.hashes), "file_sha256": digest(lines_of(events)), "chain": SENTENCES["chain"],
        },
        "price_table": _price_table(record, start),
        "appendix": {"usage": rows, "proof_included": True, "note": SENTENCES["appendix"]},
        "evidence": _evidence(record, end),
        "ops": operations_of(record),
        "isolation": None,
        "findings": [],
        "limits_disclosure": disclosure(record, start, (policy or {}).get("document", {})),
        "seal": None,
        "signature": None,
    }  # fmt: skip
    spawn = record.last("proc.spawn")
    made["isolation"] = spawn and {"launcher": spawn["isolation"]}
    return made | _where_there_is_some(record, start, rows)


def _where_there_is_some(record: Record, start: Json, rows: Sequence[Json]) -> Json:
    proof = start.get("proof")
    made = {
        "latency": _latency(rows),
        "asserted": _asserted(record),
        "cache": cache_of(record),
        "pools": pools_of(record),
        "responses": responses_of(record),
        "workspace": workspace_of(record),
        "windows": windows_of(record),
        "redaction": start.get("redaction"),
        "proof": proof and {"previous": None, "signature": None, "seal": None, **proof},
    }
    return {name: value for name, value in made.items() if value}


def rows_of(record: Record) -> Iterator[Json]:
    """One for each component, the last one with latency and key."""
    for event in record.events:
        if event["type"] != "model.response":
            continue
        reply = event["data"]
        for number, part in enumerate(reply["components"], 1):
            row = {
                "seq": event["seq"], "provider": reply["provider"], "usage_source": reply["usage_source"],
                **part, **record.proven(event["seq"]),
            }  # fmt: skip
            if number == len(reply["components"]):
                row["latency_ms"] = reply["latency_ms"]
                if reply.get("cache", {}).get("stored") and "key" in reply["cache"]:
                    row["cache_key"] = reply["cache"]["key"]
            yield row


def totals_of(rows: Sequence[Json], record: Record) -> Json:
    """The sums over rows."""

    def summed(of: Sequence[Json]) -> Json:
        sums = {name: sum(row[name] for row in of) for name in COUNTS}
        return {**sums, "cost_usd": amount(sum(micros(row["cost_usd"]) for row in of))}

    models = [
        {"model": name, "calls": len(of), **summed(of)}
        for name in sorted({row["model"] for row in rows})
        if (of := [row for row in rows if row["model"] == name])
    ]
    models.sort(key=lambda item: -micros(item["cost_usd"]))
    sources = Counter(row["usage_source"] for row in rows)
    basis = "mixed" if len(sources) == 2 else "estimated" if sources["estimated"] else "reported"
    sums = summed(rows)
    return {
        "calls": len(rows), **sums, "total_tokens": sums["input_tokens"] + sums["output_tokens"],
        "cost_basis": SENTENCES["cost_basis"][basis], "usage_reported_calls": sources["reported"],
        "usage_estimated_calls": sources["estimated"], "asserted_calls": 0,
        "assumed_price_models": sorted(_assumed(rows, record)),
        "by_model": models,
    }  # fmt: skip


def _assumed(rows: Sequence[Json], record: Record) -> set[str]:
    """The bases of replies that are marked, and every model that `*` prices."""
    replies = record.all("model.response")
    marked = {data["components"][-1]["model"] for data in replies if data["components"] and data["assumed_price"]}
    families = sorted(record.all("x-docket.price"), key=rank)
    priced = {row["model"]: family_of(row["model"], families) for row in rows}
    return marked | {model for model, family in priced.items() if family is not None and family["pattern"] == "*"}


def _session(record: Record, start: Json, end: Json) -> Json:
    ended = ("exit_code", "exit_source", "duration_seconds", "breached", "interrupted")
    return {
        "id": start["session_id"],
        **{name: start[name] for name in ("argv", "cwd", "agent", "host", "argv_b64", "cwd_b64") if name in start},
        "started_at": record.events[0]["ts"],
        **{name: end.get(name) for name in ended},
        "agent_exit": record.last("proc.exit"),
    }


def _model_calls(record: Record) -> Json:
    replies, requests = record.all("model.response"), record.all("model.request")
    denied, errors = record.all("model.denied"), record.all("model.error")
    usage = {name: sum(reply["usage"].get(name, 0) for reply in replies) for name in (*USAGE, *RARE)}
    return {
        "count": len(replies),
        "by_provider": counted(reply["provider"] for reply in replies),
        "outcomes": counted(reply["outcome"] for reply in replies),
        "estimated": sum(reply["usage_source"] == "estimated" for reply in replies),
        "denied": len(denied),
        "denied_by_reason": counted(data["reason"] for data in denied),
        "errors": len(errors),
        "errors_by_reason": counted(data["reason"] for data in errors),
        "admitted": len(requests),
        "altered": sum(bool(data.get("altered")) for data in requests),
        "unsettled": len(requests) - len(replies) - len(errors),
        "other_exchanges": len(record.all("x-docket.other")),
        "usage": {name: value for name, value in usage.items() if name in USAGE or value},
    }


def _tools(record: Record) -> Json:
    calls, results = record.all("tool.call"), record.all("tool.result")
    names = sorted({data["name"] for data in calls})
    return {"calls": len(calls), "names": names, "failures": sum(not data["ok"] for data in results)}


def _files(record: Record) -> Json:
    changes, violations = record.all("fs.change"), record.all("policy.violation")
    kinds = Counter(data["change"] for data in changes)
    passes = {phase: record.last("fs.snapshot", phase=phase) for phase in ("before", "after")}
    return {
        "changed": len(changes),
        **{kind: kinds[kind] for kind in ("added", "modified", "removed", "retyped")},
        "violations": len(violations),
        "violations_by_rule": counted(data["rule"] for data in violations),
        "top_paths": [shown(data) for data in changes[:25]],
        "passes": {
            phase: data and {name: value for name, value in data.items() if name != "phase"}
            for phase, data in passes.items()
        },
    }


def shown(data: Json) -> str:
    """A path for the eye: bytes that are no UTF-8 as \\xNN."""
    if "path" in data:
        return str(data["path"])
    return base64.b64decode(data["path_b64"]).decode("utf-8", "backslashreplace")


def _network(record: Record) -> Json:
    denied = record.all("net.denied")
    proxied = sum(data["count"] for data in denied if data["kind"] in ("tunnel", "request"))
    turned_away = sum(data["count"] for data in denied) - proxied
    allowed = len(record.all("net.allowed"))
    return {"tunnels_allowed": allowed, "tunnels_denied": proxied, "turned_away": turned_away}


def _price_table(record: Record, start: Json) -> Json:
    families = sorted(record.all("x-docket.price"), key=rank) or [UNPRICED]
    as_of = start["prices"].get("as_of")
    meta = {
        "schema": "docket/prices/v1", "currency": "USD", "unit": "per_million_tokens", "fallback_marker": "assumed",
        "as_of": as_of, "from": start["prices"], "note": SENTENCES["price_table"],
    }  # fmt: skip
    document = {"_meta": meta, "families": families}
    return {"schema": "docket/prices/v1", "as_of": as_of, "digest": digest_of(document), "document": document}


def _evidence(record: Record, end: Json | None) -> Json:
    gaps = record.all("x-docket.evidence-gap")
    say = "gap" if gaps else "no_end" if end is None else "whole"
    return {
        "ledger_complete": end is not None and not gaps,
        "ended": end is not None,
        "write_failures": len(gaps),
        "unwritten_events": sum(data["unwritten_events"] for data in gaps),
        "first_failing_seq": min((data["first_failing_seq"] for data in gaps), default=None),
        "note": SENTENCES["evidence"][say],
    }


def _latency(rows: Sequence[Json]) -> Json | None:
    measured = sorted(row["latency_ms"] for row in rows if "latency_ms" in row)
    if not measured:
        return None
    ranked = {f"p{p}_ms": measured[-(-p * len(measured) // 100) - 1] for p in (50, 95, 99)}
    return {
        "method": "nearest-rank", "measured_calls": len(measured), "total_rows": len(rows), "total_ms": sum(measured),
        "max_ms": measured[-1], **ranked,
    }  # fmt: skip


def _asserted(record: Record) -> Json | None:
    calls = record.all("x-docket.asserted-call")
    notes = [data for data in record.all("note") if "reported_by" in data]
    if not calls and not notes:
        return None
    sums = {name: sum(data[name] for data in calls) for name in COUNTS}
    return {"calls": len(calls), **sums, "notes": counted(data["code"] for data in notes)}
