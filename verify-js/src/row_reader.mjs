// Reads the usage rows of a receipt from its bytes: each as a text in which a mark stands in the place of its path, which
// is read as bytes. Most of a receipt's bytes are these paths.
//
// Where a row ends and its path stands is found by a look alone. What is read so is what the scanner would read, for it
// reads all but the path, and must find the mark as that row's path; whatever is not as it mostly is, is left to it.

import { Plain, Scanner, isObject, textOf } from "./canonical.mjs";
import { PathReader, asciiBytes, begins, merklePath, packed, past } from "./proof_path.mjs";
import { Refused } from "./refused.mjs";

// More of the text must come first.
export const WAIT = Symbol("wait");
// Here stands what the scanner has to read, or to refuse.
export const UNKNOWN = Symbol("unknown");

const PATH = asciiBytes('"merkle_path"');
// No text that stands behind it makes another value of it.
const MARK = asciiBytes("null");
const [QUOTE, COMMA, COLON, BACKSLASH] = asciiBytes('",:\\');
const [OPENS, CLOSES, OPENS_ARRAY, CLOSES_ARRAY] = asciiBytes("{}[]");

// A slice of no more units is a text of its own; a longer one holds on to all that it was cut from.
const SHORT = 12;
const alone = (text) => (text.length > SHORT ? [text.slice(0, 1), text.slice(1)].join("") : text);

export class RowReader {
  // `depth` is that of what holds the rows.
  constructor(window, depth) {
    this.window = window;
    this.depth = depth;
    this.paths = new PathReader();
    this.scratch = new Uint8Array(4096);
    this.before = new Plain();
    this.isOver = false;
    // Where the path of the row stands that was looked at last; 0 and 0 where none was seen.
    this.pathAt = 0;
    this.pathEnd = 0;
    // How many bytes its text is.
    this.textBytes = 0;
  }

  // The row that begins where the window stands, with what stands behind it; `isOver` then tells whether it is the last.
  next() {
    const { window } = this;
    const { bytes } = window;
    const at = past(bytes, window.at);
    window.pass(at - window.at, at - window.at);
    const later = window.isLast ? UNKNOWN : WAIT;
    if (at === window.end) return later;
    if (bytes[at] !== OPENS) return UNKNOWN;
    const end = this.ending(bytes, at, window.end);
    const behind = end < 0 ? window.end : past(bytes, end);
    if (behind >= window.end) return later;
    this.isOver = bytes[behind] === CLOSES_ARRAY;
    if (!this.isOver && bytes[behind] !== COMMA) return UNKNOWN;
    const text = this.text(bytes, at, end);
    const row = text === null ? UNKNOWN : this.read(text);
    if (row === UNKNOWN) return row;
    window.pass(behind + 1 - at, behind + 1 - at - (this.textBytes - text.length));
    return this.held(row);
  }

  // Past the object that begins at `at`; -1 where it does not end here.
  ending(bytes, at, end) {
    this.pathAt = 0;
    this.pathEnd = 0;
    let depth = 0;
    for (let index = at; index < end; index += 1) {
      const byte = bytes[index];
      if (byte === QUOTE) {
        const from = index;
        index = closing(bytes, index, end);
        if (depth === 1 && index - from === PATH.length - 1 && begins(bytes, from, PATH)) index = this.path(bytes, index);
      } else if (byte === OPENS || byte === OPENS_ARRAY) depth += 1;
      else if (byte === CLOSES || byte === CLOSES_ARRAY) {
        depth -= 1;
        if (depth === 0) return index + 1;
      }
    }
    return -1;
  }

  // The last byte of the path behind this name, or where it stood.
  path(bytes, at) {
    const colon = past(bytes, at + 1);
    if (bytes[colon] !== COLON || this.pathEnd > 0) return at;
    const from = past(bytes, colon + 1);
    const end = this.paths.read(bytes, from);
    if (end < 0) return at;
    this.pathAt = from;
    this.pathEnd = end;
    return end - 1;
  }

  // The text of the row with the mark in its path's place and a NUL behind it; null where it is none.
  text(bytes, at, end) {
    let length = end - at;
    const cut = this.pathEnd - this.pathAt;
    const needed = length - cut + MARK.length + 1;
    if (needed > this.scratch.length) this.scratch = new Uint8Array(2 * needed);
    const { scratch } = this;
    if (cut === 0) scratch.set(bytes.subarray(at, end));
    else {
      const before = this.pathAt - at;
      scratch.set(bytes.subarray(at, this.pathAt));
      scratch.set(MARK, before);
      scratch.set(bytes.subarray(this.pathEnd, end), before + MARK.length);
      length += MARK.length - cut;
    }
    scratch[length] = 0;
    this.textBytes = length + 1;
    try {
      return textOf(scratch.subarray(0, length + 1), false);
    } catch {
      return null;
    }
  }

  read(text) {
    const scanner = new Scanner(text, false);
    let row;
    try {
      row = scanner.value(this.depth);
    } catch (error) {
      if (error instanceof Refused) return UNKNOWN;
      throw error;
    }
    if (scanner.index !== text.length - 1) return UNKNOWN;
    if (this.pathEnd === 0) return row;
    if (row.merkle_path !== null) return UNKNOWN;
    row.merkle_path = this.paths.take();
    return row;
  }

  // A row in the form in which it is held: its texts by themselves, one for all equal ones of neighbours.
  held(row) {
    if (!isObject(row)) return row;
    const { before } = this;
    for (const name of Object.keys(row)) {
      const value = row[name];
      if (typeof value === "string") row[name] = before[name] === value ? before[name] : alone(value);
    }
    if (Array.isArray(row.merkle_path) && merklePath(row.merkle_path, "") === null) row.merkle_path = packed(row.merkle_path);
    this.before = row;
    return row;
  }
}

// The quote with which a text ends that begins at `at`.
function closing(bytes, at, end) {
  let index = at + 1;
  while (index < end && bytes[index] !== QUOTE) index += bytes[index] === BACKSLASH ? 2 : 1;
  return index;
}
