// The quickest digests that the platform has without waiting: Node's own, where this is Node, else those of `sha256.mjs`.
// What they give is the same.

import { Sha256, sha256, sha256Hex, toHex } from "./sha256.mjs";

const native = nativeDigests();

// Null where there are none, or they are others than Node's.
function nativeDigests() {
  const text = Uint8Array.of(97, 98, 99);
  try {
    const found = globalThis.process?.getBuiltinModule("node:crypto");
    const isSame = found.hash("sha256", text, "latin1") === String.fromCharCode(...sha256(text));
    return isSame && found.createHash("sha256").update(text).digest("hex") === sha256Hex(text) ? found : null;
  } catch {
    return null;
  }
}

// Whether these are the platform's own.
export const isNative = native !== null;

// As Sha256, of short texts: what comes is gathered and given away at once.
class NativeSha256 {
  constructor() {
    this.gathered = new Uint8Array(4096);
    this.length = 0;
    // Its beginnings that were needed, by their length.
    this.beginnings = [];
  }

  reset() {
    this.length = 0;
    return this;
  }

  update(bytes, from = 0, to = bytes.length) {
    const at = this.length;
    this.length += to - from;
    if (this.length > this.gathered.length) {
      const larger = new Uint8Array(2 * this.length);
      larger.set(this.gathered.subarray(0, at));
      this.gathered = larger;
      this.beginnings = [];
    }
    if (to - from > 64) this.gathered.set(bytes.subarray(from, to), at);
    else for (let index = from; index < to; index += 1) this.gathered[at + index - from] = bytes[index];
    return this;
  }

  into(out, at = 0) {
    const { gathered, length } = this;
    const text = length < 128 ? (this.beginnings[length] ??= gathered.subarray(0, length)) : gathered.subarray(0, length);
    const units = native.hash("sha256", text, "latin1");
    for (let byte = 0; byte < 32; byte += 1) out[at + byte] = units.charCodeAt(byte);
    this.reset();
    return out;
  }

  digest() {
    return this.into(new Uint8Array(32));
  }
}

// For many short texts, one after another: {update(bytes, from, to), into(out, at), digest(), reset()}.
export const quickSha256 = () => (isNative ? new NativeSha256() : new Sha256());

// For a long text that comes in pieces: {update(bytes), digest()}.
export const longSha256 = () => (isNative ? native.createHash("sha256") : new Sha256());

// The same of SHA-512; null where the platform makes that of whole texts only.
export const longSha512 = () => (isNative ? native.createHash("sha512") : null);

export const hexOf = (hash) => toHex(hash.digest());
