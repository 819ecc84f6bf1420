// The two shapes of a receipt: docket's own, closed in every member, and v1 as other writers fill it. What they are is
// spec/receipt-shape.json, of which `rebuild/lists.mjs` holds a copy; what its words mean is spec/receipt.md, Shape.

import { merklePath } from "./proof_path.mjs";
import { RECEIPT_SHAPE } from "./rebuild/lists.mjs";
import {
  amount, anything, array, constant, count, digest, flag, instant, integer, mapping, nullable, object, oneOf, record, text,
} from "./shapes.mjs";

export const FORMAT = "docket/receipt/v1";

const WORDS = { amount, any: anything, count, digest, flag, instant, integer, object, proof: merklePath, text };
const ENDINGS = { "?": nullable, "[]": array, "{}": mapping };
const known = new Map();

function ofWord(word) {
  if (Array.isArray(word)) return oneOf(...word);
  if (typeof word === "object") return ofConstant(word.is);
  for (const [ending, of] of Object.entries(ENDINGS)) {
    if (word.endsWith(ending)) return of(ofWord(word.slice(0, -ending.length)));
  }
  return word.startsWith("@") ? ofRecord(word.slice(1)) : WORDS[word];
}

function ofConstant(wanted) {
  if (!Array.isArray(wanted)) return constant(wanted);
  const isSame = (value) => value.length === wanted.length && wanted.every((one, at) => value[at] === one);
  return (value, where) => (Array.isArray(value) && isSame(value) ? null : `${where} is not ${wanted.join(", ")}`);
}

function ofRecord(name) {
  if (!known.has(name)) known.set(name, made(RECEIPT_SHAPE.records[name]));
  return known.get(name);
}

function made({ required, optional = {}, open = false }) {
  const members = (words) => Object.fromEntries(Object.entries(words).map(([name, word]) => [name, ofWord(word)]));
  return record(members(required), members(optional), { closed: !open });
}

const ours = made(RECEIPT_SHAPE.ours);
const v1 = made(RECEIPT_SHAPE.v1);

// Null, or a sentence that names the first member which has not its form.
export const checkReceipt = (document, isOurs) => (isOurs ? ours : v1)(document, "receipt");
