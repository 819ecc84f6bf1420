// The fold over a ledger of another writer: what docket/receipt/v1 itself derives (spec/receipt.md, Other writers).
//
// Members are read where they stand and have the right type; what is not there is not compared.

import { isInteger, isObject, isText, compareTexts } from "../canonical.mjs";
import { microsOf } from "../money.mjs";
import { Tally } from "./tally.mjs";

const FIRST_PATHS = 25;
const COUNTS = ["input_tokens", "cached_input_tokens", "output_tokens"];

export class PublicFold {
  constructor() {
    for (const name of ["counts", "providers", "changes"]) this[name] = new Tally();
    this.replies = 0;
    this.toolNames = new Set();
    this.toolFailures = 0;
    this.paths = [];
    this.start = null;
    this.policy = {};
    this.end = {};
  }

  observePublic({ type, data }) {
    this.counts.add(type);
    if (type === "session.start") this.start ??= data;
    else if (type === "policy.applied") this.policy = data;
    else if (type === "session.end") this.end = data;
    else if (type === "model.response") this.reply(data);
    else if (type === "fs.change") this.change(data);
    else if (type === "tool.call" && isText(data.name)) this.toolNames.add(data.name);
    else if (type === "tool.result" && data.ok === false) this.toolFailures += 1;
  }

  // A reply that cannot be read gives no row, which is a failure of usage-rows-rebound.
  reply(data) {
    if (!isReadable(data)) return;
    this.replies += 1;
    this.providers.add(data.provider);
  }

  change({ change, path }) {
    this.changes.add(isText(change) ? change : "");
    if (isText(path) && this.paths.length < FIRST_PATHS) this.paths.push(path);
  }

  // What derives, as nested objects.
  members() {
    const { counts, changes } = this;
    const start = this.start ?? {};
    return {
      ...named(start, { docket_number: "docket_number", label: "label" }),
      session: {
        ...named(start, { id: "session_id", argv: "argv", cwd: "cwd" }),
        ...named(this.end, { exit_code: "exit_code", breached: "breached", interrupted: "interrupted" }),
      },
      policy: named(this.policy, { name: "name", digest: "digest", document: "document" }),
      model_calls: {
        count: this.replies,
        by_provider: this.providers.toJson(),
        denied: counts.of("model.denied"),
        errors: counts.of("model.error"),
      },
      tools: {
        calls: counts.of("tool.call"),
        names: [...this.toolNames].sort(compareTexts),
        failures: this.toolFailures,
      },
      files: {
        changed: counts.of("fs.change"),
        added: changes.of("added"),
        modified: changes.of("modified"),
        removed: changes.of("removed"),
        violations: counts.of("policy.violation"),
        top_paths: this.paths,
      },
      network: { tunnels_allowed: counts.of("net.allowed"), tunnels_denied: counts.of("net.denied") },
      caps: { exceeded: counts.of("cap.exceeded"), warnings: counts.of("cap.warning") },
      event_counts: counts.toJson(),
    };
  }
}

const isCount = (value) => value === undefined || (isInteger(value) && value >= 0);

function isReadable({ cost_usd, model, provider, usage, usage_source }) {
  return (
    isText(model) &&
    isText(provider) &&
    isObject(usage) &&
    COUNTS.every((name) => isCount(usage[name])) &&
    (usage_source === "reported" || usage_source === "estimated") &&
    microsOf(cost_usd) !== null
  );
}

function named(data, names) {
  const found = Object.keys(names).filter((name) => data[names[name]] !== undefined);
  return Object.fromEntries(found.map((name) => [name, data[names[name]]]));
}
