// Injected faults, breakers and pace, against plan and policy (spec/course.md, Drills); a part of event-order.

import { planned } from "./faults.mjs";
import { objectAt } from "./values.mjs";

const FOLLOWS = { none: ["open"], closed: ["open"], open: ["half_open"], half_open: ["open", "closed"] };

export class Drill {
  constructor() {
    this.limits = {};
    this.plan = null;
    this.request = null;
    this.begun = false;
    this.breakers = new Map();
  }

  take({ type, data, known }) {
    const { request } = this;
    this.request = null;
    if (!known) return null;
    switch (type) {
      case "policy.applied":
        this.limits = objectAt(data.document, "resilience");
        return null;
      case "model.request":
        this.begun = true;
        this.request = data;
        return null;
      case "x-docket.fault-plan":
        return this.#planned(data);
      case "x-docket.fault":
        return this.#injected(data, request);
      case "x-docket.breaker":
        return this.#changed(data);
      case "x-docket.paced":
        return isSet(this.limits.max_calls_per_minute) || isSet(this.limits.max_calls_per_second)
          ? null
          : "a call waited its turn, and the policy paces none";
      default:
        return null;
    }
  }

  #planned(data) {
    if (this.plan !== null || this.begun) return "a plan of faults stands once, before any call";
    const { plan, fault } = planned(data.spec, data.seed);
    this.plan = plan;
    return fault;
  }

  #injected(data, request) {
    if (this.plan === null) return "a fault stands without a plan of faults";
    if (request === null || request.call !== data.call) return "a fault stands right behind the request of its call";
    const wanted = this.plan.faultFor(request);
    if (wanted === undefined) return "its plan has more rules than can be compared with its calls";
    if (wanted !== null && ["kind", "detail", "asked"].every((name) => wanted[name] === data[name])) return null;
    return `the plan gives call ${data.call} ${wanted === null ? "no fault" : wanted.detail}`;
  }

  #changed(data) {
    const key = JSON.stringify([data.provider, data.upstream]);
    const before = this.breakers.get(key) ?? "none";
    this.breakers.set(key, data.state);
    if (!FOLLOWS[before].includes(data.state)) return `the breaker was ${before} and is ${data.state}`;
    if (data.state !== "open") return data.cooldown_ms === 0 ? null : "a pause stands where the breaker is not open";
    const [threshold, shortest, longest] = ["threshold", "cooldown_seconds", "max_cooldown_seconds"].map((name) =>
      number(this.limits[`breaker_${name}`]),
    );
    if (threshold !== null && data.failures < threshold) return `it opened after ${data.failures} failures of ${threshold}`;
    if (shortest === null || longest === null) return null;
    const pause = BigInt(data.cooldown_ms);
    if (BigInt(shortest) * 1000n <= pause && pause <= BigInt(longest) * 1000n) return null;
    return `its pause is ${data.cooldown_ms} ms, the policy has ${shortest} to ${longest} s`;
  }
}

const isSet = (value) => value !== undefined && value !== null;
const number = (value) => (typeof value === "number" ? value : null);
