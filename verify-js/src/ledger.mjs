// Reads a ledger (spec/ledger.md, Lines and Events) in one pass: each event is parsed, its hash and link are checked,
// and it is shown once. Nothing is kept of it but its hash.
//
// Reading stops at the first line that breaks a rule; the digest of the file is over all bytes all the same.

import { Plain, Scanner, textOf } from "./canonical.mjs";
import { Hashes, MerkleTree } from "./merkle.mjs";
import { Refused } from "./refused.mjs";
import { Sha256, isHexOf, sha256, sha256Hex, toHex } from "./sha256.mjs";

export const FOLD = "docket/fold/v1";
export const GENESIS = toHex(sha256(new TextEncoder().encode("docket/genesis/v1")));
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

const LF = 10;
const CHUNK_BYTES = 1 << 18;
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
    this.hasher = new Sha256();
    this.computed = new Uint8Array(32);
  }

  // Reads the whole file; with `isHashed` false somebody else makes its digest.
  read(bytes, isHashed = true) {
    for (let at = 0; at < bytes.length && this.sound; ) at = this.chunk(bytes, at);
    this.fileSha256 = isHashed ? sha256Hex(bytes) : null;
    this.events = this.hashes.count;
    this.tree = new MerkleTree(this.hashes);
    return this;
  }

  get sound() {
    return this.damage === null && !this.torn;
  }

  // Reads the lines of about one chunk from `at` on; returns where the next begins.
  chunk(bytes, at) {
    let end = at + CHUNK_BYTES;
    if (end >= bytes.length) end = bytes.lastIndexOf(LF) + 1;
    else end = bytes.lastIndexOf(LF, end) + 1;
    if (end <= at) end = bytes.indexOf(LF, at) + 1;
    if (end <= at) return this.tail(bytes, at);
    const text = asciiText(bytes, at, end);
    for (let start = at; start < end && this.damage === null; ) {
      const stop = bytes.indexOf(LF, start);
      this.line(bytes, start, stop, text, at);
      start = stop + 1;
    }
    return end;
  }

  // What stands after the last LF.
  tail(bytes, at) {
    if (bytes.length - at > MAX_LINE_BYTES) this.broken(`a line of more than ${MAX_LINE_BYTES} bytes`);
    else this.torn = true;
    return bytes.length;
  }

  broken(detail) {
    this.damage = `event ${this.hashes.count}: ${detail}`;
  }

  line(bytes, start, stop, text, base) {
    try {
      if (stop - start > MAX_LINE_BYTES) throw new Refused("too-large", `a line of more than ${MAX_LINE_BYTES} bytes`);
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
  for (let index = from; index < to; index += 1) if (bytes[index] > 127) return null;
  return new TextDecoder("latin1").decode(bytes.subarray(from, to));
}
