// The fold over pacing, breakers and injected faults: the receipt member `ops` (spec/receipt.md, Operations).

import { compareTexts } from "../canonical.mjs";
import { objectAt, orNull } from "./course.mjs";
import { Tally, sumOf } from "./tally.mjs";

const NO_REPLY = new Set(["upstream_unreachable", "upstream_broken", "injected_fault"]);
const ANSWERED = new Set(["upstream_status", "upstream_error_event"]);
const WORST_FIRST = ["open", "half_open", "closed"];

export class OperationsFold {
  constructor() {
    this.breakers = new Map();
    for (const name of ["openings", "failures", "successes", "injected"]) this[name] = new Tally();
    this.waitsMs = [];
    this.rateLimited = 0;
    this.plan = null;
    this.asked = 0;
  }

  breaker(data) {
    if (!this.breakers.has(data.provider)) this.breakers.set(data.provider, new Map());
    this.breakers.get(data.provider).set(data.upstream, data);
    if (data.state === "open") this.openings.add(data.provider);
  }

  error(data) {
    const failed = NO_REPLY.has(data.reason) || (ANSWERED.has(data.reason) && data.status >= 500);
    if (failed) this.failures.add(data.provider);
    else if (data.reason === "upstream_status") this.successes.add(data.provider);
  }

  response(data) {
    const failed = data.outcome === "upstream_broken" || data.status >= 500;
    (failed ? this.failures : this.successes).add(data.provider);
  }

  fault(data) {
    this.injected.add(data.kind);
    if (data.asked) this.asked += 1;
  }

  member(policy, admitted) {
    const breakers = Object.create(null);
    for (const provider of this.breakers.keys()) breakers[provider] = this.breakerOf(provider);
    const member = { circuit_breaker: breakers, rate_limiter: this.limiter(policy, admitted) };
    if (this.plan === null) return member;
    const { seed, spec } = this.plan;
    const [injections, byKind] = [this.injected.total(), this.injected.toJson()];
    const faults = { seed, spec, injections, upstream_asked: this.asked, by_kind: byKind };
    return { ...member, chaos_run: true, fault_injection: faults };
  }

  // That of the upstream in the worst state, of several the first by name.
  breakerOf(provider) {
    const changes = this.breakers.get(provider);
    const ordered = [...changes.keys()].sort(compareTexts).map((upstream) => changes.get(upstream));
    const state = WORST_FIRST.find((name) => ordered.some((change) => change.state === name));
    const worst = ordered.find((change) => change.state === state);
    return {
      state,
      consecutive_failures: worst.failures,
      total_failures: this.failures.of(provider),
      total_successes: this.successes.of(provider),
      openings: this.openings.of(provider),
      cooldown_ms: worst.cooldown_ms,
    };
  }

  limiter(policy, admitted) {
    const limits = objectAt(policy, "resilience");
    const [minute, second] = [orNull(limits.max_calls_per_minute), orNull(limits.max_calls_per_second)];
    if (minute === null && second === null) return null;
    return {
      per_minute: minute,
      per_second: second,
      allowed: admitted,
      refused: this.rateLimited,
      waited: this.waitsMs.length,
      waited_ms: sumOf(this.waitsMs),
      longest_wait_ms: this.waitsMs.reduce((most, ms) => Math.max(most, ms), this.waitsMs[0] ?? 0),
    };
  }
}
