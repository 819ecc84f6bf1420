"""A ledger and receipt as another writer of the same public formats makes them: other payload members, other texts."""

from __future__ import annotations

import hashlib
from typing import Any

from docket.formats.digest import digest_of
from docket.formats.merkle import MerkleTree
from golden_ledgers.build import LedgerBuilder

POLICY: dict[str, Any] = {"name": "theirs", "caps": {"max_usd": "2.00"}, "budget": {"mode": "usd"}}
FAMILIES: list[dict[str, Any]] = [
    {"pattern": "tiny* / small*", "input": "1.00", "cached_input": "0.10", "output": "2.00", "source": "a page"},
    {"pattern": "*", "input": "10.00", "cached_input": None, "output": "20.00", "source": "fallback"},
]
TABLE: dict[str, Any] = {
    "_meta": {"schema": "docket/prices/v1", "as_of": "2026-10-01"},
    "families": FAMILIES,
    "fallback_marker": "assumed",
}


def ledger() -> LedgerBuilder:
    """Two observed calls, one the agent asserts, two cache hits of the first, a tool, a change, a refusal."""
    built = LedgerBuilder()
    add = built.add_raw
    add(
        "session.start",
        {
            "session_id": "s1",
            "docket_number": "DKT-20261001-ABCDEF",
            "label": "x",
            "argv": ["a"],
            "cwd": "/w",
            "tool": "docket",
        },
    )
    add("policy.applied", {"name": "theirs", "digest": digest_of(POLICY), "document": POLICY, "source": None})
    stored = {"cache": {"key": "k", "stored": True}}
    add("model.response", {**_response("Tiny-1", (1000, 400, 50), "0.000740", 5), **stored})  # 600x1 + 400x.1 + 50x2
    add("model.cache_hit", {"origin": {"seq": 2, "hash": built.events[2].hash}, "key": "k"})
    add("model.cache_hit", {"origin": {"seq": 2, "hash": built.events[2].hash}, "key": "k"})
    add(
        "model.response", {**_response("mystery", (10, 0, 1), "0.000120", None), "reported_by": "agent"}
    )  # 10x10 + 1x20
    add("tool.call", {"name": "read", "reported_by": "agent"})
    add("tool.result", {"name": "read", "ok": False, "reported_by": "agent"})
    add("net.denied", {"host": "x:443", "reason": "no"})
    add("fs.change", {"path": "a.txt", "change": "added", "sha256": "ab" * 32})
    add("fs.change", {"path": "b.txt", "change": "modified"})
    add(
        "session.end",
        {"exit_code": 0, "breached": None, "interrupted": False, "duration_seconds": "1.5", "cost_usd": "0"},
    )
    return built


def receipt(built: LedgerBuilder) -> dict[str, Any]:
    """The receipt of `ledger()`, figure by figure."""
    tree = MerkleTree([event.hash for event in built.events])

    def proven(seq: int) -> dict[str, Any]:
        steps = [{"side": str(step.side), "hash": step.hash} for step in tree.path(seq)]
        return {"event_hash": built.events[seq].hash, "merkle_path": steps}

    return {
        "format": "docket/receipt/v1",
        "docket_number": "DKT-20261001-ABCDEF",
        "label": "x",
        "created_at": "12:00:00",
        "tool": {"name": "docket", "version": "0.2.8", "format": "docket/receipt/v1"},
        "session": {
            "id": "s1", "argv": ["a"], "cwd": "/w", "exit_code": 0, "duration_seconds": "1.6", "breached": None,
            "interrupted": False, "host": {},
        },
        "policy": {"name": "theirs", "digest": digest_of(POLICY), "document": POLICY, "source": None},
        "totals": {
            "calls": 2, "input_tokens": 1010, "cached_input_tokens": 400, "output_tokens": 51, "total_tokens": 1061,
            "cost_usd": "0.000860", "cost_basis": "reported: counts; 1 call(s) asserted by the agent",
            "usage_reported_calls": 2, "usage_estimated_calls": 0, "asserted_calls": 1,
            "assumed_price_models": ["mystery"],
            "by_model": [
                {"model": "mystery", "calls": 1, "input_tokens": 10, "cached_input_tokens": 0, "output_tokens": 1,
                 "cost_usd": "0.000120"},
                {"model": "Tiny-1", "calls": 1, "input_tokens": 1000, "cached_input_tokens": 400, "output_tokens": 50,
                 "cost_usd": "0.000740"},
            ],
        },
        "model_calls": {"count": 2, "by_provider": {"theirs": 2}, "denied": 0, "errors": 0},
        "tools": {"calls": 1, "names": ["read"], "failures": 1},
        "files": {"changed": 2, "added": 1, "modified": 1, "removed": 0, "violations": 0,
                  "top_paths": ["a.txt", "b.txt"]},
        "network": {"tunnels_allowed": 0, "tunnels_denied": 1},
        "caps": {"exceeded": 0, "warnings": 0},
        "event_counts": {
            "session.start": 1, "policy.applied": 1, "model.response": 2, "model.cache_hit": 2, "tool.call": 1,
            "tool.result": 1, "net.denied": 1, "fs.change": 2, "session.end": 1,
        },
        "ledger": {
            "format": "docket/ledger/v1", "events": 12, "head": built.events[-1].hash,
            "genesis": hashlib.sha256(b"docket/genesis/v1").hexdigest(), "merkle_root": tree.root,
            "file_sha256": hashlib.sha256(built.data()).hexdigest(), "chain": "theirs",
        },
        "price_table": {"schema": "docket/prices/v1", "as_of": "2026-10-01", "digest": digest_of(TABLE),
                        "document": TABLE},
        "appendix": {
            "usage": [
                {"seq": 2, "model": "Tiny-1", "provider": "theirs", "input_tokens": 1000, "cached_input_tokens": 400,
                 "output_tokens": 50, "usage_source": "reported", "cost_usd": "0.000740", "latency_ms": 5,
                 "cache_key": "k", **proven(2)},
                {"seq": 5, "model": "mystery", "provider": "theirs", "input_tokens": 10, "cached_input_tokens": 0,
                 "output_tokens": 1, "usage_source": "reported", "cost_usd": "0.000120", "asserted_by": "agent",
                 **proven(5)},
            ],
            "proof_included": True,
            "note": "theirs",
        },
        "evidence": {"ledger_complete": True, "unwritten_events": 0, "note": "theirs"},
        "ops": {"anything": {}},
        "findings": [{"rule": "theirs"}],
        "limits_disclosure": {"not_observed": ["much"]},
        "latency": {
            "method": "nearest-rank", "measured_calls": 1, "total_rows": 2, "total_ms": 5, "max_ms": 5, "p50_ms": 5,
            "p95_ms": 5, "p99_ms": 5,
        },
        "cache": {
            "enabled": True,
            "hits": 2,
            "saved_usd": "0.001480",
            "avoided_tokens": 2100,
            "by_origin": [
                {"key": "k", "origin_seq": 2, "origin_hash": built.events[2].hash, "model": "Tiny-1",
                 "usage": {"input_tokens": 1000, "cached_input_tokens": 400, "output_tokens": 50},
                 "avoided_usd_per_hit": "0.000740", "avoided_usd_total": "0.001480", "hits": 2, "first_seq": 3,
                 "last_seq": 4, **proven(3)},
            ],
        },
        "seal": None,
        "signature": None,
    }  # fmt: skip


def _response(model: str, tokens: tuple[int, int, int], cost: str, latency: int | None) -> dict[str, Any]:
    return {
        "model": model,
        "provider": "theirs",
        "usage": {"input_tokens": tokens[0], "cached_input_tokens": tokens[1], "output_tokens": tokens[2]},
        "usage_source": "reported",
        "cost_usd": cost,
        "latency_ms": latency,
        "status": 200,
    }
