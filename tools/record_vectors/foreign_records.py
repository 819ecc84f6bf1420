"""Scenarios of other writers' records: the public members alone are held to, and others may stand beside them."""

from __future__ import annotations

from collections.abc import Iterator

from record_vectors.primitives import GENESIS, Json, chained, digest, digest_of, lines_of, path, root
from record_vectors.scenario import Scenario, Side, doctored, printed, twin

POLICY: Json = {"name": "theirs", "caps": {"max_usd": "3.00"}}
TABLE: Json = {
    "_meta": {"schema": "docket/prices/v1", "as_of": "2026-11-01"},
    "families": [
        {"pattern": "tiny", "input": "1", "cached_input": "0.5", "output": "2", "source": "a page"},
        {"pattern": "*", "input": "10", "cached_input": None, "output": "20", "source": "a guess"},
    ],
}
START: Json = {
    "session_id": "theirs-1",
    "docket_number": "DKT-20261105-7EE1E5",
    "label": None,
    "argv": ["b"],
    "cwd": "/w",
}
END: Json = {"exit_code": 0, "breached": None, "interrupted": False, "duration_seconds": "3", "cost_usd": "0.000230"}


def _reply(model: str, counts: tuple[int, int, int], cost: str, **more: object) -> Json:
    usage = dict(zip(("input_tokens", "cached_input_tokens", "output_tokens"), counts, strict=True))
    return {"model": model, "provider": "p", "usage": usage, "usage_source": "reported", "cost_usd": cost, **more}


def events() -> list[Json]:
    """A call that was seen and one that the agent asserts."""
    told: list[tuple[str, Json]] = [
        ("session.start", START),
        ("policy.applied", {"name": "theirs", "digest": digest_of(POLICY), "document": POLICY}),
        ("model.response", _reply("tiny", (100, 40, 5), "0.000090", latency_ms=7)),  # 60 + 20 + 10
        ("model.response", _reply("big", (10, 0, 2), "0.000140", reported_by="agent")),  # 100 + 40
        ("tool.call", {"name": "read"}),
        ("fs.change", {"path": "a", "change": "added", "anything": None}),
        ("theirs.own", {"x": [1]}),
        ("session.end", END),
    ]
    return chained([{"type": type_, "ts": f"8 o'clock {seq}", "data": data} for seq, (type_, data) in enumerate(told)])


def theirs() -> Side:
    """Their record, which names no fold."""
    of = events()
    return Side(receipt=printed(receipt(of)), ledger=lines_of(of))


def receipt(of: list[Json]) -> Json:
    """Their receipt, figure by figure."""
    hashes = [event["hash"] for event in of]

    def row(seq: int, **more: object) -> Json:
        data = of[seq]["data"]
        told = {name: data[name] for name in ("model", "provider", "usage_source", "cost_usd")}
        return {
            "seq": seq,
            **told,
            **data["usage"],
            "event_hash": hashes[seq],
            "merkle_path": path(hashes, seq),
            **more,
        }

    kinds = [event["type"] for event in of]
    sums = {
        "model": "big",
        "calls": 1,
        "input_tokens": 10,
        "cached_input_tokens": 0,
        "output_tokens": 2,
        "cost_usd": "0.000140",
    }
    tiny = {
        "model": "tiny",
        "calls": 1,
        "input_tokens": 100,
        "cached_input_tokens": 40,
        "output_tokens": 5,
        "cost_usd": "0.000090",
    }
    return {
        "format": "docket/receipt/v1", "docket_number": START["docket_number"], "label": None, "created_at": "later",
        "tool": {"name": "their-docket", "version": "9"},
        "session": {"id": "theirs-1", "argv": ["b"], "cwd": "/w", "exit_code": 0, "duration_seconds": "3.2",
                    "breached": None, "interrupted": False},
        "policy": {"name": "theirs", "digest": digest_of(POLICY), "document": POLICY, "source": None},
        "totals": {
            "calls": 2, "input_tokens": 110, "cached_input_tokens": 40, "output_tokens": 7, "total_tokens": 117,
            "cost_usd": "0.000230", "cost_basis": "reported: as they came; 1 asserted by the agent",
            "usage_reported_calls": 2, "usage_estimated_calls": 0, "asserted_calls": 1, "assumed_price_models": ["big"],
            "by_model": [sums, tiny],
        },
        "model_calls": {"count": 2, "by_provider": {"p": 2}, "denied": 0, "errors": 0},
        "tools": {"calls": 1, "names": ["read"], "failures": 0},
        "files": {"changed": 1, "added": 1, "modified": 0, "removed": 0, "violations": 0, "top_paths": ["a"]},
        "network": {"tunnels_allowed": 0, "tunnels_denied": 0},
        "caps": {"exceeded": 0, "warnings": 0},
        "event_counts": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
        "ledger": {"format": "docket/ledger/v1", "events": len(of), "head": hashes[-1], "genesis": GENESIS,
                   "merkle_root": root(hashes), "file_sha256": digest(lines_of(of)), "chain": "as in v1"},
        "price_table": {"schema": "docket/prices/v1", "as_of": "2026-11-01", "digest": digest_of(TABLE),
                        "document": TABLE},
        "appendix": {"usage": [row(2, latency_ms=7), row(3, asserted_by="agent")], "proof_included": True,
                     "note": "theirs"},
        "evidence": {"ledger_complete": True, "unwritten_events": 0},
        "findings": [{"anything": True}],
        "limits_disclosure": {"not_observed": ["most of it"]},
        "latency": {"method": "nearest-rank", "measured_calls": 1, "total_rows": 2, "total_ms": 7, "max_ms": 7,
                    "p50_ms": 7, "p95_ms": 7, "p99_ms": 7},
        "seal": None, "signature": None,
    }  # fmt: skip


def scenarios() -> Iterator[Scenario]:
    """Every scenario."""
    good = theirs()
    yield Scenario(name="theirs", says="another writer's record, with members and a type of its own", accepted=good)
    for name, says, fails, change in (
        ("member-missing", "a public member is there", "receipt-shape", lambda r: r.pop("caps") and None),
        ("cost-lower", "a row costs what its event says", "usage-rows-rebound", _cheaper),
        ("assertion-as-seen", "a row says that the agent asserted it", "usage-rows-rebound", _seen),
        ("exit-other", "the end is the ledger's", "receipt-rebuild", lambda r: r["session"].update(exit_code=1)),
        ("file-other", "so are the paths", "receipt-rebuild", lambda r: r["files"].update(top_paths=["b"])),
        ("count-of-no-event", "and the counts by type", "event-count", lambda r: r["event_counts"].update({"x": 1})),
        ("limits-none", "a receipt says what it does not show", "limits-disclosure",
         lambda r: r["limits_disclosure"].update(not_observed=[])),
        ("fold-unknown", "a receipt of a later fold is not read", "format",
         lambda r: r["tool"].update(fold="docket/fold/v9")),
    ):  # fmt: skip
        yield doctored(f"theirs-{name}", says, fails, good, change)
    of = events()
    of[0]["data"] = {**START, "fold": "docket/fold/v9"}
    later = chained([{name: event[name] for name in ("type", "ts", "data")} for event in of])
    told = receipt(later)
    told["tool"]["fold"] = "docket/fold/v9"
    yield twin("fold-unknown-to-both", "a record of a later fold is not read", "format", good,
               receipt=printed(told), ledger=lines_of(later))  # fmt: skip


def _cheaper(receipt: Json) -> None:
    row, totals = receipt["appendix"]["usage"][0], receipt["totals"]
    counts = {"input_tokens": 50, "cached_input_tokens": 40, "output_tokens": 5, "cost_usd": "0.000040"}  # 10 + 20 + 10
    row.update(counts)
    totals["by_model"][1].update(counts)
    totals.update(input_tokens=60, total_tokens=67, cost_usd="0.000180")


def _seen(receipt: Json) -> None:
    receipt["appendix"]["usage"][1].pop("asserted_by")
    receipt["totals"].update(asserted_calls=0, cost_basis="reported: as they came")
