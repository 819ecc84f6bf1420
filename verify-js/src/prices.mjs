// The embedded price table: which family prices a model, and what a row costs by it (spec/receipt.md, Price table and
// Cost and rounding).

import { isObject, isText } from "./canonical.mjs";

const PRICE = /^(0|[1-9][0-9]{0,6})(?:\.([0-9]{1,6}))?$/;
const MILLION = 1_000_000n;
const BLANK = "[\\p{White_Space}\\u001c-\\u001f]+";
const OUTER_BLANKS = new RegExp(`^${BLANK}|${BLANK}$`, "gu");

// Micro-dollars for a million tokens; null where the text is no price.
export function priceOf(text) {
  const match = isText(text) ? PRICE.exec(text) : null;
  return match === null ? null : BigInt(match[1]) * MILLION + BigInt((match[2] ?? "").padEnd(6, "0"));
}

const lowered = (text) => text.toLowerCase();

// The globs of a pattern, lower-cased.
export function alternatives(pattern) {
  const parts = pattern.split("/").map((part) => lowered(part.replace(OUTER_BLANKS, "")));
  return parts.filter((part) => part !== "");
}

// One step of a glob that stands for one character: {test(code point)}; sets are [..] and [!..].
function readSet(points, open) {
  let at = open + 1;
  const negated = points[at] === 0x21;
  if (negated) at += 1;
  const first = at;
  let close = first;
  if (points[close] === 0x5d) close += 1;
  while (close < points.length && points[close] !== 0x5d) close += 1;
  if (close >= points.length) return null;
  const ranges = [];
  while (at < close) {
    const isRange = points[at + 1] === 0x2d && at + 2 < close;
    ranges.push([points[at], points[isRange ? at + 2 : at]]);
    at += isRange ? 3 : 1;
  }
  const test = (point) => ranges.some(([low, high]) => low <= point && point <= high) !== negated;
  return { test, next: close + 1 };
}

const any = () => true;

// The steps of a glob: tests of one character, and null for `*`.
function steps(glob) {
  const points = Array.from(glob, (character) => character.codePointAt(0));
  const made = [];
  for (let at = 0; at < points.length; ) {
    const point = points[at];
    const set = point === 0x5b ? readSet(points, at) : null;
    if (point === 0x2a) made.push(null);
    else if (set !== null) made.push(set.test);
    else made.push(point === 0x3f ? any : (other) => other === point);
    at = set === null ? at + 1 : set.next;
  }
  return made;
}

// Whether a glob fits the whole name. Only the last `*` is ever gone back to, so the time is their product at most.
export function fits(glob, name) {
  const tests = steps(glob);
  const points = Array.from(name, (character) => character.codePointAt(0));
  let test = 0;
  let star = -1;
  let mark = 0;
  for (let at = 0; at < points.length; ) {
    if (test < tests.length && tests[test] === null) {
      star = test;
      mark = at;
      test += 1;
    } else if (test < tests.length && tests[test](points[at])) {
      test += 1;
      at += 1;
    } else if (star >= 0) {
      test = star + 1;
      mark += 1;
      at = mark;
    } else return false;
  }
  while (test < tests.length && tests[test] === null) test += 1;
  return test === tests.length;
}

function readFamily(item, where) {
  const { pattern, input, output, cached_input: cached } = isObject(item) ? item : {};
  if (!isText(pattern)) return { fault: `${where}.pattern is not a text` };
  const prices = { input: priceOf(input), output: priceOf(output), cached: priceOf(cached ?? input) };
  for (const name of Object.keys(prices)) {
    if (prices[name] === null) return { fault: `${where}: ${name} is not a price in dollars per million tokens` };
  }
  return { globs: alternatives(pattern), ...prices };
}

export class Families {
  // `families` is the array of the table's document; `fault` then says what is wrong with it, or is null.
  constructor(families) {
    this.families = [];
    this.found = new Map();
    this.fault = Array.isArray(families) ? null : "price_table.document.families is not an array";
    for (const [index, item] of (Array.isArray(families) ? families : []).entries()) {
      const family = readFamily(item, `price_table.document.families[${index}]`);
      if (family.fault) this.fault ??= family.fault;
      this.families.push(family);
    }
  }

  // {family, assumed} of a model, or null where nothing prices it.
  find(model) {
    if (!this.found.has(model)) this.found.set(model, this.search(lowered(model)));
    return this.found.get(model);
  }

  search(name) {
    let fallback = null;
    for (const family of this.families) {
      for (const glob of family.globs) {
        if (glob === "*") fallback ??= family;
        else if (fits(glob, name)) return { family, assumed: false };
      }
    }
    return fallback === null ? null : { family: fallback, assumed: true };
  }

  // The micro-dollars of a row; null where no family prices the model.
  cost(model, input, cached, output) {
    const match = this.find(model);
    if (match === null) return null;
    const { family } = match;
    const fresh = BigInt(Math.max(input - cached, 0));
    const scaled = fresh * family.input + BigInt(cached) * family.cached + BigInt(output) * family.output;
    const rest = scaled % MILLION;
    const micros = scaled / MILLION;
    const up = 2n * rest > MILLION || (2n * rest === MILLION && micros % 2n === 1n);
    return up ? micros + 1n : micros;
  }
}

// The families of a receipt's table; read once for all checks of one receipt.
const read = new WeakMap();

export function familiesOf(receipt) {
  if (!read.has(receipt)) read.set(receipt, new Families(receipt.part("price_table", "document", "families")));
  return read.get(receipt);
}
