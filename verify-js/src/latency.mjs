// The summary of latencies by nearest rank (spec/receipt.md, Latency).

import { plain } from "./canonical.mjs";

const LATENCY_METHOD = "nearest-rank";

// The object over the measured latencies, or null where none was measured.
export function latencySummary(measured, totalRows) {
  if (measured.length === 0) return null;
  const sorted = Float64Array.from(measured).sort();
  const rank = (percent) => sorted[Math.max(Math.ceil((percent * sorted.length) / 100), 1) - 1];
  return plain({
    method: LATENCY_METHOD,
    measured_calls: sorted.length,
    total_rows: totalRows,
    total_ms: sorted.reduce((sum, one) => sum + one, 0),
    max_ms: sorted.at(-1),
    p50_ms: rank(50),
    p95_ms: rank(95),
    p99_ms: rank(99),
  });
}
