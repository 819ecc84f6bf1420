// Shapes of the larger members of a receipt of docket's own (spec/receipt.md, Members in full).

import { isObject } from "./canonical.mjs";
import {
  amount, anything, array, constant, count, digest, each, flag, mapping, nullable, record, text,
} from "./shapes.mjs";

export const counts = mapping(count);
export const texts = array(text);
export const tokens = each(["input_tokens", "cached_input_tokens", "output_tokens"], count);

const PATH = { path: text, path_b64: text };
const PASS = {
  roots: texts,
  ...each(["files", "directories", "symlinks", "omissions", "bytes_watched"], count),
  tree_sha256: digest,
};

export const pass = record(PASS, { unread: count });

const snapshot = record({ taken: flag }, {
  ...PASS,
  ...each(["bytes_stored", "bytes_shared", "needed", "allowed"], count),
  ...each(["format", "store", "reason", "detail"], text),
  manifest_sha256: digest,
  not_covered: array(record({ reason: text }, PATH)),
  not_covered_count: nullable(count),
});

const rollback = record({ applied: flag, trigger: text }, {
  ...each(["restored", "already", "refused", "kept", "not_covered"], count),
  ...each(["reason", "detail", "record"], text),
  plan_sha256: digest,
  refusals: array(record({ reason: text }, { ...PATH, detail: text })),
});

const breaker = record({
  state: text,
  ...each(["consecutive_failures", "total_failures", "total_successes", "openings", "cooldown_ms"], count),
});

const limiter = record({
  per_minute: nullable(count),
  per_second: nullable(text),
  ...each(["allowed", "refused", "waited", "waited_ms", "longest_wait_ms"], count),
});

export const ops = record({
  circuit_breaker: mapping(breaker),
  rate_limiter: nullable(limiter),
  snapshot: nullable(snapshot),
  rollback: nullable(rollback),
}, {
  chaos_run: constant(true),
  fault_injection: record({ seed: count, spec: texts, injections: count, upstream_asked: count, by_kind: counts }),
});

const group = record({
  ...each(["key", "model", "usage_source"], text),
  ...each(["origin_seq", "hits", "first_seq", "last_seq"], count),
  ...each(["origin_hash", "event_hash"], digest),
  usage: counts,
  ...each(["avoided_usd_per_hit", "avoided_usd_total"], amount),
  merkle_path: array(anything),
});
const HITS = { hits: count, saved_usd: amount, avoided_tokens: count, by_origin: array(group) };

export const cache = record(
  { enabled: flag, policy: mapping(anything), ...HITS, hits_ceiling_reached: flag, note: text },
  { component_hits: record(HITS) },
);

export const pools = array(record({
  pool: text,
  ...each(["daily_usd", "weekly_usd", "total_usd", "spent_usd", "unknown_usd", "overshoot_usd", "bound_usd"], nullable(amount)),
}));

const NOT_TRANSACTIONAL = ["network-calls", "database-writes", "processes-started", "paths-outside-the-declared-surface"];

function notTransactional(value, where) {
  const held = Array.isArray(value) && value.length === NOT_TRANSACTIONAL.length && NOT_TRANSACTIONAL.every((one, at) => value[at] === one);
  return held ? null : `${where} is not the list of what no transaction covers`;
}

export const workspace = record({
  committed: flag,
  outcome: text,
  reason: nullable(text),
  detail: nullable(text),
  not_transactional: notTransactional,
}, {
  ...each(["transaction", "backend", "view", "settle", "store", "approval"], text),
  ...each(["base_sha256", "result_sha256", "diff_sha256"], digest),
  surface: record(each(["excluded", "shared", "protected"], count)),
  staged: record(each(["files", "directories", "symlinks", "bytes", "not_preserved"], count)),
  changes: record(each(["added", "modified", "removed", "retyped"], count)),
  decision: record({ is: text, reason: nullable(text), detail: nullable(text) }),
  approved: flag,
  plan_sha256: nullable(digest),
  ...each(["applied", "already", "refused"], nullable(count)),
  protected_changes: count,
  base_moved: flag,
  digests_cover: constant("changes"),
  unread: count,
  refusals: array(record({ reason: text }, { ...PATH, detail: text, transaction: text })),
  not_preserved: array(record({ reason: text }, { ...PATH, detail: text })),
  excluded_writes: array(record({}, PATH)),
  excluded_write_count: count,
});

const window = record({
  window_id: text,
  id: nullable(text),
  name: text,
  asked_by: nullable(record({ ...each(["call", "seq", "tools"], count), share_usd: amount, derived: constant(true) })),
  before: nullable(record({ seq: count }, each(["group_id", "tree", "hashes", "head", "reason"], text))),
  after: nullable(record({ seq: count, ok: flag })),
  delta: nullable(record({
    ...each(["seq", "members", "files"], count),
    ...each(["scope", "status"], text),
    ...each(["delta_sha256", "event_hash"], digest),
    merkle_path: array(anything),
  }, each(["group_id", "reason", "tree_before", "tree_after"], text))),
}, each(["repository", "provider", "session_id", "turn_id", "mode"], text));

export const windows = record({
  ...each(["count", "complete", "partial", "open", "groups", "files"], count),
  ...each(["partial_by_reason", "hooks_lost"], counts),
  tools: array(window),
  note: text,
});

export const proof = record({
  origin: text,
  project: text,
  run: count,
  previous: nullable(record({ session: text, events: count, head: digest, receipt_sha256: digest })),
  signature: nullable(record({ alg: constant("ed25519"), public_key: text })),
  seal: nullable(record({ alg: constant("hmac-sha256"), key_id: text })),
});

const MAX_PATH_STEPS = 64;

// A Merkle path of at most 64 steps.
export function merklePath(value, where) {
  if (!Array.isArray(value)) return `${where} is not an array`;
  if (value.length > MAX_PATH_STEPS) return `${where} has more than ${MAX_PATH_STEPS} steps`;
  for (const [index, step] of value.entries()) {
    const held = isObject(step) && Object.keys(step).length === 2 && (step.side === "left" || step.side === "right") && digest(step.hash, "") === null;
    if (!held) return `${where}[${index}] is not a side, left or right, and a hash`;
  }
  return null;
}
