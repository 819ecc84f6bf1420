// event-order: how calls and destinations go, instants, running sums (spec/course.md, Order).

import { watched } from "../case.mjs";
import { Drill } from "./drill.mjs";
import { dollars, micros } from "./values.mjs";

export class EventOrder {
  constructor() {
    this.fault = null;
    this.lastAt = "";
    this.gap = false;
    this.calls = new Calls();
    this.destinations = new Destinations();
    this.drill = new Drill();
  }

  observe(event) {
    const before = this.lastAt;
    this.lastAt = event.ts;
    if (this.fault !== null) return;
    const wrong = this.#wrong(event) ?? this.drill.take(event) ?? backwards(before, event.ts);
    if (wrong !== null) this.fault = `event ${event.seq} (${event.type}): ${wrong}`;
  }

  finish(given) {
    return watched(given, this.fault, "every call is requested before it is settled, and sums run on");
  }

  #wrong({ type, data, known }) {
    if (!known) return null;
    switch (type) {
      case "model.request":
        return this.calls.requested(data);
      case "model.response":
        return this.calls.replied(data);
      case "model.error":
        return this.calls.settled(data, data.model);
      case "net.allowed":
        return this.destinations.allowed(data);
      case "x-docket.net-closed":
        return this.destinations.closed(data);
      case "x-docket.evidence-gap":
        this.gap = true;
        return null;
      case "x-docket.budget":
        return this.#final("spent_usd", data);
      case "session.end":
        return this.#final("cost_usd", data);
      default:
        return null;
    }
  }

  #final(name, data) {
    if (this.gap || micros(data[name]) === this.calls.spent) return null;
    return `${name} is ${data[name]}, the calls add up to ${dollars(this.calls.spent)}`;
  }
}

// Instants are compared as texts, code point by code point; they are ASCII.
const backwards = (before, now) => (now < before ? "its instant lies before that of the event before it" : null);

class Calls {
  constructor() {
    this.number = 0;
    this.open = new Map();
    this.spent = 0n;
  }

  requested(data) {
    this.number += 1;
    if (data.call !== this.number) return `call is ${data.call}, the next number is ${this.number}`;
    this.open.set(data.call, data);
    return null;
  }

  replied(data) {
    this.spent += micros(data.cost_usd);
    const fault = this.settled(data, data.requested_model ?? data.model);
    if (fault !== null) return fault;
    if (data.requested_model === data.model) return "requested_model repeats the model";
    if (micros(data.cumulative_cost_usd) === this.spent) return null;
    return `cumulative_cost_usd is ${data.cumulative_cost_usd}, the calls add up to ${dollars(this.spent)}`;
  }

  settled(data, asked) {
    const request = this.open.get(data.call);
    this.open.delete(data.call);
    if (request === undefined) return `call ${data.call} is not in flight`;
    if (data.provider !== request.provider) return `provider is not that of the request of call ${data.call}`;
    if (asked !== request.model) return `the model asked for is not that of the request of call ${data.call}`;
    if (data.streaming !== undefined && data.streaming !== request.streaming) return `streaming is not that of the request`;
    return null;
  }
}

class Destinations {
  constructor() {
    this.number = 0;
    this.open = new Map();
  }

  allowed(data) {
    this.number += 1;
    if (data.tunnel !== this.number) return `tunnel is ${data.tunnel}, the next number is ${this.number}`;
    this.open.set(data.tunnel, data.kind);
    const isRequest = data.kind === "request";
    if (!isRequest && data.kind !== "tunnel") return "kind is neither tunnel nor request";
    return isRequest === (data.method !== undefined) ? null : "a plain request alone names a method";
  }

  closed(data) {
    const kind = this.open.get(data.tunnel);
    this.open.delete(data.tunnel);
    if (kind === undefined) return `tunnel ${data.tunnel} is not open`;
    return kind !== "request" && data.status !== undefined ? "a tunnel has no status" : null;
  }
}
