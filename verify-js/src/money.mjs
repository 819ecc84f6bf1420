// Money as BigInt of micro-dollars (spec/canonical.md, Money).

import { isText } from "./canonical.mjs";

const AMOUNT = /^(0|[1-9][0-9]{0,11})(?:\.([0-9]{1,6}))?$/;
const MICROS = 1_000_000n;

// The micro-dollars of a text of dollars; null where it is none. Fewer digits than the canonical ones are read too.
export function microsOf(text) {
  if (!isText(text)) return null;
  const match = AMOUNT.exec(text);
  if (match === null) return null;
  return BigInt(match[1]) * MICROS + BigInt((match[2] ?? "").padEnd(6, "0"));
}

// The one spelling of an amount.
export function spelledUsd(micros) {
  const whole = micros / MICROS;
  const rest = micros % MICROS;
  if (rest % 10_000n === 0n) return `${whole}.${String(rest / 10_000n).padStart(2, "0")}`;
  return `${whole}.${String(rest).padStart(6, "0")}`;
}
