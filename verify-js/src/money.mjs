// Money as BigInt of micro-dollars (spec/canonical.md, Money).

import { isText } from "./canonical.mjs";

const AMOUNT = /^(0|[1-9][0-9]{0,11})(?:\.([0-9]{1,6}))?$/;
const CANONICAL = /^(?:0|[1-9][0-9]{0,11})\.(?:[0-9]{2}|(?![0-9]{2}0000)[0-9]{6})$/;
const MICROS = 1_000_000n;

// Amounts that were read lately: a record says the same ones many times.
const MOST = 4096;
const LONGEST = 12;
const known = new Map();
const knownCanonical = new Map();

// The micro-dollars of a text of dollars; null where it is none. Fewer digits than the canonical ones are read too.
export function microsOf(text) {
  if (!isText(text)) return null;
  return known.get(text) ?? kept(known, text, read(text));
}

function read(text) {
  const match = AMOUNT.exec(text);
  return match === null ? null : BigInt(match[1]) * MICROS + BigInt((match[2] ?? "").padEnd(6, "0"));
}

function kept(map, text, micros) {
  // A longer text may be a part of one that is much longer yet, and hold on to it.
  if (micros === null || text.length > LONGEST) return micros;
  if (map.size === MOST) map.clear();
  map.set(text, micros);
  return micros;
}

// The same of an amount in its one spelling; null where it is another's.
export function canonicalMicros(text) {
  if (!isText(text)) return null;
  return knownCanonical.get(text) ?? kept(knownCanonical, text, CANONICAL.test(text) ? microsOf(text) : null);
}

// The one spelling of an amount.
export function spelledUsd(micros) {
  const whole = micros / MICROS;
  const rest = micros % MICROS;
  if (rest % 10_000n === 0n) return `${whole}.${String(rest / 10_000n).padStart(2, "0")}`;
  return `${whole}.${String(rest).padStart(6, "0")}`;
}
