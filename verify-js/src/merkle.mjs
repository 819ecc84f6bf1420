// The tree of spec/ledger.md, Merkle tree: RFC 6962 over the event hashes, an odd node passed up as it is.

import { plain } from "./canonical.mjs";
import { quickSha256 } from "./digests.mjs";
import { packed } from "./proof_path.mjs";
import { fromHex, sha256, toHex } from "./sha256.mjs";

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);
const hasher = quickSha256();

// The hashes of events, 32 bytes each, in order.
export class Hashes {
  constructor() {
    this.bytes = new Uint8Array(32 * 256);
    this.count = 0;
  }

  // The offset at which the next hash is to be written; whoever writes it adds one to `count`.
  room() {
    const offset = 32 * this.count;
    if (offset + 32 > this.bytes.length) {
      const larger = new Uint8Array(2 * this.bytes.length);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    return offset;
  }

  hex(index) {
    return toHex(this.bytes, 32 * index, 32 * index + 32);
  }
}

export class MerkleTree {
  constructor(hashes) {
    this.hashes = hashes;
    this.made = null;
    this.rootText = null;
  }

  // All levels, the leaves first; made once, when first asked for.
  get levels() {
    if (this.made === null) {
      this.made = this.hashes.count === 0 ? [] : [leaves(this.hashes)];
      while (this.made.length > 0 && this.made.at(-1).length > 32) this.made.push(above(this.made.at(-1)));
    }
    return this.made;
  }

  root() {
    this.rootText ??= toHex(this.levels.length === 0 ? sha256(new Uint8Array(0)) : this.levels.at(-1));
    return this.rootText;
  }

  // The root over the first `size` leaves, in hexadecimal; 0 < size <= count.
  rootAt(size) {
    let node = null;
    let end = size;
    for (let height = 0; end > 0; height += 1) {
      const whole = 2 ** height;
      if (end % (2 * whole) === 0) continue;
      const at = 32 * ((end - whole) / whole);
      const left = this.levels[height].slice(at, at + 32);
      node = node === null ? left : hasher.update(NODE).update(left).update(node).digest();
      end -= whole;
    }
    return toHex(node);
  }

  // The path of a leaf as a receipt has it: [{side, hash}], the side being the sibling's.
  path(index) {
    const steps = [];
    let place = index;
    for (const level of this.levels) {
      const sibling = place ^ 1;
      if (32 * sibling < level.length) {
        const hash = toHex(level, 32 * sibling, 32 * sibling + 32);
        steps.push(plain({ side: sibling < place ? "left" : "right", hash }));
      }
      place >>= 1;
    }
    return steps;
  }

  // Whether `steps` is exactly the path of a leaf.
  isPath(index, steps) {
    const path = packed(steps);
    if (path === null) return false;
    const { page } = path;
    let place = index;
    let count = 0;
    for (const level of this.levels) {
      const sibling = place ^ 1;
      if (32 * sibling < level.length) {
        if (count === path.length) return false;
        const at = path.offset(count);
        if (page[at] !== (sibling < place ? 0 : 1) || !isSame(page, at + 1, level, 32 * sibling)) return false;
        count += 1;
      }
      place >>= 1;
    }
    return count === path.length;
  }
}

function isSame(one, from, other, at) {
  for (let byte = 0; byte < 32; byte += 1) if (one[from + byte] !== other[at + byte]) return false;
  return true;
}

function leaves(hashes) {
  const made = new Uint8Array(32 * hashes.count);
  for (let at = 0; at < made.length; at += 32) hasher.update(LEAF).update(hashes.bytes, at, at + 32).into(made, at);
  return made;
}

function above(level) {
  const made = new Uint8Array(32 * Math.ceil(level.length / 64));
  let out = 0;
  for (let at = 0; at < level.length; at += 64, out += 32) {
    if (at + 32 < level.length) hasher.update(NODE).update(level, at, at + 64).into(made, out);
    else made.set(level.subarray(at, at + 32), out);
  }
  return made;
}

// The root to which a path leads from an event's hash, in hexadecimal; null where a step is none.
export function rootFromPath(eventHash, steps) {
  const hash = fromHex(eventHash, 32);
  const path = packed(steps);
  if (hash === null || path === null) return null;
  const { page } = path;
  const node = hasher.update(LEAF).update(hash).digest();
  for (let step = 0; step < path.length; step += 1) {
    const at = path.offset(step);
    hasher.update(NODE);
    if (page[at] === 0) hasher.update(page, at + 1, at + 33).update(node).into(node);
    else hasher.update(node).update(page, at + 1, at + 33).into(node);
  }
  return toHex(node);
}
