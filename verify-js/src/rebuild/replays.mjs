// The fold over the response cache and kept bodies: the receipt members `cache` and `responses`.

import { encode } from "../canonical.mjs";
import { microsOf, spelledUsd } from "../money.mjs";
import { objectAt } from "./course.mjs";
import { SENTENCES } from "./lists.mjs";
import { plus, sumOf } from "./tally.mjs";

export class CacheFold {
  constructor() {
    this.groups = new Map();
  }

  hit({ seq, hash, type, data }) {
    const { origin, key, model, usage, usage_source, avoided_cost_usd } = data;
    const name = encode([type, origin, key, model, usage, usage_source, avoided_cost_usd]);
    if (!this.groups.has(name)) this.groups.set(name, { type, data, seq, hash, hits: 0, last: seq });
    const group = this.groups.get(name);
    group.hits += 1;
    group.last = seq;
  }

  // `pathOf` gives the path of an event by its number. Null where there was no cache.
  member(policy, ceilingReached, pathOf) {
    const section = objectAt(policy, "cache");
    const enabled = section.enabled === true;
    if (!enabled && this.groups.size === 0) return null;
    const groups = [...this.groups.values()];
    const several = groups.filter((group) => group.type !== "model.cache_hit");
    const member = {
      enabled,
      policy: section,
      ...sums(groups.filter((group) => group.type === "model.cache_hit"), pathOf),
      hits_ceiling_reached: ceilingReached,
      note: SENTENCES.cache,
    };
    return several.length === 0 ? member : { ...member, component_hits: sums(several, pathOf) };
  }
}

// Groups stand in the order of their first hits, in which the map has them.
function sums(groups, pathOf) {
  const saved = (group) => microsOf(group.data.avoided_cost_usd) * BigInt(group.hits);
  const tokens = ({ data, hits }) => times(plus(data.usage.input_tokens, data.usage.output_tokens), hits);
  return {
    hits: sumOf(groups.map((group) => group.hits)),
    saved_usd: spelledUsd(groups.reduce((sum, group) => sum + saved(group), 0n)),
    avoided_tokens: sumOf(groups.map(tokens)),
    by_origin: groups.map((group) => ({
      key: group.data.key,
      origin_seq: group.data.origin.seq,
      origin_hash: group.data.origin.hash,
      model: group.data.model,
      usage: group.data.usage,
      usage_source: group.data.usage_source,
      avoided_usd_per_hit: group.data.avoided_cost_usd,
      avoided_usd_total: spelledUsd(saved(group)),
      hits: group.hits,
      first_seq: group.seq,
      last_seq: group.last,
      event_hash: group.hash,
      merkle_path: pathOf(group.seq),
    })),
  };
}

const times = (count, by) => plus(BigInt(count) * BigInt(by), 0);

export class ResponsesFold {
  constructor() {
    this.kept = 0;
    this.keptBytes = 0;
    this.truncated = 0;
    this.notKept = 0;
  }

  response(data) {
    if (data.response_retained === true) this.kept += 1;
    if (data.response_retained === false) this.notKept += 1;
    if (data.response_truncated === true) this.truncated += 1;
    this.keptBytes = plus(this.keptBytes, data.response_stored_bytes ?? 0);
  }

  member(policy) {
    if (objectAt(policy, "evidence").record_responses !== true) return null;
    return { kept: this.kept, kept_bytes: this.keptBytes, truncated: this.truncated, not_kept: this.notKept };
  }
}
