// Reads a receipt that comes in pieces. What is held of its text is the one value that is being read: a member of the
// document or of its appendix, or a usage row. A row's path is held as bytes.
//
// What it gives is what `decodeDocument` gives of the whole, but for the paths; so is what it refuses, if not in the same
// words, for of several things that are wrong it tells the one that it meets first.

import { Plain, isObject } from "./canonical.mjs";
import { slices } from "./chunks.mjs";
import { Window } from "./receipt_window.mjs";
import { Refused } from "./refused.mjs";
import { RowReader, UNKNOWN, WAIT } from "./row_reader.mjs";

const MAX_RECEIPT_BYTES = 256 * 1024 * 1024;
const MAX_RECEIPT_VALUES = 6_000_000;

// No token that a refusal is about reaches further.
const LOOKAHEAD = 16;

// Gives what `read(scanner)` gives, once enough is there of the text. What it does is done anew then.
function* tried(window, read) {
  for (;;) {
    const scanner = window.look();
    const start = scanner.index;
    scanner.reach = 0;
    try {
      const value = read(scanner);
      if (window.isLast || scanner.index < window.limit) return value;
    } catch (error) {
      const isSure = window.isLast || scanner.reach + LOOKAHEAD < window.limit;
      if (isSure || !(error instanceof Refused)) throw error;
    }
    scanner.index = start;
    yield* more(window);
  }
}

// Waits for the next piece; where a value is long, until twice as much is there, for it is tried from its beginning.
function* more(window) {
  window.leave();
  window.wanted = 2 * window.rest;
  yield;
}

// Whether an array or object begins here, of which more is known than that it is a value; then its bracket is behind us.
const opens = (code) => (scanner) => {
  if (scanner.text.charCodeAt(scanner.index) !== code) return false;
  scanner.index += 1;
  scanner.blanks();
  return true;
};

const closes = (code) => (scanner) => {
  if (scanner.text.charCodeAt(scanner.index) !== code) return false;
  scanner.index += 1;
  return true;
};

const [opensArray, closesArray, opensObject, closesObject] = [opens(91), closes(93), opens(123), closes(125)];

// An object behind its bracket; `known` has by name what reads a member as something more than a value.
function* members(window, depth, known) {
  const made = new Plain();
  if (yield* tried(window, closesObject)) return made;
  for (;;) {
    const name = yield* tried(window, (scanner) => scanner.name(made));
    made[name] = yield* Object.hasOwn(known, name) ? known[name](window, depth) : value(window, depth);
    if (yield* tried(window, (scanner) => scanner.over(125))) return made;
  }
}

const value = (window, depth) => tried(window, (scanner) => scanner.value(depth));

const objectOf = (known) =>
  function* read(window, depth) {
    if (yield* tried(window, opensObject)) return yield* members(window, depth + 1, known);
    return yield* value(window, depth);
  };

function* usage(window, depth) {
  if (!(yield* tried(window, opensArray))) return yield* value(window, depth);
  if (yield* tried(window, closesArray)) return [];
  window.leave();
  const reader = new RowReader(window, depth + 1);
  const rows = [];
  for (;;) {
    const row = reader.next();
    if (row === UNKNOWN) break;
    if (row === WAIT) yield* more(window);
    else if (rows.push(row) && reader.isOver) return rows;
  }
  // What is not as it mostly is, is the scanner's, and so is all behind it: to go to and fro would take long.
  for (;;) {
    rows.push(reader.held(yield* value(window, depth + 1)));
    if (yield* tried(window, (scanner) => scanner.over(93))) return rows;
  }
}

const document = objectOf({ appendix: objectOf({ usage }) });

function* whole(window) {
  yield* tried(window, (scanner) => scanner.blanks());
  const made = yield* document(window, 0);
  yield* tried(window, (scanner) => scanner.blanks());
  const scanner = window.look();
  if (scanner.index !== window.limit) throw scanner.notJson(scanner.index);
  return made;
}

// Takes the bytes of a receipt piece by piece; Refused where they are none.
export class ReceiptReader {
  constructor() {
    this.window = new Window();
    this.reading = whole(this.window);
    this.bytes = 0;
    this.marks = 0;
  }

  push(chunk) {
    this.bytes += chunk.length;
    if (this.bytes > MAX_RECEIPT_BYTES) throw new Refused("too-large", `the receipt has more than ${MAX_RECEIPT_BYTES} bytes`);
    this.marks += marksIn(chunk);
    if (this.marks > MAX_RECEIPT_VALUES) {
      throw new Refused("too-large", `the receipt holds more than ${MAX_RECEIPT_VALUES} values`);
    }
    this.window.add(chunk);
    if (this.window.isEnough) this.reading.next();
  }

  // The receipt as an object, its form unchecked.
  end() {
    this.window.leave();
    this.window.isLast = true;
    const { value: made } = this.reading.next();
    if (!isObject(made)) throw new Refused("wrong-type", "the receipt is not a JSON object");
    return made;
  }
}

// The receipt whose bytes are all at hand.
export function decodeReceipt(bytes) {
  const reader = new ReceiptReader();
  for (const chunk of slices(bytes)) reader.push(chunk);
  return reader.end();
}

// How many commas and opening brackets there are: no fewer than values, but for one. Four bytes are looked at at once.
function marksIn(bytes) {
  const head = -bytes.byteOffset & 3;
  if (bytes.length < 8) return marksOneByOne(bytes, 0, bytes.length);
  const count = (bytes.length - head) >> 2;
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset + head, count);
  let marks = marksOneByOne(bytes, 0, head) + marksOneByOne(bytes, head + 4 * count, bytes.length);
  for (let at = 0; at < count; at += 1) {
    const word = words[at];
    // The highest bit of each byte that is a comma, or one of the brackets, which differ by one bit.
    const found = zeros(word ^ 0x2c2c2c2c) | zeros((word & 0xdfdfdfdf) ^ 0x5b5b5b5b);
    if (found !== 0) marks += ((found >>> 7) & 1) + ((found >>> 15) & 1) + ((found >>> 23) & 1) + (found >>> 31);
  }
  return marks;
}

const zeros = (word) => ~(((word & 0x7f7f7f7f) + 0x7f7f7f7f) | word | 0x7f7f7f7f);

function marksOneByOne(bytes, from, to) {
  let marks = 0;
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at];
    if (byte === 44 || byte === 91 || byte === 123) marks += 1;
  }
  return marks;
}
