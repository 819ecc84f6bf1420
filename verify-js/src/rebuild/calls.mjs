// The fold over model calls: totals, the counts of calls, latency. The usage rows are `LedgerRows`.

import { compareTexts } from "../canonical.mjs";
import { latencySummary } from "../latency.mjs";
import { microsOf, spelledUsd } from "../money.mjs";
import { SENTENCES } from "./lists.mjs";
import { Tally, plus, sumOf } from "./tally.mjs";

const TOKENS = ["input_tokens", "cached_input_tokens", "output_tokens"];
const USAGE = [
  ...TOKENS,
  "cache_write_tokens",
  "cache_write_5m_tokens",
  "cache_write_30m_tokens",
  "cache_write_1h_tokens",
  "cache_write_12h_tokens",
  "reasoning_tokens",
  "audio_input_tokens",
  "audio_output_tokens",
  "web_searches",
  "file_searches",
];
const USAGE_WHERE_SOME = ["image_input_tokens", "image_output_tokens", "code_sessions", "audio_seconds"];

export class CallsFold {
  constructor(rows) {
    this.rows = rows;
    this.requests = 0;
    this.altered = 0;
    this.responses = 0;
    this.estimated = 0;
    this.others = 0;
    this.assumed = new Set();
    for (const name of ["providers", "outcomes", "denials", "errors", "usage"]) this[name] = new Tally();
  }

  request(data) {
    this.requests += 1;
    if (data.altered?.length > 0) this.altered += 1;
  }

  response(data) {
    this.responses += 1;
    this.providers.add(data.provider);
    this.outcomes.add(data.outcome);
    if (data.usage_source === "estimated") this.estimated += 1;
    for (const name of Object.keys(data.usage)) this.usage.add(name, data.usage[name]);
    const base = data.components.at(-1);
    if (data.assumed_price && base !== undefined) this.assumed.add(base.model);
  }

  denied(data) {
    this.denials.add(data.reason);
  }

  error(data) {
    this.errors.add(data.reason);
  }

  other() {
    this.others += 1;
  }

  // `isAssumed` says of a model whether the table prices it by its fallback.
  totals(isAssumed) {
    const sums = new Map();
    for (const row of this.rows) {
      if (!sums.has(row.model)) sums.set(row.model, []);
      sums.get(row.model).push(row);
    }
    const models = [...sums.keys()];
    const ranked = models.map((model) => ({ model, micros: costOf(sums.get(model)), rows: sums.get(model) }));
    ranked.sort((a, b) => (a.micros === b.micros ? compareTexts(a.model, b.model) : a.micros > b.micros ? -1 : 1));
    const estimated = this.rows.filter((row) => row.usage_source === "estimated").length;
    const reported = this.rows.length - estimated;
    const whole = tokensOf(this.rows);
    return {
      calls: this.rows.length,
      ...whole,
      total_tokens: plus(whole.input_tokens, whole.output_tokens),
      cost_usd: spelledUsd(costOf(this.rows)),
      cost_basis: SENTENCES.cost_basis[reported && estimated ? "mixed" : estimated ? "estimated" : "reported"],
      usage_reported_calls: reported,
      usage_estimated_calls: estimated,
      asserted_calls: 0,
      assumed_price_models: [...new Set([...this.assumed, ...models.filter(isAssumed)])].sort(compareTexts),
      by_model: ranked.map(({ model, micros, rows }) => ({
        model,
        calls: rows.length,
        ...tokensOf(rows),
        cost_usd: spelledUsd(micros),
      })),
    };
  }

  modelCalls() {
    const usage = Object.fromEntries(USAGE.map((name) => [name, this.usage.of(name)]));
    for (const name of USAGE_WHERE_SOME) if (this.usage.of(name) !== 0) usage[name] = this.usage.of(name);
    const errors = this.errors.total();
    return {
      count: this.responses,
      by_provider: this.providers.toJson(),
      denied: this.denials.total(),
      errors,
      admitted: this.requests,
      unsettled: this.requests - this.responses - errors,
      outcomes: this.outcomes.toJson(),
      denied_by_reason: this.denials.toJson(),
      errors_by_reason: this.errors.toJson(),
      estimated: this.estimated,
      altered: this.altered,
      other_exchanges: this.others,
      usage,
    };
  }

  // Null where no row was measured.
  latency() {
    const measured = this.rows.map((row) => row.latency_ms).filter((ms) => ms !== undefined);
    return latencySummary(measured, this.rows.length);
  }
}

const tokensOf = (rows) => Object.fromEntries(TOKENS.map((name) => [name, sumOf(rows.map((row) => row[name]))]));
const costOf = (rows) => rows.reduce((sum, row) => sum + microsOf(row.cost_usd), 0n);
