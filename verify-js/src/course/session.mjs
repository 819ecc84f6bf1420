// session-shape: which events stand once, and where (spec/course.md, Session).

import { watched } from "../case.mjs";
import { Transaction } from "./transaction.mjs";

const ONCE = new Set(["policy.applied", "proc.spawn", "proc.exit", "x-docket.budget", "session.end", "x-docket.snapshot-refused"]);
const ROLLBACKS = new Set(["x-docket.rollback-applied", "x-docket.rollback-refused"]);

export class SessionShape {
  constructor() {
    this.fault = null;
    this.seen = new Set();
    this.phase = null;
    this.transaction = new Transaction();
  }

  observe(event) {
    const fault = this.#wrong(event);
    if (fault !== null) this.fault ??= `event ${event.seq} (${event.type}): ${fault}`;
  }

  finish(given) {
    return watched(given, this.fault, "start, policy, processes, passes and end stand in their places");
  }

  #wrong({ seq, type, data, known }) {
    if (this.seen.has("session.end")) return "it stands behind session.end";
    if (!known) return null;
    if (type === "session.start") return seq === 0 ? null : "a second session.start";
    if ((type === "proc.spawn" || type === "model.request") && !this.seen.has("policy.applied")) {
      return "it stands before policy.applied";
    }
    if (type === "proc.exit" && !this.seen.has("proc.spawn")) return "it stands without proc.spawn";
    if (type === "x-docket.omissions") return data.phase === this.phase ? null : "it stands behind a pass of another phase";
    if (type === "cap.exceeded") this.seen.add(type);
    return this.#first(type, data);
  }

  #first(type, data) {
    let key = ONCE.has(type) ? type : null;
    let fault = null;
    if (type === "fs.snapshot") {
      key = `pass ${data.phase}`;
      this.phase = data.phase;
      fault = this.#pass(data.phase);
    } else if (ROLLBACKS.has(type)) {
      key = "rollback";
      const due = this.seen.has("pass after") && this.seen.has("cap.exceeded");
      fault = due ? null : "a rollback stands without a cap that was exceeded and the pass after";
    } else if (type.startsWith("x-docket.workspace-")) {
      key = type;
      fault = this.transaction.take(type, data, this.seen.has("proc.spawn"), this.seen.has("pass after"));
    }
    if (fault !== null || key === null) return fault;
    if (this.seen.has(key)) return "it stands twice";
    this.seen.add(key);
    return null;
  }

  #pass(phase) {
    if (phase !== "before" && !this.seen.has("pass before")) return `the pass ${phase} stands without the pass before`;
    return phase === "contents" && this.seen.has("proc.spawn") ? "contents were kept once the agent had been started" : null;
  }
}
