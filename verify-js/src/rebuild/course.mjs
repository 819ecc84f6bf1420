// The fold over the course of a run: start, policy, processes, end, gaps, budgets, network, remarks, asserted calls.

import { compareTexts } from "../canonical.mjs";
import { SENTENCES } from "./lists.mjs";
import { Tally, sumOf } from "./tally.mjs";

const LIMITS = ["daily_usd", "weekly_usd", "total_usd"];
const TAKEN = ["spent_usd", "unknown_usd", "overshoot_usd", "bound_usd"];
const TOKENS = ["input_tokens", "cached_input_tokens", "output_tokens"];

export const orNull = (value) => (value === undefined ? null : value);
export const without = (data, ...names) => {
  const kept = Object.create(null);
  for (const name of Object.keys(data)) if (!names.includes(name)) kept[name] = data[name];
  return kept;
};

// A member of an object that is an object itself; empty where it is none.
export function objectAt(value, name) {
  const member = value[name];
  return typeof member === "object" && member !== null && !Array.isArray(member) ? member : {};
}

export class CourseFold {
  constructor() {
    this.startedAt = "";
    for (const name of ["start", "policy", "spawn", "exit", "end", "budget"]) this[name] = null;
    this.pools = new Map();
    this.poolUses = new Map();
    this.gaps = [];
    this.notes = new Tally();
    this.denied = new Tally();
    this.allowed = 0;
    this.ceilingReached = false;
  }

  begin({ data, ts }) {
    [this.start, this.startedAt] = [data, ts];
  }

  note(data) {
    this.notes.add(data.code);
    if (data.event === "cache.hits_ceiling_reached") this.ceilingReached = true;
  }

  get policyDocument() {
    return this.policy === null ? {} : this.policy.document;
  }

  session() {
    const { start, end } = this;
    const member = { id: start.session_id, argv: start.argv, cwd: start.cwd, agent: start.agent, host: start.host };
    for (const name of ["argv_b64", "cwd_b64"]) if (start[name] !== undefined) member[name] = start[name];
    member.started_at = this.startedAt;
    for (const name of ["exit_code", "exit_source", "duration_seconds", "breached", "interrupted"]) {
      member[name] = end === null ? null : orNull(end[name]);
    }
    member.agent_exit = this.exit;
    return member;
  }

  policyMember() {
    if (this.policy === null) return null;
    const { name, digest, document, source } = this.policy;
    return { name, digest, document, source: orNull(source) };
  }

  boundary() {
    const { admission, boundary, upstream_overrides } = this.start;
    return { admission, listener: boundary, upstream_overrides };
  }

  poolsMember() {
    if (this.pools.size === 0) return null;
    return [...this.pools.keys()].sort(compareTexts).map((pool) => {
      const [entered, use] = [this.pools.get(pool), this.poolUses.get(pool) ?? {}];
      const member = { pool };
      for (const name of LIMITS) member[name] = orNull(entered[name]);
      for (const name of TAKEN) member[name] = orNull(use[name]);
      return member;
    });
  }

  network() {
    const through = sumOf([this.denied.of("tunnel"), this.denied.of("request")]);
    const others = this.denied.names().filter((kind) => kind !== "tunnel" && kind !== "request");
    return {
      tunnels_allowed: this.allowed,
      tunnels_denied: through,
      turned_away: sumOf(others.map((kind) => this.denied.of(kind))),
    };
  }

  evidence() {
    const whole = this.gaps.length === 0;
    const first = this.gaps.map((gap) => gap.first_failing_seq);
    const note = whole ? (this.end === null ? "no_end" : "whole") : "gap";
    return {
      ledger_complete: whole && this.end !== null,
      ended: this.end !== null,
      unwritten_events: sumOf(this.gaps.map((gap) => gap.unwritten_events)),
      first_failing_seq: whole ? null : first.reduce((least, seq) => Math.min(least, seq)),
      write_failures: this.gaps.length,
      note: SENTENCES.evidence[note],
    };
  }

  isolation() {
    return this.spawn === null ? null : { launcher: this.spawn.isolation };
  }
}

// What the agent said of itself. `byAgent` tells whether it said any of it.
export class AssertedFold {
  constructor() {
    this.tools = new Tally();
    this.failures = 0;
    this.calls = 0;
    this.byAgent = false;
    this.tokens = new Tally();
    this.notes = new Tally();
  }

  toolCall(data) {
    this.tools.add(data.name);
    if (data.reported_by !== undefined) this.byAgent = true;
  }

  toolResult(data) {
    if (!data.ok) this.failures += 1;
    if (data.reported_by !== undefined) this.byAgent = true;
  }

  call(data) {
    this.calls += 1;
    this.byAgent = true;
    for (const name of TOKENS) this.tokens.add(name, data[name]);
  }

  note(data) {
    this.notes.add(data.code);
    this.byAgent = true;
  }

  toolsMember() {
    return { calls: this.tools.total(), names: this.tools.names().sort(compareTexts), failures: this.failures };
  }

  member() {
    if (this.calls === 0 && this.notes.names().length === 0) return null;
    const tokens = Object.fromEntries(TOKENS.map((name) => [name, this.tokens.of(name)]));
    return { calls: this.calls, ...tokens, notes: this.notes.toJson() };
  }
}
