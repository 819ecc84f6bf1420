// The two shapes of a receipt (spec/receipt.md, Members): docket's own, closed in every member, and v1 as other writers
// fill it, with at least its members.

import * as members from "./member_shapes.mjs";
import { LEDGER_FORMAT } from "./ledger.mjs";
import { LATENCY_METHOD } from "./latency.mjs";
import {
  amount, anything, array, constant, count, digest, each, flag, instant, integer, mapping, nullable, object, oneOf, record, text,
} from "./shapes.mjs";

export const FORMAT = "docket/receipt/v1";
const { counts, texts, tokens } = members;
const OPEN = { closed: false };

const TOTALS = {
  calls: count,
  ...tokens,
  total_tokens: count,
  cost_usd: amount,
  cost_basis: text,
  ...each(["usage_reported_calls", "usage_estimated_calls", "asserted_calls"], count),
  assumed_price_models: texts,
  by_model: array(record({ model: text, calls: count, ...tokens, cost_usd: amount })),
};
const latency = record({
  method: constant(LATENCY_METHOD),
  ...each(["measured_calls", "total_rows", "total_ms", "max_ms", "p50_ms", "p95_ms", "p99_ms"], count),
});
const PRICE = each(["pattern", "input", "output"], text);
const LEDGER = {
  format: constant(LEDGER_FORMAT),
  events: count,
  ...each(["head", "genesis", "merkle_root", "file_sha256"], digest),
};
const SESSION = {
  id: text,
  argv: texts,
  exit_code: nullable(integer),
  ...each(["duration_seconds", "breached"], nullable(text)),
  interrupted: nullable(flag),
};
const POLICY = { name: text, digest, document: object };
const CALLS = { count, by_provider: counts, denied: count, errors: count };
const FILES = { ...each(["changed", "added", "modified", "removed", "violations"], count), top_paths: texts };
const NETWORK = each(["tunnels_allowed", "tunnels_denied"], count);
const EVIDENCE = { ledger_complete: flag, unwritten_events: count };
const BOTH = {
  format: constant(FORMAT),
  docket_number: text,
  label: nullable(text),
  tools: record({ calls: count, names: texts, failures: count }),
  caps: record({ exceeded: count, warnings: count }),
  event_counts: counts,
  findings: array(anything),
  limits_disclosure: mapping(texts),
  seal: nullable(object),
  signature: nullable(object),
};
const ROW = {
  seq: count,
  model: text,
  provider: text,
  ...tokens,
  usage_source: oneOf("reported", "estimated"),
  cost_usd: amount,
  event_hash: digest,
};
const FULL_USAGE = [
  "input_tokens", "cached_input_tokens", "output_tokens", "cache_write_tokens", "cache_write_5m_tokens",
  "cache_write_30m_tokens", "cache_write_1h_tokens", "cache_write_12h_tokens", "reasoning_tokens", "audio_input_tokens",
  "audio_output_tokens", "web_searches", "file_searches",
];
const LATER_USAGE = ["image_input_tokens", "image_output_tokens", "code_sessions", "audio_seconds"];
const CHAIN = "hash = sha256(canonical {data, prev, seq, ts, type}); prev = hash of the event before";
const PROOF_NOTE =
  "Each row names its ledger event by number and hash and leads to ledger.merkle_root by its path. Its cost is " +
  "recomputed from its tokens and the embedded price table alone.";

const ours = record({
  ...BOTH,
  created_at: instant,
  tool: record({ name: text, version: text, format: constant(FORMAT), fold: text }),
  session: record({
    ...SESSION,
    cwd: text,
    agent: text,
    started_at: instant,
    exit_source: nullable(text),
    agent_exit: nullable(object),
    host: object,
  }, { argv_b64: texts, cwd_b64: text }),
  policy: nullable(record({ ...POLICY, source: nullable(text) })),
  boundary: record({ admission: text, listener: object, upstream_overrides: object }),
  totals: record(TOTALS),
  model_calls: record({
    ...CALLS,
    admitted: count,
    unsettled: integer,
    ...each(["outcomes", "denied_by_reason", "errors_by_reason"], counts),
    ...each(["estimated", "altered", "other_exchanges"], count),
    usage: record(each(FULL_USAGE, count), each(LATER_USAGE, count)),
  }),
  budget: nullable(object),
  files: record({
    ...FILES,
    retyped: count,
    violations_by_rule: counts,
    passes: record({ before: nullable(members.pass), after: nullable(members.pass) }),
  }),
  network: record({ ...NETWORK, turned_away: count }),
  notes: counts,
  ledger: record({ ...LEDGER, chain: constant(CHAIN) }),
  price_table: record({
    schema: constant("docket/prices/v1"),
    as_of: nullable(text),
    digest,
    document: record({ _meta: object, families: array(record({ ...PRICE, source: text }, { cached_input: text })) }),
  }),
  appendix: record({
    usage: array(record({ ...ROW, merkle_path: members.merklePath }, { latency_ms: count, cache_key: text })),
    proof_included: constant(true),
    note: constant(PROOF_NOTE),
  }),
  evidence: record({ ...EVIDENCE, ended: flag, first_failing_seq: nullable(count), write_failures: count, note: text }),
  ops: members.ops,
  isolation: nullable(record({ launcher: texts })),
}, {
  latency,
  pools: members.pools,
  asserted: record({ calls: count, ...tokens, notes: counts }),
  cache: members.cache,
  responses: record(each(["kept", "kept_bytes", "truncated", "not_kept"], count)),
  workspace: members.workspace,
  windows: members.windows,
  proof: members.proof,
});

const OPTIONAL_ROW = {
  merkle_path: members.merklePath,
  latency_ms: nullable(count),
  cache_key: nullable(text),
  asserted_by: nullable(text),
};

const v1 = record({
  ...BOTH,
  created_at: text,
  tool: record({ name: text, version: text }, { format: constant(FORMAT) }, OPEN),
  session: record({ ...SESSION, cwd: nullable(text) }, {}, OPEN),
  policy: nullable(record(POLICY, {}, OPEN)),
  totals: record(TOTALS, {}, OPEN),
  model_calls: record(CALLS, {}, OPEN),
  tools: record({ calls: count, names: texts, failures: count }, {}, OPEN),
  files: record(FILES, {}, OPEN),
  network: record(NETWORK, {}, OPEN),
  caps: record({ exceeded: count, warnings: count }, {}, OPEN),
  ledger: record(LEDGER, {}, OPEN),
  price_table: record({ digest, document: record({ families: array(record(PRICE, {}, OPEN)) }, {}, OPEN) }, {}, OPEN),
  appendix: record({ usage: array(record(ROW, OPTIONAL_ROW, OPEN)), proof_included: flag }, {}, OPEN),
  evidence: record(EVIDENCE, {}, OPEN),
}, { latency, cache: object }, OPEN);

// Null, or a sentence that names the first member which has not its form.
export const checkReceipt = (document, isOurs) => (isOurs ? ours : v1)(document, "receipt");
