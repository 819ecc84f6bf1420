// What a ledger says of its response cache, and how often each reply was given again (spec/course.md, Cache).

import { microsOf } from "../money.mjs";
import { isObject, objectAt } from "./values.mjs";

const HITS = new Set(["model.cache_hit", "x-docket.cache-hit"]);
const REPEATED = ["provider", "status", "streaming", "usage_source", "response_bytes", "response_sha256"];
const TOKENS = ["input_tokens", "cached_input_tokens", "output_tokens"];
const CEILING = "cache.hits_ceiling_reached";
const SECONDS = /^(0|[1-9][0-9]{0,9})(?:\.([0-9]{1,6}))?$/;

// One follower for the checks of the cache; `originFault` and `savingFault` are the first of their kind.
export class Replay {
  constructor() {
    this.originFault = null;
    this.savingFault = null;
    this.hits = new Map();
    this.stored = new Map();
    this.replies = new Map();
    this.count = 0;
    this.enabled = false;
    this.maxHits = 0;
    this.lifetime = 0n;
  }

  observe(event) {
    if (!event.known) return;
    const { seq, type, data, hash } = event;
    const at = (fault) => (fault === null ? null : `event ${seq} (${type}): ${fault}`);
    if (type === "policy.applied") this.#policy(objectAt(data.document, "cache"));
    else if (type === "model.response" && data.cache !== undefined) {
      this.replies.set(seq, data);
      this.originFault ??= at(this.#reply(seq, hash, data));
    } else if (HITS.has(type)) {
      this.count += 1;
      this.#counted(data.origin.seq, data.origin.hash, seq);
      this.originFault ??= at(this.#allowed(data) ?? this.#repeats(type, data));
      const reply = this.replies.get(data.origin.seq);
      const isDear = reply === undefined || reply.cost_usd === data.avoided_cost_usd;
      this.savingFault ??= at(isDear ? null : `avoided_cost_usd is not what event ${data.origin.seq} cost`);
    } else if (type === "note" && data.event === CEILING) this.originFault ??= at(this.#ceiling(data));
  }

  // Of another writer's ledger only what v1 itself says of hits is known (spec/course.md, Other writers).
  observePublic({ seq, type, data, hash }) {
    if (type === "model.response") {
      const mark = data.cache;
      if (isObject(mark) && mark.stored === true && typeof mark.key === "string" && isRow(data)) {
        this.stored.set(seq, { hash, key: mark.key });
      }
    } else if (type === "model.cache_hit") {
      const origin = isObject(data.origin) ? data.origin : {};
      if (typeof origin.seq !== "number" || typeof origin.hash !== "string") return;
      const reply = this.stored.get(origin.seq);
      const held = reply !== undefined && reply.hash === origin.hash && reply.key === data.key;
      if (!held) this.originFault ??= `event ${seq}: event ${origin.seq} is no earlier reply stored under its key`;
      this.#counted(origin.seq, origin.hash, seq);
    }
  }

  // How often the reply at `seq` with this hash was given again, and where first and last.
  hitsOf(seq, hash) {
    return this.hits.get(`${seq} ${hash}`) ?? { hits: 0, first: -1, last: -1 };
  }

  #counted(seq, hash, at) {
    const key = `${seq} ${hash}`;
    const found = this.hits.get(key);
    this.hits.set(key, { hits: (found?.hits ?? 0) + 1, first: found?.first ?? at, last: at });
  }

  #policy(section) {
    this.enabled = section.enabled === true;
    this.maxHits = typeof section.max_hits === "number" ? section.max_hits : 0;
    this.lifetime = microseconds(section.ttl_seconds);
  }

  #reply(seq, hash, data) {
    const mark = data.cache;
    if (!this.enabled) return "cache stands in it, the policy has none";
    if (!mark.stored) return mark.reason === undefined ? "cache.reason is missing" : null;
    if (mark.key === undefined || mark.reason !== undefined) return "a reply that was stored has a key and no reason";
    if (data.status !== 200 || data.outcome !== "complete") return "it was stored and is no whole reply of status 200";
    if (data.components.length > 0) this.stored.set(seq, { hash, reply: data });
    return null;
  }

  #allowed(data) {
    if (!this.enabled) return "the policy has no cache";
    if (this.maxHits > 0 && this.count > this.maxHits) return `the policy's ceiling is ${this.maxHits}, this is hit ${this.count}`;
    const age = BigInt(data.age_ms) * 1000n;
    return this.lifetime > 0n && age > this.lifetime ? `its reply is ${data.age_ms} ms old, past its lifetime` : null;
  }

  #repeats(type, data) {
    const { seq, hash } = data.origin;
    const found = this.stored.get(seq);
    if (found === undefined || found.hash !== hash) return `event ${seq} is no earlier reply that was stored`;
    const { reply } = found;
    const base = reply.components.at(-1);
    if (reply.cache.key !== data.key) return `key is not that of event ${seq}`;
    if (base.model !== data.model) return `event ${seq} was priced as another model`;
    const isOneRow = reply.components.length === 1 && TOKENS.every((name) => reply.usage[name] === base[name]);
    if (isOneRow !== (type === "model.cache_hit")) return `its type does not fit the components of event ${seq}`;
    const other = REPEATED.find((name) => reply[name] !== data[name]);
    if (other !== undefined) return `${other} is not that of event ${seq}`;
    return sameUsage(reply.usage, data.usage) ? null : `usage is not that of event ${seq}`;
  }

  #ceiling(note) {
    if (note.reported_by !== undefined) return "the agent may not say that the ceiling is reached";
    return this.maxHits > 0 && this.maxHits === this.count ? null : `the ceiling is not reached by ${this.count} hits`;
  }
}

function sameUsage(left, right) {
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((name) => left[name] === right[name]);
}

// Seconds of a policy, an integer or a decimal text, in microseconds; anything else is no limit.
function microseconds(value) {
  const match = typeof value === "string" || typeof value === "number" ? SECONDS.exec(String(value)) : null;
  return match === null ? 0n : BigInt(match[1]) * 1_000_000n + BigInt((match[2] ?? "").padEnd(6, "0"));
}

// Whether a usage row of another writer can be read of this reply.
function isRow(data) {
  const { usage } = data;
  if (!isObject(usage) || !["reported", "estimated"].includes(data.usage_source)) return false;
  if (typeof data.model !== "string" || typeof data.provider !== "string") return false;
  const counts = TOKENS.map((name) => usage[name] ?? (name in usage ? null : 0));
  return counts.every((count) => typeof count === "number" && count >= 0) && microsOf(data.cost_usd) !== null;
}
