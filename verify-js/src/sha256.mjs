// SHA-256 (FIPS 180-4), synchronous and incremental: WebCrypto hashes whole buffers only, and asynchronously.

const K = new Int32Array(64);
const START = new Int32Array(8);

// The constants are the first 32 bits of the fractional parts of cube and square roots of the first primes.
function fill() {
  const isPrime = (number) => {
    for (let factor = 2; factor * factor <= number; factor += 1) if (number % factor === 0) return false;
    return true;
  };
  const root = (radicand, degree) => {
    let low = 0n;
    let high = radicand;
    while (high - low > 1n) {
      const middle = (low + high) / 2n;
      if (middle ** degree <= radicand) low = middle;
      else high = middle;
    }
    return low;
  };
  for (let number = 2, count = 0; count < 64; number += 1) {
    if (!isPrime(number)) continue;
    const prime = BigInt(number);
    K[count] = Number(BigInt.asIntN(32, root(prime << 96n, 3n)));
    if (count < 8) START[count] = Number(BigInt.asIntN(32, root(prime << 64n, 2n)));
    count += 1;
  }
}
fill();

const W = new Int32Array(64);

export class Sha256 {
  constructor() {
    this.state = new Int32Array(8);
    this.block = new Uint8Array(64);
    this.reset();
  }

  reset() {
    this.state.set(START);
    this.held = 0;
    this.length = 0;
    return this;
  }

  update(bytes, from = 0, to = bytes.length) {
    this.length += to - from;
    let index = from;
    if (this.held > 0) {
      const taken = Math.min(64 - this.held, to - index);
      for (let at = 0; at < taken; at += 1) this.block[this.held + at] = bytes[index + at];
      this.held += taken;
      index += taken;
      if (this.held < 64) return this;
      compress(this.state, this.block, 0);
      this.held = 0;
    }
    for (; index + 64 <= to; index += 64) compress(this.state, bytes, index);
    for (; index < to; index += 1) {
      this.block[this.held] = bytes[index];
      this.held += 1;
    }
    return this;
  }

  // Writes the digest to `out` at `at`, and begins anew.
  into(out, at = 0) {
    const { block, state, length } = this;
    let { held } = this;
    block[held] = 0x80;
    held += 1;
    if (held > 56) {
      block.fill(0, held);
      compress(state, block, 0);
      held = 0;
    }
    block.fill(0, held);
    const high = Math.floor(length / 0x20000000);
    const low = (length << 3) >>> 0;
    for (let byte = 0; byte < 4; byte += 1) {
      block[56 + byte] = high >>> (24 - 8 * byte);
      block[60 + byte] = low >>> (24 - 8 * byte);
    }
    compress(state, block, 0);
    for (let word = 0; word < 8; word += 1) {
      const value = state[word];
      out[at + 4 * word] = value >>> 24;
      out[at + 4 * word + 1] = value >>> 16;
      out[at + 4 * word + 2] = value >>> 8;
      out[at + 4 * word + 3] = value;
    }
    this.reset();
    return out;
  }

  digest() {
    return this.into(new Uint8Array(32));
  }

  hex() {
    return toHex(this.digest());
  }
}

function compress(state, bytes, offset) {
  for (let word = 0, index = offset; word < 16; word += 1, index += 4) {
    W[word] = (bytes[index] << 24) | (bytes[index + 1] << 16) | (bytes[index + 2] << 8) | bytes[index + 3];
  }
  for (let word = 16; word < 64; word += 1) {
    const early = W[word - 15];
    const late = W[word - 2];
    const one = ((early >>> 7) | (early << 25)) ^ ((early >>> 18) | (early << 14)) ^ (early >>> 3);
    const two = ((late >>> 17) | (late << 15)) ^ ((late >>> 19) | (late << 13)) ^ (late >>> 10);
    W[word] = (W[word - 16] + one + W[word - 7] + two) | 0;
  }
  let a = state[0];
  let b = state[1];
  let c = state[2];
  let d = state[3];
  let e = state[4];
  let f = state[5];
  let g = state[6];
  let h = state[7];
  for (let round = 0; round < 64; round += 1) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[round] + W[round]) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

const PAIRS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export function toHex(bytes, from = 0, to = bytes.length) {
  let made = "";
  for (let index = from; index < to; index += 1) made += PAIRS[bytes[index]];
  return made;
}

// The bytes of lower-case hexadecimal of exactly `length` bytes; null where the text is none.
export function fromHex(text, length) {
  if (typeof text !== "string" || text.length !== 2 * length || !/^[0-9a-f]*$/.test(text)) return null;
  const made = new Uint8Array(length);
  for (let at = 0; at < length; at += 1) made[at] = Number.parseInt(text.slice(2 * at, 2 * at + 2), 16);
  return made;
}

const digit = (half) => half + (half < 10 ? 48 : 87);

// Whether the text is the hexadecimal of the 32 bytes at `from`.
export function isHexOf(text, bytes, from) {
  if (text.length !== 64) return false;
  for (let at = 0; at < 32; at += 1) {
    const byte = bytes[from + at];
    if (text.charCodeAt(2 * at) !== digit(byte >> 4) || text.charCodeAt(2 * at + 1) !== digit(byte & 15)) return false;
  }
  return true;
}

const SHARED = new Sha256();

export const sha256 = (bytes) => SHARED.reset().update(bytes).digest();
export const sha256Hex = (bytes) => toHex(sha256(bytes));
