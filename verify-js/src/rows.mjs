// Checks of the usage rows: their proofs, the events they cite, their cost (spec/receipt.md, Component rows).

import { DAMAGED, NO_LEDGER, fail, pass, skip } from "./case.mjs";
import { isInteger, isObject, isText } from "./canonical.mjs";
import { rootFromPath } from "./merkle.mjs";
import { canonicalMicros, microsOf, spelledUsd } from "./money.mjs";
import { ProofPath } from "./proof_path.mjs";
import { familiesOf } from "./families.mjs";
import { shown } from "./refused.mjs";
import { countOf } from "./wording.mjs";

const name = (index, row) => `appendix.usage[${index}] (event ${row.seq})`;
const SOURCES = ["reported", "estimated"];

// The rows that the replies of a ledger give, and the first reply of another writer that gives none.
export class LedgerRows {
  constructor() {
    this.rows = [];
    this.fault = null;
    this.texts = new Map();
  }

  // One text for all equal ones, so that a row does not keep the text of its line.
  one(text) {
    if (!this.texts.has(text)) this.texts.set(text, text);
    return this.texts.get(text);
  }

  observe(event) {
    if (event.type !== "model.response" || !event.known) return;
    const { data } = event;
    const last = data.components.length - 1;
    const cacheKey = data.cache?.stored === true ? data.cache.key : undefined;
    data.components.forEach((component, index) => {
      this.rows.push({
        seq: event.seq,
        model: this.one(component.model),
        provider: this.one(data.provider),
        input_tokens: component.input_tokens,
        cached_input_tokens: component.cached_input_tokens,
        output_tokens: component.output_tokens,
        usage_source: this.one(data.usage_source),
        cost_usd: component.cost_usd,
        latency_ms: index === last ? data.latency_ms : undefined,
        cache_key: index === last ? cacheKey : undefined,
        asserted_by: undefined,
      });
    });
  }

  observePublic(event) {
    if (event.type === "model.response") this.takeReply(event);
    else if (event.type === "model.cache_hit") {
      const { origin } = event.data;
      const named = isObject(origin) && isInteger(origin.seq) && isText(origin.hash);
      if (!named) this.fault ??= `event ${event.seq}: origin does not name an event`;
    }
  }

  takeReply({ seq, data }) {
    const row = publicRow(seq, data);
    if (isText(row)) this.fault ??= `event ${seq}: ${row}`;
    else this.rows.push(row);
  }
}

// The row of another writer's reply, or what of it cannot be read.
function publicRow(seq, data) {
  const { usage, cache, latency_ms: latency, reported_by: asserted } = data;
  if (!isObject(usage)) return "usage is not an object";
  if (!SOURCES.includes(data.usage_source)) return "usage_source is not a known one";
  for (const member of ["model", "provider"]) if (!isText(data[member])) return `${member} is not a text`;
  const tokens = {};
  for (const member of ["input_tokens", "cached_input_tokens", "output_tokens"]) {
    tokens[member] = usage[member] === undefined ? 0 : usage[member];
    if (!isInteger(tokens[member]) || tokens[member] < 0) return `usage.${member} is not a count`;
  }
  const micros = microsOf(data.cost_usd);
  if (micros === null) return "cost_usd is not an amount";
  return {
    seq,
    model: data.model,
    provider: data.provider,
    ...tokens,
    usage_source: data.usage_source,
    cost_usd: spelledUsd(micros),
    latency_ms: isInteger(latency) ? latency : undefined,
    cache_key: isObject(cache) && cache.stored === true && isText(cache.key) ? cache.key : undefined,
    asserted_by: isText(asserted) ? asserted : undefined,
  };
}

const NEEDED = ["seq", "model", "provider", "input_tokens", "cached_input_tokens", "output_tokens", "usage_source", "cost_usd"];
// Absent and null say the same.
const OPTIONAL = ["latency_ms", "cache_key", "asserted_by"];

function differing(row, wanted, ledger) {
  for (const member of NEEDED) if (row[member] !== wanted[member]) return member;
  for (const member of OPTIONAL) if ((row[member] ?? undefined) !== wanted[member]) return member;
  return row.event_hash === ledger.hashes.hex(wanted.seq) ? null : "event_hash";
}

export class UsageRowsRebound {
  constructor(course) {
    this.found = course.follow("rows", LedgerRows);
  }

  finish({ ledger, receipt }) {
    if (ledger === null) return skip(NO_LEDGER);
    if (!ledger.sound) return skip(DAMAGED);
    if (ledger.payloadFault !== null) return skip("the replies in the ledger could not be read");
    const { rows, fault } = this.found;
    if (fault !== null) return fail(fault);
    for (const [index, row] of receipt.rows.slice(0, rows.length).entries()) {
      const member = differing(row, rows[index], ledger);
      if (member !== null) {
        const found = member === "event_hash" ? ledger.hashes.hex(rows[index].seq) : rows[index][member];
        return fail(`${name(index, row)}: ${member} is ${shown(row[member])}, the ledger gives ${shown(found)}`);
      }
    }
    if (receipt.rows.length !== rows.length) {
      return fail(`the receipt has ${countOf(receipt.rows.length, "usage row")}, the ledger gives ${rows.length}`);
    }
    return pass(`${countOf(rows.length, "row")} as the ledger's events say`);
  }
}

// Whether a row's path is exactly that of its event in the tree; two checks ask.
export function isOnItsPath(tree, row) {
  const path = row.merkle_path ?? [];
  if (path.tree === tree && path.leaf === row.seq) return true;
  const held = tree.isPath(row.seq, path);
  if (held && path instanceof ProofPath) [path.tree, path.leaf] = [tree, row.seq];
  return held;
}

// Whether a row's event leads to the stated root. Where the sound ledger has that root, the row's path is compared with
// the tree's own, which leads there and needs no hashing.
function leadsToRoot({ ledger, receipt }, row) {
  const root = receipt.part("ledger", "merkle_root");
  if (ledger?.sound && row.seq < ledger.events && ledger.tree.root() === root) {
    if (ledger.hashes.hex(row.seq) === row.event_hash && isOnItsPath(ledger.tree, row)) return true;
  }
  return rootFromPath(row.event_hash, row.merkle_path ?? []) === root;
}

export class UsageInclusionProofs {
  finish(given) {
    const { receipt } = given;
    if (receipt.rows.length === 0) return pass("no usage row to prove");
    if (receipt.part("appendix", "proof_included") !== true) return skip("the receipt carries no proofs");
    for (const [index, row] of receipt.rows.entries()) {
      if (!leadsToRoot(given, row)) {
        return fail(`${name(index, row)}: its path does not lead to ledger.merkle_root`);
      }
    }
    return pass(`${countOf(receipt.rows.length, "row")} with a path to the root`);
  }
}

export class CostRecomputation {
  finish({ receipt }) {
    const families = familiesOf(receipt);
    if (isText(families)) return fail(families);
    for (const [index, row] of receipt.rows.entries()) {
      const micros = families.cost(row.model, row);
      if (micros === null) return fail(`${name(index, row)}: no family of the table prices ${shown(row.model)}`);
      if (micros !== canonicalMicros(row.cost_usd)) {
        return fail(`${name(index, row)}: cost_usd is ${row.cost_usd}, its tokens cost ${spelledUsd(micros)}`);
      }
    }
    return pass(`${countOf(receipt.rows.length, "row")} priced from the embedded table`);
  }
}
