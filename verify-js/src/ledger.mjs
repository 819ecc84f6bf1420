// Reads a ledger (spec/ledger.md, Lines and Events) in one pass, as its bytes come: each event is parsed, its hash and
// link are checked, and it is shown once. Nothing is kept of it but its hash.
//
// Reading stops at the first line that breaks a rule; whoever makes the digest of the file makes it of all bytes.

import { Plain, Scanner, textOf } from "./canonical.mjs";
import { joined } from "./chunks.mjs";
import { quickSha256 } from "./digests.mjs";
import { Hashes, MerkleTree } from "./merkle.mjs";
import { Refused } from "./refused.mjs";
import { isHexOf, sha256, toHex } from "./sha256.mjs";

export const FOLD = "docket/fold/v1";
export const GENESIS = toHex(sha256(new TextEncoder().encode("docket/genesis/v1")));
const MAX_LINE_BYTES = 16 * 1024 * 1024;

const TOO_LONG = `a line of more than ${MAX_LINE_BYTES} bytes`;

const LF = 10;
const HASH_MEMBER = ',"hash":"'.length + 64 + 1;

const refuse = () => {
  throw new Refused("not-canonical", "the line is not an event in canonical form");
};

// The text that begins here, and nothing else.
function text(scanner) {
  if (scanner.text.charCodeAt(scanner.index) !== 34) refuse();
  return scanner.string();
}

// Reads one event that stands in `line` from `start` to `end`: {event, hashAt}, the place of its hash member. Sorted,
// the six members can only stand in this order.
function readEvent(line, start, end) {
  const scanner = new Scanner(line, true, start);
  scanner.base = -start;
  if (!scanner.take('{"data":')) refuse();
  const data = scanner.value(1);
  if (!(data instanceof Plain)) refuse();
  const hashAt = scanner.index;
  if (!scanner.take(',"hash":')) refuse();
  const hash = text(scanner);
  if (!scanner.take(',"prev":')) refuse();
  const prev = text(scanner);
  if (!scanner.take(',"seq":')) refuse();
  const seq = scanner.integer();
  if (!scanner.take(',"ts":')) refuse();
  const ts = text(scanner);
  if (!scanner.take(',"type":')) refuse();
  const type = text(scanner);
  if (!scanner.take("}") || scanner.index !== end) refuse();
  return { event: { seq, ts, type, data, prev, hash, known: false }, hashAt };
}

export class LedgerReader {
  // `show(event)` is called for each event that holds.
  constructor(show) {
    this.show = show;
    this.hashes = new Hashes();
    this.head = null;
    this.damage = null;
    this.torn = false;
    this.hasher = quickSha256();
    this.computed = new Uint8Array(32);
    // The pieces of a line that has not ended yet, and how long they are together.
    this.parts = [];
    this.partsBytes = 0;
  }

  // Takes the next bytes of the file.
  push(bytes) {
    if (!this.sound) return;
    const stop = bytes.lastIndexOf(LF) + 1;
    let from = 0;
    if (this.parts.length > 0 && stop > 0) {
      from = bytes.indexOf(LF) + 1;
      this.keep(bytes.subarray(0, from));
      const line = joined(this.parts);
      this.forget();
      this.lines(line, 0, line.length);
    }
    if (from < stop && this.sound) this.lines(bytes, from, stop);
    if (stop < bytes.length) this.keep(bytes.slice(stop));
    if (this.sound && this.partsBytes > MAX_LINE_BYTES) this.broken(TOO_LONG);
    if (!this.sound) this.forget();
  }

  keep(part) {
    this.parts.push(part);
    this.partsBytes += part.length;
  }

  forget() {
    this.parts = [];
    this.partsBytes = 0;
  }

  // There are no more bytes.
  end() {
    this.torn = this.damage === null && this.partsBytes > 0;
    this.forget();
    this.events = this.hashes.count;
    this.tree = new MerkleTree(this.hashes);
    return this;
  }

  get sound() {
    return this.damage === null && !this.torn;
  }

  // Reads the lines of which the last one ends at `end`.
  lines(bytes, from, end) {
    const text = asciiText(bytes, from, end);
    for (let start = from; start < end && this.damage === null; ) {
      const stop = bytes.indexOf(LF, start);
      this.line(bytes, start, stop, text, from);
      start = stop + 1;
    }
  }

  broken(detail) {
    this.damage = `event ${this.hashes.count}: ${detail}`;
  }

  line(bytes, start, stop, text, base) {
    try {
      if (stop - start > MAX_LINE_BYTES) throw new Refused("too-large", TOO_LONG);
      if (text !== null) {
        const { event, hashAt } = readEvent(text, start - base, stop - base);
        this.hasher.update(bytes, start, base + hashAt).update(bytes, base + hashAt + HASH_MEMBER, stop);
        this.take(event);
      } else {
        const own = textOf(bytes.subarray(start, stop));
        const { event, hashAt } = readEvent(own, 0, own.length);
        const body = new TextEncoder().encode(own.slice(0, hashAt) + own.slice(hashAt + HASH_MEMBER));
        this.hasher.update(body);
        this.take(event);
      }
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.hasher.reset();
      this.broken(error.message);
    }
  }

  // Takes an event whose body was given to the hasher.
  take(event) {
    this.hasher.into(this.computed);
    const { hashes } = this;
    if (event.seq !== hashes.count) throw new Refused(null, `its seq is ${event.seq}`);
    if (event.prev !== (this.head ?? GENESIS)) throw new Refused(null, "its prev is not the hash of the event before");
    if (!isHexOf(event.hash, this.computed, 0)) throw new Refused(null, "its hash is not that of its members");
    const room = hashes.room();
    hashes.bytes.set(this.computed, room);
    hashes.count += 1;
    this.head = event.hash;
    this.show(event);
  }
}

// The bytes as a text if all of them are ASCII, so that places in both are the same; else null.
function asciiText(bytes, from, to) {
  try {
    const text = textOf(bytes.subarray(from, to));
    return text.length === to - from ? text : null;
  } catch {
    return null;
  }
}
