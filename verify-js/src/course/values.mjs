// Values of decoded events and policies: what they are, and amounts as whole micro-dollars.

export { isObject } from "../canonical.mjs";
export { shown } from "../refused.mjs";
// `micros`: the micro-dollars of an amount in its one spelling (spec/canonical.md, Money), as a BigInt; null for anything else.
export { canonicalMicros as micros, spelledUsd as dollars } from "../money.mjs";

const NOTHING = Object.freeze(Object.create(null));

// The object that another has under a name, an empty one where it has none.
export function objectAt(value, name) {
  const found = value[name];
  return typeof found === "object" && found !== null && !Array.isArray(found) ? found : NOTHING;
}
