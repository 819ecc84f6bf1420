// The form of a Merkle path (spec/receipt.md, Shape).

import { isObject } from "./canonical.mjs";
import { isDigest } from "./shapes.mjs";

const MAX_STEPS = 64;

const isStep = (step) =>
  isObject(step) && Object.keys(step).length === 2 && (step.side === "left" || step.side === "right") && isDigest(step.hash);

// Null for an array of at most 64 steps {side, hash}, or a sentence.
export function merklePath(value, where) {
  if (!Array.isArray(value)) return `${where} is not an array`;
  if (value.length > MAX_STEPS) return `${where} has more than ${MAX_STEPS} steps`;
  const at = value.findIndex((step) => !isStep(step));
  return at < 0 ? null : `${where}[${at}] is not a side, left or right, and a hash`;
}
