// components: the arithmetic of priced calls (spec/course.md, Components).

import { watched } from "../case.mjs";
import { Families, moreSpecificFirst, rankOf } from "../families.mjs";
import { dollars, micros, shown } from "./values.mjs";

const TOKENS = ["input_tokens", "cached_input_tokens", "output_tokens"];
const FEES = {
  "web-search": "web_searches",
  "file-search": "file_searches",
  "code-interpreter": "code_sessions",
  "audio-seconds": "audio_seconds",
};
const WRITES = {
  "cache-write": "cache_write_tokens",
  "cache-write-5m": "cache_write_5m_tokens",
  "cache-write-30m": "cache_write_30m_tokens",
  "cache-write-1h": "cache_write_1h_tokens",
  "cache-write-12h": "cache_write_12h_tokens",
};
const COUNTED = { ...WRITES, ...FEES };
const PARTS = new Set([...Object.keys(COUNTED), "audio", "image"]);

export class Components {
  constructor() {
    this.fault = null;
    this.known = new Set();
    this.families = new Families([], moreSpecificFirst, rankOf);
  }

  observe(event) {
    if (!event.known) return;
    const fault = this.#wrong(event.type, event.data);
    if (fault !== null) this.fault ??= `event ${event.seq} (${event.type}): ${fault}`;
  }

  finish(given) {
    return watched(given, this.fault, "components sum to their calls and account for the usage");
  }

  #wrong(type, data) {
    if (type === "x-docket.price") return this.#family(data);
    return type === "model.response" ? (summed(data) ?? this.#priced(data) ?? accounted(data)) : null;
  }

  #family(data) {
    if (this.known.has(data.pattern)) return `the family ${shown(data.pattern)} is written twice`;
    this.known.add(data.pattern);
    this.families.add(data);
    return null;
  }

  #priced(data) {
    for (const [index, part] of data.components.entries()) {
      if (TOKENS.some((name) => part[name] < 0)) return `components[${index}] counts less than nothing`;
      const cost = this.families.cost(part.model, part);
      if (cost === null) return `components[${index}]: no family of the table prices ${shown(part.model)}`;
      if (cost !== micros(part.cost_usd)) return `components[${index}]: its tokens cost ${dollars(cost)}`;
    }
    const isAssumed = data.components.some((part) => this.families.isAssumed(part.model));
    return isAssumed && !data.assumed_price ? "assumed_price is false, the fallback prices a component" : null;
  }
}

function summed(data) {
  if (data.components.length === 0) return "it has no component";
  const total = data.components.reduce((sum, part) => sum + micros(part.cost_usd), 0n);
  return total === micros(data.cost_usd) ? null : `the components add up to ${dollars(total)}, cost_usd is ${data.cost_usd}`;
}

// What a component counts beside the base, else an empty text.
function labelOf(part) {
  const label = part.model.slice(part.model.lastIndexOf("+") + 1);
  return part.model.includes("+") && PARTS.has(label) ? label : "";
}

function accounted(data) {
  const counted = new Map();
  const add = (name, count) => counted.set(name, (counted.get(name) ?? 0n) + BigInt(count));
  for (const part of data.components) {
    const label = labelOf(part);
    if (Object.hasOwn(COUNTED, label)) add(COUNTED[label], part.input_tokens);
    if (!Object.hasOwn(FEES, label)) for (const name of TOKENS) add(name, part[name]);
  }
  if (data.usage_parts !== undefined && !addUp(data.usage_parts, data.usage)) return "usage_parts do not add up to usage";
  if (!endsWithBase(data)) return `the last component is not the base of ${shown(data.model)}`;
  for (const name of [...TOKENS, ...Object.values(COUNTED)]) {
    const wanted = BigInt(data.usage[name] ?? 0);
    if ((counted.get(name) ?? 0n) !== wanted) return `the components' ${name} do not add up to ${wanted}`;
  }
  return null;
}

function addUp(parts, usage) {
  const names = new Set([...Object.keys(usage), ...parts.flatMap((part) => Object.keys(part.usage))]);
  return [...names].every(
    (name) => parts.reduce((sum, part) => sum + BigInt(part.usage[name] ?? 0), 0n) === BigInt(usage[name] ?? 0),
  );
}

function endsWithBase(data) {
  const last = data.components.at(-1);
  if (labelOf(last) !== "") return false;
  const served = [data.model, ...(data.usage_parts ?? []).map((part) => part.model)];
  return served
    .map((model) => model.replaceAll("%", "%25").replaceAll("+", "%2B"))
    .some((name) => last.model === name || last.model.startsWith(`${name}+`));
}
