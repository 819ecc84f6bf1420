// cache-savings, cache-hit-origins and cache-hit-proofs: what a receipt says its response cache saved.

import { isText } from "../canonical.mjs";
import { DAMAGED, NO_LEDGER, fail, pass, skip } from "../case.mjs";
import { familiesOf } from "../families.mjs";
import { rootFromPath } from "../merkle.mjs";
import { amount, array, count, digest, oneOf, record, text } from "../shapes.mjs";
import { countOf } from "../wording.mjs";
import { Replay } from "./replay.mjs";
import { dollars, isObject, micros, shown } from "./values.mjs";

const NO_CACHE = "this run had no response cache";
const MAX_STEPS = 64;
const TOKENS = ["input_tokens", "cached_input_tokens", "output_tokens"];

const open = { closed: false };
const STEP = record({ side: oneOf("left", "right"), hash: digest });
const GROUP = record(
  {
    key: text,
    origin_seq: count,
    origin_hash: digest,
    model: text,
    usage: record({ input_tokens: count, cached_input_tokens: count, output_tokens: count }, {}, open),
    avoided_usd_per_hit: amount,
    avoided_usd_total: amount,
    hits: (value, where) => count(value, where) ?? (value < 1 ? `${where} is below 1` : null),
    first_seq: count,
    last_seq: count,
    event_hash: digest,
    merkle_path: (value, where) => array(STEP)(value, where) ?? (value.length > MAX_STEPS ? `${where} is too long` : null),
  },
  {},
  open,
);
const GROUPS = record({ by_origin: array(GROUP) }, {}, open);
const SUMS = record({ hits: count, avoided_tokens: count, saved_usd: amount }, {}, open);

// The member `cache` as [{where, several, groups, member}], those of one usage row first; or a sentence.
function lists(receipt) {
  const cache = receipt.part("cache");
  const found = [{ where: "cache", several: false, member: cache }];
  if (isObject(cache) && cache.component_hits !== undefined) {
    found.push({ where: "cache.component_hits", several: true, member: cache.component_hits });
  }
  for (const list of found) {
    const fault = GROUPS(list.member, list.where);
    if (fault !== null) return fault;
    list.groups = list.member.by_origin.map((group, index) => ({ group, where: `${list.where}.by_origin[${index}]` }));
  }
  return found;
}

const hasCache = (receipt) => (receipt.part("cache") ?? null) !== null;

export class CacheSavings {
  constructor(course) {
    this.replay = course.follow("cache", Replay);
  }

  finish({ ledger, receipt }) {
    if (!hasCache(receipt)) {
      const counts = receipt.part("event_counts");
      const told = ["model.cache_hit", "x-docket.cache-hit"].find((type) => counts[type]);
      return told === undefined ? skip(NO_CACHE) : fail(`event_counts has ${told}, the receipt has no member cache`);
    }
    const families = familiesOf(receipt);
    if (isText(families)) return fail(families);
    const found = lists(receipt);
    if (!Array.isArray(found)) return fail(found);
    const fault = savings(receipt, found, families) ?? (ledger === null ? null : this.replay.savingFault);
    return fault === null ? pass(`hits avoided ${receipt.part("cache", "saved_usd")} dollars`) : fail(fault);
  }
}

function savings(receipt, found, families) {
  for (const { member, where, groups, several } of found) {
    const sums = { hits: 0n, avoided_tokens: 0n, saved_usd: 0n };
    for (const { group, where: at } of groups) {
      const cost = several ? costOfRows(receipt, group, families) : families.cost(group.model, group.usage);
      if (cost === null) return `${at}: no family of the table prices ${shown(group.model)}`;
      if (cost !== micros(group.avoided_usd_per_hit)) return `${at}.avoided_usd_per_hit is not ${dollars(cost)}`;
      const hits = BigInt(group.hits);
      if (micros(group.avoided_usd_total) !== cost * hits) return `${at}.avoided_usd_total is not ${hits} times that`;
      sums.hits += hits;
      sums.avoided_tokens += hits * (BigInt(group.usage.input_tokens) + BigInt(group.usage.output_tokens));
      sums.saved_usd += hits * cost;
    }
    const shape = SUMS(member, where);
    if (shape !== null) return shape;
    if (BigInt(member.hits) !== sums.hits) return `${where}.hits is not the sum of its groups`;
    if (BigInt(member.avoided_tokens) !== sums.avoided_tokens) return `${where}.avoided_tokens is not that of its groups`;
    if (micros(member.saved_usd) !== sums.saved_usd) return `${where}.saved_usd is not the sum of its groups`;
  }
  return null;
}

// What the rows of a reply cost together; null where there are none, or one has no price.
function costOfRows(receipt, group, families) {
  const costs = receipt.rows.filter((row) => row.seq === group.origin_seq).map((row) => families.cost(row.model, row));
  return costs.length === 0 || costs.includes(null) ? null : costs.reduce((sum, cost) => sum + cost, 0n);
}

export class CacheHitOrigins {
  constructor(course) {
    this.replay = course.follow("cache", Replay);
  }

  finish({ ledger, receipt }) {
    // What the events say comes first, with or without a cache: it names the one that is wrong.
    if (ledger !== null && this.replay.originFault !== null) return fail(this.replay.originFault);
    if (!hasCache(receipt)) return skip(NO_CACHE);
    const found = lists(receipt);
    if (!Array.isArray(found)) return fail(found);
    const fault = origins(receipt, found);
    if (fault !== null) return fail(fault);
    if (ledger === null) return skip(NO_LEDGER);
    if (!ledger.sound) return skip(DAMAGED);
    const other = this.#hits(ledger, found);
    return other === null ? pass("the groups are the ledger's hits") : fail(other);
  }

  #hits(ledger, found) {
    const left = new Map(this.replay.hits);
    for (const { group, where } of found.flatMap(({ groups }) => groups)) {
      const key = `${group.origin_seq} ${group.origin_hash}`;
      const { hits, first, last } = left.get(key) ?? { hits: 0 };
      left.delete(key);
      if (hits !== group.hits || first !== group.first_seq || last !== group.last_seq) {
        return `${where}: the ledger has ${hits} hits of event ${group.origin_seq}`;
      }
      if (ledger.hashes.hex(first) !== group.event_hash) return `${where}: its pinned hit is not event ${first}`;
    }
    return left.size === 0 ? null : "the ledger has hits that no group names";
  }
}

function origins(receipt, found) {
  // Of several rows of one reply the base stands last, and is the one that is found here.
  const rows = new Map(receipt.rows.map((row) => [`${row.seq} ${row.event_hash}`, row]));
  for (const { groups, several } of found) {
    for (const { group, where } of groups) {
      const row = rows.get(`${group.origin_seq} ${group.origin_hash}`);
      if (row === undefined) return `${where}: no usage row is event ${group.origin_seq}`;
      if (row.cache_key !== group.key) return `${where}: event ${group.origin_seq} was not stored under its key`;
      const alike = several || TOKENS.every((name) => row[name] === group.usage[name]);
      if (row.model !== group.model || !alike) return `${where}: its model and usage are not the row's`;
      if (group.first_seq <= group.origin_seq) return `${where}: its first hit stands before its reply`;
    }
  }
  return null;
}

export class CacheHitProofs {
  finish({ receipt }) {
    if (!hasCache(receipt)) return skip(NO_CACHE);
    const found = lists(receipt);
    if (!Array.isArray(found)) return fail(found);
    const root = receipt.part("ledger", "merkle_root");
    const groups = found.flatMap((list) => list.groups);
    const wrong = groups.find(({ group }) => rootFromPath(group.event_hash, group.merkle_path) !== root);
    if (wrong !== undefined) return fail(`${wrong.where}: its path does not lead to ledger.merkle_root`);
    return pass(`${countOf(groups.length, "pinned hit")} with a path to the root`);
  }
}
