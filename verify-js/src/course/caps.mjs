// cap-limits: what a ledger says of caps, sub-budgets and pools, against its policy and its calls (spec/course.md, Caps).

import { watched } from "../case.mjs";
import { Effort, GLOB_STEPS, weight, weightOf } from "../effort.mjs";
import { compiled } from "../globs.mjs";
import { lowered } from "../letters.mjs";
import { dollars, micros, objectAt, shown } from "./values.mjs";

const CAP_OF_USE = { max_usd: "cap_usd", max_tokens: "cap_tokens", max_model_calls: "cap_calls" };
const POOL_CAPS = { pool_daily_usd: "daily_usd", pool_weekly_usd: "weekly_usd", pool_total_usd: "total_usd" };
const NO_POLICY = Object.freeze(Object.create(null));
const TOO_MANY = "the policy has more patterns than can be compared with the names of the ledger";
const NOTHING = { cost: 0n, tokens: 0n, calls: 0n };

const added = (left, right) => ({
  cost: left.cost + right.cost,
  tokens: left.tokens + right.tokens,
  calls: left.calls + right.calls,
});
const same = (left, right) => left.cost === right.cost && left.tokens === right.tokens && left.calls === right.calls;
const keyOf = (scope, name) => JSON.stringify([scope, name]);

export class CapLimits {
  constructor() {
    this.fault = null;
    this.caps = NO_POLICY;
    this.admission = null;
    this.poolNames = [];
    this.pools = new Map();
    this.left = new Set();
    this.exceeded = new Set();
    this.named = new Set();
    this.gap = false;
    this.open = new Map();
    this.sums = new Map();
    this.agents = [];
    this.agentsWeight = 0;
    this.matching = new Map();
    this.effort = new Effort();
  }

  observe(event) {
    const fault = event.known ? this.#wrong(event.type, event.data) : null;
    if (fault !== null) this.fault ??= `event ${event.seq} (${event.type}): ${fault}`;
  }

  finish(given) {
    return watched(given, this.fault, "every cap that was reached is one of the policy's");
  }

  #wrong(type, data) {
    switch (type) {
      case "policy.applied":
        this.#policy(data.document);
        return null;
      case "model.request":
        this.open.set(data.call, { model: data.model, agent: data.agent_id || "main" });
        return null;
      case "model.response":
        this.#counted(data);
        return null;
      case "x-docket.evidence-gap":
        this.gap = true;
        return null;
      case "cap.warning":
      case "cap.exceeded":
        return this.#reached(type, data);
      case "x-docket.pool":
        this.pools.set(data.pool, data);
        return this.poolNames.includes(data.pool) ? null : `the policy names no pool ${shown(data.pool)}`;
      case "x-docket.pool-use":
        return this.#leftPool(data);
      case "x-docket.budget":
        return this.#budget(data) ?? this.#uses(data.scopes ?? []);
      case "session.end":
        if (data.breached === undefined || this.exceeded.has(data.breached) || this.gap) return null;
        return `breached is ${shown(data.breached)}, no cap.exceeded says so`;
      default:
        return null;
    }
  }

  #policy(document) {
    this.caps = objectAt(document, "caps");
    const agents = Object.keys(objectAt(this.caps, "per_agent"));
    this.agentsWeight = weightOf(agents);
    this.matching.clear();
    const isBorne = this.effort.take(GLOB_STEPS * agents.length);
    this.agents = isBorne ? agents.map((pattern) => ({ pattern, fits: compiled(lowered(pattern)) })) : [];
    const { admission, pools } = objectAt(document, "budget");
    this.admission = admission;
    this.poolNames = Array.isArray(pools) ? pools : [];
  }

  #counted(data) {
    const whose = this.open.get(data.call) ?? { model: "", agent: "" };
    this.open.delete(data.call);
    const key = keyOf(whose.model, whose.agent);
    const { part } = this.sums.get(key) ?? { part: NOTHING };
    const tokens = BigInt(data.usage.input_tokens) + BigInt(data.usage.output_tokens);
    this.sums.set(key, { ...whose, part: added(part, { cost: micros(data.cost_usd), tokens, calls: 1n }) });
  }

  #reached(type, data) {
    const name = data.scope_name ?? "";
    if (type === "cap.exceeded") this.exceeded.add(data.cap);
    if (data.scope === "model" || data.scope === "agent") this.named.add(keyOf(data.scope, name));
    const limit = this.#limit(data.scope, name, data.cap);
    if (this.effort.isSpent && (data.scope === "model" || data.scope === "agent")) return TOO_MANY;
    if (limit === data.limit) return null;
    const of = data.scope === undefined ? "" : ` of ${data.scope} ${shown(name)}`;
    return `the policy has no cap ${shown(data.cap)}${of} of ${shown(data.limit)}`;
  }

  // A limit as it is spelled in an event; null where there is none.
  #limit(scope, name, cap) {
    if (scope === undefined) return name === "" ? spelled(this.caps[cap]) : null;
    if (scope === "pool") {
      const limit = Object.hasOwn(POOL_CAPS, cap) ? this.pools.get(name)?.[POOL_CAPS[cap]] : undefined;
      return limit ?? null;
    }
    const limit = Object.hasOwn(CAP_OF_USE, cap) ? this.#least(scope, name, cap) : null;
    if (limit === null) return null;
    return cap === "max_usd" ? dollars(limit) : String(limit);
  }

  // The smallest of the limits that are meant, as a BigInt; null where there is none.
  #least(scope, name, cap) {
    const limits = this.#patterns(scope, name)
      .map((limitsOf) => limitsOf[cap])
      .map((limit) => (cap === "max_usd" ? micros(limit) : typeof limit === "number" ? BigInt(limit) : null))
      .filter((limit) => limit !== null);
    return limits.length === 0 ? null : limits.reduce((least, limit) => (limit < least ? limit : least));
  }

  #patterns(scope, name) {
    const table = scope === "model" ? "per_model" : scope === "agent" ? "per_agent" : null;
    const known = table === null ? {} : objectAt(this.caps, table);
    const own = Object.hasOwn(known, name) && (scope === "model" || this.#isShared(name));
    const chosen = own ? [name] : scope === "agent" ? this.#matching(name) : [];
    return chosen.map((pattern) => objectAt(known, pattern));
  }

  // The patterns of agents that match one; none once that took too much.
  #matching(agent) {
    let found = this.matching.get(agent);
    if (found === undefined) {
      const name = Array.from(lowered(agent));
      const known = this.effort.take(weight(agent) * this.agentsWeight) ? this.agents : [];
      found = known.filter(({ fits }) => fits(name)).map(({ pattern }) => pattern);
      this.matching.set(agent, found);
    }
    return found;
  }

  // Whether a budget of an agent's is one that a pattern's agents share, and no agent's own.
  #isShared(name) {
    if (!/[*?[]/.test(name)) return false;
    return ![...this.sums.values(), ...this.open.values()].some(({ agent }) => agent === name);
  }

  #budget(data) {
    const cap = micros(this.caps.max_usd);
    const stated = data.cap_usd === undefined ? null : micros(data.cap_usd);
    if (stated !== cap) return `cap_usd is ${shown(data.cap_usd)}, the policy has ${shown(this.caps.max_usd)}`;
    if (data.admission !== this.admission) return `admission is ${data.admission}, the policy has ${shown(this.admission)}`;
    const spent = micros(data.spent_usd);
    const beyond = cap === null || spent < cap ? 0n : spent - cap;
    if (micros(data.overshoot_usd) === beyond) return null;
    return `overshoot_usd is ${data.overshoot_usd}, what was spent lies ${dollars(beyond)} beyond the cap`;
  }

  #uses(uses) {
    const told = new Set(uses.filter(({ scope }) => scope === "agent").map(({ name }) => name));
    for (const use of uses) {
      const fault = this.#use(use, told);
      if (fault !== null) return fault;
    }
    if (this.gap) return null;
    const said = new Set(uses.map(({ scope, name }) => keyOf(scope, name)));
    const untold = [...this.named].find((key) => !said.has(key));
    return untold === undefined ? null : `it says nothing of ${untold}, whose cap is named before`;
  }

  #use(use, told) {
    for (const [cap, member] of Object.entries(CAP_OF_USE)) {
      const limit = this.#limit(use.scope, use.name, cap);
      const stated = use[member] === undefined ? null : String(use[member]);
      if (this.effort.isSpent) return TOO_MANY;
      if (stated !== limit) return `the policy has another ${cap} of ${use.scope} ${shown(use.name)}`;
    }
    const said = { cost: micros(use.spent_usd), tokens: BigInt(use.tokens), calls: BigInt(use.calls) };
    if (this.gap) return null;
    const sum = this.#sum(use, told);
    if (this.effort.isSpent) return TOO_MANY;
    return same(said, sum) ? null : `what ${use.scope} ${shown(use.name)} used is not what its calls add up to`;
  }

  #sum({ scope, name }, told) {
    const ofModel = scope === "model";
    const shared = this.#isShared(name);
    const names = new Set(ofModel || shared ? [...this.sums.values()].map(({ model, agent }) => (ofModel ? model : agent)) : []);
    let total = NOTHING;
    if (!this.effort.take(weight(name) * weightOf(names))) return total;
    const pattern = compiled(lowered(name));
    const fits = (text) => pattern(Array.from(lowered(text)));
    for (const { model, agent, part } of this.sums.values()) {
      const counts = ofModel ? fits(model) : agent === name || (shared && !told.has(agent) && fits(agent));
      if (counts) total = added(total, part);
    }
    return total;
  }

  #leftPool(data) {
    if (!this.pools.has(data.pool)) return `the run entered no pool ${shown(data.pool)}`;
    if (this.left.has(data.pool)) return "it stands twice";
    this.left.add(data.pool);
    const spent = [...this.sums.values()].reduce((sum, { part }) => sum + part.cost, 0n);
    if (this.gap || micros(data.spent_usd) === spent) return null;
    return `pool ${shown(data.pool)} says ${data.spent_usd}, the calls add up to ${dollars(spent)}`;
  }
}

// A cap of the run as an event states it: texts and integers alone are limits.
function spelled(limit) {
  if (typeof limit === "string") return limit;
  return typeof limit === "number" ? String(limit) : null;
}
