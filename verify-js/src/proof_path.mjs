// Merkle paths (spec/receipt.md, Shape). A receipt has one for each of its rows, most of its bytes are theirs: where the
// rows are read they are held as bytes, 33 for a step, and only what has not the form of a path stays what it is.

import { isObject } from "./canonical.mjs";
import { toHex } from "./sha256.mjs";
import { isDigest } from "./shapes.mjs";

const MAX_STEPS = 64;
const STEP_BYTES = 33;
const PAGE_BYTES = 1 << 18;

const isStep = (step) =>
  isObject(step) && Object.keys(step).length === 2 && (step.side === "left" || step.side === "right") && isDigest(step.hash);

// Null for an array of at most 64 steps {side, hash}, or a sentence.
export function merklePath(value, where) {
  if (value instanceof ProofPath) return null;
  if (!Array.isArray(value)) return `${where} is not an array`;
  if (value.length > MAX_STEPS) return `${where} has more than ${MAX_STEPS} steps`;
  const at = value.findIndex((step) => !isStep(step));
  return at < 0 ? null : `${where}[${at}] is not a side, left or right, and a hash`;
}

// A path of at most 64 steps. Each is the byte 0 where the sibling stands on the left, 1 on the right, and its hash.
export class ProofPath {
  constructor(page, at, length) {
    this.page = page;
    this.at = at;
    this.length = length;
    // The tree of which this was found to be the path of that leaf: two checks ask.
    this.tree = null;
    this.leaf = -1;
  }

  offset(step) {
    return this.at + STEP_BYTES * step;
  }

  // The canonical text.
  spelled() {
    const steps = [];
    for (let step = 0; step < this.length; step += 1) {
      const at = this.offset(step);
      const side = this.page[at] === 0 ? "left" : "right";
      steps.push(`{"hash":"${toHex(this.page, at + 1, at + STEP_BYTES)}","side":"${side}"}`);
    }
    return `[${steps.join(",")}]`;
  }

  // Without members, so that it is nothing but a path to whoever looks into it.
  toJSON() {
    return JSON.parse(this.spelled());
  }
}

// The steps of an array as one; null where one is none. What else stands in a step is not looked at.
export function packed(steps) {
  if (steps instanceof ProofPath) return steps;
  const page = new Uint8Array(STEP_BYTES * steps.length);
  for (let step = 0, at = 0; step < steps.length; step += 1, at += STEP_BYTES) {
    const { side, hash } = steps[step];
    if ((side !== "left" && side !== "right") || !isDigest(hash)) return null;
    page[at] = side === "left" ? 0 : 1;
    for (let byte = 0; byte < 32; byte += 1) page[at + 1 + byte] = Number.parseInt(hash.slice(2 * byte, 2 * byte + 2), 16);
  }
  return new ProofPath(page, 0, steps.length);
}

// What a byte is worth as a lower-case hexadecimal digit; 16 where it is none.
const DIGITS = new Uint8Array(256).fill(16);
for (let digit = 0; digit < 16; digit += 1) DIGITS[digit.toString(16).charCodeAt(0)] = digit;

// The bytes of a text that is ASCII.
export const asciiBytes = (text) => Uint8Array.from(text, (unit) => unit.charCodeAt(0));
const [SIDE, HASH, LEFT, RIGHT] = ['"side"', '"hash"', '"left"', '"right"'].map(asciiBytes);

// Past the blanks from `at` on.
export function past(bytes, at) {
  let index = at;
  for (let byte = bytes[index]; byte === 32 || byte === 10 || byte === 13 || byte === 9; byte = bytes[index]) index += 1;
  return index;
}

// Whether the bytes from `at` on begin so.
export function begins(bytes, at, word) {
  for (let index = 0; index < word.length; index += 1) if (bytes[at + index] !== word[index]) return false;
  return true;
}

// Behind a name, its colon and the blanks around that; -1 where another stands here.
function behindName(bytes, at, name) {
  if (!begins(bytes, at, name)) return -1;
  const colon = past(bytes, at + name.length);
  return bytes[colon] === 58 ? past(bytes, colon + 1) : -1;
}

// Reads paths as they are mostly written, in the one order of a step's members or in the other, into pages that many
// share.
export class PathReader {
  constructor() {
    this.page = new Uint8Array(PAGE_BYTES);
    this.used = 0;
    this.length = 0;
  }

  // Past the path that begins at `at`, whose bytes are then at hand; -1 where none is written so.
  read(bytes, at) {
    if (this.used + STEP_BYTES * MAX_STEPS > this.page.length) {
      this.page = new Uint8Array(PAGE_BYTES);
      this.used = 0;
    }
    this.length = 0;
    if (bytes[at] !== 91) return -1;
    let index = past(bytes, at + 1);
    if (bytes[index] === 93) return index + 1;
    while (this.length < MAX_STEPS) {
      index = this.step(bytes, index, this.used + STEP_BYTES * this.length);
      if (index < 0) return -1;
      this.length += 1;
      index = past(bytes, index);
      if (bytes[index] === 93) return index + 1;
      if (bytes[index] !== 44) return -1;
      index = past(bytes, index + 1);
    }
    return -1;
  }

  // The path that was read last, which stays.
  take() {
    const path = new ProofPath(this.page, this.used, this.length);
    this.used += STEP_BYTES * this.length;
    return path;
  }

  // Writes the step that begins at `at` to the page, at `to`; past it, or -1.
  step(bytes, at, to) {
    if (bytes[at] !== 123) return -1;
    let index = past(bytes, at + 1);
    const isSideFirst = bytes[index + 1] === SIDE[1];
    index = isSideFirst ? this.side(bytes, index, to) : this.hash(bytes, index, to + 1);
    if (index < 0) return -1;
    index = past(bytes, index);
    if (bytes[index] !== 44) return -1;
    index = past(bytes, index + 1);
    index = isSideFirst ? this.hash(bytes, index, to + 1) : this.side(bytes, index, to);
    if (index < 0) return -1;
    index = past(bytes, index);
    return bytes[index] === 125 ? index + 1 : -1;
  }

  side(bytes, at, to) {
    const value = behindName(bytes, at, SIDE);
    if (value < 0) return -1;
    const isLeft = begins(bytes, value, LEFT);
    if (!isLeft && !begins(bytes, value, RIGHT)) return -1;
    this.page[to] = isLeft ? 0 : 1;
    return value + (isLeft ? LEFT : RIGHT).length;
  }

  hash(bytes, at, to) {
    const value = behindName(bytes, at, HASH);
    if (value < 0 || bytes[value] !== 34) return -1;
    const { page } = this;
    let wrong = 0;
    for (let index = 0, from = value + 1; index < 32; index += 1, from += 2) {
      const high = DIGITS[bytes[from]];
      const low = DIGITS[bytes[from + 1]];
      wrong |= high | low;
      page[to + index] = (high << 4) | low;
    }
    return wrong < 16 && bytes[value + 65] === 34 ? value + 66 : -1;
  }
}
