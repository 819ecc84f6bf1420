"""Percentiles over latencies by nearest rank (spec/receipt.md, Latency)."""

from __future__ import annotations

from collections.abc import Sequence

from docket.formats.canonical import JsonValue
from docket.formats.run.receipt import LATENCY_METHOD


def summary(latencies_ms: Sequence[int], total_rows: int) -> dict[str, JsonValue] | None:
    """Return the closed latency object, or None where no row was measured.

    Nearest rank: the p-th percentile of n sorted values is the one at position ceil(p*n/100), counted from 1.
    """
    if not latencies_ms:
        return None
    ordered = sorted(latencies_ms)
    return {
        "method": LATENCY_METHOD,
        "measured_calls": len(ordered),
        "total_rows": total_rows,
        "total_ms": sum(ordered),
        "max_ms": ordered[-1],
        "p50_ms": _nearest_rank(ordered, 50),
        "p95_ms": _nearest_rank(ordered, 95),
        "p99_ms": _nearest_rank(ordered, 99),
    }


def _nearest_rank(ordered: Sequence[int], percent: int) -> int:
    rank = -(-percent * len(ordered) // 100)
    return ordered[max(rank, 1) - 1]
