// Values of decoded events and policies: what they are, and amounts as whole micro-dollars.

import { microsOf, spelledUsd } from "../money.mjs";

export { isObject } from "../canonical.mjs";
export { shown } from "../refused.mjs";
export { spelledUsd as dollars } from "../money.mjs";

const NOTHING = Object.freeze(Object.create(null));

// The object that another has under a name, an empty one where it has none.
export function objectAt(value, name) {
  const found = value[name];
  return typeof found === "object" && found !== null && !Array.isArray(found) ? found : NOTHING;
}

// The micro-dollars of an amount in its one spelling (spec/canonical.md, Money), as a BigInt; null for anything else.
export function micros(value) {
  const amount = microsOf(value);
  return amount !== null && spelledUsd(amount) === value ? amount : null;
}
