// All checks after receipt-format and receipt-shape, by their registered names and in their order
// (spec/receipt.md, Checks). A class is made anew for each verification and is given its Course.

import * as checkpoints from "./checkpoints.mjs";
import * as course from "./course/checks.mjs";
import * as keys from "./keys.mjs";
import * as ledger from "./chain.mjs";
import * as rebuild from "./rebuild/checks.mjs";
import * as rollback from "./rollback.mjs";
import * as rows from "./rows.mjs";
import * as statements from "./statements.mjs";
import * as sums from "./sums.mjs";

export const CHECKS = [
  ["format", statements.Format],
  ["ledger-chain", ledger.LedgerChain],
  ["retained-responses", course.RetainedResponses],
  ["head", ledger.Head],
  ["event-count", ledger.EventCount],
  ["merkle-root", ledger.MerkleRoot],
  ["ledger-file-digest", ledger.LedgerFileDigest],
  ["usage-inclusion-proofs", rows.UsageInclusionProofs],
  ["usage-rows-rebound", rows.UsageRowsRebound],
  ["cost-recomputation", rows.CostRecomputation],
  ["totals", sums.Totals],
  ["token-totals", sums.TokenTotals],
  ["cached-totals", sums.CachedTotals],
  ["assumed-prices", sums.AssumedPrices],
  ["by-model-totals", sums.ByModelTotals],
  ["usage-source-counts", sums.UsageSourceCounts],
  ["cost-basis", sums.CostBasis],
  ["latency-summary", sums.LatencySummary],
  ["cache-savings", course.CacheSavings],
  ["cache-hit-origins", course.CacheHitOrigins],
  ["cache-hit-proofs", course.CacheHitProofs],
  ["seal", keys.Seal],
  ["signature", keys.Signature],
  ["limits-disclosure", rebuild.LimitsDisclosure],
  ["evidence-completeness", statements.EvidenceCompleteness],
  ["ledger-payloads", course.LedgerPayloads],
  ["session-shape", course.SessionShape],
  ["event-order", course.EventOrder],
  ["components", course.Components],
  ["cap-limits", course.CapLimits],
  ["policy-digest", statements.PolicyDigest],
  ["price-table-digest", statements.PriceTableDigest],
  ["receipt-rebuild", rebuild.ReceiptRebuild],
  ["tool-windows", course.ToolWindows],
  ["tool-deltas", course.ToolDeltas],
  ["proof-facts", keys.ProofFacts],
  ["checkpoints", checkpoints.Checkpoints],
  ["rollback", rollback.Rollback],
];
