// The part of a document that came and was not read yet. It is looked at as bytes, or through a scanner as a text; either
// way a NUL stands behind what is there, which is part of no value, so that nothing reads further.

import { Scanner, textOf, utf8 } from "./canonical.mjs";

const FIRST_BYTES = 1 << 18;

export class Window {
  constructor() {
    // What is there begins at `at` and ends in front of `end`.
    this.bytes = new Uint8Array(FIRST_BYTES);
    this.at = 0;
    this.end = 0;
    this.isLast = false;
    // How many bytes are to be there before it is tried again.
    this.wanted = 0;
    // How many characters were read.
    this.characters = 0;
    this.scanner = null;
    this.scannedBytes = 0;
  }

  get rest() {
    return this.end - this.at;
  }

  // Whether there is enough of it to try again.
  get isEnough() {
    return this.isLast || this.rest >= this.wanted;
  }

  add(chunk) {
    this.leave();
    const { rest } = this;
    if (this.end + chunk.length + 1 > this.bytes.length) {
      const needed = rest + chunk.length + 1;
      const room = needed > this.bytes.length ? new Uint8Array(2 * needed) : this.bytes;
      room.set(this.bytes.subarray(this.at, this.end));
      this.bytes = room;
      this.at = 0;
      this.end = rest;
    }
    this.bytes.set(chunk, this.end);
    this.end += chunk.length;
    this.bytes[this.end] = 0;
  }

  // A scanner over the text of what is there. Half of a character at its end waits for the other half.
  look() {
    if (this.scanner === null) {
      const end = this.isLast ? this.end : wholeCharacters(this.bytes, this.at, this.end);
      const cut = this.bytes[end];
      this.bytes[end] = 0;
      const scanner = new Scanner(textOf(this.bytes.subarray(this.at, end + 1), this.characters === 0), false);
      this.bytes[end] = cut;
      scanner.base = this.characters;
      this.scanner = scanner;
      this.scannedBytes = end - this.at;
    }
    return this.scanner;
  }

  // How long the text is that the scanner may read.
  get limit() {
    return this.scanner.text.length - 1;
  }

  // Goes on as bytes, behind what was read as a text.
  leave() {
    if (this.scanner === null) return;
    const { index, text } = this.scanner;
    const isAscii = text.length - 1 === this.scannedBytes;
    this.pass(isAscii ? index : utf8(text.slice(0, index)).length, index);
    this.scanner = null;
  }

  // Past bytes that were read, and that are so many characters.
  pass(bytes, characters) {
    this.at += bytes;
    this.characters += characters;
  }
}

// Where what is there ends, but for a character that is not whole.
function wholeCharacters(bytes, from, to) {
  for (let at = to - 1; at >= from && at >= to - 3; at -= 1) {
    const byte = bytes[at];
    if (byte < 0x80) return to;
    if (byte >= 0xc0) return to - at < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? at : to;
  }
  return to;
}
