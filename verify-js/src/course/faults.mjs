// The rules of a drill as they are recorded, and which call gets which fault (spec/course.md, Plans of faults).

import { sha256 } from "../sha256.mjs";
import { Effort, weightOf } from "../effort.mjs";
import { compiled } from "../globs.mjs";
import { isPrintable } from "../letters.mjs";

const MAX_WHOLE = Number.MAX_SAFE_INTEGER;
const MILLION = 1_000_000n;
const OPTIONS = ["calls", "share", "provider", "model", "path", "retry_after"];
const DECIMAL = /^([0-9]{1,9})(?:\.([0-9]{0,12}))?$|^()\.([0-9]{1,12})$/;
const MARKS = /[,;]/;

// What a kind's value is: seconds, or a whole number between two; and what is done, in words.
const KINDS = {
  delay: { seconds: true, words: (value) => `the request is sent ${value} s later` },
  drop: { words: () => "the connection breaks before any answer", unasked: true },
  hang: { seconds: true, words: (value) => `nothing is answered for ${value} s`, unasked: true },
  status: { least: 400, most: 599, words: (value) => `HTTP ${value} in place of the upstream's answer`, unasked: true },
  reset: { least: 0, most: 2 ** 40, words: (value) => `the connection breaks after ${value} bytes of the reply` },
  truncate: { least: 0, most: 2 ** 40, words: (value) => `the reply ends after ${value} bytes as if it were whole` },
  corrupt: { least: 1, most: 2 ** 40, words: (value) => `one byte in ${value} of the reply is changed` },
  slow: { least: 1, most: 2 ** 40, words: (value) => `the reply comes at ${value} bytes a second` },
};

// {plan, fault}: a plan, or null and what is wrong with its rules.
export function planned(spec, seed) {
  if (spec.length === 0) return { plan: null, fault: "no fault is named" };
  if (seed < 0) return { plan: null, fault: "the seed is below 0" };
  const rules = spec.map(read);
  const wrong = rules.findIndex((rule) => rule === null);
  if (wrong >= 0) return { plan: null, fault: `rule ${wrong + 1} is not written as a plan is` };
  return { plan: new Plan(rules, seed, weightOf(spec)), fault: null };
}

class Plan {
  constructor(rules, seed, rulesWeight) {
    this.rules = rules;
    this.seed = seed;
    this.rulesWeight = rulesWeight;
    this.effort = new Effort();
  }

  // The fault of a call or null; undefined where finding it would take too much.
  faultFor(request) {
    const asked = [request.provider, request.model, request.path.split("?", 1)[0]];
    if (!this.effort.take(this.rulesWeight * weightOf(asked))) return undefined;
    const [provider, model, path] = asked.map((text) => Array.from(text));
    const place = this.rules.findIndex(
      (rule, index) =>
        rule.calls.some((fits) => fits(request.call)) &&
        rule.provider(provider) &&
        rule.model(model) &&
        rule.path(path) &&
        draw(this.seed, index, request.call) * MILLION < rule.share << 64n,
    );
    return place < 0 ? null : this.rules[place].fault;
  }
}

function draw(...numbers) {
  const digest = sha256(new TextEncoder().encode(`(${numbers.join(", ")})`));
  return digest.subarray(0, 8).reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
}

// A rule, or null where it is not one in the spelling that is recorded.
function read(text) {
  const mark = text.indexOf("@");
  const head = mark < 0 ? text : text.slice(0, mark);
  const options = mark < 0 ? {} : optionsOf(text.slice(mark + 1));
  const equals = head.indexOf("=");
  const kind = equals < 0 ? head : head.slice(0, equals);
  const value = equals < 0 ? null : head.slice(equals + 1);
  if (options === null || !Object.hasOwn(KINDS, kind) || !isValue(kind, value)) return null;
  if (options.retry_after !== undefined && !(kind === "status" && isWhole(options.retry_after, 0, 3600))) return null;
  const calls = callsOf(options.calls ?? "1-");
  const share = options.share === undefined ? MILLION : partsPerMillion(options.share);
  if (calls === null || share === null) return null;
  const [provider, model, path] = ["provider", "model", "path"].map((name) => compiled(options[name] ?? "*"));
  const { words, unasked = false } = KINDS[kind];
  return { fault: { kind, detail: words(value), asked: !unasked }, calls, share, provider, model, path };
}

// The options by name; they stand in the order of OPTIONS, each once.
function optionsOf(text) {
  const found = {};
  let last = -1;
  for (const item of text.split(",")) {
    const equals = item.indexOf("=");
    const [name, value] = [item.slice(0, Math.max(equals, 0)), item.slice(equals + 1)];
    const place = OPTIONS.indexOf(name);
    if (equals < 0 || place <= last || value === "" || MARKS.test(value) || !isPrintable(value)) return null;
    last = place;
    found[name] = value;
  }
  return found;
}

function isValue(kind, value) {
  const { seconds, least, most } = KINDS[kind];
  if (seconds) return value !== null && isSeconds(value);
  if (least === undefined) return value === null;
  return value !== null && isWhole(value, least, most) && String(Number(value)) === value;
}

// Up to an hour, to the millisecond, in the shortest spelling.
function isSeconds(text) {
  const match = /^(0|[1-9][0-9]{0,3})(\.[0-9]{0,2}[1-9])?$/.exec(text);
  return match !== null && (Number(match[1]) < 3600 || text === "3600");
}

function isWhole(text, least, most) {
  return /^[0-9]{1,19}$/.test(text) && BigInt(text) >= BigInt(least) && BigInt(text) <= BigInt(most);
}

function partsPerMillion(text) {
  const match = DECIMAL.exec(text);
  if (match === null) return null;
  const [whole, fraction] = [match[1] ?? "0", match[2] ?? match[4] ?? ""];
  const share = BigInt(`${whole}${fraction.padEnd(12, "0")}`);
  return share <= 10n ** 12n ? share / MILLION : null;
}

function callsOf(text) {
  const found = [];
  for (const part of text.split("+")) {
    const fits = partOf(part);
    if (fits === null) return null;
    found.push(fits);
  }
  return found;
}

function partOf(part) {
  if (part.startsWith("*/")) {
    const step = part.slice(2);
    return isWhole(step, 1, MAX_WHOLE) ? (call) => call % Number(step) === 0 : null;
  }
  const [first, last, more] = part.split("-");
  if (more !== undefined || !isWhole(first, 1, MAX_WHOLE)) return null;
  const least = Number(first);
  if (last === undefined) return (call) => call === least;
  if (last === "") return (call) => call >= least;
  return isWhole(last, least, MAX_WHOLE) ? (call) => call >= least && call <= Number(last) : null;
}
