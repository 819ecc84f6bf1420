// docket-verify: verifies docket receipts and ledgers. No dependencies; for Node 20 or newer and browsers.
//
// Written by tools/bundle_verifier.py from verify-js/src: change those. Licensed under Apache-2.0.

// refused.mjs
const $refused = (() => {
// A document that cannot be read or has not its form: `reason` is the code of spec/canonical.md or null, `message` the
// sentence.
class Refused extends Error {
  constructor(reason, detail) {
    super(detail);
    this.name = "Refused";
    this.reason = reason;
  }
}

const LONGEST = 200;

// A value as it may stand in a sentence: one line, no control characters, cut where it is long.
function shown(value) {
  const text = value === undefined ? "missing" : JSON.stringify(value);
  const safe = text.replace(/[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (character) => `\\u${hex4(character)}`);
  return safe.length > LONGEST ? `${safe.slice(0, LONGEST)}…` : safe;
}

const hex4 = (character) => character.charCodeAt(0).toString(16).padStart(4, "0");
return { Refused, shown };
})();

// canonical.mjs
const $canonical = (() => {
// JSON as spec/canonical.md has it: two readers, one writer.
//
// 1. Integers are numbers of ±(2^53 - 1), texts hold no half of a surrogate pair, arrays are arrays.
// 2. An object is a `Plain`, which inherits nothing: a member that is not there is undefined, whatever its name.
// 3. The canonical reader accepts exactly what the writer writes. It checks the spelling while it reads instead of
//    writing again; a test holds the two against each other.
// 4. Whatever is refused is a `Refused` with the reason of the spec. Nothing here recurses deeper than 64.

const { Refused } = $refused;

const MAX_DEPTH = 64;

function Plain() {}
Plain.prototype = Object.create(null);

// A Plain with the members of an ordinary object.
const plain = (members) => Object.assign(new Plain(), members);

const isObject = (value) => value instanceof Plain;
const isText = (value) => typeof value === "string";
const isInteger = (value) => typeof value === "number";

// The order of code points, which is that of UTF-8 and not that of UTF-16 units.
function compareTexts(left, right) {
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at += 1) {
    const one = left.charCodeAt(at);
    const two = right.charCodeAt(at);
    if (one !== two) return rank(one) - rank(two);
  }
  return left.length - right.length;
}

// Units of surrogate pairs stand behind every other unit.
const rank = (unit) => (unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit);

const ESCAPED = /["\\\u0000-\u001f]/g;
const SHORT = { '"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f" };

function spelled(text) {
  return `"${text.replace(ESCAPED, (one) => SHORT[one] ?? `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`)}"`;
}

// The canonical form of a value that a reader gave, as a text. What a reader holds in a form of its own spells itself.
function encode(value) {
  if (typeof value === "string") return spelled(value);
  if (value === null || typeof value !== "object") return String(value === 0 ? 0 : value);
  if (Array.isArray(value)) return `[${value.map(encode).join(",")}]`;
  if (typeof value.spelled === "function") return value.spelled();
  const names = Object.keys(value).sort(compareTexts);
  return `{${names.map((name) => `${spelled(name)}:${encode(value[name])}`).join(",")}}`;
}

// Gives `take` the canonical form of a value in pieces of bytes. Values of the upper levels are never there as a whole.
function encodeTo(value, take) {
  let text = "";
  const put = (part) => {
    text += part;
    if (text.length < PIECE_UNITS) return;
    take(utf8(text));
    text = "";
  };
  write(value, put, UPPER_LEVELS);
  take(utf8(text));
}

const PIECE_UNITS = 1 << 16;
const UPPER_LEVELS = 3;

function write(value, put, levels) {
  if (levels === 0 || !(value instanceof Plain || Array.isArray(value))) return put(encode(value));
  const isArray = Array.isArray(value);
  let before = isArray ? "[" : "{";
  for (const name of isArray ? value.keys() : Object.keys(value).sort(compareTexts)) {
    put(isArray ? before : `${before}${spelled(name)}:`);
    write(value[name], put, levels - 1);
    before = ",";
  }
  const ends = isArray ? "[]" : "{}";
  return put(before === "," ? ends[1] : ends);
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const TO_UTF8 = new TextEncoder();

const utf8 = (text) => TO_UTF8.encode(text);

// The text of bytes that are UTF-8; refused are others, and a byte order mark where a document begins.
function textOf(bytes, isBeginning = true) {
  if (isBeginning && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    throw new Refused("byte-order-mark", "a byte order mark stands in front");
  }
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new Refused("not-utf8", "the bytes are not UTF-8");
  }
}

const SURROGATE = /\p{Surrogate}/u;
const UNESCAPED = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const HEX4 = /^[0-9a-fA-F]{4}$/;
const isDigit = (code) => code >= 48 && code <= 57;

// Keys that were read lately: a record has few of them, and looking one up is cheaper than making it anew.
const SLOTS = 1024;
const LONGEST_KEY = 40;
const recent = new Array(SLOTS).fill("");

function oneOf(text, start, end, slot) {
  const known = recent[slot];
  if (known.length === end - start && text.startsWith(known, start)) return known;
  const name = text.slice(start, end);
  if (name.length <= LONGEST_KEY) [recent[slot]] = Object.keys({ [name]: 0 });
  return name;
}

// Reads values out of a text, from `index` on. `canonical` says which of the two readers it is; `base` is how many
// characters of the whole stand in front of the text.
class Scanner {
  constructor(text, canonical, index = 0) {
    this.text = text;
    this.canonical = canonical;
    this.index = index;
    this.base = 0;
    // How far it had looked when it refused.
    this.reach = 0;
  }

  refused(reason, what, index) {
    this.reach = Math.max(this.index, index);
    return new Refused(reason, `${what} at character ${this.base + index}`);
  }

  notJson(index) {
    return this.refused("not-json", "not JSON", index);
  }

  notCanonical(index) {
    return this.refused("not-canonical", "not in canonical form", index);
  }

  tooLarge(index) {
    return this.refused("integer-too-large", "an integer beyond 2^53 - 1", index);
  }

  tooDeep(index) {
    return this.refused("too-deep", `nested deeper than ${MAX_DEPTH}`, index);
  }

  // Whether `literal` stands here; if so it is behind us.
  take(literal) {
    if (!this.text.startsWith(literal, this.index)) return false;
    this.index += literal.length;
    return true;
  }

  blanks() {
    if (this.canonical) return;
    const { text } = this;
    for (;;) {
      const code = text.charCodeAt(this.index);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
      this.index += 1;
    }
  }

  value(depth) {
    const code = this.text.charCodeAt(this.index);
    if (code === 34) return this.string();
    if (code === 123) return this.object(depth + 1);
    if (code === 91) return this.array(depth + 1);
    if (code === 45 || isDigit(code)) return this.canonical ? this.integer() : this.number();
    if (code === 116 && this.take("true")) return true;
    if (code === 102 && this.take("false")) return false;
    if (code === 110 && this.take("null")) return null;
    throw this.notJson(this.index);
  }

  object(depth) {
    if (depth > MAX_DEPTH) throw this.tooDeep(this.index);
    const { text, canonical } = this;
    const made = new Plain();
    let last = null;
    this.index += 1;
    this.blanks();
    if (text.charCodeAt(this.index) === 125) {
      this.index += 1;
      return made;
    }
    for (;;) {
      const start = this.index;
      if (canonical) {
        if (text.charCodeAt(start) !== 34) throw this.notJson(start);
        const name = this.key();
        if (last !== null && compareTexts(last, name) >= 0) throw this.notCanonical(start);
        last = name;
        if (text.charCodeAt(this.index) !== 58) throw this.notJson(this.index);
        this.index += 1;
        made[name] = this.value(depth);
      } else {
        const name = this.name(made);
        made[name] = this.value(depth);
      }
      if (this.over(125)) return made;
    }
  }

  // The name of a member of a document, and past what stands between it and its value; `made` has those before.
  name(made) {
    const { text } = this;
    const start = this.index;
    if (text.charCodeAt(start) !== 34) throw this.notJson(start);
    const name = this.key();
    if (Object.hasOwn(made, name)) throw this.refused("duplicate-key", "a key stands twice in one object", start);
    this.blanks();
    if (text.charCodeAt(this.index) !== 58) throw this.notJson(this.index);
    this.index += 1;
    this.blanks();
    return name;
  }

  array(depth) {
    if (depth > MAX_DEPTH) throw this.tooDeep(this.index);
    const made = [];
    this.index += 1;
    this.blanks();
    if (this.text.charCodeAt(this.index) === 93) {
      this.index += 1;
      return made;
    }
    for (;;) {
      made.push(this.value(depth));
      if (this.over(93)) return made;
    }
  }

  // Behind a member or item: true behind the closing bracket, false in front of the next.
  over(closing) {
    this.blanks();
    const code = this.text.charCodeAt(this.index);
    if (code !== closing && code !== 44) throw this.notJson(this.index);
    this.index += 1;
    if (code === closing) return true;
    this.blanks();
    return false;
  }

  string() {
    const { text } = this;
    const start = this.index + 1;
    for (let index = start; ; index += 1) {
      const code = text.charCodeAt(index);
      if (code === 34) {
        this.index = index + 1;
        return text.slice(start, index);
      }
      if (code === 92) return this.escaped(start, index);
      // NaN, the end of the text, is not >= 32 either.
      if (!(code >= 32)) throw this.notJson(index);
    }
  }

  // A key: the one text of all equal short ones, where that is known.
  key() {
    const { text } = this;
    const start = this.index + 1;
    let hash = 0;
    for (let index = start; ; index += 1) {
      const code = text.charCodeAt(index);
      if (code === 34) {
        this.index = index + 1;
        return oneOf(text, start, index, hash & (SLOTS - 1));
      }
      if (code === 92) return this.escaped(start, index);
      if (!(code >= 32)) throw this.notJson(index);
      hash = (Math.imul(hash, 31) + code) | 0;
    }
  }

  escaped(start, first) {
    const { text } = this;
    let made = text.slice(start, first);
    let index = first;
    let plain = first;
    for (;;) {
      const code = text.charCodeAt(index);
      if (code === 34) break;
      if (!(code >= 32)) throw this.notJson(index);
      if (code !== 92) {
        index += 1;
        continue;
      }
      made += text.slice(plain, index);
      const { unit, length } = this.escape(index);
      made += unit;
      index += length;
      plain = index;
    }
    made += text.slice(plain, index);
    this.index = index + 1;
    if (SURROGATE.test(made)) throw this.refused("lone-surrogate", "half of a surrogate pair", start);
    return made;
  }

  escape(index) {
    const letter = this.text[index + 1];
    if (letter === "u") {
      const digits = this.text.slice(index + 2, index + 6);
      if (!HEX4.test(digits)) throw this.notJson(index);
      const unit = String.fromCharCode(Number.parseInt(digits, 16));
      if (this.canonical && spelled(unit) !== `"\\u${digits}"`) throw this.notCanonical(index);
      return { unit, length: 6 };
    }
    if (letter === undefined || !Object.hasOwn(UNESCAPED, letter)) throw this.notJson(index);
    if (this.canonical && letter === "/") throw this.notCanonical(index);
    return { unit: UNESCAPED[letter], length: 2 };
  }

  // Past the digits from `index` on; at least one is needed.
  digits(index) {
    const { text } = this;
    if (!isDigit(text.charCodeAt(index))) throw this.notJson(index);
    let end = index + 1;
    while (isDigit(text.charCodeAt(end))) end += 1;
    return end;
  }

  integer() {
    const { text } = this;
    const start = this.index;
    const first = text.charCodeAt(start) === 45 ? start + 1 : start;
    const end = this.digits(first);
    const zero = text.charCodeAt(first) === 48;
    const next = text.charCodeAt(end);
    if (zero && end > first + 1) throw this.notJson(start);
    if ((zero && first > start) || next === 46 || next === 69 || next === 101) throw this.notCanonical(start);
    const value = end - start > 17 ? Number.NaN : Number(text.slice(start, end));
    if (!Number.isSafeInteger(value)) throw this.tooLarge(start);
    this.index = end;
    return value;
  }

  number() {
    const { text } = this;
    const start = this.index;
    const first = text.charCodeAt(start) === 45 ? start + 1 : start;
    const whole = this.digits(first);
    if (text.charCodeAt(first) === 48 && whole > first + 1) throw this.notJson(start);
    let end = whole;
    if (text.charCodeAt(end) === 46) end = this.digits(end + 1);
    const fraction = end > whole ? text.slice(whole + 1, end) : "";
    let exponent = "0";
    if (text[end] === "e" || text[end] === "E") {
      const sign = text[end + 1] === "+" || text[end + 1] === "-" ? 1 : 0;
      const last = this.digits(end + 1 + sign);
      exponent = text.slice(end + 1, last);
      end = last;
    }
    this.index = end;
    return this.whole(first > start, text.slice(first, whole), fraction, Number(exponent), start);
  }

  // The integer that the digits say, never by way of a rounded float.
  whole(negative, whole, fraction, exponent, index) {
    const digits = (whole + fraction).replace(/^0+/, "");
    if (digits === "") return 0;
    const kept = trimmed(digits);
    const zeros = exponent - fraction.length + (digits.length - kept.length);
    if (zeros < 0) throw this.refused("fraction", "a number that is not whole", index);
    if (kept.length + zeros > 16) throw this.tooLarge(index);
    const value = Number(kept + "0".repeat(zeros));
    if (!Number.isSafeInteger(value)) throw this.tooLarge(index);
    return negative ? -value : value;
  }
}

function trimmed(digits) {
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === 48) end -= 1;
  return digits.slice(0, end);
}

function decode(bytes, canonical) {
  const text = textOf(bytes);
  const scanner = new Scanner(text, canonical);
  scanner.blanks();
  const value = scanner.value(0);
  scanner.blanks();
  if (scanner.index !== text.length) throw scanner.notJson(scanner.index);
  return value;
}

// The value of a document for people.
const decodeDocument = (bytes) => decode(bytes, false);

// The value of bytes in canonical form.
const decodeCanonical = (bytes) => decode(bytes, true);
return { Plain, plain, isObject, isText, isInteger, compareTexts, encode, encodeTo, utf8, textOf, Scanner, decodeDocument, decodeCanonical };
})();

// sha256.mjs
const $sha256 = (() => {
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

class Sha256 {
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

function toHex(bytes, from = 0, to = bytes.length) {
  let made = "";
  for (let index = from; index < to; index += 1) made += PAIRS[bytes[index]];
  return made;
}

// The bytes of lower-case hexadecimal of exactly `length` bytes; null where the text is none.
function fromHex(text, length) {
  if (typeof text !== "string" || text.length !== 2 * length || !/^[0-9a-f]*$/.test(text)) return null;
  const made = new Uint8Array(length);
  for (let at = 0; at < length; at += 1) made[at] = Number.parseInt(text.slice(2 * at, 2 * at + 2), 16);
  return made;
}

const digit = (half) => half + (half < 10 ? 48 : 87);

// Whether the text is the hexadecimal of the 32 bytes at `from`.
function isHexOf(text, bytes, from) {
  if (text.length !== 64) return false;
  for (let at = 0; at < 32; at += 1) {
    const byte = bytes[from + at];
    if (text.charCodeAt(2 * at) !== digit(byte >> 4) || text.charCodeAt(2 * at + 1) !== digit(byte & 15)) return false;
  }
  return true;
}

const SHARED = new Sha256();

const sha256 = (bytes) => SHARED.reset().update(bytes).digest();
const sha256Hex = (bytes) => toHex(sha256(bytes));
return { Sha256, toHex, fromHex, isHexOf, sha256, sha256Hex };
})();

// digests.mjs
const $digests = (() => {
// The quickest digests that the platform has without waiting: Node's own, where this is Node, else those of `sha256.mjs`.
// What they give is the same.

const { Sha256, sha256, sha256Hex, toHex } = $sha256;

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
const isNative = native !== null;

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
const quickSha256 = () => (isNative ? new NativeSha256() : new Sha256());

// For a long text that comes in pieces: {update(bytes), digest()}.
const longSha256 = () => (isNative ? native.createHash("sha256") : new Sha256());

// The same of SHA-512; null where the platform makes that of whole texts only.
const longSha512 = () => (isNative ? native.createHash("sha512") : null);

const hexOf = (hash) => toHex(hash.digest());
return { isNative, quickSha256, longSha256, longSha512, hexOf };
})();

// chunks.mjs
const $chunks = (() => {
// What a receipt or a ledger is given as: its bytes, a Blob of them, or pieces of them one after another.

const { hexOf, longSha256 } = $digests;

const CHUNK_BYTES = 1 << 17;
const WRONG = "a file is given as its bytes, a Blob, or pieces that are bytes";

// The bytes in pieces of about one size, none of which is copied.
function* slices(bytes) {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

// Pieces of bytes as one.
function joined(parts) {
  const made = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    made.set(part, at);
    at += part.length;
  }
  return made;
}

async function* ofBlob(blob) {
  for (let at = 0; at < blob.size; at += CHUNK_BYTES) {
    yield new Uint8Array(await blob.slice(at, at + CHUNK_BYTES).arrayBuffer());
  }
}

// Bytes may be another window's, whose classes are not ours.
function bytesOf(piece) {
  if (!ArrayBuffer.isView(piece)) throw new TypeError(WRONG);
  return piece instanceof Uint8Array ? piece : new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength);
}

function piecesOf(source) {
  if (ArrayBuffer.isView(source)) return [source];
  if (typeof Blob === "function" && source instanceof Blob) return ofBlob(source);
  if (source?.[Symbol.asyncIterator] ?? source?.[Symbol.iterator]) return source;
  throw new TypeError(WRONG);
}

// Calls `take` with each piece in order, none longer than that; pieces of an iterable may be overwritten once the next is
// asked for. Ends early where `take` gives true.
async function eachChunk(source, take) {
  for await (const piece of piecesOf(source)) {
    for (const chunk of slices(bytesOf(piece))) if (take(chunk) === true) return;
  }
}

// The size and the digest of a source, read no further than is told; null where it cannot be read.
async function measured(source, most) {
  const hash = longSha256();
  let size = 0;
  try {
    await eachChunk(source, (chunk) => {
      hash.update(chunk);
      size += chunk.length;
      return size > most;
    });
  } catch {
    return null;
  }
  return { size, digest: hexOf(hash) };
}
return { slices, joined, eachChunk, measured };
})();

// receipt_window.mjs
const $receipt_window = (() => {
// The part of a document that came and was not read yet. It is looked at as bytes, or through a scanner as a text; either
// way a NUL stands behind what is there, which is part of no value, so that nothing reads further.

const { Scanner, textOf, utf8 } = $canonical;

const FIRST_BYTES = 1 << 18;

class Window {
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
return { Window };
})();

// money.mjs
const $money = (() => {
// Money as BigInt of micro-dollars (spec/canonical.md, Money).

const { isText } = $canonical;

const AMOUNT = /^(0|[1-9][0-9]{0,11})(?:\.([0-9]{1,6}))?$/;
const CANONICAL = /^(?:0|[1-9][0-9]{0,11})\.(?:[0-9]{2}|(?![0-9]{2}0000)[0-9]{6})$/;
const MICROS = 1_000_000n;

// Amounts that were read lately: a record says the same ones many times.
const MOST = 4096;
const LONGEST = 12;
const known = new Map();
const knownCanonical = new Map();

// The micro-dollars of a text of dollars; null where it is none. Fewer digits than the canonical ones are read too.
function microsOf(text) {
  if (!isText(text)) return null;
  return known.get(text) ?? kept(known, text, read(text));
}

function read(text) {
  const match = AMOUNT.exec(text);
  return match === null ? null : BigInt(match[1]) * MICROS + BigInt((match[2] ?? "").padEnd(6, "0"));
}

function kept(map, text, micros) {
  // A longer text may be a part of one that is much longer yet, and hold on to it.
  if (micros === null || text.length > LONGEST) return micros;
  if (map.size === MOST) map.clear();
  map.set(text, micros);
  return micros;
}

// The same of an amount in its one spelling; null where it is another's.
function canonicalMicros(text) {
  if (!isText(text)) return null;
  return knownCanonical.get(text) ?? kept(knownCanonical, text, CANONICAL.test(text) ? microsOf(text) : null);
}

// The one spelling of an amount.
function spelledUsd(micros) {
  const whole = micros / MICROS;
  const rest = micros % MICROS;
  if (rest % 10_000n === 0n) return `${whole}.${String(rest / 10_000n).padStart(2, "0")}`;
  return `${whole}.${String(rest).padStart(6, "0")}`;
}
return { microsOf, canonicalMicros, spelledUsd };
})();

// shapes.mjs
const $shapes = (() => {
// Shapes of JSON values as functions (value, where) that give null, or a sentence that names the member that is wrong.

const { isInteger, isObject, isText } = $canonical;
const { canonicalMicros } = $money;
const { shown } = $refused;

const when = (held, where, wanted) => (held ? null : `${where} is not ${wanted}`);

const anything = () => null;
const text = (value, where) => when(isText(value), where, "a text");
const formed = (form, words) => (value, where) => when(isText(value) && form.test(value), where, words);
const flag = (value, where) => when(typeof value === "boolean", where, "true or false");
const integer = (value, where) => when(isInteger(value), where, "an integer");
const count = (value, where) => when(isInteger(value) && value >= 0, where, "a count");
const isDigest = (value) => isText(value) && value.length === 64 && /^[0-9a-f]+$/.test(value);
const digest = (value, where) => when(isDigest(value), where, "a SHA-256 in lower-case hexadecimal");
const object = (value, where) => when(isObject(value), where, "an object");

// An amount in its one spelling.
const amount = (value, where) => when(canonicalMicros(value) !== null, where, "an amount in canonical form");

const DAY = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])";
const TIME = "([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\\.[0-9]{1,9})?Z";
const INSTANT = new RegExp(`^${DAY}T${TIME}$`);

// canonical.md, Instants: the form alone is looked at.
const isInstant = (value) => isText(value) && INSTANT.test(value);

const instant = (value, where) => when(isInstant(value), where, "an instant of RFC 3339 in UTC");

const SESSION_ID = /^[0-9A-Za-z_-]{1,64}$/;

const nullable = (shape) => (value, where) => (value === null ? null : shape(value, where));
const constant = (wanted) => (value, where) => when(value === wanted, where, shown(wanted));
const oneOf = (...wanted) => (value, where) => when(wanted.includes(value), where, `one of ${wanted.join(", ")}`);

const array = (shape) => (value, where) => {
  if (!Array.isArray(value)) return `${where} is not an array`;
  for (let index = 0; index < value.length; index += 1) {
    const fault = shape(value[index], `${where}[${index}]`);
    if (fault !== null) return fault;
  }
  return null;
};

// An object of any names whose every member has the shape.
const mapping = (shape) => (value, where) => {
  if (!isObject(value)) return `${where} is not an object`;
  for (const name of Object.keys(value)) {
    const fault = shape(value[name], `${where}.${name}`);
    if (fault !== null) return fault;
  }
  return null;
};

// An object with the members of `needed`, perhaps those of `optional`, and others only where it is not `closed`.
function record(needed, optional = {}, { closed = true } = {}) {
  const names = Object.keys(needed);
  const known = new Map([...Object.entries(needed), ...Object.entries(optional)]);
  return (value, where) => {
    if (!isObject(value)) return `${where} is not an object`;
    for (const name of names) if (value[name] === undefined) return `${where} has no member ${name}`;
    for (const name of Object.keys(value)) {
      const shape = known.get(name);
      if (shape === undefined && closed) return `${where} has the unknown member ${shown(name)}`;
      const fault = shape === undefined ? null : shape(value[name], `${where}.${name}`);
      if (fault !== null) return fault;
    }
    return null;
  };
}
return { anything, text, formed, flag, integer, count, isDigest, digest, object, amount, instant, SESSION_ID, nullable, constant, oneOf, array, mapping, record };
})();

// proof_path.mjs
const $proof_path = (() => {
// Merkle paths (spec/receipt.md, Shape). A receipt has one for each of its rows, most of its bytes are theirs: where the
// rows are read they are held as bytes, 33 for a step, and only what has not the form of a path stays what it is.

const { isObject } = $canonical;
const { toHex } = $sha256;
const { isDigest } = $shapes;

const MAX_STEPS = 64;
const STEP_BYTES = 33;
const PAGE_BYTES = 1 << 18;

const isStep = (step) =>
  isObject(step) && Object.keys(step).length === 2 && (step.side === "left" || step.side === "right") && isDigest(step.hash);

// Null for an array of at most 64 steps {side, hash}, or a sentence.
function merklePath(value, where) {
  if (value instanceof ProofPath) return null;
  if (!Array.isArray(value)) return `${where} is not an array`;
  if (value.length > MAX_STEPS) return `${where} has more than ${MAX_STEPS} steps`;
  const at = value.findIndex((step) => !isStep(step));
  return at < 0 ? null : `${where}[${at}] is not a side, left or right, and a hash`;
}

// A path of at most 64 steps. Each is the byte 0 where the sibling stands on the left, 1 on the right, and its hash.
class ProofPath {
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
function packed(steps) {
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
const asciiBytes = (text) => Uint8Array.from(text, (unit) => unit.charCodeAt(0));
const [SIDE, HASH, LEFT, RIGHT] = ['"side"', '"hash"', '"left"', '"right"'].map(asciiBytes);

// Past the blanks from `at` on.
function past(bytes, at) {
  let index = at;
  for (let byte = bytes[index]; byte === 32 || byte === 10 || byte === 13 || byte === 9; byte = bytes[index]) index += 1;
  return index;
}

// Whether the bytes from `at` on begin so.
function begins(bytes, at, word) {
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
class PathReader {
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
return { merklePath, ProofPath, packed, asciiBytes, past, begins, PathReader };
})();

// row_reader.mjs
const $row_reader = (() => {
// Reads the usage rows of a receipt from its bytes: each as a text in which a mark stands in the place of its path, which
// is read as bytes. Most of a receipt's bytes are these paths.
//
// Where a row ends and its path stands is found by a look alone. What is read so is what the scanner would read, for it
// reads all but the path, and must find the mark as that row's path; whatever is not as it mostly is, is left to it.

const { Plain, Scanner, isObject, textOf } = $canonical;
const { PathReader, asciiBytes, begins, merklePath, packed, past } = $proof_path;
const { Refused } = $refused;

// More of the text must come first.
const WAIT = Symbol("wait");
// Here stands what the scanner has to read, or to refuse.
const UNKNOWN = Symbol("unknown");

const PATH = asciiBytes('"merkle_path"');
// No text that stands behind it makes another value of it.
const MARK = asciiBytes("null");
const [QUOTE, COMMA, COLON, BACKSLASH] = asciiBytes('",:\\');
const [OPENS, CLOSES, OPENS_ARRAY, CLOSES_ARRAY] = asciiBytes("{}[]");

// A slice of no more units is a text of its own; a longer one holds on to all that it was cut from.
const SHORT = 12;
const alone = (text) => (text.length > SHORT ? [text.slice(0, 1), text.slice(1)].join("") : text);

class RowReader {
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
return { WAIT, UNKNOWN, RowReader };
})();

// receipt_reader.mjs
const $receipt_reader = (() => {
// Reads a receipt that comes in pieces. What is held of its text is the one value that is being read: a member of the
// document or of its appendix, or a usage row. A row's path is held as bytes.
//
// What it gives is what `decodeDocument` gives of the whole, but for the paths; so is what it refuses, if not in the same
// words, for of several things that are wrong it tells the one that it meets first.

const { Plain, isObject } = $canonical;
const { slices } = $chunks;
const { Window } = $receipt_window;
const { Refused } = $refused;
const { RowReader, UNKNOWN, WAIT } = $row_reader;

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
class ReceiptReader {
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
function decodeReceipt(bytes) {
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
return { ReceiptReader, decodeReceipt };
})();

// case.mjs
const $case = (() => {
// What a check is given, and how it answers.
//
// A check is an object with `finish(case)`, which returns an answer or a promise of one, and, where it looks at the
// events of the ledger, `observe(event)` for a ledger of docket's own and `observePublic(event)` for any other. Each
// event is shown once, in order, before any `finish`. A check never throws for what a document holds.
//
// An event is {seq, ts, type, data, prev, hash, known}. Objects of decoded JSON inherit nothing, so `data.name` is
// undefined exactly where the member is missing, whatever its name. `known` says that the type is of the vocabulary
// and that `data` has exactly its members; an event of a known type whose payload was refused is not shown.

const pass = (detail) => ({ status: "pass", detail });
const fail = (detail) => ({ status: "fail", detail });
const skip = (detail) => ({ status: "skip", detail });

const NO_LEDGER = "no ledger was given";
const DAMAGED = "the ledger could not be read to its end";
const OTHER_WRITER = "the ledger is another writer's";

// The receipt, whose shape was checked. `rows` are the usage rows as they stand in the document, `ours` whether the
// document or its ledger names docket/fold/v1.
class Receipt {
  constructor(document, ours) {
    this.document = document;
    this.ours = ours;
    this.rows = document.appendix.usage;
  }

  // A nested member; undefined where a level is missing.
  part(...names) {
    let value = this.document;
    for (const name of names) {
      if (value === null || typeof value !== "object" || Array.isArray(value)) return undefined;
      value = value[name];
    }
    return value;
  }
}

// `ledger` is null or {events, hashes, head, tree, fileSha256, damage, torn, sound, ended, fold, ours, payloadFault,
// keptPaths}: the number of events, their hashes (`hashes.hex(n)`), the last hash, the tree (`tree.root()`,
// `tree.path(n)`), the digest of the file, why reading stopped, whether bytes follow the last LF, whether it could be
// read to its end, whether session.end is last, the fold it names, whether that is docket/fold/v1, the first payload
// that was refused or null, and the paths of the bodies that its replies say were kept.
// `bodies` (path to bytes, a Blob or pieces) and `deltas` (digest to bytes) are Maps, or null where their folder is not there;
// `checkpoints` are the bytes of that file or null, `heads` those that were written down, `remembered` what a state knows
// of earlier runs or null; `keys` is {publicKeys, sealKeys, either}: arrays of bytes, and whether one kind of them is
// enough.
// `course.follow(key, Type)` gives the one follower of a key, so that several checks share what one pass derived.
class Case {
  constructor({
    receipt, ledger, course, keys, bodies = null, deltas = null, checkpoints = null, heads = [], remembered = null,
  }) {
    this.receipt = receipt;
    this.ledger = ledger;
    this.course = course;
    this.bodies = bodies;
    this.deltas = deltas;
    this.checkpoints = checkpoints;
    this.heads = heads;
    this.remembered = remembered;
    this.keys = keys;
    this.ours = receipt.ours;
  }
}

// The answer of a check that only looks at the events of docket's own ledger: `fault` is the first thing wrong, or null.
function watched(given, fault, good) {
  if (given.ledger === null) return skip(NO_LEDGER);
  if (!given.ledger.ours) return skip(OTHER_WRITER);
  if (fault !== null) return fail(fault);
  return given.ledger.sound ? pass(good) : skip(DAMAGED);
}

// All that follows the events of one ledger. Followers see an event before the checks do.
class Course {
  constructor() {
    this.followers = new Map();
    this.checks = [];
    this.shown = null;
  }

  follow(key, Type) {
    if (!this.followers.has(key)) this.followers.set(key, new Type(this));
    return this.followers.get(key);
  }

  // All events of a ledger are its own writer's, or all are another's; who follows them is known before the first.
  show(event, ours) {
    this.shown ??= [...this.followers.values(), ...this.checks].filter((one) => (ours ? one.observe : one.observePublic));
    for (const one of this.shown) {
      if (ours) one.observe(event);
      else one.observePublic(event);
    }
  }
}
return { pass, fail, skip, NO_LEDGER, DAMAGED, Receipt, Case, watched, Course };
})();

// effort.mjs
const $effort = (() => {
// How much comparing of names with patterns is done at most (spec/receipt.md, Limits of a reader).

const GLOB_STEPS = 2 ** 17;
const MOST_STEPS = 2 ** 30;
const BESIDE = 16;

// How much a name or a pattern counts: its characters, and what comes with any. Given as a text, or as its characters.
function weight(text) {
  if (Array.isArray(text)) return text.length + BESIDE;
  let pairs = 0;
  for (let at = 0; at < text.length; at += 1) if ((text.charCodeAt(at) & 0xfc00) === 0xdc00) pairs += 1;
  return text.length - pairs + BESIDE;
}

function weightOf(texts) {
  let sum = 0;
  for (const text of texts) sum += weight(text);
  return sum;
}

// What is left of the steps of one use.
class Effort {
  #left = MOST_STEPS;

  // False where so many steps are more than are left, now and from then on.
  take(steps) {
    this.#left -= steps;
    return this.#left >= 0;
  }

  get isSpent() {
    return this.#left < 0;
  }
}
return { GLOB_STEPS, weight, weightOf, Effort };
})();

// globs.mjs
const $globs = (() => {
// Patterns of names: shell globs over code points (spec/course.md, Patterns).

// Whether a pattern matches the whole of a text, letter case counting (spec/course.md, Patterns).
function matches(text, pattern) {
  return compiled(pattern)(Array.from(text));
}

const known = new Map();

// The test of a pattern: a function of the characters of a text.
function compiled(pattern) {
  let found = known.get(pattern);
  if (found === undefined) {
    found = matcher(parts(Array.from(pattern)));
    if (known.size > 4096) known.clear();
    known.set(pattern, found);
  }
  return found;
}

const ANY = Symbol("any");

function parts(characters) {
  const found = [];
  for (let at = 0; at < characters.length; at += 1) {
    const character = characters[at];
    if (character === "*") found.push(ANY);
    else if (character === "?") found.push(() => true);
    else if (character === "[") {
      const end = closing(characters, at + 1);
      if (end < 0) found.push("[");
      else {
        found.push(bracket(characters.slice(at + 1, end)));
        at = end;
      }
    } else found.push(character);
  }
  return found;
}

// Where the bracket ends that begins before `at`: a `]` right behind it, or behind its `!`, is one of its characters.
function closing(characters, at) {
  let end = at;
  if (characters[end] === "!") end += 1;
  if (characters[end] === "]") end += 1;
  return characters.indexOf("]", end);
}

function bracket(characters) {
  const negated = characters[0] === "!";
  const inner = negated ? characters.slice(1) : characters;
  const ranges = [];
  for (let at = 0; at < inner.length; at += 1) {
    const first = inner[at].codePointAt(0);
    if (inner[at + 1] === "-" && at + 2 < inner.length) {
      ranges.push([first, inner[at + 2].codePointAt(0)]);
      at += 2;
    } else ranges.push([first, first]);
  }
  return (other) => {
    const point = other.codePointAt(0);
    return ranges.some(([first, last]) => first <= point && point <= last) !== negated;
  };
}

// The greedy match of runs between stars: linear in text times pattern.
function matcher(pieces) {
  return (text) => {
    let at = 0;
    let piece = 0;
    let star = -1;
    let mark = 0;
    while (at < text.length) {
      const wanted = pieces[piece];
      if (wanted === text[at] || (typeof wanted === "function" && wanted(text[at]))) {
        at += 1;
        piece += 1;
      } else if (wanted === ANY) {
        star = piece;
        mark = at;
        piece += 1;
      } else if (star >= 0) {
        piece = star + 1;
        mark += 1;
        at = mark;
      } else return false;
    }
    while (piece < pieces.length && pieces[piece] === ANY) piece += 1;
    return piece === pieces.length;
  };
}
return { matches, compiled };
})();

// letters.mjs
const $letters = (() => {
// Texts by the Unicode of one version, whichever the platform knows: 14.0 (spec/course.md, Patterns).

// What has, since then, become a letter with case or something that is passed over beside one.
const LATE = ranges([
  "0897 0ECE 1ACF-1ADD 1AE0-1AEB 1C89-1C8A A7CB-A7CF A7D2 A7D4 A7DA-A7DC A7F1 10D4E 10D50-10D65 10D69-10D6D",
  "10D6F-10D85 10EC5 10EFA-10EFF 11241 113BB-113C0 113CE 113D0 113D2 113E1-113E2 11B60 11B62-11B64 11B66 11DD9",
  "11F00-11F01 11F36-11F3A 11F40 11F42 11F5A 13439-13440 13447-13455 1611E-16129 1612D-1612F 16D40-16D42 16D6B-16D6C",
  "16EA0-16EB8 16EBB-16ED3 16FF2-16FF3 1DF25-1DF2A 1E030-1E06D 1E08F 1E4EB-1E4EF 1E5EE-1E5EF 1E6E3 1E6E6 1E6EE-1E6EF",
  "1E6F5 1E6FF",
]);
// The categories Cc, Cf, Cs, Co and Z.
const UNPRINTABLE = ranges([
  "00-20 7F-A0 AD 600-605 61C 6DD 70F 890-891 8E2 1680 180E 2000-200F 2028-202F 205F-2064 2066-206F 3000 D800-F8FF",
  "FEFF FFF9-FFFB 110BD 110CD 13430-13438 1BCA0-1BCA3 1D173-1D17A E0001 E0020-E007F F0000-FFFFD 100000-10FFFD",
]);

function ranges(lines) {
  const spans = lines.flatMap((line) => line.split(" ")).map((range) => {
    const [first, last = first] = range.split("-");
    return `\\u{${first}}-\\u{${last}}`;
  });
  return new RegExp(`([${spans.join("")}]+)`, "u");
}

// A text in lower case, by the full mapping. Characters that came later stand for themselves, and end no word.
const lowered = (text) =>
  text.split(LATE).map((part, at) => (at % 2 === 0 ? part.toLowerCase() : part)).join("");

// Whether no character is a blank, a control, a mark of format, or of private use.
const isPrintable = (text) => !UNPRINTABLE.test(text);
return { lowered, isPrintable };
})();

// course/values.mjs
const $course_values = (() => {
// Values of decoded events and policies: what they are, and amounts as whole micro-dollars.

// `micros`: the micro-dollars of an amount in its one spelling (spec/canonical.md, Money), as a BigInt; null for anything else.

const NOTHING = Object.freeze(Object.create(null));

// The object that another has under a name, an empty one where it has none.
function objectAt(value, name) {
  const found = value[name];
  return typeof found === "object" && found !== null && !Array.isArray(found) ? found : NOTHING;
}
return { isObject: $canonical.isObject, shown: $refused.shown, micros: $money.canonicalMicros, dollars: $money.spelledUsd, objectAt };
})();

// course/caps.mjs
const $course_caps = (() => {
// cap-limits: what a ledger says of caps, sub-budgets and pools, against its policy and its calls (spec/course.md, Caps).

const { watched } = $case;
const { Effort, GLOB_STEPS, weight, weightOf } = $effort;
const { compiled } = $globs;
const { lowered } = $letters;
const { dollars, micros, objectAt, shown } = $course_values;

const CAP_OF_USE = { max_usd: "cap_usd", max_tokens: "cap_tokens", max_model_calls: "cap_calls" };
const POOL_CAPS = { pool_daily_usd: "daily_usd", pool_weekly_usd: "weekly_usd", pool_total_usd: "total_usd" };
const NO_POLICY = Object.freeze(Object.create(null));
const TOO_MANY = "the policy has more patterns than can be compared with the names of the ledger";
const NOTHING = { cost: 0n, tokens: 0n, calls: 0n };

const added = (left, right) => ({
  cost: left.cost + right.cost,
  tokens: left.tokens + right.tokens,
  calls: left.calls + right.calls,
});
const same = (left, right) => left.cost === right.cost && left.tokens === right.tokens && left.calls === right.calls;
const keyOf = (scope, name) => JSON.stringify([scope, name]);

class CapLimits {
  constructor() {
    this.fault = null;
    this.caps = NO_POLICY;
    this.admission = null;
    this.poolNames = [];
    this.pools = new Map();
    this.left = new Set();
    this.exceeded = new Set();
    this.named = new Set();
    this.gap = false;
    this.open = new Map();
    this.sums = new Map();
    this.agents = [];
    this.agentsWeight = 0;
    this.matching = new Map();
    this.effort = new Effort();
  }

  observe(event) {
    const fault = event.known ? this.#wrong(event.type, event.data) : null;
    if (fault !== null) this.fault ??= `event ${event.seq} (${event.type}): ${fault}`;
  }

  finish(given) {
    return watched(given, this.fault, "every cap that was reached is one of the policy's");
  }

  #wrong(type, data) {
    switch (type) {
      case "policy.applied":
        this.#policy(data.document);
        return null;
      case "model.request":
        this.open.set(data.call, { model: data.model, agent: data.agent_id || "main" });
        return null;
      case "model.response":
        this.#counted(data);
        return null;
      case "x-docket.evidence-gap":
        this.gap = true;
        return null;
      case "cap.warning":
      case "cap.exceeded":
        return this.#reached(type, data);
      case "x-docket.pool":
        this.pools.set(data.pool, data);
        return this.poolNames.includes(data.pool) ? null : `the policy names no pool ${shown(data.pool)}`;
      case "x-docket.pool-use":
        return this.#leftPool(data);
      case "x-docket.budget":
        return this.#budget(data) ?? this.#uses(data.scopes ?? []);
      case "session.end":
        if (data.breached === undefined || this.exceeded.has(data.breached) || this.gap) return null;
        return `breached is ${shown(data.breached)}, no cap.exceeded says so`;
      default:
        return null;
    }
  }

  #policy(document) {
    this.caps = objectAt(document, "caps");
    const agents = Object.keys(objectAt(this.caps, "per_agent"));
    this.agentsWeight = weightOf(agents);
    this.matching.clear();
    const isBorne = this.effort.take(GLOB_STEPS * agents.length);
    this.agents = isBorne ? agents.map((pattern) => ({ pattern, fits: compiled(lowered(pattern)) })) : [];
    const { admission, pools } = objectAt(document, "budget");
    this.admission = admission;
    this.poolNames = Array.isArray(pools) ? pools : [];
  }

  #counted(data) {
    const whose = this.open.get(data.call) ?? { model: "", agent: "" };
    this.open.delete(data.call);
    const key = keyOf(whose.model, whose.agent);
    const { part } = this.sums.get(key) ?? { part: NOTHING };
    const tokens = BigInt(data.usage.input_tokens) + BigInt(data.usage.output_tokens);
    this.sums.set(key, { ...whose, part: added(part, { cost: micros(data.cost_usd), tokens, calls: 1n }) });
  }

  #reached(type, data) {
    const name = data.scope_name ?? "";
    if (type === "cap.exceeded") this.exceeded.add(data.cap);
    if (data.scope === "model" || data.scope === "agent") this.named.add(keyOf(data.scope, name));
    const limit = this.#limit(data.scope, name, data.cap);
    if (this.effort.isSpent && (data.scope === "model" || data.scope === "agent")) return TOO_MANY;
    if (limit === data.limit) return null;
    const of = data.scope === undefined ? "" : ` of ${data.scope} ${shown(name)}`;
    return `the policy has no cap ${shown(data.cap)}${of} of ${shown(data.limit)}`;
  }

  // A limit as it is spelled in an event; null where there is none.
  #limit(scope, name, cap) {
    if (scope === undefined) return name === "" ? spelled(this.caps[cap]) : null;
    if (scope === "pool") {
      const limit = Object.hasOwn(POOL_CAPS, cap) ? this.pools.get(name)?.[POOL_CAPS[cap]] : undefined;
      return limit ?? null;
    }
    const limit = Object.hasOwn(CAP_OF_USE, cap) ? this.#least(scope, name, cap) : null;
    if (limit === null) return null;
    return cap === "max_usd" ? dollars(limit) : String(limit);
  }

  // The smallest of the limits that are meant, as a BigInt; null where there is none.
  #least(scope, name, cap) {
    const limits = this.#patterns(scope, name)
      .map((limitsOf) => limitsOf[cap])
      .map((limit) => (cap === "max_usd" ? micros(limit) : typeof limit === "number" ? BigInt(limit) : null))
      .filter((limit) => limit !== null);
    return limits.length === 0 ? null : limits.reduce((least, limit) => (limit < least ? limit : least));
  }

  #patterns(scope, name) {
    const table = scope === "model" ? "per_model" : scope === "agent" ? "per_agent" : null;
    const known = table === null ? {} : objectAt(this.caps, table);
    const own = Object.hasOwn(known, name) && (scope === "model" || this.#isShared(name));
    const chosen = own ? [name] : scope === "agent" ? this.#matching(name) : [];
    return chosen.map((pattern) => objectAt(known, pattern));
  }

  // The patterns of agents that match one; none once that took too much.
  #matching(agent) {
    let found = this.matching.get(agent);
    if (found === undefined) {
      const name = Array.from(lowered(agent));
      const known = this.effort.take(weight(agent) * this.agentsWeight) ? this.agents : [];
      found = known.filter(({ fits }) => fits(name)).map(({ pattern }) => pattern);
      this.matching.set(agent, found);
    }
    return found;
  }

  // Whether a budget of an agent's is one that a pattern's agents share, and no agent's own.
  #isShared(name) {
    if (!/[*?[]/.test(name)) return false;
    return ![...this.sums.values(), ...this.open.values()].some(({ agent }) => agent === name);
  }

  #budget(data) {
    const cap = micros(this.caps.max_usd);
    const stated = data.cap_usd === undefined ? null : micros(data.cap_usd);
    if (stated !== cap) return `cap_usd is ${shown(data.cap_usd)}, the policy has ${shown(this.caps.max_usd)}`;
    if (data.admission !== this.admission) return `admission is ${data.admission}, the policy has ${shown(this.admission)}`;
    const spent = micros(data.spent_usd);
    const beyond = cap === null || spent < cap ? 0n : spent - cap;
    if (micros(data.overshoot_usd) === beyond) return null;
    return `overshoot_usd is ${data.overshoot_usd}, what was spent lies ${dollars(beyond)} beyond the cap`;
  }

  #uses(uses) {
    const told = new Set(uses.filter(({ scope }) => scope === "agent").map(({ name }) => name));
    for (const use of uses) {
      const fault = this.#use(use, told);
      if (fault !== null) return fault;
    }
    if (this.gap) return null;
    const said = new Set(uses.map(({ scope, name }) => keyOf(scope, name)));
    const untold = [...this.named].find((key) => !said.has(key));
    return untold === undefined ? null : `it says nothing of ${untold}, whose cap is named before`;
  }

  #use(use, told) {
    for (const [cap, member] of Object.entries(CAP_OF_USE)) {
      const limit = this.#limit(use.scope, use.name, cap);
      const stated = use[member] === undefined ? null : String(use[member]);
      if (this.effort.isSpent) return TOO_MANY;
      if (stated !== limit) return `the policy has another ${cap} of ${use.scope} ${shown(use.name)}`;
    }
    const said = { cost: micros(use.spent_usd), tokens: BigInt(use.tokens), calls: BigInt(use.calls) };
    if (this.gap) return null;
    const sum = this.#sum(use, told);
    if (this.effort.isSpent) return TOO_MANY;
    return same(said, sum) ? null : `what ${use.scope} ${shown(use.name)} used is not what its calls add up to`;
  }

  #sum({ scope, name }, told) {
    const ofModel = scope === "model";
    const shared = this.#isShared(name);
    const names = new Set(ofModel || shared ? [...this.sums.values()].map(({ model, agent }) => (ofModel ? model : agent)) : []);
    let total = NOTHING;
    if (!this.effort.take(weight(name) * weightOf(names))) return total;
    const pattern = compiled(lowered(name));
    const fits = (text) => pattern(Array.from(lowered(text)));
    for (const { model, agent, part } of this.sums.values()) {
      const counts = ofModel ? fits(model) : agent === name || (shared && !told.has(agent) && fits(agent));
      if (counts) total = added(total, part);
    }
    return total;
  }

  #leftPool(data) {
    if (!this.pools.has(data.pool)) return `the run entered no pool ${shown(data.pool)}`;
    if (this.left.has(data.pool)) return "it stands twice";
    this.left.add(data.pool);
    const spent = [...this.sums.values()].reduce((sum, { part }) => sum + part.cost, 0n);
    if (this.gap || micros(data.spent_usd) === spent) return null;
    return `pool ${shown(data.pool)} says ${data.spent_usd}, the calls add up to ${dollars(spent)}`;
  }
}

// A cap of the run as an event states it: texts and integers alone are limits.
function spelled(limit) {
  if (typeof limit === "string") return limit;
  return typeof limit === "number" ? String(limit) : null;
}
return { CapLimits };
})();

// blanks.mjs
const $blanks = (() => {
// Blanks: Unicode's White_Space and U+001C to U+001F. What a platform takes for blank differs from that.

const BLANK = /[\p{White_Space}\x1c-\x1f]/u;
const BLANKS = /[\p{White_Space}\x1c-\x1f]+/u;

// A text without the blanks at its ends. By steps: a search for blanks before an end begins anew at every one of them.
function stripped(text) {
  let [start, end] = [0, text.length];
  while (start < end && BLANK.test(text[start])) start += 1;
  while (end > start && BLANK.test(text[end - 1])) end -= 1;
  return text.slice(start, end);
}

// The words of a text.
const wordsOf = (text) => text.split(BLANKS).filter((word) => word !== "");
return { stripped, wordsOf };
})();

// families.mjs
const $families = (() => {
// The families of a price table: which one prices a model, and what tokens cost by it (spec/receipt.md, Price table and
// Cost and rounding).

const { stripped } = $blanks;
const { compareTexts, isObject, isText } = $canonical;
const { Effort, GLOB_STEPS, weight } = $effort;
const { compiled } = $globs;
const { lowered } = $letters;

const PRICE = /^(0|[1-9][0-9]{0,6})(?:\.([0-9]{1,6}))?$/;
const MILLION = 1_000_000n;
const FALLBACK = "*";
const GLOB = /[*[]/;
const PLACES_STEPS = 32;

// A price in micro-dollars per million tokens; null for a text that is none.
function priceOf(text) {
  const match = isText(text) ? PRICE.exec(text) : null;
  return match === null ? null : BigInt(match[1]) * MILLION + BigInt((match[2] ?? "").padEnd(6, "0"));
}

const without = (characters, places) => characters.filter((_, at) => !places.has(at)).join("");

function entry(map, key, make) {
  if (!map.has(key)) map.set(key, make());
  return map.get(key);
}

// The families of a table in order: as they come, or by `order`. What has no glob in it but `?` is looked up by the rest of
// its text, so that a table of many names prices many models without a walk for each; a family may be added at any time.
class Families {
  // Their prices are well formed. `order` gives what comes first of two ranks, which `rankOf` gives of each family.
  constructor(families = [], order = null, rankOf = () => null) {
    this.before = order === null ? (one, other) => one.at < other.at : (one, other) => order(one.rank, other.rank) < 0;
    this.rankOf = rankOf;
    this.count = 0;
    // By how long a pattern is and where it has a `?`: the places, and what prices each rest.
    this.names = new Map();
    this.globs = [];
    this.globsWeight = 0;
    this.fallback = null;
    this.found = new Map();
    this.effort = new Effort();
    for (const family of families) this.add(family);
  }

  // Whether finding ended for what it would have taken.
  get isSpent() {
    return this.effort.isSpent;
  }

  // One more, in its place.
  add(family) {
    const place = { family, at: this.count, rank: this.rankOf(family) };
    this.count += 1;
    this.found.clear();
    const globs = [];
    for (const pattern of alternatives(family.pattern)) {
      if (pattern === FALLBACK) this.fallback = this.#first(place, this.fallback);
      else if (GLOB.test(pattern)) {
        this.globsWeight += weight(pattern);
        if (this.effort.take(GLOB_STEPS)) globs.push({ place, fits: compiled(pattern) });
      } else this.#name(pattern, place);
    }
    if (globs.length > 0) this.globs.splice(this.#behind(place), 0, ...globs);
  }

  #first(one, other) {
    return other === null || this.before(one, other) ? one : other;
  }

  #name(pattern, place) {
    const characters = Array.from(pattern);
    const marks = new Set([...characters.keys()].filter((at) => characters[at] === "?"));
    const kinds = entry(this.names, characters.length, () => new Map());
    const { texts } = entry(kinds, [...marks].join(), () => ({ marks, texts: new Map() }));
    const rest = without(characters, marks);
    texts.set(rest, this.#first(place, texts.get(rest) ?? null));
  }

  #named(characters) {
    let found = null;
    for (const { marks, texts } of this.names.get(characters.length)?.values() ?? []) {
      const place = texts.get(without(characters, marks));
      if (place !== undefined) found = this.#first(place, found);
    }
    return found;
  }

  // Where the patterns of a family stand: behind those of all that come before it.
  #behind(place) {
    let [low, high] = [0, this.globs.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.before(place, this.globs[middle].place)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // The families of a table document, or the sentence that says what is wrong with them.
  static of(document) {
    const { families } = document;
    if (!Array.isArray(families)) return "price_table.document.families is not an array";
    const wrong = families.findIndex((family) => !isFamily(family));
    if (wrong >= 0) return `price_table.document.families[${wrong}] has no pattern or no prices`;
    return new Families(families.map(({ pattern, input, cached_input, output }) => ({ pattern, input, cached_input, output })));
  }

  // {family, assumed}, or null where nothing prices the model.
  find(model) {
    let match = this.found.get(model);
    if (match === undefined) {
      const characters = Array.from(lowered(model));
      match = this.#isBorne(characters) ? this.#search(characters) : null;
      this.found.set(model, match);
    }
    return match;
  }

  #isBorne(characters) {
    const kinds = this.names.get(characters.length);
    const places = kinds === undefined ? 0 : kinds.size - (kinds.has("") ? 1 : 0);
    return this.effort.take(weight(characters) * (PLACES_STEPS * places + this.globsWeight));
  }

  #search(characters) {
    const named = this.#named(characters);
    for (const { place, fits } of this.globs) {
      if (named !== null && this.before(named, place)) break;
      if (fits(characters)) return { family: place.family, assumed: false };
    }
    if (named !== null) return { family: named.family, assumed: false };
    return this.fallback === null ? null : { family: this.fallback.family, assumed: true };
  }

  isAssumed(model) {
    return this.find(model)?.assumed === true;
  }

  // The micro-dollars of a row of tokens, as a BigInt; null where nothing prices the model.
  cost(model, { input_tokens: input, cached_input_tokens: cached, output_tokens: output }) {
    const match = this.find(model);
    if (match === null) return null;
    const { family } = match;
    const fresh = BigInt(input) - BigInt(cached);
    const scaled =
      (fresh > 0n ? fresh : 0n) * priceOf(family.input) +
      BigInt(cached) * priceOf(family.cached_input ?? family.input) +
      BigInt(output) * priceOf(family.output);
    return rounded(scaled);
  }
}

// A number of millionths, not below 0, rounded half to even.
function rounded(scaled) {
  const whole = scaled / MILLION;
  const twice = (scaled % MILLION) * 2n;
  return twice > MILLION || (twice === MILLION && whole % 2n === 1n) ? whole + 1n : whole;
}

function isFamily(family) {
  if (!isObject(family) || !isText(family.pattern)) return false;
  const { cached_input: cached } = family;
  const prices = [family.input, family.output, ...(cached === undefined || cached === null ? [] : [cached])];
  return prices.every((price) => priceOf(price) !== null);
}

const alternatives = (pattern) =>
  pattern
    .split("/")
    .map((part) => lowered(stripped(part)))
    .filter((part) => part !== "");

const count = (text, character) => text.split(character).length;

// The order of a table that docket embeds: a literal pattern before all that could also match its text.
const rankOf = ({ pattern }) => ({
  isFallback: pattern === FALLBACK, stars: count(pattern, "*"), marks: count(pattern, "?"), pattern,
});

const moreSpecificFirst = (one, other) =>
  one.isFallback - other.isFallback ||
  one.stars - other.stars ||
  one.marks - other.marks ||
  compareTexts(one.pattern, other.pattern);

// The families of a receipt's table, or a sentence; read once for all checks of a receipt.
const read = new WeakMap();

function familiesOf(receipt) {
  if (!read.has(receipt)) read.set(receipt, Families.of(receipt.part("price_table", "document")));
  return read.get(receipt);
}
return { Families, rankOf, moreSpecificFirst, familiesOf };
})();

// merkle.mjs
const $merkle = (() => {
// The tree of spec/ledger.md, Merkle tree: RFC 6962 over the event hashes, an odd node passed up as it is.

const { plain } = $canonical;
const { quickSha256 } = $digests;
const { packed } = $proof_path;
const { fromHex, sha256, toHex } = $sha256;

const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);
const hasher = quickSha256();

// The hashes of events, 32 bytes each, in order.
class Hashes {
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

class MerkleTree {
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
function rootFromPath(eventHash, steps) {
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
return { Hashes, MerkleTree, rootFromPath };
})();

// wording.mjs
const $wording = (() => {
// How a number of things is said in the sentences of checks.

const grouped = (number) => String(number).replace(/\B(?=(?:\d{3})+$)/g, ",");

// `1 row` or `2,000 rows`.
const countOf = (number, word) => (number === 1 ? `1 ${word}` : `${grouped(number)} ${word}s`);
return { countOf };
})();

// course/replay.mjs
const $course_replay = (() => {
// What a ledger says of its response cache, and how often each reply was given again (spec/course.md, Cache).

const { microsOf } = $money;
const { isObject, objectAt } = $course_values;

const HITS = new Set(["model.cache_hit", "x-docket.cache-hit"]);
const REPEATED = ["provider", "status", "streaming", "usage_source", "response_bytes", "response_sha256"];
const TOKENS = ["input_tokens", "cached_input_tokens", "output_tokens"];
const CEILING = "cache.hits_ceiling_reached";
const SECONDS = /^(0|[1-9][0-9]{0,9})(?:\.([0-9]{1,6}))?$/;

// One follower for the checks of the cache; `originFault` and `savingFault` are the first of their kind.
class Replay {
  constructor() {
    this.originFault = null;
    this.savingFault = null;
    this.hits = new Map();
    this.stored = new Map();
    this.replies = new Map();
    this.count = 0;
    this.enabled = false;
    this.maxHits = 0;
    this.lifetime = 0n;
  }

  observe(event) {
    if (!event.known) return;
    const { seq, type, data, hash } = event;
    const at = (fault) => (fault === null ? null : `event ${seq} (${type}): ${fault}`);
    if (type === "policy.applied") this.#policy(objectAt(data.document, "cache"));
    else if (type === "model.response" && data.cache !== undefined) {
      this.replies.set(seq, data);
      this.originFault ??= at(this.#reply(seq, hash, data));
    } else if (HITS.has(type)) {
      this.count += 1;
      this.#counted(data.origin.seq, data.origin.hash, seq);
      this.originFault ??= at(this.#allowed(data) ?? this.#repeats(type, data));
      const reply = this.replies.get(data.origin.seq);
      const isDear = reply === undefined || reply.cost_usd === data.avoided_cost_usd;
      this.savingFault ??= at(isDear ? null : `avoided_cost_usd is not what event ${data.origin.seq} cost`);
    } else if (type === "note" && data.event === CEILING) this.originFault ??= at(this.#ceiling(data));
  }

  // Of another writer's ledger only what v1 itself says of hits is known (spec/course.md, Other writers).
  observePublic({ seq, type, data, hash }) {
    if (type === "model.response") {
      const mark = data.cache;
      if (isObject(mark) && mark.stored === true && typeof mark.key === "string" && isRow(data)) {
        this.stored.set(seq, { hash, key: mark.key });
      }
    } else if (type === "model.cache_hit") {
      const origin = isObject(data.origin) ? data.origin : {};
      if (typeof origin.seq !== "number" || typeof origin.hash !== "string") return;
      const reply = this.stored.get(origin.seq);
      const held = reply !== undefined && reply.hash === origin.hash && reply.key === data.key;
      if (!held) this.originFault ??= `event ${seq}: event ${origin.seq} is no earlier reply stored under its key`;
      this.#counted(origin.seq, origin.hash, seq);
    }
  }

  // How often the reply at `seq` with this hash was given again, and where first and last.
  hitsOf(seq, hash) {
    return this.hits.get(`${seq} ${hash}`) ?? { hits: 0, first: -1, last: -1 };
  }

  #counted(seq, hash, at) {
    const key = `${seq} ${hash}`;
    const found = this.hits.get(key);
    this.hits.set(key, { hits: (found?.hits ?? 0) + 1, first: found?.first ?? at, last: at });
  }

  #policy(section) {
    this.enabled = section.enabled === true;
    this.maxHits = typeof section.max_hits === "number" ? section.max_hits : 0;
    this.lifetime = microseconds(section.ttl_seconds);
  }

  #reply(seq, hash, data) {
    const mark = data.cache;
    if (!this.enabled) return "cache stands in it, the policy has none";
    if (!mark.stored) return mark.reason === undefined ? "cache.reason is missing" : null;
    if (mark.key === undefined || mark.reason !== undefined) return "a reply that was stored has a key and no reason";
    if (data.status !== 200 || data.outcome !== "complete") return "it was stored and is no whole reply of status 200";
    if (data.components.length > 0) this.stored.set(seq, { hash, reply: data });
    return null;
  }

  #allowed(data) {
    if (!this.enabled) return "the policy has no cache";
    if (this.maxHits > 0 && this.count > this.maxHits) return `the policy's ceiling is ${this.maxHits}, this is hit ${this.count}`;
    const age = BigInt(data.age_ms) * 1000n;
    return this.lifetime > 0n && age > this.lifetime ? `its reply is ${data.age_ms} ms old, past its lifetime` : null;
  }

  #repeats(type, data) {
    const { seq, hash } = data.origin;
    const found = this.stored.get(seq);
    if (found === undefined || found.hash !== hash) return `event ${seq} is no earlier reply that was stored`;
    const { reply } = found;
    const base = reply.components.at(-1);
    if (reply.cache.key !== data.key) return `key is not that of event ${seq}`;
    if (base.model !== data.model) return `event ${seq} was priced as another model`;
    const isOneRow = reply.components.length === 1 && TOKENS.every((name) => reply.usage[name] === base[name]);
    if (isOneRow !== (type === "model.cache_hit")) return `its type does not fit the components of event ${seq}`;
    const other = REPEATED.find((name) => reply[name] !== data[name]);
    if (other !== undefined) return `${other} is not that of event ${seq}`;
    return sameUsage(reply.usage, data.usage) ? null : `usage is not that of event ${seq}`;
  }

  #ceiling(note) {
    if (note.reported_by !== undefined) return "the agent may not say that the ceiling is reached";
    return this.maxHits > 0 && this.maxHits === this.count ? null : `the ceiling is not reached by ${this.count} hits`;
  }
}

function sameUsage(left, right) {
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((name) => left[name] === right[name]);
}

// Seconds of a policy, an integer or a decimal text, in microseconds; anything else is no limit.
function microseconds(value) {
  const match = typeof value === "string" || typeof value === "number" ? SECONDS.exec(String(value)) : null;
  return match === null ? 0n : BigInt(match[1]) * 1_000_000n + BigInt((match[2] ?? "").padEnd(6, "0"));
}

// Whether a usage row of another writer can be read of this reply.
function isRow(data) {
  const { usage } = data;
  if (!isObject(usage) || !["reported", "estimated"].includes(data.usage_source)) return false;
  if (typeof data.model !== "string" || typeof data.provider !== "string") return false;
  const counts = TOKENS.map((name) => usage[name] ?? (name in usage ? null : 0));
  return counts.every((count) => typeof count === "number" && count >= 0) && microsOf(data.cost_usd) !== null;
}
return { Replay };
})();

// course/cache.mjs
const $course_cache = (() => {
// cache-savings, cache-hit-origins and cache-hit-proofs: what a receipt says its response cache saved.

const { isText } = $canonical;
const { DAMAGED, NO_LEDGER, fail, pass, skip } = $case;
const { familiesOf } = $families;
const { rootFromPath } = $merkle;
const { amount, array, count, digest, oneOf, record, text } = $shapes;
const { countOf } = $wording;
const { Replay } = $course_replay;
const { dollars, isObject, micros, shown } = $course_values;

const NO_CACHE = "this run had no response cache";
const MAX_STEPS = 64;
const TOKENS = ["input_tokens", "cached_input_tokens", "output_tokens"];

const open = { closed: false };
const STEP = record({ side: oneOf("left", "right"), hash: digest });
const GROUP = record(
  {
    key: text,
    origin_seq: count,
    origin_hash: digest,
    model: text,
    usage: record({ input_tokens: count, cached_input_tokens: count, output_tokens: count }, {}, open),
    avoided_usd_per_hit: amount,
    avoided_usd_total: amount,
    hits: (value, where) => count(value, where) ?? (value < 1 ? `${where} is below 1` : null),
    first_seq: count,
    last_seq: count,
    event_hash: digest,
    merkle_path: (value, where) => array(STEP)(value, where) ?? (value.length > MAX_STEPS ? `${where} is too long` : null),
  },
  {},
  open,
);
const GROUPS = record({ by_origin: array(GROUP) }, {}, open);
const SUMS = record({ hits: count, avoided_tokens: count, saved_usd: amount }, {}, open);

// The member `cache` as [{where, several, groups, member}], those of one usage row first; or a sentence.
function lists(receipt) {
  const cache = receipt.part("cache");
  const found = [{ where: "cache", several: false, member: cache }];
  if (isObject(cache) && cache.component_hits !== undefined) {
    found.push({ where: "cache.component_hits", several: true, member: cache.component_hits });
  }
  for (const list of found) {
    const fault = GROUPS(list.member, list.where);
    if (fault !== null) return fault;
    list.groups = list.member.by_origin.map((group, index) => ({ group, where: `${list.where}.by_origin[${index}]` }));
  }
  return found;
}

const hasCache = (receipt) => (receipt.part("cache") ?? null) !== null;

class CacheSavings {
  constructor(course) {
    this.replay = course.follow("cache", Replay);
  }

  finish({ ledger, receipt }) {
    if (!hasCache(receipt)) {
      const counts = receipt.part("event_counts");
      const told = ["model.cache_hit", "x-docket.cache-hit"].find((type) => counts[type]);
      return told === undefined ? skip(NO_CACHE) : fail(`event_counts has ${told}, the receipt has no member cache`);
    }
    const families = familiesOf(receipt);
    if (isText(families)) return fail(families);
    const found = lists(receipt);
    if (!Array.isArray(found)) return fail(found);
    const fault = savings(receipt, found, families) ?? (ledger === null ? null : this.replay.savingFault);
    return fault === null ? pass(`hits avoided ${receipt.part("cache", "saved_usd")} dollars`) : fail(fault);
  }
}

function savings(receipt, found, families) {
  for (const { member, where, groups, several } of found) {
    const sums = { hits: 0n, avoided_tokens: 0n, saved_usd: 0n };
    for (const { group, where: at } of groups) {
      const cost = several ? costOfRows(receipt, group, families) : families.cost(group.model, group.usage);
      if (cost === null) return `${at}: no family of the table prices ${shown(group.model)}`;
      if (cost !== micros(group.avoided_usd_per_hit)) return `${at}.avoided_usd_per_hit is not ${dollars(cost)}`;
      const hits = BigInt(group.hits);
      if (micros(group.avoided_usd_total) !== cost * hits) return `${at}.avoided_usd_total is not ${hits} times that`;
      sums.hits += hits;
      sums.avoided_tokens += hits * (BigInt(group.usage.input_tokens) + BigInt(group.usage.output_tokens));
      sums.saved_usd += hits * cost;
    }
    const shape = SUMS(member, where);
    if (shape !== null) return shape;
    if (BigInt(member.hits) !== sums.hits) return `${where}.hits is not the sum of its groups`;
    if (BigInt(member.avoided_tokens) !== sums.avoided_tokens) return `${where}.avoided_tokens is not that of its groups`;
    if (micros(member.saved_usd) !== sums.saved_usd) return `${where}.saved_usd is not the sum of its groups`;
  }
  return null;
}

// What the rows of a reply cost together; null where there are none, or one has no price.
function costOfRows(receipt, group, families) {
  const costs = receipt.rows.filter((row) => row.seq === group.origin_seq).map((row) => families.cost(row.model, row));
  return costs.length === 0 || costs.includes(null) ? null : costs.reduce((sum, cost) => sum + cost, 0n);
}

class CacheHitOrigins {
  constructor(course) {
    this.replay = course.follow("cache", Replay);
  }

  finish({ ledger, receipt }) {
    // What the events say comes first, with or without a cache: it names the one that is wrong.
    if (ledger !== null && this.replay.originFault !== null) return fail(this.replay.originFault);
    if (!hasCache(receipt)) return skip(NO_CACHE);
    const found = lists(receipt);
    if (!Array.isArray(found)) return fail(found);
    const fault = origins(receipt, found);
    if (fault !== null) return fail(fault);
    if (ledger === null) return skip(NO_LEDGER);
    if (!ledger.sound) return skip(DAMAGED);
    const other = this.#hits(ledger, found);
    return other === null ? pass("the groups are the ledger's hits") : fail(other);
  }

  #hits(ledger, found) {
    const left = new Map(this.replay.hits);
    for (const { group, where } of found.flatMap(({ groups }) => groups)) {
      const key = `${group.origin_seq} ${group.origin_hash}`;
      const { hits, first, last } = left.get(key) ?? { hits: 0 };
      left.delete(key);
      if (hits !== group.hits || first !== group.first_seq || last !== group.last_seq) {
        return `${where}: the ledger has ${hits} hits of event ${group.origin_seq}`;
      }
      if (ledger.hashes.hex(first) !== group.event_hash) return `${where}: its pinned hit is not event ${first}`;
    }
    return left.size === 0 ? null : "the ledger has hits that no group names";
  }
}

function origins(receipt, found) {
  // Of several rows of one reply the base stands last, and is the one that is found here.
  const rows = new Map(receipt.rows.map((row) => [`${row.seq} ${row.event_hash}`, row]));
  for (const { groups, several } of found) {
    for (const { group, where } of groups) {
      const row = rows.get(`${group.origin_seq} ${group.origin_hash}`);
      if (row === undefined) return `${where}: no usage row is event ${group.origin_seq}`;
      if (row.cache_key !== group.key) return `${where}: event ${group.origin_seq} was not stored under its key`;
      const alike = several || TOKENS.every((name) => row[name] === group.usage[name]);
      if (row.model !== group.model || !alike) return `${where}: its model and usage are not the row's`;
      if (group.first_seq <= group.origin_seq) return `${where}: its first hit stands before its reply`;
    }
  }
  return null;
}

class CacheHitProofs {
  finish({ receipt }) {
    if (!hasCache(receipt)) return skip(NO_CACHE);
    const found = lists(receipt);
    if (!Array.isArray(found)) return fail(found);
    const root = receipt.part("ledger", "merkle_root");
    const groups = found.flatMap((list) => list.groups);
    const wrong = groups.find(({ group }) => rootFromPath(group.event_hash, group.merkle_path) !== root);
    if (wrong !== undefined) return fail(`${wrong.where}: its path does not lead to ledger.merkle_root`);
    return pass(`${countOf(groups.length, "pinned hit")} with a path to the root`);
  }
}
return { CacheSavings, CacheHitOrigins, CacheHitProofs };
})();

// course/components.mjs
const $course_components = (() => {
// components: the arithmetic of priced calls (spec/course.md, Components).

const { watched } = $case;
const { Families, moreSpecificFirst, rankOf } = $families;
const { dollars, micros, shown } = $course_values;

const TOKENS = ["input_tokens", "cached_input_tokens", "output_tokens"];
const FEES = {
  "web-search": "web_searches",
  "file-search": "file_searches",
  "code-interpreter": "code_sessions",
  "audio-seconds": "audio_seconds",
};
const WRITES = {
  "cache-write": "cache_write_tokens",
  "cache-write-5m": "cache_write_5m_tokens",
  "cache-write-30m": "cache_write_30m_tokens",
  "cache-write-1h": "cache_write_1h_tokens",
  "cache-write-12h": "cache_write_12h_tokens",
};
const COUNTED = { ...WRITES, ...FEES };
const PARTS = new Set([...Object.keys(COUNTED), "audio", "image"]);

class Components {
  constructor() {
    this.fault = null;
    this.known = new Set();
    this.families = new Families([], moreSpecificFirst, rankOf);
  }

  observe(event) {
    if (!event.known) return;
    const fault = this.#wrong(event.type, event.data);
    if (fault !== null) this.fault ??= `event ${event.seq} (${event.type}): ${fault}`;
  }

  finish(given) {
    return watched(given, this.fault, "components sum to their calls and account for the usage");
  }

  #wrong(type, data) {
    if (type === "x-docket.price") return this.#family(data);
    return type === "model.response" ? (summed(data) ?? this.#priced(data) ?? accounted(data)) : null;
  }

  #family(data) {
    if (this.known.has(data.pattern)) return `the family ${shown(data.pattern)} is written twice`;
    this.known.add(data.pattern);
    this.families.add(data);
    return null;
  }

  #priced(data) {
    for (const [index, part] of data.components.entries()) {
      if (TOKENS.some((name) => part[name] < 0)) return `components[${index}] counts less than nothing`;
      const cost = this.families.cost(part.model, part);
      if (cost === null) return `components[${index}]: no family of the table prices ${shown(part.model)}`;
      if (cost !== micros(part.cost_usd)) return `components[${index}]: its tokens cost ${dollars(cost)}`;
    }
    const isAssumed = data.components.some((part) => this.families.isAssumed(part.model));
    return isAssumed && !data.assumed_price ? "assumed_price is false, the fallback prices a component" : null;
  }
}

function summed(data) {
  if (data.components.length === 0) return "it has no component";
  const total = data.components.reduce((sum, part) => sum + micros(part.cost_usd), 0n);
  return total === micros(data.cost_usd) ? null : `the components add up to ${dollars(total)}, cost_usd is ${data.cost_usd}`;
}

// What a component counts beside the base, else an empty text.
function labelOf(part) {
  const label = part.model.slice(part.model.lastIndexOf("+") + 1);
  return part.model.includes("+") && PARTS.has(label) ? label : "";
}

function accounted(data) {
  const counted = new Map();
  const add = (name, count) => counted.set(name, (counted.get(name) ?? 0n) + BigInt(count));
  for (const part of data.components) {
    const label = labelOf(part);
    if (Object.hasOwn(COUNTED, label)) add(COUNTED[label], part.input_tokens);
    if (!Object.hasOwn(FEES, label)) for (const name of TOKENS) add(name, part[name]);
  }
  if (data.usage_parts !== undefined && !addUp(data.usage_parts, data.usage)) return "usage_parts do not add up to usage";
  if (!endsWithBase(data)) return `the last component is not the base of ${shown(data.model)}`;
  for (const name of [...TOKENS, ...Object.values(COUNTED)]) {
    const wanted = BigInt(data.usage[name] ?? 0);
    if ((counted.get(name) ?? 0n) !== wanted) return `the components' ${name} do not add up to ${wanted}`;
  }
  return null;
}

function addUp(parts, usage) {
  const names = new Set([...Object.keys(usage), ...parts.flatMap((part) => Object.keys(part.usage))]);
  return [...names].every(
    (name) => parts.reduce((sum, part) => sum + BigInt(part.usage[name] ?? 0), 0n) === BigInt(usage[name] ?? 0),
  );
}

function endsWithBase(data) {
  const last = data.components.at(-1);
  if (labelOf(last) !== "") return false;
  const served = [data.model, ...(data.usage_parts ?? []).map((part) => part.model)];
  return served
    .map((model) => model.replaceAll("%", "%25").replaceAll("+", "%2B"))
    .some((name) => last.model === name || last.model.startsWith(`${name}+`));
}
return { Components };
})();

// course/faults.mjs
const $course_faults = (() => {
// The rules of a drill as they are recorded, and which call gets which fault (spec/course.md, Plans of faults).

const { sha256 } = $sha256;
const { Effort, weightOf } = $effort;
const { compiled } = $globs;
const { isPrintable } = $letters;

const MAX_WHOLE = Number.MAX_SAFE_INTEGER;
const MILLION = 1_000_000n;
const OPTIONS = ["calls", "share", "provider", "model", "path", "retry_after"];
const DECIMAL = /^([0-9]{1,9})(?:\.([0-9]{0,12}))?$|^()\.([0-9]{1,12})$/;
const MARKS = /[,;]/;

// What a kind's value is: seconds, or a whole number between two; and what is done, in words.
const KINDS = {
  delay: { seconds: true, words: (value) => `the request is sent ${value} s later` },
  drop: { words: () => "the connection breaks before any answer", unasked: true },
  hang: { seconds: true, words: (value) => `nothing is answered for ${value} s`, unasked: true },
  status: { least: 400, most: 599, words: (value) => `HTTP ${value} in place of the upstream's answer`, unasked: true },
  reset: { least: 0, most: 2 ** 40, words: (value) => `the connection breaks after ${value} bytes of the reply` },
  truncate: { least: 0, most: 2 ** 40, words: (value) => `the reply ends after ${value} bytes as if it were whole` },
  corrupt: { least: 1, most: 2 ** 40, words: (value) => `one byte in ${value} of the reply is changed` },
  slow: { least: 1, most: 2 ** 40, words: (value) => `the reply comes at ${value} bytes a second` },
};

// {plan, fault}: a plan, or null and what is wrong with its rules.
function planned(spec, seed) {
  if (spec.length === 0) return { plan: null, fault: "no fault is named" };
  if (seed < 0) return { plan: null, fault: "the seed is below 0" };
  const rules = spec.map(read);
  const wrong = rules.findIndex((rule) => rule === null);
  if (wrong >= 0) return { plan: null, fault: `rule ${wrong + 1} is not written as a plan is` };
  return { plan: new Plan(rules, seed, weightOf(spec)), fault: null };
}

class Plan {
  constructor(rules, seed, rulesWeight) {
    this.rules = rules;
    this.seed = seed;
    this.rulesWeight = rulesWeight;
    this.effort = new Effort();
  }

  // The fault of a call or null; undefined where finding it would take too much.
  faultFor(request) {
    const asked = [request.provider, request.model, request.path.split("?", 1)[0]];
    if (!this.effort.take(this.rulesWeight * weightOf(asked))) return undefined;
    const [provider, model, path] = asked.map((text) => Array.from(text));
    const place = this.rules.findIndex(
      (rule, index) =>
        rule.calls.some((fits) => fits(request.call)) &&
        rule.provider(provider) &&
        rule.model(model) &&
        rule.path(path) &&
        draw(this.seed, index, request.call) * MILLION < rule.share << 64n,
    );
    return place < 0 ? null : this.rules[place].fault;
  }
}

function draw(...numbers) {
  const digest = sha256(new TextEncoder().encode(`(${numbers.join(", ")})`));
  return digest.subarray(0, 8).reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
}

// A rule, or null where it is not one in the spelling that is recorded.
function read(text) {
  const mark = text.indexOf("@");
  const head = mark < 0 ? text : text.slice(0, mark);
  const options = mark < 0 ? {} : optionsOf(text.slice(mark + 1));
  const equals = head.indexOf("=");
  const kind = equals < 0 ? head : head.slice(0, equals);
  const value = equals < 0 ? null : head.slice(equals + 1);
  if (options === null || !Object.hasOwn(KINDS, kind) || !isValue(kind, value)) return null;
  if (options.retry_after !== undefined && !(kind === "status" && isWhole(options.retry_after, 0, 3600))) return null;
  const calls = callsOf(options.calls ?? "1-");
  const share = options.share === undefined ? MILLION : partsPerMillion(options.share);
  if (calls === null || share === null) return null;
  const [provider, model, path] = ["provider", "model", "path"].map((name) => compiled(options[name] ?? "*"));
  const { words, unasked = false } = KINDS[kind];
  return { fault: { kind, detail: words(value), asked: !unasked }, calls, share, provider, model, path };
}

// The options by name; they stand in the order of OPTIONS, each once.
function optionsOf(text) {
  const found = {};
  let last = -1;
  for (const item of text.split(",")) {
    const equals = item.indexOf("=");
    const [name, value] = [item.slice(0, Math.max(equals, 0)), item.slice(equals + 1)];
    const place = OPTIONS.indexOf(name);
    if (equals < 0 || place <= last || value === "" || MARKS.test(value) || !isPrintable(value)) return null;
    last = place;
    found[name] = value;
  }
  return found;
}

function isValue(kind, value) {
  const { seconds, least, most } = KINDS[kind];
  if (seconds) return value !== null && isSeconds(value);
  if (least === undefined) return value === null;
  return value !== null && isWhole(value, least, most) && String(Number(value)) === value;
}

// Up to an hour, to the millisecond, in the shortest spelling.
function isSeconds(text) {
  const match = /^(0|[1-9][0-9]{0,3})(\.[0-9]{0,2}[1-9])?$/.exec(text);
  return match !== null && (Number(match[1]) < 3600 || text === "3600");
}

function isWhole(text, least, most) {
  return /^[0-9]{1,19}$/.test(text) && BigInt(text) >= BigInt(least) && BigInt(text) <= BigInt(most);
}

function partsPerMillion(text) {
  const match = DECIMAL.exec(text);
  if (match === null) return null;
  const [whole, fraction] = [match[1] ?? "0", match[2] ?? match[4] ?? ""];
  const share = BigInt(`${whole}${fraction.padEnd(12, "0")}`);
  return share <= 10n ** 12n ? share / MILLION : null;
}

function callsOf(text) {
  const found = [];
  for (const part of text.split("+")) {
    const fits = partOf(part);
    if (fits === null) return null;
    found.push(fits);
  }
  return found;
}

function partOf(part) {
  if (part.startsWith("*/")) {
    const step = part.slice(2);
    return isWhole(step, 1, MAX_WHOLE) ? (call) => call % Number(step) === 0 : null;
  }
  const [first, last, more] = part.split("-");
  if (more !== undefined || !isWhole(first, 1, MAX_WHOLE)) return null;
  const least = Number(first);
  if (last === undefined) return (call) => call === least;
  if (last === "") return (call) => call >= least;
  return isWhole(last, least, MAX_WHOLE) ? (call) => call >= least && call <= Number(last) : null;
}
return { planned };
})();

// course/drill.mjs
const $course_drill = (() => {
// Injected faults, breakers and pace, against plan and policy (spec/course.md, Drills); a part of event-order.

const { planned } = $course_faults;
const { objectAt } = $course_values;

const FOLLOWS = { none: ["open"], closed: ["open"], open: ["half_open"], half_open: ["open", "closed"] };

class Drill {
  constructor() {
    this.limits = {};
    this.plan = null;
    this.request = null;
    this.begun = false;
    this.breakers = new Map();
  }

  take({ type, data, known }) {
    const { request } = this;
    this.request = null;
    if (!known) return null;
    switch (type) {
      case "policy.applied":
        this.limits = objectAt(data.document, "resilience");
        return null;
      case "model.request":
        this.begun = true;
        this.request = data;
        return null;
      case "x-docket.fault-plan":
        return this.#planned(data);
      case "x-docket.fault":
        return this.#injected(data, request);
      case "x-docket.breaker":
        return this.#changed(data);
      case "x-docket.paced":
        return isSet(this.limits.max_calls_per_minute) || isSet(this.limits.max_calls_per_second)
          ? null
          : "a call waited its turn, and the policy paces none";
      default:
        return null;
    }
  }

  #planned(data) {
    if (this.plan !== null || this.begun) return "a plan of faults stands once, before any call";
    const { plan, fault } = planned(data.spec, data.seed);
    this.plan = plan;
    return fault;
  }

  #injected(data, request) {
    if (this.plan === null) return "a fault stands without a plan of faults";
    if (request === null || request.call !== data.call) return "a fault stands right behind the request of its call";
    const wanted = this.plan.faultFor(request);
    if (wanted === undefined) return "its plan has more rules than can be compared with its calls";
    if (wanted !== null && ["kind", "detail", "asked"].every((name) => wanted[name] === data[name])) return null;
    return `the plan gives call ${data.call} ${wanted === null ? "no fault" : wanted.detail}`;
  }

  #changed(data) {
    const key = JSON.stringify([data.provider, data.upstream]);
    const before = this.breakers.get(key) ?? "none";
    this.breakers.set(key, data.state);
    if (!FOLLOWS[before].includes(data.state)) return `the breaker was ${before} and is ${data.state}`;
    if (data.state !== "open") return data.cooldown_ms === 0 ? null : "a pause stands where the breaker is not open";
    const [threshold, shortest, longest] = ["threshold", "cooldown_seconds", "max_cooldown_seconds"].map((name) =>
      number(this.limits[`breaker_${name}`]),
    );
    if (threshold !== null && data.failures < threshold) return `it opened after ${data.failures} failures of ${threshold}`;
    if (shortest === null || longest === null) return null;
    const pause = BigInt(data.cooldown_ms);
    if (BigInt(shortest) * 1000n <= pause && pause <= BigInt(longest) * 1000n) return null;
    return `its pause is ${data.cooldown_ms} ms, the policy has ${shortest} to ${longest} s`;
  }
}

const isSet = (value) => value !== undefined && value !== null;
const number = (value) => (typeof value === "number" ? value : null);
return { Drill };
})();

// course/order.mjs
const $course_order = (() => {
// event-order: how calls and destinations go, instants, running sums (spec/course.md, Order).

const { watched } = $case;
const { Drill } = $course_drill;
const { dollars, micros } = $course_values;

class EventOrder {
  constructor() {
    this.fault = null;
    this.lastAt = "";
    this.gap = false;
    this.calls = new Calls();
    this.destinations = new Destinations();
    this.drill = new Drill();
  }

  observe(event) {
    const before = this.lastAt;
    this.lastAt = event.ts;
    if (this.fault !== null) return;
    const wrong = this.#wrong(event) ?? this.drill.take(event) ?? backwards(before, event.ts);
    if (wrong !== null) this.fault = `event ${event.seq} (${event.type}): ${wrong}`;
  }

  finish(given) {
    return watched(given, this.fault, "every call is requested before it is settled, and sums run on");
  }

  #wrong({ type, data, known }) {
    if (!known) return null;
    switch (type) {
      case "model.request":
        return this.calls.requested(data);
      case "model.response":
        return this.calls.replied(data);
      case "model.error":
        return this.calls.settled(data, data.model);
      case "net.allowed":
        return this.destinations.allowed(data);
      case "x-docket.net-closed":
        return this.destinations.closed(data);
      case "x-docket.evidence-gap":
        this.gap = true;
        return null;
      case "x-docket.budget":
        return this.#final("spent_usd", data);
      case "session.end":
        return this.#final("cost_usd", data);
      default:
        return null;
    }
  }

  #final(name, data) {
    if (this.gap || micros(data[name]) === this.calls.spent) return null;
    return `${name} is ${data[name]}, the calls add up to ${dollars(this.calls.spent)}`;
  }
}

// Instants are compared as texts, code point by code point; they are ASCII.
const backwards = (before, now) => (now < before ? "its instant lies before that of the event before it" : null);

class Calls {
  constructor() {
    this.number = 0;
    this.open = new Map();
    this.spent = 0n;
  }

  requested(data) {
    this.number += 1;
    if (data.call !== this.number) return `call is ${data.call}, the next number is ${this.number}`;
    this.open.set(data.call, data);
    return null;
  }

  replied(data) {
    this.spent += micros(data.cost_usd);
    const fault = this.settled(data, data.requested_model ?? data.model);
    if (fault !== null) return fault;
    if (data.requested_model === data.model) return "requested_model repeats the model";
    if (micros(data.cumulative_cost_usd) === this.spent) return null;
    return `cumulative_cost_usd is ${data.cumulative_cost_usd}, the calls add up to ${dollars(this.spent)}`;
  }

  settled(data, asked) {
    const request = this.open.get(data.call);
    this.open.delete(data.call);
    if (request === undefined) return `call ${data.call} is not in flight`;
    if (data.provider !== request.provider) return `provider is not that of the request of call ${data.call}`;
    if (asked !== request.model) return `the model asked for is not that of the request of call ${data.call}`;
    if (data.streaming !== undefined && data.streaming !== request.streaming) return `streaming is not that of the request`;
    return null;
  }
}

class Destinations {
  constructor() {
    this.number = 0;
    this.open = new Map();
  }

  allowed(data) {
    this.number += 1;
    if (data.tunnel !== this.number) return `tunnel is ${data.tunnel}, the next number is ${this.number}`;
    this.open.set(data.tunnel, data.kind);
    const isRequest = data.kind === "request";
    if (!isRequest && data.kind !== "tunnel") return "kind is neither tunnel nor request";
    return isRequest === (data.method !== undefined) ? null : "a plain request alone names a method";
  }

  closed(data) {
    const kind = this.open.get(data.tunnel);
    this.open.delete(data.tunnel);
    if (kind === undefined) return `tunnel ${data.tunnel} is not open`;
    return kind !== "request" && data.status !== undefined ? "a tunnel has no status" : null;
  }
}
return { EventOrder };
})();

// course/kept.mjs
const $course_kept = (() => {
// retained-responses: what a ledger says of the bodies that were kept, and what stands beside it (spec/course.md, Kept
// responses).

const { DAMAGED, NO_LEDGER, fail, pass, skip } = $case;
const { isInteger } = $canonical;
const { measured } = $chunks;
const { countOf } = $wording;
const { objectAt, shown } = $course_values;

const SAID = ["response_path", "response_stored_bytes", "response_stored_sha256", "response_truncated"];

class RetainedResponses {
  constructor() {
    this.fault = null;
    this.kept = [];
    this.sessionId = "";
    this.keeps = false;
  }

  observe(event) {
    if (!event.known) return;
    const { seq, type, data } = event;
    if (type === "session.start") this.sessionId = data.session_id;
    else if (type === "policy.applied") this.keeps = objectAt(data.document, "evidence").record_responses === true;
    else if (type === "model.response") {
      const fault = this.#wrong(data);
      if (fault !== null) this.fault ??= `event ${seq} (${type}): ${fault}`;
      this.observePublic(event);
    }
  }

  observePublic({ seq, type, data }) {
    if (type === "model.response" && data.response_retained === true) this.kept.push({ seq, data });
  }

  async finish({ bodies, ledger }) {
    if (ledger === null) return skip(NO_LEDGER);
    if (!ledger.sound) return skip(DAMAGED);
    const fault = this.fault ?? this.#said();
    if (fault !== null) return fail(fault);
    const named = new Set(this.kept.map(({ data }) => data.response_path));
    const other = bodies === null || bodies === undefined ? undefined : [...bodies.keys()].find((path) => !named.has(path));
    if (this.kept.length === 0 && other === undefined) return skip("no responses were kept in this run");
    if (bodies === null || bodies === undefined) return skip("the responses that were kept are not beside the ledger");
    const wrong = await this.#compared(bodies);
    if (wrong !== null) return fail(wrong);
    if (other !== undefined) return fail(`${shown(other)} is named by no event of the ledger`);
    return pass(`${countOf(this.kept.length, "response")} hashed, as kept`);
  }

  // What docket's own ledger says must fit together.
  #wrong(data) {
    const there = SAID.filter((name) => data[name] !== undefined).length;
    if (data.response_retained === true) {
      if (!this.keeps) return "a body is kept, the policy keeps none";
      if (there < SAID.length || data.response_note !== undefined) return "of its body not all is said";
      return this.#ofKept(data);
    }
    const isTold = data.response_note !== undefined;
    if (there === 0 && isTold === (data.response_retained === false)) return null;
    return "of a body that is not kept the reason is said, and nothing else";
  }

  #ofKept(data) {
    const { response_stored_bytes: size, response_bytes: whole, response_truncated: isCut } = data;
    const digest = data.response_stored_sha256;
    if (data.response_path !== `responses/${this.sessionId}/${digest}.bin`) return "response_path is not that of its digest";
    if (size > whole || isCut !== size < whole) return `response_truncated does not fit ${size} bytes of ${whole}`;
    return isCut || digest === data.response_sha256 ? null : "it is kept whole and has another digest than the response";
  }

  // What any writer says of a kept body suffices to check it.
  #said() {
    for (const { seq, data } of this.kept) {
      const { response_path: path, response_stored_sha256: digest } = data;
      if (typeof path !== "string" || path === "") return `event ${seq}: it says that a response was kept and names no path`;
      if (typeof digest !== "string") return `event ${seq}: ${shown(path)} was kept and has no digest`;
      if (data.response_truncated !== true && digest !== data.response_sha256) {
        return `event ${seq}: ${shown(path)} was kept whole and has another digest than the response`;
      }
    }
    return null;
  }

  async #compared(bodies) {
    const found = new Map();
    for (const { seq, data } of this.kept) {
      const path = data.response_path;
      const body = bodies.get(path) ?? null;
      if (body === null) return `event ${seq}: ${shown(path)} is not there`;
      const size = data.response_stored_bytes ?? null;
      if (!found.has(path)) found.set(path, await measured(body, isInteger(size) ? size : Infinity));
      const { digest, size: held } = found.get(path) ?? {};
      if (digest !== data.response_stored_sha256 || (size !== null && size !== held)) {
        return `event ${seq}: ${shown(path)} is not the body that was kept`;
      }
    }
    return null;
  }
}
return { RetainedResponses };
})();

// course/transaction.mjs
const $course_transaction = (() => {
// The course of a workspace transaction in a ledger (spec/course.md, Transactions); a part of session-shape.

const OUTCOMES = {
  commit: ["committed", "refused", "interrupted", "discarded"],
  review: ["left-for-review"],
  discard: ["discarded"],
};

class Transaction {
  constructor() {
    this.begun = false;
    this.opened = null;
    this.intent = null;
  }

  take(type, data, hasProcess, hasPassAfter) {
    if (type === "x-docket.workspace-opened" || type === "x-docket.workspace-refused") {
      if (this.begun || hasProcess) return "a transaction is opened or refused once, before any process";
      this.begun = true;
      if (type === "x-docket.workspace-refused") return null;
      this.opened = data;
      const unread = data.unread ?? null;
      return unread === null || (unread > 0 && unread <= data.files) ? null : "more is unread than was staged, or nothing";
    }
    if (type === "x-docket.workspace-intent" && !hasPassAfter) return "it stands before the pass after";
    if (this.opened === null || this.opened.transaction !== data.transaction) return "it is about another transaction";
    if (type === "x-docket.workspace-settled") return this.#settled(data);
    this.intent = data;
    return ofIntent(data, this.opened);
  }

  #settled(data) {
    const { intent } = this;
    if (intent === null) return data.outcome === "discarded" ? null : "the stage was settled without an intent";
    if (!OUTCOMES[intent.decision].includes(data.outcome)) return `${data.outcome} is no outcome of ${intent.decision}`;
    return data.outcome === "committed" ? landed(data, intent) : notLanded(data);
  }
}

function ofIntent(intent, opened) {
  if (intent.approval !== (opened.approved ? "run" : "none")) return "the opening does not bear out the approval";
  if ((intent.decision === "commit") !== (intent.reason === undefined)) return "a reason stands with a commit, or is missing";
  if (intent.excluded_write_count < intent.excluded_writes.length) return "excluded_write_count is less than what is named";
  return null;
}

function landed(settled, intent) {
  if (intent.protected !== 0 && intent.approval === "none") return "protected paths landed without an approval";
  const changes = [intent.added, intent.modified, intent.removed, intent.retyped].reduce((sum, n) => sum + BigInt(n), 0n);
  if (settled.plan_sha256 === undefined) return "it landed without a plan";
  if (BigInt(settled.applied ?? 0) + BigInt(settled.already ?? 0) !== changes) return "what landed is not what was meant";
  return settled.reason === undefined ? null : "a reason stands beside what landed";
}

function notLanded(settled) {
  if (settled.reason === undefined) return "nothing landed, and no reason is given";
  for (const name of ["plan_sha256", "applied", "already"]) if (settled[name] !== undefined) return "nothing landed, and a plan is named";
  return (settled.refused ?? 0) < (settled.refusals ?? []).length ? "refused is less than what is named" : null;
}
return { Transaction };
})();

// course/session.mjs
const $course_session = (() => {
// session-shape: which events stand once, and where (spec/course.md, Session).

const { watched } = $case;
const { Transaction } = $course_transaction;

const ONCE = new Set(["policy.applied", "proc.spawn", "proc.exit", "x-docket.budget", "session.end", "x-docket.snapshot-refused"]);
const ROLLBACKS = new Set(["x-docket.rollback-applied", "x-docket.rollback-refused"]);

class SessionShape {
  constructor() {
    this.fault = null;
    this.seen = new Set();
    this.phase = null;
    this.transaction = new Transaction();
  }

  observe(event) {
    const fault = this.#wrong(event);
    if (fault !== null) this.fault ??= `event ${event.seq} (${event.type}): ${fault}`;
  }

  finish(given) {
    return watched(given, this.fault, "start, policy, processes, passes and end stand in their places");
  }

  #wrong({ seq, type, data, known }) {
    if (this.seen.has("session.end")) return "it stands behind session.end";
    if (!known) return null;
    if (type === "session.start") return seq === 0 ? null : "a second session.start";
    if ((type === "proc.spawn" || type === "model.request") && !this.seen.has("policy.applied")) {
      return "it stands before policy.applied";
    }
    if (type === "proc.exit" && !this.seen.has("proc.spawn")) return "it stands without proc.spawn";
    if (type === "x-docket.omissions") return data.phase === this.phase ? null : "it stands behind a pass of another phase";
    if (type === "cap.exceeded") this.seen.add(type);
    return this.#first(type, data);
  }

  #first(type, data) {
    let key = ONCE.has(type) ? type : null;
    let fault = null;
    if (type === "fs.snapshot") {
      key = `pass ${data.phase}`;
      this.phase = data.phase;
      fault = this.#pass(data.phase);
    } else if (ROLLBACKS.has(type)) {
      key = "rollback";
      const due = this.seen.has("pass after") && this.seen.has("cap.exceeded");
      fault = due ? null : "a rollback stands without a cap that was exceeded and the pass after";
    } else if (type.startsWith("x-docket.workspace-")) {
      key = type;
      fault = this.transaction.take(type, data, this.seen.has("proc.spawn"), this.seen.has("pass after"));
    }
    if (fault !== null || key === null) return fault;
    if (this.seen.has(key)) return "it stands twice";
    this.seen.add(key);
    return null;
  }

  #pass(phase) {
    if (phase !== "before" && !this.seen.has("pass before")) return `the pass ${phase} stands without the pass before`;
    return phase === "contents" && this.seen.has("proc.spawn") ? "contents were kept once the agent had been started" : null;
  }
}
return { SessionShape };
})();

// course/events.mjs
const $course_events = (() => {
// Written by tools/write_verify_js_lists.py from spec/*.json of these names: change those.

const EVENTS = {
 "format": "docket/events/v1",
 "instant": "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\\.[0-9]{1,9})?Z$",
 "records": {
  "cache_mark": {
   "required": {"stored": "flag"},
   "optional": {"key": "text", "reason": "text"}
  },
  "component": {
   "required": {
    "model": "text", "input_tokens": "integer", "cached_input_tokens": "integer", "output_tokens": "integer",
    "cost_usd": "amount"
   }
  },
  "entry_state": {
   "required": {"kind": "text", "mode": "integer"},
   "optional": {"size": "integer", "sha256": "digest", "target": "text", "target_b64": "text"}
  },
  "excluded_write": {
   "required": {"path": "path"}
  },
  "omitted_path": {
   "required": {"path": "path", "reason": "text"},
   "optional": {"detail": "text"}
  },
  "origin": {
   "required": {"seq": "integer", "hash": "digest"}
  },
  "previous_run": {
   "required": {"session": "text", "events": "integer", "head": "digest", "receipt_sha256": "digest"}
  },
  "proof_facts": {
   "required": {"origin": "text", "project": "text", "run": "integer"},
   "optional": {"previous": "@previous_run", "signature": "@signing_key", "seal": "@sealing_key"}
  },
  "redaction_facts": {
   "required": {"profiles": "text[]", "replaced": "integer", "not_carried": "text[]", "commitment": "digest"}
  },
  "refused_change": {
   "required": {"path": "path", "reason": "text"},
   "optional": {"detail": "text", "transaction": "text"}
  },
  "scope_use": {
   "required": {
    "scope": "text", "name": "text", "spent_usd": "amount", "tokens": "integer", "calls": "integer",
    "bound_usd": "amount"
   },
   "optional": {"cap_usd": "amount", "cap_tokens": "integer", "cap_calls": "integer"}
  },
  "sealing_key": {
   "required": {"alg": ["hmac-sha256"], "key_id": "text"}
  },
  "signing_key": {
   "required": {"alg": ["ed25519"], "public_key": "text"}
  },
  "usage": {
   "required": {"input_tokens": "count", "cached_input_tokens": "count", "output_tokens": "count"},
   "optional": {
    "cache_write_tokens": "positive", "cache_write_5m_tokens": "positive", "cache_write_30m_tokens": "positive",
    "cache_write_1h_tokens": "positive", "cache_write_12h_tokens": "positive", "reasoning_tokens": "positive",
    "audio_input_tokens": "positive", "audio_output_tokens": "positive", "web_searches": "positive",
    "file_searches": "positive", "image_input_tokens": "positive", "image_output_tokens": "positive",
    "code_sessions": "positive", "audio_seconds": "positive"
   },
   "sum": ["cached_input_tokens", "cache_write_tokens", "cache_write_5m_tokens", "cache_write_30m_tokens", "cache_write_1h_tokens", "cache_write_12h_tokens"],
   "at_most": "input_tokens"
  },
  "usage_part": {
   "required": {"model": "text", "usage": "@usage"}
  },
  "window_begun": {
   "required": {
    "window_id": "text", "repository": "text", "provider": "text", "session_id": "text", "turn_id": "text",
    "mode": "text"
   },
   "optional": {
    "group_id": "text", "tree": "text", "hashes": ["sha1", "sha256", "content-sha256"], "head": "text",
    "reason": "text"
   }
  }
 },
 "types": {
  "session.start": {
   "required": {
    "session_id": "text", "docket_number": "text", "argv": "text[]", "cwd": "text", "tool": "text",
    "version": "text", "fold": "text", "agent": "text", "admission": "text", "boundary": "object",
    "upstream_overrides": "object", "host": "object", "prices": "object"
   },
   "optional": {"label": "text", "argv_b64": "text[]", "cwd_b64": "text", "proof": "@proof_facts",
    "redaction": "@redaction_facts"}
  },
  "policy.applied": {
   "required": {"name": "text", "digest": "digest", "document": "object"},
   "optional": {"source": "text"}
  },
  "policy.violation": {
   "required": {"rule": "text", "detail": "text"},
   "optional": {"path": "path"}
  },
  "note": {
   "required": {"code": "text", "message": "text"},
   "optional": {"detail": "object", "reported_by": ["agent"], "event": "text"}
  },
  "fs.snapshot": {
   "required": {
    "phase": ["before", "after", "contents"], "roots": "text[]", "files": "integer", "directories": "integer",
    "symlinks": "integer", "omissions": "integer", "bytes_watched": "integer", "tree_sha256": "digest"
   },
   "optional": {
    "format": "text", "manifest_sha256": "digest", "store": "text", "bytes_stored": "integer",
    "bytes_shared": "integer", "not_covered": "integer", "unread": "integer"
   }
  },
  "x-docket.omissions": {
   "required": {"phase": ["before", "after", "contents"], "omissions": "@omitted_path[]"}
  },
  "fs.change": {
   "required": {"path": "path", "change": ["added", "modified", "removed", "retyped"]},
   "optional": {"before": "@entry_state", "after": "@entry_state"}
  },
  "proc.spawn": {
   "required": {"argv": "text[]", "cwd": "text", "env_set": "text[]", "isolation": "text[]"},
   "optional": {"argv_b64": "text[]", "cwd_b64": "text"}
  },
  "proc.exit": {
   "required": {"exit_code": "integer", "leftover_processes": "integer"},
   "optional": {"signal": "text", "terminated_by": "text"}
  },
  "model.request": {
   "required": {
    "call": "integer", "provider": "text", "wire": "text", "model": "text", "method": "text", "path": "text",
    "streaming": "flag", "fingerprint": "text", "request_sha256": "digest", "body_bytes": "integer"
   },
   "optional": {
    "model_b64": "text", "forwarded_sha256": "digest", "altered": "text[]", "held_usd": "amount",
    "agent_id": "text"
   }
  },
  "model.response": {
   "required": {
    "call": "integer", "provider": "text", "model": "text", "status": "integer",
    "outcome": ["complete", "cut", "client_gone", "upstream_broken"], "latency_ms": "integer",
    "usage": "@usage", "usage_source": ["reported", "estimated"], "components": "@component[]",
    "cost_usd": "amount", "cumulative_cost_usd": "amount", "assumed_price": "flag", "streaming": "flag",
    "response_bytes": "integer", "response_sha256": "digest"
   },
   "optional": {
    "model_b64": "text", "requested_model": "text", "first_byte_ms": "integer", "usage_note": "text",
    "usage_parts": "@usage_part[]", "service_tier": "text", "speed": "text", "inference_geo": "text",
    "upstream_cost_usd": "text", "provider_request_id": "text", "cache": "@cache_mark",
    "response_retained": "flag", "response_path": "text", "response_stored_bytes": "integer",
    "response_stored_sha256": "digest", "response_truncated": "flag", "response_note": "text",
    "tool_use_ids": "text[]"
   }
  },
  "model.error": {
   "required": {
    "call": "integer", "provider": "text", "model": "text", "status": "integer", "latency_ms": "integer",
    "reason": "text", "error": "text", "response_bytes": "integer"
   },
   "optional": {"response_sha256": "digest"}
  },
  "model.denied": {
   "required": {
    "provider": "text", "model": "text", "reason": "text", "detail": "text", "status": "integer",
    "path": "text"
   },
   "optional": {"cap": "text"}
  },
  "x-docket.other": {
   "required": {"provider": "text", "method": "text", "path": "text", "status": "integer", "response_bytes": "integer"}
  },
  "x-docket.price": {
   "required": {"pattern": "text", "input": "price", "output": "price", "source": "text"},
   "optional": {"cached_input": "price"}
  },
  "model.cache_hit": {
   "required": {
    "provider": "text", "model": "text", "key": "text", "origin": "@origin", "method": "text", "path": "text",
    "request_sha256": "digest", "body_bytes": "integer", "fingerprint": "text", "status": "integer",
    "streaming": "flag", "usage": "@usage", "usage_source": ["reported", "estimated"],
    "avoided_cost_usd": "amount", "response_bytes": "integer", "response_sha256": "digest", "age_ms": "integer"
   }
  },
  "x-docket.cache-hit": {
   "required": {
    "provider": "text", "model": "text", "key": "text", "origin": "@origin", "method": "text", "path": "text",
    "request_sha256": "digest", "body_bytes": "integer", "fingerprint": "text", "status": "integer",
    "streaming": "flag", "usage": "@usage", "usage_source": ["reported", "estimated"],
    "avoided_cost_usd": "amount", "response_bytes": "integer", "response_sha256": "digest", "age_ms": "integer"
   }
  },
  "cap.warning": {
   "required": {"cap": "text", "threshold": "text", "used_pct": "text", "used": "text", "limit": "text"},
   "optional": {"scope": "text", "scope_name": "text"}
  },
  "cap.exceeded": {
   "required": {
    "cap": "text", "limit": "text", "used": "text", "cost_usd": "amount", "tokens": "integer",
    "calls": "integer", "action": "text", "detail": "text"
   },
   "optional": {"scope": "text", "scope_name": "text"}
  },
  "x-docket.budget": {
   "required": {
    "admission": "text", "spent_usd": "amount", "overshoot_usd": "amount", "bound_usd": "amount",
    "peak_held_usd": "amount"
   },
   "optional": {"cap_usd": "amount", "scopes": "@scope_use[]"}
  },
  "net.denied": {
   "required": {"reason": "text", "kind": "text", "count": "integer"},
   "optional": {"host": "text", "port": "integer"}
  },
  "net.allowed": {
   "required": {"tunnel": "integer", "kind": "text", "host": "text", "port": "integer"},
   "optional": {"address": "text", "method": "text"}
  },
  "x-docket.net-closed": {
   "required": {
    "tunnel": "integer", "outcome": ["closed", "agent_reset", "host_reset", "cut", "unreachable"],
    "sent_bytes": "integer", "received_bytes": "integer", "duration_ms": "integer"
   },
   "optional": {"status": "integer"}
  },
  "tool.call": {
   "required": {"name": "text"},
   "optional": {
    "id": "text", "input_bytes": "integer", "input_sha256": "digest", "reported_by": ["agent"],
    "window": "@window_begun"
   }
  },
  "tool.result": {
   "required": {"name": "text", "ok": "flag"},
   "optional": {
    "id": "text", "result_bytes": "integer", "result_sha256": "digest", "duration_ms": "integer",
    "error": "text", "reported_by": ["agent"], "window_id": "text"
   }
  },
  "x-docket.asserted-call": {
   "required": {
    "provider": "text", "model": "text", "input_tokens": "integer", "cached_input_tokens": "integer",
    "output_tokens": "integer", "reported_by": ["agent"]
   },
   "optional": {"latency_ms": "integer"}
  },
  "x-docket.pool": {
   "required": {"pool": "text"},
   "optional": {"daily_usd": "amount", "weekly_usd": "amount", "total_usd": "amount"}
  },
  "x-docket.pool-use": {
   "required": {
    "pool": "text", "spent_usd": "amount", "unknown_usd": "amount", "overshoot_usd": "amount",
    "bound_usd": "amount"
   }
  },
  "x-docket.evidence-gap": {
   "required": {"first_failing_seq": "integer", "unwritten_events": "integer", "detail": "text"}
  },
  "session.end": {
   "required": {
    "exit_code": "integer", "exit_source": ["agent", "cap", "docket", "signal"], "duration_seconds": "text",
    "interrupted": "flag", "cost_usd": "amount"
   },
   "optional": {"breached": "text"}
  },
  "x-docket.paced": {
   "required": {"provider": "text", "model": "text", "waited_ms": "integer"}
  },
  "x-docket.breaker": {
   "required": {
    "provider": "text", "upstream": "text", "state": ["closed", "open", "half_open"], "failures": "integer",
    "cooldown_ms": "integer"
   }
  },
  "x-docket.fault-plan": {
   "required": {"seed": "integer", "spec": "text[]"}
  },
  "x-docket.fault": {
   "required": {"call": "integer", "kind": "text", "detail": "text", "asked": "flag"}
  },
  "x-docket.snapshot-refused": {
   "required": {"reason": "text", "detail": "text"},
   "optional": {"needed": "integer", "allowed": "integer"}
  },
  "x-docket.rollback-applied": {
   "required": {
    "trigger": "text", "plan_sha256": "digest", "restored": "integer", "already": "integer",
    "refused": "integer", "kept": "integer", "not_covered": "integer", "record": "text",
    "refusals": "@omitted_path[]"
   }
  },
  "x-docket.rollback-refused": {
   "required": {"trigger": "text", "reason": "text", "detail": "text"},
   "optional": {"refused": "integer", "record": "text"}
  },
  "x-docket.workspace-opened": {
   "required": {
    "transaction": "text", "backend": ["copy", "reflink", "overlay"], "view": ["stage", "base-path"],
    "settle": "text", "manifest_sha256": "digest", "files": "integer", "directories": "integer",
    "symlinks": "integer", "bytes_staged": "integer", "excluded": "integer", "shared": "integer",
    "protected": "integer", "approved": "flag", "not_preserved": "integer", "store": "text"
   },
   "optional": {"unread": "integer"}
  },
  "x-docket.workspace-refused": {
   "required": {"reason": "text", "detail": "text"}
  },
  "x-docket.workspace-intent": {
   "required": {
    "transaction": "text", "decision": ["commit", "review", "discard"], "result_sha256": "digest",
    "diff_sha256": "digest", "added": "integer", "modified": "integer", "removed": "integer",
    "retyped": "integer", "protected": "integer", "approval": "text", "base_moved": "flag",
    "not_preserved": "@omitted_path[]", "excluded_writes": "@excluded_write[]",
    "excluded_write_count": "integer"
   },
   "optional": {"reason": "text", "detail": "text"}
  },
  "x-docket.workspace-settled": {
   "required": {"transaction": "text", "outcome": ["committed", "refused", "discarded", "left-for-review", "interrupted"]},
   "optional": {
    "reason": "text", "detail": "text", "plan_sha256": "digest", "applied": "integer", "already": "integer",
    "refused": "integer", "refusals": "@refused_change[]"
   }
  },
  "x-docket.tool-delta": {
   "required": {
    "window_id": "text", "id": "text", "name": "text", "delta_sha256": "digest",
    "scope": ["tool", "concurrent_group"], "status": ["complete", "partial"], "members": "integer",
    "files": "integer"
   },
   "optional": {"group_id": "text", "reason": "text", "tree_before": "text", "tree_after": "text"}
  },
  "x-docket.hook-lost": {
   "required": {"kind": "text", "count": "integer"}
  },
  "x-docket.checkpoint": {
   "required": {"number": "integer", "size": "integer", "root": "digest"}
  }
 }
};
return { EVENTS };
})();

// course/grammar.mjs
const $course_grammar = (() => {
// The members of every event of docket's own vocabulary, and reading an event against them. What they are is
// spec/events.json, of which `events.mjs` is a copy; what its words mean is spec/ledger.md, Grammar.

const { EVENTS } = $course_events;
const { isObject, micros, shown } = $course_values;

const INSTANT = new RegExp(EVENTS.instant);
const DIGEST = /^[0-9a-f]{64}$/;
const PRICE = /^(0|[1-9][0-9]{0,6})(\.[0-9]{1,6})?$/;
const BASE64 = /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const MAX_PATH_BYTES = 16384;
// A part of a path that is empty, `.` or `..`, and NUL anywhere.
const NO_PATH = /(?:^|\/)\.{0,2}(?:\/|$)|\0/;

const isInteger = (value) => typeof value === "number";

const PLAIN = {
  text: [(value) => typeof value === "string", "a text"],
  flag: [(value) => typeof value === "boolean", "true or false"],
  integer: [isInteger, "an integer"],
  count: [(value) => isInteger(value) && value >= 0, "an integer from 0 on"],
  positive: [(value) => isInteger(value) && value >= 1, "an integer from 1 on"],
  amount: [(value) => micros(value) !== null, "an amount in its one spelling"],
  price: [(value) => typeof value === "string" && PRICE.test(value), "a price"],
  digest: [(value) => typeof value === "string" && DIGEST.test(value), "a SHA-256"],
  object: [isObject, "an object"],
};

// Whether an event of docket's own ledger is well formed: null, or a sentence. Sets `event.known`.
function readPayload(event) {
  event.known = false;
  if (!INSTANT.test(event.ts)) return `event ${event.seq}: ts is not an instant`;
  if (!Object.hasOwn(EVENTS.types, event.type)) return null;
  const fault = ofType(event.type)(event.data);
  if (fault !== null) return `event ${event.seq}: ${event.type}${fault}`;
  event.known = true;
  return null;
}

// Each record is made a function once: (value) gives null, or the end of a sentence that begins with the value's name.
const types = new Map();
const records = new Map();

function ofType(type) {
  if (!types.has(type)) types.set(type, recordOf(EVENTS.types[type]));
  return types.get(type);
}

function ofNamed(name) {
  if (!records.has(name)) records.set(name, recordOf(EVENTS.records[name]));
  return records.get(name);
}

function recordOf({ required, optional = {}, ...rest }) {
  const members = [
    ...Object.entries(required).map(([name, kind]) => memberOf(name, kind, false)),
    ...Object.entries(optional).map(([name, kind]) => memberOf(name, kind, true)),
  ];
  const known = new Set(members.flatMap(({ names }) => names));
  return (value) => {
    if (!isObject(value)) return " is not an object";
    for (const { test } of members) {
      const fault = test(value);
      if (fault !== null) return fault;
    }
    for (const name in value) if (!known.has(name)) return ` has the unknown member ${shown(name)}`;
    return ofSum(rest, value);
  };
}

// How one member of a record is read: {names, test}, the names being those that it may stand under.
function memberOf(name, kind, mayLack) {
  if (kind === "path") return { names: ["path", "path_b64"], test: (value) => ofPath(value, mayLack) };
  const ofValue = kindOf(kind);
  const test = (value) => {
    const member = value[name];
    if (member === undefined) return mayLack ? null : ` has no member ${name}`;
    const fault = ofValue(member);
    return fault === null ? null : `.${name}${fault}`;
  };
  return { names: [name], test };
}

function kindOf(kind) {
  if (Array.isArray(kind)) return (value) => (kind.includes(value) ? null : ` is not one of ${kind.join(", ")}`);
  if (kind.endsWith("[]")) return itemsOf(kindOf(kind.slice(0, -2)));
  if (kind.startsWith("@")) return (value) => ofNamed(kind.slice(1))(value);
  const [holds, wanted] = PLAIN[kind];
  return (value) => (holds(value) ? null : ` is not ${wanted}`);
}

const itemsOf = (ofItem) => (value) => {
  if (!Array.isArray(value)) return " is not an array";
  for (let index = 0; index < value.length; index += 1) {
    const fault = ofItem(value[index]);
    if (fault !== null) return `[${index}]${fault}`;
  }
  return null;
};

function ofSum({ sum, at_most: whole }, value) {
  if (sum === undefined) return null;
  const total = sum.reduce((so_far, name) => so_far + BigInt(value[name] ?? 0), 0n);
  return total <= BigInt(value[whole]) ? null : `: its parts exceed ${whole}`;
}

function ofPath(value, mayLack) {
  const { path, path_b64: coded } = value;
  if (path === undefined && coded === undefined && mayLack) return null;
  if ((path === undefined) === (coded === undefined)) return " names its path as either path or path_b64";
  if (typeof path === "string" && path.length * 3 <= MAX_PATH_BYTES) {
    return NO_PATH.test(path) ? " has no path in its one spelling" : null;
  }
  const bytes = pathBytes(value);
  return bytes !== null && isPath(bytes) ? null : " has no path in its one spelling";
}

// The bytes of the member `path` or `path_b64`, or null where it has not its one spelling (spec/tree.md, Paths).
function pathBytes(value) {
  if (Object.hasOwn(value, "path")) return typeof value.path === "string" ? new TextEncoder().encode(value.path) : null;
  const bytes = fromBase64(value.path_b64);
  return bytes === null || isUtf8(bytes) ? null : bytes;
}

// The bytes of a text in base64 in its only spelling, else null.
function fromBase64(coded) {
  if (typeof coded !== "string" || !BASE64.test(coded)) return null;
  const raw = atob(coded);
  return btoa(raw) === coded ? Uint8Array.from(raw, (character) => character.charCodeAt(0)) : null;
}

function isUtf8(bytes) {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

function isPath(bytes) {
  if (bytes.length > MAX_PATH_BYTES || bytes.includes(0)) return false;
  let name = "";
  for (const byte of [...bytes, 47]) {
    if (byte !== 47) {
      if (name.length < 3) name += String.fromCharCode(byte);
      continue;
    }
    if (name === "" || name === "." || name === "..") return false;
    name = "";
  }
  return true;
}
return { INSTANT, readPayload, pathBytes, fromBase64, isUtf8, isPath };
})();

// course/delta.mjs
const $course_delta = (() => {
// Reads a delta of a tool window, `agent_tool_delta` version 1 (spec/windows.md, Deltas): exactly what writing gives.

const { compareTexts, decodeCanonical } = $canonical;
const { Refused } = $refused;
const { array, constant, count, flag, oneOf, record, text } = $shapes;
const { INSTANT, fromBase64, isPath, isUtf8, pathBytes } = $course_grammar;

const MAX_DELTA_BYTES = 256 * 1024 * 1024;

const ABSENT = "000000";
const REPOSITORY = "160000";
const MODES = new Set(["100644", "100755", "120000", REPOSITORY]);
const DIGITS = { sha1: 40, sha256: 64, "content-sha256": 64 };
const REASON = /^[a-z][a-z0-9_]{0,63}$/;

const instant = (value, where) => text(value, where) ?? (INSTANT.test(value) ? null : `${where} is not an instant`);
const yes = constant(true);

const ACTOR = record({ provider: text, session_id: text, turn_id: text });
const USE = record(
  { tool_use_id: text, tool_name: text, event_id: text, actor: count },
  { command_summary: text, outcome: text },
);
const HUNK = record(
  { old_start: count, old_count: count, new_start: count, new_count: count },
  { old_lines: array(text), old_lines_b64: array(text), new_lines: array(text), new_lines_b64: array(text) },
);
const FILE = record(
  {
    operation: oneOf("create", "edit", "delete", "typechange"),
    before_hash: text,
    after_hash: text,
    before_mode: text,
    after_mode: text,
  },
  {
    path: text,
    path_b64: text,
    binary: yes,
    truncated: yes,
    old_no_eof_newline: yes,
    new_no_eof_newline: yes,
    hunks: array(HUNK),
  },
);
const DELTA = record(
  {
    version: constant(1),
    kind: constant("agent_tool_delta"),
    scope: oneOf("tool", "concurrent_group"),
    status: oneOf("complete", "partial"),
    window: record({ started_at: instant, completed_at: instant, duration_ms: count }),
    actors: array(ACTOR),
    tool_uses: array(USE),
    files: array(FILE),
    limits: record({ files_observed: count, bytes_read: count, truncated: flag }),
  },
  {
    reason: text,
    hashes: oneOf(...Object.keys(DIGITS)),
    head_before: text,
    head_after: text,
    head_moves: (value, where) => count(value, where) ?? (value > 0 ? null : `${where} is 0`),
  },
);

// {delta, fault}: the delta as it stands, or null and what is wrong with the bytes.
function readDelta(bytes) {
  try {
    if (bytes.length > MAX_DELTA_BYTES) return broken("it has too many bytes");
    const delta = decodeCanonical(bytes);
    const fault = DELTA(delta, "the delta") ?? ofUses(delta) ?? ofStatus(delta) ?? ofFiles(delta);
    return fault === null ? { delta, fault: null } : broken(fault);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return broken(error.message);
  }
}

const broken = (detail) => ({ delta: null, fault: `the delta is none: ${detail}` });

const ordered = (items, compare) => items.every((item, index) => index === 0 || compare(items[index - 1], item) < 0);
const byActor = (left, right) =>
  compareTexts(left.provider, right.provider) ||
  compareTexts(left.session_id, right.session_id) ||
  compareTexts(left.turn_id, right.turn_id);
const byUse = (left, right) => left.actor - right.actor || compareTexts(left.tool_use_id, right.tool_use_id);

function ofUses({ actors, scope, tool_uses: uses }) {
  if (uses.length === 0) return "no tool use is named";
  if (!ordered(actors, byActor) || !ordered(uses, byUse)) return "actors and tool uses stand in their order, each once";
  const used = new Set(uses.map(({ actor }) => actor));
  if (used.size !== actors.length || [...used].some((actor) => actor >= actors.length)) return "an actor used no tool";
  return (scope === "tool") === (uses.length === 1) ? null : "its scope is not that of so many tool uses";
}

function ofStatus(delta) {
  const { files, hashes, limits, reason, status } = delta;
  if (status === "complete" && (reason !== undefined || hashes === undefined)) return "complete, with a reason or without hashes";
  if (status === "partial" && (files.length > 0 || reason === undefined || !REASON.test(reason))) {
    return "partial, with files or without a reason";
  }
  for (const name of ["head_before", "head_after"]) {
    if (delta[name] !== undefined && (hashes === "content-sha256" || !isHash(delta[name], hashes))) return `${name} is no commit`;
  }
  if (limits.files_observed < files.length) return "fewer files were observed than changed";
  return files.some((file) => file.truncated) && !limits.truncated ? "a truncated file in limits that are not" : null;
}

const isHash = (value, hashes) => hashes !== undefined && value.length === DIGITS[hashes] && /^[0-9a-f]+$/.test(value);

function ofFiles({ files, hashes }) {
  const paths = files.map((file) => (file.path === undefined) === (file.path_b64 === undefined) ? null : pathBytes(file));
  if (paths.some((path) => path === null || !isPath(path))) return "a file has no path in its one spelling";
  if (!ordered(paths, compareBytes)) return "files stand in the order of their paths, each once";
  for (const file of files) {
    const fault = ofSides(file, hashes) ?? ofContent(file) ?? ofHunks(file);
    if (fault !== null) return `${file.path ?? file.path_b64}: ${fault}`;
  }
  return null;
}

function compareBytes(left, right) {
  for (let at = 0; at < Math.min(left.length, right.length); at += 1) if (left[at] !== right[at]) return left[at] - right[at];
  return left.length - right.length;
}

const isZero = (hash) => /^0*$/.test(hash);
const kindOf = (mode) => (mode === "100755" ? "100644" : mode);

function ofSides(file, hashes) {
  for (const side of ["before", "after"]) {
    const [hash, mode] = [file[`${side}_hash`], file[`${side}_mode`]];
    if (!isHash(hash, hashes)) return `${side}_hash is no hash`;
    if (mode !== ABSENT && !MODES.has(mode)) return `${side}_mode is none`;
    if (mode === ABSENT ? !isZero(hash) : isZero(hash) && !file.truncated) return "a mode and a hash do not go together";
  }
  return file.operation === operationOf(file.before_mode, file.after_mode) ? null : "the operation is not what its modes say";
}

function operationOf(before, after) {
  if (before === ABSENT && after === ABSENT) return null;
  if (before === ABSENT) return "create";
  if (after === ABSENT) return "delete";
  return kindOf(before) === kindOf(after) ? "edit" : "typechange";
}

function ofContent(file) {
  const { binary, hunks, operation, truncated } = file;
  const [oldOpen, newOpen] = [file.old_no_eof_newline === true, file.new_no_eof_newline === true];
  if (hunks !== undefined && hunks.length === 0) return "hunks stand where there are none";
  const hasLines = hunks !== undefined || oldOpen || newOpen;
  const isRepository = [file.before_mode, file.after_mode].includes(REPOSITORY);
  if (hasLines && (binary || truncated || operation === "typechange" || isRepository)) return "it has lines";
  if (operation === "edit") return ofEdit(file, oldOpen, newOpen);
  if (operation === "typechange") return null;
  const [here, gone] = operation === "create" ? [newOpen, oldOpen] : [oldOpen, newOpen];
  if (gone || (here && hunks === undefined)) return "the side that is not there has an end";
  return (hunks ?? []).length > 1 ? "it was created or deleted in more than one hunk" : null;
}

function ofEdit(file, oldOpen, newOpen) {
  const { binary, hunks, truncated } = file;
  const isSame = file.before_hash === file.after_hash && !truncated;
  if (isSame) {
    const differs = file.before_mode !== file.after_mode && hunks === undefined && !binary && oldOpen === newOpen;
    return differs ? null : "an edit in which nothing differs";
  }
  const isTold = binary || truncated || hunks !== undefined || file.before_mode === REPOSITORY || oldOpen !== newOpen;
  return isTold ? null : "an edit of which nothing is said";
}

function ofHunks(file) {
  let [oldEnd, newEnd] = [0, 0];
  for (const [index, hunk] of (file.hunks ?? []).entries()) {
    const [before, after] = [linesOf(hunk, "old"), linesOf(hunk, "new")];
    if (before === null || after === null) return "a hunk's lines have not their one spelling";
    if (before !== hunk.old_count || after !== hunk.new_count) return "a hunk's counts are not those of its lines";
    if (before + after === 0) return "a hunk has no lines";
    if (hunk.old_start < 1 || hunk.new_start < 1) return "a hunk starts before the first line";
    const [oldKept, newKept] = [hunk.old_start - 1 - oldEnd, hunk.new_start - 1 - newEnd];
    if (oldKept !== newKept || oldKept < (index > 0 ? 1 : 0)) return "hunks overlap, touch, or do not go together";
    [oldEnd, newEnd] = [oldEnd + oldKept + before, newEnd + newKept + after];
    const isWhole = file.operation === "create" || file.operation === "delete";
    const gone = file.operation === "create" ? before : after;
    if (isWhole && (hunk.old_start !== 1 || hunk.new_start !== 1 || gone > 0)) return "a hunk has lines of what is not there";
  }
  return null;
}

// How many lines a side of a hunk has; null where they are not spelled as they are written.
function linesOf(hunk, side) {
  const [plain, coded] = [hunk[`${side}_lines`], hunk[`${side}_lines_b64`]];
  if ((plain === undefined) === (coded === undefined)) return null;
  if (plain !== undefined) return plain.some((line) => line.includes("\n")) ? null : plain.length;
  const lines = coded.map(fromBase64);
  if (lines.some((line) => line === null || line.includes(10))) return null;
  return lines.every(isUtf8) ? null : lines.length;
}
return { readDelta };
})();

// course/windows.mjs
const $course_windows = (() => {
// tool-windows and tool-deltas: the course of tool windows in a ledger, their sums and proofs in a receipt, and the
// deltas that are at hand (spec/course.md, Windows; spec/windows.md).

const { DAMAGED, NO_LEDGER, fail, pass, skip } = $case;
const { encode, utf8 } = $canonical;
const { merklePath } = $proof_path;
const { rootFromPath } = $merkle;
const { sha256Hex } = $sha256;
const { countOf } = $wording;
const { readDelta } = $course_delta;
const { isObject } = $course_values;

const NO_WINDOWS = "this run had no tool windows";
const MAX_KEY_CHARACTERS = 1024;
const SHARED = ["delta_sha256", "scope", "status", "reason", "members", "files", "tree_before", "tree_after"];

class ToolWindows {
  constructor() {
    this.fault = null;
    this.mode = "tree";
    this.isOver = false;
    this.windows = new Map();
    this.groups = new Map();
    this.trees = new Map();
  }

  observe(event) {
    const fault = event.known ? this.#wrong(event.type, event.data) : null;
    if (fault !== null) this.fault ??= `event ${event.seq} (${event.type}): ${fault}`;
  }

  finish({ ledger, receipt }) {
    if (ledger !== null && this.fault !== null) return fail(this.fault);
    const windows = receipt.part("windows") ?? null;
    if (windows === null) {
      const counts = receipt.part("event_counts");
      const told = ["x-docket.tool-delta", "x-docket.hook-lost"].find((type) => counts[type]);
      if (told === undefined || !receipt.ours) return skip(NO_WINDOWS);
      return fail(`event_counts has ${told}, the receipt has no member windows`);
    }
    if (!receipt.ours) return skip("another writer's windows are not known here");
    const fault = sums(windows) ?? proofs(windows, receipt.part("ledger", "merkle_root"));
    return fault === null ? pass(`${countOf(windows.count, "window")}, each delta with a path to the root`) : fail(fault);
  }

  #wrong(type, data) {
    if (type === "x-docket.workspace-opened") this.mode = "stage";
    else if (type === "fs.snapshot") this.isOver ||= data.phase === "after";
    else if (type === "tool.call" && data.window !== undefined) return this.#begun(data, data.window);
    else if (type === "tool.result" && data.window_id !== undefined) return this.#ended(data);
    else if (type === "x-docket.tool-delta") return this.#delta(data);
    else if (type === "x-docket.hook-lost" && data.count < 1) return "it counts no hook";
    return null;
  }

  #named(windowId, data) {
    if (!this.windows.has(windowId)) this.windows.set(windowId, { name: data.name, id: data.id, begun: null, ended: false, told: false });
    return this.windows.get(windowId);
  }

  #begun(data, window) {
    if (window.window_id !== idOf(data.id ?? "", window)) return "its window_id is not made of its key";
    if (window.mode !== this.mode) return `its window is of the ${window.mode}, the run works on the ${this.mode}`;
    const hasTree = window.tree !== undefined;
    if (hasTree === (window.reason !== undefined) || hasTree !== (window.hashes !== undefined)) {
      return "its window has a tree with what names it, or a reason why there is none";
    }
    const seen = this.#named(window.window_id, data);
    if (seen.begun !== null) return "its window has begun before";
    seen.begun = window;
    if (window.group_id !== undefined && hasTree) this.#treesOf(window.group_id).push(window.tree);
    return otherTool(seen, data);
  }

  #treesOf(groupId) {
    if (!this.trees.has(groupId)) this.trees.set(groupId, []);
    return this.trees.get(groupId);
  }

  #ended(data) {
    const seen = this.#named(data.window_id, data);
    if (seen.ended) return "its window has ended before";
    seen.ended = true;
    return otherTool(seen, data);
  }

  #delta(data) {
    const seen = this.windows.get(data.window_id);
    if (seen === undefined) return "it is about a window that nothing names";
    if (seen.told) return "its window has a delta already";
    if (this.isOver) return "it stands behind the pass after";
    seen.told = true;
    return otherTool(seen, data) ?? ofDelta(data) ?? this.#ofGroup(data, seen);
  }

  #ofGroup(data, seen) {
    const groupId = data.group_id;
    if (groupId === undefined) return data.status === "partial" && data.members === 1 ? null : "it is of no group";
    if (seen.begun !== null && seen.begun.group_id !== groupId) return "it is of another group than its window";
    const group = this.groups.get(groupId) ?? { first: data, count: 0 };
    this.groups.set(groupId, group);
    group.count += 1;
    if (group.count > data.members) return "it is one too many of its group";
    if (SHARED.some((name) => group.first[name] !== data[name])) return "it differs from those of its group";
    const trees = this.#treesOf(groupId);
    const isKnown = data.tree_before === undefined || data.members !== trees.length || trees.includes(data.tree_before);
    return isKnown ? null : "tree_before is none that stood before a tool of its group";
  }
}

const otherTool = (seen, data) => (seen.name === data.name && seen.id === data.id ? null : "it names another tool than its window");

// The id that a key makes (spec/windows.md, Identity); null where it is no key.
function idOf(toolUseId, { repository, provider, session_id, turn_id, mode }) {
  if (repository === "" || provider === "" || toolUseId === "") return null;
  if ([provider, session_id, turn_id, toolUseId].some((text) => Array.from(text).length > MAX_KEY_CHARACTERS)) return null;
  if (mode !== "tree" && mode !== "stage") return null;
  const key = { mode, provider, repository, session_id, tool_use_id: toolUseId, turn_id };
  return sha256Hex(utf8(encode(key))).slice(0, 32);
}

function ofDelta(data) {
  const isComplete = data.status === "complete";
  const hasTrees = data.tree_before !== undefined;
  if (isComplete !== (data.reason === undefined)) return "a reason stands where nothing is told, and only there";
  if (hasTrees !== (data.tree_after !== undefined) || (isComplete && !hasTrees)) {
    return "both trees are named, or none; a complete delta names them";
  }
  if (!isComplete && data.files !== 0) return "it counts files of which nothing is told";
  if (data.members < 1 || (data.scope === "tool") !== (data.members === 1)) return "its scope is not that of so many windows";
  return null;
}

// The deltas of a receipt's windows: [{where, window, delta}].
function deltasOf(windows) {
  return windows.tools
    .map((window, index) => ({ where: `windows.tools[${index}].delta`, window, delta: window.delta }))
    .filter(({ delta }) => isObject(delta));
}

function sums(windows) {
  const deltas = deltasOf(windows).map(({ delta }) => delta);
  const complete = deltas.filter(({ status }) => status === "complete");
  const reasons = new Map();
  for (const { reason } of deltas) if (reason !== undefined) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const files = new Map(complete.map((delta) => [delta.delta_sha256, delta.files]));
  const groups = new Set(deltas.filter(({ scope }) => scope === "concurrent_group").map((delta) => delta.group_id));
  const wanted = {
    count: windows.tools.length,
    complete: complete.length,
    partial: deltas.length - complete.length,
    open: windows.tools.length - deltas.length,
    groups: groups.size,
    files: Number([...files.values()].reduce((sum, count) => sum + BigInt(count), 0n)),
  };
  for (const [name, value] of Object.entries(wanted)) {
    if (windows[name] !== value) return `windows.${name} is ${windows[name]}, its tools give ${value}`;
  }
  const stated = Object.entries(windows.partial_by_reason);
  const same = stated.length === reasons.size && stated.every(([reason, count]) => reasons.get(reason) === count);
  return same ? null : "windows.partial_by_reason is not what its tools give";
}

function proofs(windows, root) {
  for (const { delta, where } of deltasOf(windows)) {
    const fault = merklePath(delta.merkle_path, `${where}.merkle_path`);
    if (fault !== null) return fault;
    if (rootFromPath(delta.event_hash, delta.merkle_path) !== root) {
      return `${where}: its path does not lead to ledger.merkle_root`;
    }
  }
  return null;
}

class ToolDeltas {
  finish({ deltas, ledger, receipt }) {
    const windows = receipt.part("windows") ?? null;
    if (windows === null || !receipt.ours) return skip(NO_WINDOWS);
    if (ledger === null) return skip(NO_LEDGER);
    if (!ledger.sound) return skip(DAMAGED);
    const known = new Map();
    for (const { where, window, delta } of deltasOf(windows)) {
      const digest = delta.delta_sha256;
      let found = known.get(digest);
      if (found === undefined) {
        const bytes = deltas?.get(digest);
        if (bytes === undefined) continue;
        found = read(bytes, digest);
        known.set(digest, found);
      }
      const fault = disagreement(found, window, delta);
      if (fault !== null) return fail(`${where}: ${fault}`);
    }
    if (known.size === 0) return skip("the deltas are not beside the ledger");
    return pass(`${countOf(known.size, "delta")} read, each the one that was named`);
  }
}

// What a receipt restates of a delta, or what is wrong with it; what changed is not kept.
function read(bytes, digest) {
  if (sha256Hex(bytes) !== digest) return { fault: "what stands beside the ledger is not the delta that was named" };
  const { fault, delta } = readDelta(bytes);
  if (fault !== null) return { fault };
  const { files, reason, scope, status, tool_uses: uses } = delta;
  return { fault, files: files.length, reason, scope, status, members: uses.length, ids: new Set(uses.map((use) => use.tool_use_id)) };
}

function disagreement(found, window, delta) {
  if (found.fault !== null) return found.fault;
  if (!found.ids.has(window.id)) return "the delta is not about this tool use";
  const same =
    delta.status === found.status &&
    delta.scope === found.scope &&
    delta.reason === found.reason &&
    delta.files === found.files &&
    delta.members === found.members;
  return same ? null : "the delta says otherwise of its status, scope, reason, files or members";
}
return { ToolWindows, ToolDeltas };
})();

// course/checks.mjs
const $course_checks = (() => {
// The checks of the course of a ledger's events, by the names that the registry has for them.

const { watched } = $case;


class LedgerPayloads {
  finish(given) {
    return watched(given, given.ledger?.payloadFault ?? null, "every known payload has its form");
  }
}
return { CapLimits: $course_caps.CapLimits, CacheHitOrigins: $course_cache.CacheHitOrigins, CacheHitProofs: $course_cache.CacheHitProofs, CacheSavings: $course_cache.CacheSavings, Components: $course_components.Components, EventOrder: $course_order.EventOrder, RetainedResponses: $course_kept.RetainedResponses, SessionShape: $course_session.SessionShape, ToolDeltas: $course_windows.ToolDeltas, ToolWindows: $course_windows.ToolWindows, readPayload: $course_grammar.readPayload, LedgerPayloads };
})();

// ledger.mjs
const $ledger = (() => {
// Reads a ledger (spec/ledger.md, Lines and Events) in one pass, as its bytes come: each event is parsed, its hash and
// link are checked, and it is shown once. Nothing is kept of it but its hash.
//
// Reading stops at the first line that breaks a rule; whoever makes the digest of the file makes it of all bytes.

const { Plain, Scanner, textOf } = $canonical;
const { joined } = $chunks;
const { quickSha256 } = $digests;
const { Hashes, MerkleTree } = $merkle;
const { Refused } = $refused;
const { isHexOf, sha256, toHex } = $sha256;

const FOLD = "docket/fold/v1";
const GENESIS = toHex(sha256(new TextEncoder().encode("docket/genesis/v1")));
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

class LedgerReader {
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
return { FOLD, GENESIS, LedgerReader };
})();

// curve.mjs
const $curve = (() => {
// The curve of Ed25519 (RFC 8032, 5.1) in whole numbers: which bytes are points, and the equation of a signature. It is
// asked where the platform knows no Ed25519. Nothing here is secret, so nothing needs to take equally long.

const { toHex } = $sha256;

const P = 2n ** 255n - 19n;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const MASK = 2n ** 255n - 1n;

const mod = (value) => ((value % P) + P) % P;

function power(base, exponent) {
  let made = 1n;
  let square = mod(base);
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) made = (made * square) % P;
    square = (square * square) % P;
  }
  return made;
}

const inverse = (value) => power(value, P - 2n);
const D = mod(-121665n * inverse(121666n));
const ROOT_OF_MINUS_ONE = power(2n, (P - 1n) / 4n);

const littleEndian = (bytes) => BigInt(`0x${toHex(bytes.slice().reverse())}`);
const yOf = (point) => littleEndian(point) & MASK;

// The x of a y and a sign, or null where there is none.
function xOf(y, sign) {
  const squared = (y * y) % P;
  const wanted = (mod(squared - 1n) * inverse(D * squared + 1n)) % P;
  let x = power(wanted, (P + 3n) / 8n);
  if ((x * x) % P !== wanted) x = (x * ROOT_OF_MINUS_ONE) % P;
  if ((x * x) % P !== wanted || (x === 0n && sign)) return null;
  return (x & 1n) === BigInt(sign) ? x : P - x;
}

// A point as [X, Y, Z, T] with x = X/Z, y = Y/Z, xy = T/Z; null where the 32 bytes are none.
function pointOf(bytes) {
  const y = yOf(bytes);
  const x = y < P ? xOf(y, bytes[31] >> 7) : null;
  return x === null ? null : [x, y, 1n, (x * y) % P];
}

const NEUTRAL = [0n, 1n, 1n, 0n];
const BASE_Y = (4n * inverse(5n)) % P;
const BASE = [xOf(BASE_Y, 0), BASE_Y, 1n, (xOf(BASE_Y, 0) * BASE_Y) % P];

// RFC 8032, 5.1.4: complete, so it doubles too.
function added([x1, y1, z1, t1], [x2, y2, z2, t2]) {
  const a = mod((y1 - x1) * (y2 - x2));
  const b = mod((y1 + x1) * (y2 + x2));
  const c = mod(2n * t1 * t2 * D);
  const d = mod(2n * z1 * z2);
  const [e, f, g, h] = [b - a, d - c, d + c, b + a];
  return [mod(e * f), mod(g * h), mod(f * g), mod(e * h)];
}

function times(number, point) {
  let made = NEUTRAL;
  let doubled = point;
  for (let left = number; left > 0n; left >>= 1n) {
    if (left & 1n) made = added(made, doubled);
    doubled = added(doubled, doubled);
  }
  return made;
}

const isNeutral = ([x, y, z]) => x === 0n && y === z;

// Whether the order of a point divides 8.
const isOfSmallOrder = (point) => isNeutral(times(8n, point));

// Whether [S]B = R + [k]A, for a key that is a point, without the cofactor; `digest` is SHA-512(R, A, message).
function equationHolds(publicKey, signature, digest) {
  const [r, a] = [pointOf(signature.subarray(0, 32)), pointOf(publicKey)];
  if (r === null || a === null) return false;
  const [x, y, z] = added(r, times(littleEndian(digest) % ORDER, a));
  const [u, v, w] = times(littleEndian(signature.subarray(32)), BASE);
  return mod(x * w - u * z) === 0n && mod(y * w - v * z) === 0n;
}
return { P, ORDER, littleEndian, yOf, pointOf, isOfSmallOrder, equationHolds };
})();

// ed25519.mjs
const $ed25519 = (() => {
// Ed25519 (RFC 8032) with nothing taken on trust (spec/receipt.md, Keys 4): what makes a key or a signature none is
// asked here, before the platform is.

const { joined } = $chunks;
const { ORDER, P, equationHolds, isOfSmallOrder, littleEndian, pointOf, yOf } = $curve;
const { longSha512 } = $digests;
const { sha256, toHex } = $sha256;

// What is wrong with a public key; null for one that can vouch for something.
function keyFault(publicKey) {
  if (publicKey.length !== 32) return "a public key is 32 bytes";
  const y = yOf(publicKey);
  if (y >= P) return "the public key is a point in another spelling than its own";
  if (y === 1n || y === P - 1n) return "the public key is a point of small order";
  const point = pointOf(publicKey);
  if (point === null) return "the public key is no point of the curve";
  return isOfSmallOrder(point) ? "the public key is a point of small order" : null;
}

// What is wrong with a signature, whatever it is of; null for one that may hold.
function signatureFault(signature) {
  if (signature.length !== 64) return "a signature is 64 bytes";
  if (littleEndian(signature.subarray(32)) >= ORDER) return "the signature's number S is not below the group's order";
  if (yOf(signature.subarray(0, 32)) >= P) return "the signature's point R is in another spelling than its own";
  return null;
}

// The answer of the platform's own Ed25519, or null where it has none.
async function platformHolds(subtle, publicKey, signature, message) {
  try {
    const key = await subtle.importKey("raw", publicKey, { name: "Ed25519" }, false, ["verify"]);
    return await subtle.verify({ name: "Ed25519" }, key, signature, message);
  } catch {
    return null;
  }
}

async function ownHolds(subtle, publicKey, signature, message) {
  const text = joined([signature.subarray(0, 32), publicKey, message]);
  return equationHolds(publicKey, signature, new Uint8Array(await subtle.digest("SHA-512", text)));
}

// The fault of the key that was asked about last: a file of checkpoints has thousands of signatures by one.
const last = { key: "", fault: null };

function knownFault(publicKey) {
  const key = toHex(publicKey);
  if (last.key !== key) Object.assign(last, { key, fault: keyFault(publicKey) });
  return last.fault;
}

const OTHER = "the signature is not one of this text by this key";

const formFault = (publicKey, signature) => knownFault(publicKey) ?? signatureFault(signature);

// Why `signature` is not one of `message` by the key; null where it is. `asksPlatform` false: the equation is asked here.
async function signatureOfFault(publicKey, signature, message, asksPlatform = true) {
  const fault = formFault(publicKey, signature);
  if (fault !== null) return fault;
  const subtle = globalThis.crypto?.subtle;
  if (subtle === undefined) return "it cannot be checked: this platform has no WebCrypto";
  let holds = asksPlatform ? await platformHolds(subtle, publicKey, signature, message) : null;
  holds ??= await ownHolds(subtle, publicKey, signature, message);
  return holds ? null : OTHER;
}

// WebCrypto is given a text as a whole. A longer one is hashed as it comes, where that can be done.
const MOST_AT_ONCE_BYTES = 1 << 20;

// The same of a text that `message(take)` gives in pieces.
async function signatureOfPiecesFault(publicKey, signature, message) {
  let pieces = [];
  let bytes = 0;
  let hash = null;
  message((piece) => {
    bytes += piece.length;
    if (hash === null) pieces.push(piece);
    else hash.update(piece);
    if (hash !== null || bytes <= MOST_AT_ONCE_BYTES) return;
    hash = longSha512();
    if (hash === null) return;
    for (const part of [signature.subarray(0, 32), publicKey, ...pieces]) hash.update(part);
    pieces = [];
  });
  if (hash === null) return signatureOfFault(publicKey, signature, joined(pieces));
  const fault = formFault(publicKey, signature);
  return fault ?? (equationHolds(publicKey, signature, new Uint8Array(hash.digest())) ? null : OTHER);
}

// What a key is called by where it is not written out: the first 16 digits of its SHA-256.
const fingerprint = (key) => toHex(sha256(key)).slice(0, 16);
return { keyFault, signatureOfFault, signatureOfPiecesFault, fingerprint };
})();

// key_texts.mjs
const $key_texts = (() => {
// How keys are written (spec/receipt.md, Keys and Trusted keys): each form has one spelling, and what does not read back
// to itself is refused.

const { stripped, wordsOf } = $blanks;
const { decodeDocument, isObject, isText, utf8 } = $canonical;
const { keyFault } = $ed25519;
const { isPrintable } = $letters;
const { Refused } = $refused;
const { fromHex, sha256, toHex } = $sha256;
const { array, constant, record, text: textShape } = $shapes;

const SPKI = fromHex("302a300506032b6570032100", 12);
const NOTE_KEY = 1;
const VKEY = /^([^+\p{White_Space}\x1c-\x1f]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/u;
const PEM = /^-----BEGIN ([A-Z0-9 ]+)-----\r?\n([^-]*)-----END \1-----$/;
const TRUST = "docket/trust/v1";

const unusable = (detail) => new Refused("key-unusable", detail);

const startsWith = (bytes, prefix) => prefix.every((byte, at) => bytes[at] === byte);

// The bytes of padded base64 in its only spelling.
function fromBase64(coded) {
  let made;
  try {
    made = Uint8Array.from(atob(coded), (character) => character.charCodeAt(0));
  } catch {
    throw unusable("its base64 cannot be read");
  }
  const again = btoa(Array.from(made, (byte) => String.fromCharCode(byte)).join(""));
  if (again !== coded) throw unusable("its base64 does not re-encode to itself");
  return made;
}

function ofPem(bare) {
  const match = PEM.exec(bare);
  if (match === null) throw unusable("it is not one block of PEM");
  if (match[1] !== "PUBLIC KEY") throw unusable(`it is a ${match[1].toLowerCase()}, no public key`);
  const der = fromBase64(wordsOf(match[2]).join(""));
  if (der.length !== SPKI.length + 32 || !startsWith(der, SPKI)) throw unusable("it is not an Ed25519 key in its plain form");
  return der.subarray(SPKI.length);
}

// The verifier key of a C2SP signed note: NAME+HASH+BASE64.
function ofNote([, name, hash, coded]) {
  const bytes = fromBase64(coded);
  if (bytes[0] !== NOTE_KEY || bytes.length !== 33) throw unusable("it is not an Ed25519 verifier key");
  const found = toHex(noteKeyHash(name, bytes.subarray(1)));
  if (found !== hash) throw unusable("its hash is not that of its name and key");
  return bytes.subarray(1);
}

// The four bytes by which a signed note names a key.
function noteKeyHash(name, publicKey) {
  return sha256(Uint8Array.of(...utf8(name), 10, NOTE_KEY, ...publicKey)).subarray(0, 4);
}

// The 32 bytes of a public key in hexadecimal, PEM or as a verifier key.
function readPublicKey(text) {
  const bare = stripped(text);
  const note = VKEY.exec(bare);
  let key = fromHex(bare, 32);
  if (key === null && bare.startsWith("-----BEGIN ")) key = ofPem(bare);
  if (key === null && note !== null) key = ofNote(note);
  if (key === null) throw unusable("it is neither 64 lower-case hexadecimal digits nor a public key in PEM nor a verifier key");
  const fault = keyFault(key);
  if (fault !== null) throw unusable(fault);
  return key;
}

// The 32 bytes of the key of a seal.
function readSealKey(text) {
  if (!/^[\0-\x7f]*$/.test(text)) throw unusable("it is not text");
  const key = fromHex(stripped(text), 32);
  if (key === null) throw unusable("it is not 64 lower-case hexadecimal digits");
  return key;
}

const trustShape = record({ format: constant(TRUST) }, {
  signers: array(record({ name: textShape, public_key: textShape })),
  seal_keys: array(record({ name: textShape, key_id: textShape, file: textShape })),
});

// Of blanks a name on one line holds the space alone.
const isName = (name) => isText(name) && stripped(name) !== "" && isPrintable(name.replaceAll(" ", ""));

// {signers, sealKeys} of a list of trusted keys: [{name, publicKey}] and [{name, keyId, file}].
function readTrust(bytes) {
  const value = decodeDocument(bytes);
  const fault = isObject(value) ? trustShape(value, "trust") : "it is not an object";
  if (fault !== null) throw unusable(fault);
  const { signers = [], seal_keys: seals = [] } = value;
  if (signers.length + seals.length === 0) throw unusable("it names no key");
  if (![...signers, ...seals].every(({ name }) => isName(name))) throw unusable("a name is no name on one line");
  return {
    signers: signers.map(({ name, public_key: key }) => ({ name, publicKey: readPublicKey(key) })),
    sealKeys: seals.map(({ name, key_id: keyId, file }) => ({ name, keyId, file })),
  };
}
return { fromBase64, noteKeyHash, readPublicKey, readSealKey, readTrust };
})();

// notes.mjs
const $notes = (() => {
// Checkpoints (spec/checkpoint.md): the body, the signed note around it, and the file that keeps them.

const { wordsOf } = $blanks;
const { decodeCanonical, isInteger, isObject, isText, utf8 } = $canonical;
const { fromBase64, noteKeyHash } = $key_texts;
const { Refused } = $refused;
const { fingerprint, signatureOfFault } = $ed25519;
const { fromHex, toHex } = $sha256;

const FORMAT = "docket/checkpoint/v1";
const MAX_SIGNATURES = 64;
const LINE = /^\u2014 ([^+\p{White_Space}\u001c-\u001f]+) (.+)$/u;
const SIZE = /^[1-9][0-9]{0,15}$/;
const NAME = /^[^+\p{White_Space}\u001c-\u001f]+$/u;

const wrong = (detail) => new Refused("wrong-value", `the checkpoint is none: ${detail}`);

function decoded(coded, what) {
  try {
    return fromBase64(coded);
  } catch {
    throw wrong(`the base64 of ${what} does not re-encode to itself`);
  }
}

// A body: {origin, size, root}, the root in hexadecimal.
function readHeadText(text) {
  const lines = text.split("\n");
  if (lines.length !== 4 || lines[3] !== "" || !NAME.test(lines[0])) {
    throw wrong("its text is not an origin, a size and a root, a line each");
  }
  const root = decoded(lines[2], "its root");
  if (root.length !== 32) throw wrong("its root is not 32 bytes in base64");
  return { origin: lines[0], size: sizeOf(lines[1]), root: toHex(root) };
}

// The head that somebody wrote down: `ORIGIN SIZE ROOT`, `docket-head` before it or not.
function readHeadWords(text) {
  const words = wordsOf(text);
  if (words[0] === "docket:" && words[1] === "docket-head") words.shift();
  if (words[0] === "docket-head") words.shift();
  if (words.length !== 3 || !NAME.test(words[0]) || fromHex(words[2], 32) === null) {
    throw wrong("a head is an origin, a number of events and a root");
  }
  return { origin: words[0], size: sizeOf(words[1]), root: words[2] };
}

function sizeOf(text) {
  if (!SIZE.test(text)) throw wrong("its size is not a number of events in decimal digits, from 1 on");
  return Number(text);
}

// The parts of a note: {text, signatures: [{name, keyHash, value}]}.
function readNote(text) {
  if (/[\u0000-\u0009\u000b-\u001f]/.test(text)) throw wrong("it holds a control character");
  const at = text.lastIndexOf("\n\n");
  if (at < 0) throw wrong("no empty line parts a text from its signatures");
  const below = text.slice(at + 2);
  if (!below.endsWith("\n")) throw wrong("it does not end with a line of a signature");
  const lines = below.slice(0, -1).split("\n");
  if (lines.length > MAX_SIGNATURES) throw wrong(`it has more than ${MAX_SIGNATURES} signatures`);
  return { text: text.slice(0, at + 1), signatures: lines.map(readSignature) };
}

function readSignature(line) {
  const match = LINE.exec(line);
  if (match === null) throw wrong("a line of a signature is not a dash, a key's name and base64");
  const raw = decoded(match[2], "a signature");
  if (raw.length <= 4) throw wrong("the base64 of a signature is too short");
  return { name: match[1], keyHash: raw.subarray(0, 4), value: raw.subarray(4) };
}

// The lines of a file: [{number, head, note}], `note` null where the body stands alone.
function readCheckpoints(bytes) {
  const found = [];
  let start = 0;
  while (start < bytes.length) {
    const end = bytes.indexOf(10, start);
    if (end < 0) throw wrong(`line ${found.length + 1} is not whole`);
    found.push(readLine(bytes.subarray(start, end), found.length + 1));
    start = end + 1;
  }
  if (found.length === 0) throw wrong("the file holds no line");
  return found;
}

function readLine(bytes, number) {
  const value = decodeCanonical(bytes);
  const names = isObject(value) ? Object.keys(value).sort().join(" ") : "";
  if (names !== "format note number" || value.format !== FORMAT) throw wrong(`line ${number} is not ${FORMAT}`);
  if (!isInteger(value.number) || !isText(value.note)) throw wrong(`line ${number} has members of other types`);
  if (value.number !== number) throw wrong(`its number is ${value.number}, the next one is ${number}`);
  if (!value.note.includes("\n\n")) return { number, head: readHeadText(value.note), note: null };
  const note = readNote(value.note);
  return { number, head: readHeadText(note.text), note };
}

// What is wrong with the signature of a run's own checkpoint; `key` is null where the run names none.
async function checkpointFault({ note }, key) {
  if (key === null) return note === null ? null : "it is signed, and the run names no key";
  if (note === null) return "it is not signed, and the run names a key";
  if (note.signatures.length !== 1) return "it has other signatures than the run's";
  const [{ name, keyHash, value }] = note.signatures;
  const wanted = `docket.local/${fingerprint(key)}`;
  if (name !== wanted || toHex(keyHash) !== toHex(noteKeyHash(wanted, key))) return "it carries no signature by the key";
  return signatureOfFault(key, value, utf8(note.text));
}
return { readHeadWords, readCheckpoints, checkpointFault };
})();

// checkpoints.mjs
const $checkpoints = (() => {
// The check of checkpoints: what the ledger was at earlier sizes (spec/checkpoint.md).

const { fail, pass, skip } = $case;
const { isInteger } = $canonical;
const { checkpointFault, readCheckpoints } = $notes;
const { Refused, shown } = $refused;
const { fromHex } = $sha256;
const { countOf } = $wording;

const TYPE = "x-docket.checkpoint";

class Checkpoints {
  constructor() {
    this.made = [];
  }

  observe(event) {
    if (event.type === TYPE) this.made.push({ seq: event.seq, ...event.data });
  }

  async finish(given) {
    const { checkpoints, heads, ours } = given;
    if (!ours) return heads.length > 0 ? fail("another writer's record has no head") : skip("another writer's record");
    try {
      const fault = this.eventsFault(given) ?? headsFault(given) ?? (await this.fileFault(given));
      if (fault !== null) return fail(fault);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return fail(error.message);
    }
    if (checkpoints !== null) return pass(`${countOf(readCheckpoints(checkpoints).length, "checkpoint")} of this ledger`);
    if (heads.length > 0) return pass(`${countOf(heads.length, "head")} written down earlier: beginnings of this ledger`);
    return skip("no file of checkpoints was given");
  }

  eventsFault({ ledger }) {
    if (ledger === null || !ledger.sound) return null;
    let last = 0;
    for (const [at, made] of this.made.entries()) {
      const fault = eventFault(ledger.tree, made, at + 1, last);
      if (fault !== null) return `event ${made.seq} (${TYPE}): ${fault}`;
      last = made.size;
    }
    return null;
  }

  async fileFault(given) {
    const { checkpoints, receipt, ledger } = given;
    if (checkpoints === null) return null;
    const text = receipt.part("proof", "signature", "public_key");
    const key = text === undefined ? null : (fromHex(text, 32) ?? new Uint8Array(0));
    const kept = readCheckpoints(checkpoints);
    const told = ledger?.sound ? this.made.length : numberOfEvents(receipt);
    const ended = receipt.part("evidence", "ended") === true;
    if (kept.length !== told + 1 && (ended || kept.length !== told)) {
      return `the file holds ${countOf(kept.length, "checkpoint")}, the ledger tells of ${told} before the last`;
    }
    let last = 0;
    for (const one of kept) {
      const fault = this.noteFault(given, one, last) ?? (await checkpointFault(one, key));
      if (fault !== null) return `checkpoint ${one.number}: ${fault}`;
      last = one.head.size;
    }
    const events = receipt.part("ledger", "events");
    return ended && last !== events ? `the last checkpoint is of ${last} events, the ledger has ${events}` : null;
  }

  noteFault({ receipt, ledger }, { head, number }, last) {
    const events = receipt.part("ledger", "events");
    if (head.origin !== receipt.part("proof", "origin")) return `it is ${shown(head.origin)}'s, and not the receipt's`;
    if (head.size <= last || head.size > events) return `it is of ${head.size} events, between ${last + 1} and ${events} are possible`;
    if (head.size === events && head.root !== receipt.part("ledger", "merkle_root")) return "its root is not the receipt's";
    if (!ledger?.sound) return null;
    const made = this.made[number - 1];
    if (made !== undefined && (made.size !== head.size || made.root !== head.root)) return "the ledger tells of another size or root";
    if (head.size <= ledger.events && ledger.tree.rootAt(head.size) === head.root) return null;
    return `its root is not that of the first ${head.size} events`;
  }
}

function eventFault(tree, { seq, number, size, root }, next, last) {
  if (number !== next) return `its number is ${number}, the next one is ${next}`;
  if (size <= last || size > seq) return `it is of ${size} events, between ${last + 1} and ${seq} are possible`;
  return tree.rootAt(size) === root ? null : `its root is not that of the first ${size} events`;
}

function numberOfEvents(receipt) {
  const count = receipt.part("event_counts", TYPE);
  return isInteger(count) ? count : 0;
}

function headsFault({ heads, receipt, ledger }) {
  for (const head of heads) {
    const fault = headFault(receipt, ledger, head);
    if (fault !== null) return `the head that was written down, of ${head.size} events: ${fault}`;
  }
  return null;
}

function headFault(receipt, ledger, { origin, size, root }) {
  const events = receipt.part("ledger", "events");
  if (origin !== receipt.part("proof", "origin")) return `it is ${shown(origin)}'s, and not the receipt's`;
  if (size > events) return `the ledger has ${events} now`;
  if (!ledger?.sound) {
    const whole = size === events && root === receipt.part("ledger", "merkle_root");
    return whole ? null : "without a whole ledger it cannot be told for a beginning of it";
  }
  if (size > ledger.events) return `the ledger has ${ledger.events} now`;
  return ledger.tree.rootAt(size) === root ? null : "the ledger does not begin so";
}
return { Checkpoints };
})();

// keys.mjs
const $keys = (() => {
// Checks of what a key vouches for: the seal and the signature (spec/receipt.md, Proof and Keys).

const { fail, pass, skip } = $case;
const { encodeTo, isText, plain } = $canonical;
const { longSha256 } = $digests;
const { fingerprint, signatureOfPiecesFault } = $ed25519;
const { shown } = $refused;
const { Sha256, fromHex, toHex } = $sha256;
const { SESSION_ID } = $shapes;

const SEAL = { name: "seal", other: "signature", alg: "hmac-sha256", keyMember: "key_id", digits: { key_id: 16, value: 64 } };
const SIGNATURE = {
  name: "signature", other: "seal", alg: "ed25519", keyMember: "public_key", digits: { public_key: 64, value: 128 },
};

const isHex = (value, digits) => isText(value) && value.length === digits && /^[0-9a-f]*$/.test(value);

// The canonical form of the receipt without some of its members, as what gives it in pieces.
function textWithout(receipt, names) {
  const document = plain(receipt.document);
  for (const name of names) delete document[name];
  return (take) => encodeTo(document, take);
}

// RFC 2104, with keys of any length; `message(take)` gives the text in pieces.
function hmacSha256(key, message) {
  const short = key.length > 64 ? new Sha256().update(key).digest() : key;
  const padded = (mark) => Uint8Array.from({ length: 64 }, (_, at) => (short[at] ?? 0) ^ mark);
  const inner = longSha256();
  inner.update(padded(0x36));
  message((piece) => inner.update(piece));
  return new Sha256().update(padded(0x5c)).update(inner.digest()).digest();
}

// What the receipt's `proof` says of the key, or null.
function announced({ receipt, ours }, kind) {
  return (ours ? receipt.part("proof", kind.name) : null) ?? null;
}

// The answer where the receipt carries none; `named` are the names of the caller's keys.
function absent(given, kind, named) {
  const { receipt, keys } = given;
  const wanted = announced(given, kind);
  const killed = receipt.part("session", "exit_code") === null && receipt.part("evidence", "ended") === false;
  if (wanted !== null && killed && (named.size === 0 || named.has(wanted[kind.keyMember]))) {
    return skip(`the run was killed: its ${kind.name} was to be made at its end`);
  }
  if (wanted !== null) return fail(`proof names the key of the run's ${kind.name}, and the receipt carries none`);
  if (named.size === 0) return skip(`the receipt carries no ${kind.name}`);
  if (keys.either && receipt.part(kind.other) !== null) {
    return skip(`the receipt carries no ${kind.name}; of the keys that were named one is enough`);
  }
  return fail(`a key was named, and the receipt carries no ${kind.name}`);
}

// What is wrong with the form of a seal or a signature, or null.
function formFault(found, kind) {
  if (found.alg !== kind.alg) return `${kind.name}.alg is not ${kind.alg}`;
  const members = Object.entries(kind.digits);
  if (Object.keys(found).length !== members.length + 1) return `${kind.name} has not exactly its three members`;
  for (const [member, digits] of members) {
    if (!isHex(found[member], digits)) return `${kind.name}.${member} is not ${digits} lower-case hexadecimal digits`;
  }
  return null;
}

// What is other than `proof` announced, or null.
function otherThanAnnounced(given, kind, found) {
  if (!given.ours || !given.receipt.part("proof")) return null;
  const wanted = announced(given, kind)?.[kind.keyMember];
  if (wanted === undefined) return `proof names no key for a ${kind.name}, and the receipt carries one`;
  if (found[kind.keyMember] === wanted) return null;
  return `${kind.name}.${kind.keyMember} is ${shown(found[kind.keyMember])}, proof names ${shown(wanted)}`;
}

const byAnother = (kind, found) => fail(`${kind.name}.${kind.keyMember} is ${found[kind.keyMember]}, no key that was named`);

class Seal {
  finish(given) {
    const { receipt, keys } = given;
    const named = new Map(keys.sealKeys.map((key) => [fingerprint(key), key]));
    const found = receipt.part("seal");
    if (found === null) return absent(given, SEAL, named);
    const fault = formFault(found, SEAL) ?? otherThanAnnounced(given, SEAL, found);
    if (fault !== null) return fail(fault);
    if (named.size === 0) return skip("no key was named to check the seal with");
    const key = named.get(found.key_id);
    if (key === undefined) return byAnother(SEAL, found);
    const value = toHex(hmacSha256(key, textWithout(receipt, ["seal", "signature"])));
    if (value !== found.value) return fail("the seal is not one of this receipt by the key that was named");
    return { ...pass(`sealed with the key ${found.key_id}, which was named`), vouches: true };
  }
}

class Signature {
  async finish(given) {
    const { receipt, keys } = given;
    const named = new Map(keys.publicKeys.map((key) => [toHex(key), key]));
    const found = receipt.part("signature");
    if (found === null) return absent(given, SIGNATURE, named);
    const form = formFault(found, SIGNATURE) ?? otherThanAnnounced(given, SIGNATURE, found);
    const fault = form ?? (await mathematics(receipt, found));
    if (fault !== null) return fail(fault);
    if (named.size === 0) {
      return pass(`it holds by the key ${found.public_key}, which nobody named: it says who signed, not whether to believe them`);
    }
    if (!named.has(found.public_key)) return byAnother(SIGNATURE, found);
    return { ...pass(`signed by the key ${found.public_key}, which was named`), vouches: true };
  }
}

const mathematics = (receipt, { public_key: key, value }) =>
  signatureOfPiecesFault(fromHex(key, 32), fromHex(value, 64), textWithout(receipt, ["signature"]));

// The check of what a record says will vouch for it.
class ProofFacts {
  finish({ receipt, ours }) {
    const facts = receipt.part("proof");
    if (facts === undefined || facts === null) return skip("the record does not say what vouches for it");
    if (!ours) return skip("another writer's proof is not known here");
    const fault = factsFault(facts, receipt.part("session", "id"));
    return fault === null ? pass(`run ${facts.run} of its project, ${facts.origin}`) : fail(fault);
  }
}

function factsFault({ origin, project, run, previous, signature, seal }, session) {
  const key = signature?.public_key;
  if (key !== undefined && !isHex(key, 64)) return "proof.signature.public_key is not 64 lower-case hexadecimal digits";
  if (seal && !isHex(seal.key_id, 16)) return "proof.seal.key_id is not 16 lower-case hexadecimal digits";
  if (!SESSION_ID.test(session)) return "session.id is not 1 to 64 letters, digits, _ and -: an origin is made of it";
  const wanted = `docket.local/${key === undefined ? "unsigned" : fingerprint(fromHex(key, 32))}/${session}`;
  if (origin !== wanted) return `proof.origin is ${shown(origin)}, key and session give ${shown(wanted)}`;
  if (!isHex(project, 32)) return "proof.project is not 32 lower-case hexadecimal digits";
  if (run === 0) return "proof.run is 0, runs are counted from 1";
  if (previous?.session === session) return "proof.previous names this very session";
  return previous?.events === 0 ? "proof.previous has no event" : null;
}
return { hmacSha256, Seal, Signature, ProofFacts };
})();

// chain.mjs
const $chain = (() => {
// Checks of the ledger as a chain, against the figures that the receipt states of it.

const { DAMAGED, NO_LEDGER, fail, pass, skip } = $case;
const { isInteger } = $canonical;
const { GENESIS } = $ledger;
const { shown } = $refused;
const { countOf } = $wording;

class LedgerChain {
  finish({ ledger, receipt }) {
    if (ledger === null) return skip(NO_LEDGER);
    if (ledger.damage !== null) return fail(ledger.damage);
    if (ledger.torn) return fail(`event ${ledger.events}: the file ends inside its line`);
    if (ledger.events === 0) return fail("the ledger is empty");
    if (receipt.part("ledger", "genesis") !== GENESIS) return fail("ledger.genesis is not the genesis of docket/ledger/v1");
    return pass(`${countOf(ledger.events, "event")}, every hash and link recomputed`);
  }
}

function same(stated, found, where) {
  if (stated !== found) return fail(`${where} is ${shown(stated)}, the ledger gives ${shown(found)}`);
  return pass(`${where} is ${shown(found)}`);
}

class Head {
  finish({ ledger, receipt }) {
    if (ledger === null) return skip(NO_LEDGER);
    if (!ledger.sound || ledger.head === null) return skip(DAMAGED);
    return same(receipt.part("ledger", "head"), ledger.head, "ledger.head");
  }
}

class EventCount {
  finish({ ledger, receipt }) {
    const counts = Object.values(receipt.part("event_counts")).filter(isInteger);
    const total = counts.reduce((sum, count) => sum + count, 0);
    const stated = receipt.part("ledger", "events");
    if (total !== stated) return fail(`event_counts add up to ${total}, ledger.events is ${stated}`);
    if (ledger === null) return skip(NO_LEDGER);
    if (!ledger.sound) return skip(DAMAGED);
    return same(stated, ledger.events, "ledger.events");
  }
}

class MerkleRoot {
  finish({ ledger, receipt }) {
    if (ledger === null) return skip(NO_LEDGER);
    if (!ledger.sound) return skip(DAMAGED);
    return same(receipt.part("ledger", "merkle_root"), ledger.tree.root(), "ledger.merkle_root");
  }
}

class LedgerFileDigest {
  finish({ ledger, receipt }) {
    if (ledger === null) return skip(NO_LEDGER);
    return same(receipt.part("ledger", "file_sha256"), ledger.fileSha256, "ledger.file_sha256");
  }
}
return { LedgerChain, Head, EventCount, MerkleRoot, LedgerFileDigest };
})();

// rebuild/compare.mjs
const $rebuild_compare = (() => {
// The first difference between what a receipt states and what the ledger gives, as a sentence that names the member.

const MAX_SHOWN = 72;

// Members whose names are values: another one beside them is a difference.
const WHOLE = new Set(["document", "by_provider", "event_counts"]);

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// Null where both are the same, types included. The order of members decides nothing.
function difference(stated, wanted, where) {
  if (isObject(stated) && isObject(wanted)) return inObject(stated, wanted, where);
  if (Array.isArray(stated) && Array.isArray(wanted)) return inArray(stated, wanted, where);
  return stated === wanted ? null : `${where} is ${told(stated)}, the ledger gives ${told(wanted)}`;
}

// As `difference`, where `wanted` holds only some of the members of an object.
function differenceOfSome(stated, wanted, where) {
  for (const name of Object.keys(wanted)) {
    const [one, other] = [stated[name] === undefined ? null : stated[name], wanted[name]];
    const some = isObject(one) && isObject(other) && !WHOLE.has(name);
    const found = some ? differenceOfSome(one, other, `${where}.${name}`) : difference(one, other, `${where}.${name}`);
    if (found !== null) return found;
  }
  return null;
}

function inObject(stated, wanted, where) {
  for (const name of Object.keys(wanted)) {
    if (!Object.hasOwn(stated, name)) return `${where} has no member ${told(name)}`;
    const found = difference(stated[name], wanted[name], `${where}.${name}`);
    if (found !== null) return found;
  }
  const more = Object.keys(stated).find((name) => !Object.hasOwn(wanted, name));
  return more === undefined ? null : `${where} has the member ${told(more)}, the ledger gives none`;
}

function inArray(stated, wanted, where) {
  for (let at = 0; at < Math.min(stated.length, wanted.length); at += 1) {
    const found = difference(stated[at], wanted[at], `${where}[${at}]`);
    if (found !== null) return found;
  }
  if (stated.length === wanted.length) return null;
  return `${where} has ${stated.length} items, the ledger gives ${wanted.length}`;
}

function told(value) {
  const text = JSON.stringify(value, (_, member) => (typeof member === "bigint" ? String(member) : member)) ?? "nothing";
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 1)}…` : text;
}
return { difference, differenceOfSome };
})();

// rebuild/lists.mjs
const $rebuild_lists = (() => {
// Written by tools/write_verify_js_lists.py from spec/*.json of these names: change those.

const DISCLOSURE = {
 "format": "docket/disclosure/v1",
 "groups": ["enforced_before_send", "recorded_not_enforced", "not_observed", "failure_behaviour", "trust_assumptions"],
 "facts": {
  "quota": "budget.mode of the policy is quota",
  "usd_cap": "caps.max_usd of the policy is set",
  "strict": "the admission of session.start is strict",
  "ceiling": "the admission of session.start is ceiling",
  "sub_budgets": "caps.per_model or caps.per_agent of the policy is filled",
  "pools": "budget.pools of the policy is filled",
  "token_cap": "caps.max_tokens of the policy is set",
  "call_cap": "caps.max_model_calls of the policy is set",
  "wall_clock_cap": "caps.max_wall_seconds of the policy is set",
  "model_rules": "models.allow or models.deny of the policy is filled",
  "tunnels": "boundary.http_proxy of session.start is true, or egress.mode of the policy is tunnel",
  "passed_endpoints": "budget.pass_endpoints of the policy is filled, or its budget.unknown_endpoints is there and not refuse",
  "deny_write": "files.deny_write of the policy is filled",
  "both_passes": "there is an fs.snapshot of the phase before and one of the phase after",
  "omissions": "an fs.snapshot has omissions above 0",
  "gap": "there is an x-docket.evidence-gap",
  "ended": "there is a session.end",
  "subreaper": "isolation of proc.spawn has subreaper",
  "calls": "there is a model.response",
  "estimates": "a model.response has the usage_source estimated",
  "assumed_prices": "a model.response with components has assumed_price true",
  "upstream_overrides": "upstream_overrides of session.start is filled",
  "asserted": "there is an x-docket.asserted-call, or a note, tool.call or tool.result with reported_by",
  "signed": "proof of session.start is there and its signature is not null",
  "sealed": "proof of session.start is there and its seal is not null",
  "redacted": "redaction of session.start is there"
 },
 "limits": [
  {"code": "usd-cap-metered", "group": "enforced_before_send", "when": ["!quota", "usd_cap", "!strict", "!ceiling"], "sentence": "The cap in dollars, by spend, holds and estimates: a reply that would cross it was cut, within a bound."},
  {"code": "usd-cap-strict", "group": "enforced_before_send", "when": ["!quota", "usd_cap", "strict"], "sentence": "The cap in dollars: the worst case of each call was reserved before it was sent."},
  {"code": "usd-cap-ceiling", "group": "enforced_before_send", "when": ["!quota", "usd_cap", "ceiling"], "sentence": "The cap in dollars, once it was reached: each call in flight by then could carry the run across it."},
  {"code": "sub-budgets", "group": "enforced_before_send", "when": ["sub_budgets"], "sentence": "The budgets of single models and agents, by the same admission; an agent's name is what its calls say it is."},
  {"code": "pools", "group": "enforced_before_send", "when": ["pools"], "sentence": "The limits of pools: calls took what the pool had granted the run; what other runs took is not on record."},
  {"code": "token-cap", "group": "enforced_before_send", "when": ["token_cap"], "sentence": "The cap on tokens, by the same admission as dollars."},
  {"code": "call-cap", "group": "enforced_before_send", "when": ["call_cap"], "sentence": "The cap on model calls: calls in flight count."},
  {"code": "wall-clock-cap", "group": "enforced_before_send", "when": ["wall_clock_cap"], "sentence": "The cap on wall-clock time: at its end calls are refused and the processes of the run are stopped."},
  {"code": "model-rules", "group": "enforced_before_send", "when": ["model_rules"], "sentence": "The policy's rules on which models may be called."},
  {"code": "record-before-send", "group": "enforced_before_send", "when": [], "sentence": "A call is written to the ledger before it is sent."},
  {"code": "no-usd-cap", "group": "recorded_not_enforced", "when": ["!quota", "!usd_cap"], "sentence": "Spend: it was metered, and no cap in dollars was set."},
  {"code": "quota", "group": "recorded_not_enforced", "when": ["quota"], "sentence": "Spend in dollars: tokens and calls were counted, and no price was put on them."},
  {"code": "file-changes", "group": "recorded_not_enforced", "when": ["both_passes"], "sentence": "Changes to files under the watched paths, found by comparing a pass before with a pass after."},
  {"code": "deny-write", "group": "recorded_not_enforced", "when": ["deny_write"], "sentence": "Writes to paths the policy forbids to write: found afterwards and recorded as violations, not prevented."},
  {"code": "processes", "group": "recorded_not_enforced", "when": [], "sentence": "The start and the end of the agent's process; what its own child processes did is not recorded."},
  {"code": "direct-traffic", "group": "not_observed", "when": [], "sentence": "Traffic that did not pass through the boundary, such as a call to a provider's own address."},
  {"code": "tunnels", "group": "not_observed", "when": ["tunnels"], "sentence": "What went through the tunnels that the egress policy allowed."},
  {"code": "passed-endpoints", "group": "not_observed", "when": ["passed_endpoints"], "sentence": "What an endpoint that docket does not know, and that the policy lets pass, may bill without saying so."},
  {"code": "bodies", "group": "not_observed", "when": [], "sentence": "Prompts and replies: their sizes and digests are kept, not their text."},
  {"code": "outside-the-tree", "group": "not_observed", "when": [], "sentence": "Changes outside the watched paths."},
  {"code": "omitted-paths", "group": "not_observed", "when": ["omissions"], "sentence": "Paths that a pass could not or would not read; the ledger names them with the reason."},
  {"code": "between-passes", "group": "not_observed", "when": ["both_passes"], "sentence": "A change that was undone before the pass after, and who made a change: the passes see states, not writers."},
  {"code": "unpaired-passes", "group": "not_observed", "when": ["!both_passes"], "sentence": "Changes to files: the passes before and after are not both on record."},
  {"code": "upstream-failure", "group": "failure_behaviour", "when": [], "sentence": "An error or a broken stream of a provider is passed on as it came and recorded."},
  {"code": "ledger-failure", "group": "failure_behaviour", "when": [], "sentence": "When the ledger cannot be written, no further call is sent, and the gap is declared."},
  {"code": "evidence-gap", "group": "failure_behaviour", "when": ["gap"], "sentence": "Some events of this run could not be written to the ledger."},
  {"code": "no-end", "group": "failure_behaviour", "when": ["!ended"], "sentence": "This run's ledger has no end: what happened after its last event is unknown."},
  {"code": "orphans-ended", "group": "failure_behaviour", "when": ["subreaper"], "sentence": "When docket itself is killed, the launcher ends every process of the run."},
  {"code": "orphans-possible", "group": "failure_behaviour", "when": ["!subreaper"], "sentence": "The launcher could not be made the parent of orphaned processes: some may outlive the run."},
  {"code": "operator", "group": "trust_assumptions", "when": [], "sentence": "Whoever ran docket ran it unaltered: the chain shows that no part was changed, not that the whole is true."},
  {"code": "provider-counts", "group": "trust_assumptions", "when": ["calls"], "sentence": "Reported token counts are the provider's own."},
  {"code": "estimates", "group": "trust_assumptions", "when": ["estimates"], "sentence": "Some token counts were estimated from sizes, because the provider's were missing or unreadable."},
  {"code": "list-prices", "group": "trust_assumptions", "when": ["calls", "!quota"], "sentence": "Costs are computed from published list prices; what is billed may differ."},
  {"code": "assumed-prices", "group": "trust_assumptions", "when": ["assumed_prices"], "sentence": "Some models have no known price and were priced at an assumed one."},
  {"code": "upstream-overrides", "group": "trust_assumptions", "when": ["upstream_overrides"], "sentence": "Calls could go to the addresses named in boundary.upstream_overrides, whoever answers there."},
  {"code": "agent-asserted", "group": "trust_assumptions", "when": ["asserted"], "sentence": "Tool uses, remarks and calls that events carry as reported by the agent are its own word: docket saw none."},
  {"code": "signing-key", "group": "trust_assumptions", "when": ["signed"], "sentence": "Nobody but docket signed with the run's key: root can read it, and so can who may read where it is kept."},
  {"code": "sealing-key", "group": "trust_assumptions", "when": ["sealed"], "sentence": "Whoever can check the seal can also write it: it shows that nobody without its key changed the receipt."},
  {"code": "redacted-copy", "group": "trust_assumptions", "when": ["redacted"], "sentence": "This is a copy that hides things: that all else is as the other record had it is the word of who made it."}
 ]
};

const SENTENCES = {
 "format": "docket/sentences/v1",
 "cost_basis": {
  "reported": "reported: the providers' own counts",
  "estimated": "estimated: the providers gave no count that could be read",
  "mixed": "mixed: some counts are the providers', some are estimates"
 },
 "evidence": {
  "whole": "Every event reached the ledger file.",
  "no_end": "The ledger has no end: what happened after its last event is unknown.",
  "gap": "Some events could not be written to the ledger."
 },
 "chain": "hash = sha256(canonical {data, prev, seq, ts, type}); prev = hash of the event before",
 "appendix": "Each row names its ledger event by number and hash and leads to ledger.merkle_root by its path. Its cost is recomputed from its tokens and the embedded price table alone.",
 "price_table": "The families this run was priced by; `from` is the table they were taken from.",
 "cache": "Each group names the call whose reply was given again and pins the first of its hits to ledger.merkle_root. What was saved stands beside what was spent and in no total.",
 "windows": "Which tool was used, and when, is the agent's word. What stood before and after is docket's own observation, and each delta's digest is proven to ledger.merkle_root. Windows that overlapped share one delta."
};

const RECEIPT_SHAPE = {
 "format": "docket/receipt-shape/v1",
 "ours": {
  "required": {
   "format": {"is": "docket/receipt/v1"}, "docket_number": "text", "label": "text?", "created_at": "instant",
   "tool": "@tool", "session": "@session", "policy": "@policy?", "boundary": "@boundary", "totals": "@totals",
   "model_calls": "@model_calls", "budget": "object?", "tools": "@tools", "files": "@files",
   "network": "@network", "caps": "@caps", "notes": "count{}", "event_counts": "count{}", "ledger": "@ledger",
   "price_table": "@price_table", "appendix": "@appendix", "evidence": "@evidence", "ops": "@ops",
   "isolation": "@isolation?", "findings": "any[]", "limits_disclosure": "text[]{}", "seal": "object?",
   "signature": "object?"
  },
  "optional": {
   "latency": "@latency", "pools": "@pool[]", "asserted": "@asserted", "cache": "@cache",
   "responses": "@responses", "workspace": "@workspace", "windows": "@windows", "proof": "@proof",
   "redaction": "@redaction"
  }
 },
 "v1": {
  "open": true,
  "required": {
   "format": {"is": "docket/receipt/v1"}, "docket_number": "text", "label": "text?", "created_at": "text",
   "tool": "@v1_tool", "session": "@v1_session", "policy": "@v1_policy?", "totals": "@v1_totals",
   "model_calls": "@v1_model_calls", "tools": "@v1_tools", "files": "@v1_files", "network": "@v1_network",
   "caps": "@v1_caps", "event_counts": "count{}", "ledger": "@v1_ledger", "price_table": "@v1_price_table",
   "appendix": "@v1_appendix", "evidence": "@v1_evidence", "findings": "any[]", "limits_disclosure": "text[]{}",
   "seal": "object?", "signature": "object?"
  },
  "optional": {"latency": "@latency", "cache": "object"}
 },
 "records": {
  "appendix": {
   "required": {
    "usage": "@row[]", "proof_included": {"is": true},
    "note": {"is": "Each row names its ledger event by number and hash and leads to ledger.merkle_root by its path. Its cost is recomputed from its tokens and the embedded price table alone."}
   }
  },
  "asked_by": {
   "required": {"call": "count", "seq": "count", "tools": "count", "share_usd": "amount", "derived": {"is": true}}
  },
  "asserted": {
   "required": {
    "calls": "count", "input_tokens": "count", "cached_input_tokens": "count", "output_tokens": "count",
    "notes": "count{}"
   }
  },
  "boundary": {
   "required": {"admission": "text", "listener": "object", "upstream_overrides": "object"}
  },
  "breaker": {
   "required": {
    "state": "text", "consecutive_failures": "count", "total_failures": "count", "total_successes": "count",
    "openings": "count", "cooldown_ms": "count"
   }
  },
  "cache": {
   "required": {
    "enabled": "flag", "policy": "object", "hits": "count", "saved_usd": "amount", "avoided_tokens": "count",
    "by_origin": "@hit_group[]", "hits_ceiling_reached": "flag", "note": "text"
   },
   "optional": {"component_hits": "@component_hits"}
  },
  "caps": {
   "required": {"exceeded": "count", "warnings": "count"}
  },
  "changes": {
   "required": {"added": "count", "modified": "count", "removed": "count", "retyped": "count"}
  },
  "component_hits": {
   "required": {"hits": "count", "saved_usd": "amount", "avoided_tokens": "count", "by_origin": "@hit_group[]"}
  },
  "decision": {
   "required": {"is": "text", "reason": "text?", "detail": "text?"}
  },
  "evidence": {
   "required": {
    "ledger_complete": "flag", "unwritten_events": "count", "ended": "flag", "first_failing_seq": "count?",
    "write_failures": "count", "note": "text"
   }
  },
  "excluded_write": {
   "required": {},
   "optional": {"path": "text", "path_b64": "text"}
  },
  "family": {
   "required": {"pattern": "text", "input": "text", "output": "text", "source": "text"},
   "optional": {"cached_input": "text"}
  },
  "fault_injection": {
   "required": {
    "seed": "count", "spec": "text[]", "injections": "count", "upstream_asked": "count", "by_kind": "count{}"
   }
  },
  "files": {
   "required": {
    "changed": "count", "added": "count", "modified": "count", "removed": "count", "violations": "count",
    "top_paths": "text[]", "retyped": "count", "violations_by_rule": "count{}", "passes": "@passes"
   }
  },
  "full_usage": {
   "required": {
    "input_tokens": "count", "cached_input_tokens": "count", "output_tokens": "count",
    "cache_write_tokens": "count", "cache_write_5m_tokens": "count", "cache_write_30m_tokens": "count",
    "cache_write_1h_tokens": "count", "cache_write_12h_tokens": "count", "reasoning_tokens": "count",
    "audio_input_tokens": "count", "audio_output_tokens": "count", "web_searches": "count",
    "file_searches": "count"
   },
   "optional": {
    "image_input_tokens": "count", "image_output_tokens": "count", "code_sessions": "count",
    "audio_seconds": "count"
   }
  },
  "hit_group": {
   "required": {
    "key": "text", "model": "text", "usage_source": "text", "origin_seq": "count", "hits": "count",
    "first_seq": "count", "last_seq": "count", "origin_hash": "digest", "event_hash": "digest",
    "usage": "count{}", "avoided_usd_per_hit": "amount", "avoided_usd_total": "amount", "merkle_path": "any[]"
   }
  },
  "isolation": {
   "required": {"launcher": "text[]"}
  },
  "landing_refusal": {
   "required": {"reason": "text"},
   "optional": {"path": "text", "path_b64": "text", "detail": "text", "transaction": "text"}
  },
  "latency": {
   "required": {
    "method": {"is": "nearest-rank"}, "measured_calls": "count", "total_rows": "count", "total_ms": "count",
    "max_ms": "count", "p50_ms": "count", "p95_ms": "count", "p99_ms": "count"
   }
  },
  "ledger": {
   "required": {
    "format": {"is": "docket/ledger/v1"}, "events": "count", "head": "digest", "genesis": "digest",
    "merkle_root": "digest", "file_sha256": "digest",
    "chain": {"is": "hash = sha256(canonical {data, prev, seq, ts, type}); prev = hash of the event before"}
   }
  },
  "limiter": {
   "required": {
    "per_minute": "count?", "per_second": "text?", "allowed": "count", "refused": "count", "waited": "count",
    "waited_ms": "count", "longest_wait_ms": "count"
   }
  },
  "model_calls": {
   "required": {
    "count": "count", "by_provider": "count{}", "denied": "count", "errors": "count", "admitted": "count",
    "unsettled": "integer", "outcomes": "count{}", "denied_by_reason": "count{}", "errors_by_reason": "count{}",
    "estimated": "count", "altered": "count", "other_exchanges": "count", "usage": "@full_usage"
   }
  },
  "model_sum": {
   "required": {
    "model": "text", "calls": "count", "input_tokens": "count", "cached_input_tokens": "count",
    "output_tokens": "count", "cost_usd": "amount"
   }
  },
  "network": {
   "required": {"tunnels_allowed": "count", "tunnels_denied": "count", "turned_away": "count"}
  },
  "not_covered": {
   "required": {"reason": "text"},
   "optional": {"path": "text", "path_b64": "text"}
  },
  "ops": {
   "required": {
    "circuit_breaker": "@breaker{}", "rate_limiter": "@limiter?", "snapshot": "@snapshot?",
    "rollback": "@rollback?"
   },
   "optional": {"chaos_run": {"is": true}, "fault_injection": "@fault_injection"}
  },
  "pass": {
   "required": {
    "roots": "text[]", "files": "count", "directories": "count", "symlinks": "count", "omissions": "count",
    "bytes_watched": "count", "tree_sha256": "digest"
   },
   "optional": {"unread": "count"}
  },
  "passes": {
   "required": {"before": "@pass?", "after": "@pass?"}
  },
  "policy": {
   "required": {"name": "text", "digest": "digest", "document": "object", "source": "text?"}
  },
  "pool": {
   "required": {
    "pool": "text", "daily_usd": "amount?", "weekly_usd": "amount?", "total_usd": "amount?",
    "spent_usd": "amount?", "unknown_usd": "amount?", "overshoot_usd": "amount?", "bound_usd": "amount?"
   }
  },
  "previous": {
   "required": {"session": "text", "events": "count", "head": "digest", "receipt_sha256": "digest"}
  },
  "price_document": {
   "required": {"_meta": "object", "families": "@family[]"}
  },
  "price_table": {
   "required": {
    "schema": {"is": "docket/prices/v1"}, "as_of": "text?", "digest": "digest", "document": "@price_document"
   }
  },
  "proof": {
   "required": {
    "origin": "text", "project": "text", "run": "count", "previous": "@previous?", "signature": "@signing_key?",
    "seal": "@sealing_key?"
   }
  },
  "redaction": {
   "required": {"profiles": "text[]", "replaced": "count", "not_carried": "text[]", "commitment": "digest"}
  },
  "refusal": {
   "required": {"reason": "text"},
   "optional": {"path": "text", "path_b64": "text", "detail": "text"}
  },
  "responses": {
   "required": {"kept": "count", "kept_bytes": "count", "truncated": "count", "not_kept": "count"}
  },
  "rollback": {
   "required": {"applied": "flag", "trigger": "text"},
   "optional": {
    "restored": "count", "already": "count", "refused": "count", "kept": "count", "not_covered": "count",
    "reason": "text", "detail": "text", "record": "text", "plan_sha256": "digest", "refusals": "@refusal[]"
   }
  },
  "row": {
   "required": {
    "seq": "count", "model": "text", "provider": "text", "input_tokens": "count", "cached_input_tokens": "count",
    "output_tokens": "count", "usage_source": ["reported", "estimated"], "cost_usd": "amount",
    "event_hash": "digest", "merkle_path": "proof"
   },
   "optional": {"latency_ms": "count", "cache_key": "text"}
  },
  "sealing_key": {
   "required": {"alg": {"is": "hmac-sha256"}, "key_id": "text"}
  },
  "session": {
   "required": {
    "id": "text", "argv": "text[]", "exit_code": "integer?", "duration_seconds": "text?", "breached": "text?",
    "interrupted": "flag?", "cwd": "text", "agent": "text", "started_at": "instant", "exit_source": "text?",
    "agent_exit": "object?", "host": "object"
   },
   "optional": {"argv_b64": "text[]", "cwd_b64": "text"}
  },
  "signing_key": {
   "required": {"alg": {"is": "ed25519"}, "public_key": "text"}
  },
  "snapshot": {
   "required": {"taken": "flag"},
   "optional": {
    "roots": "text[]", "files": "count", "directories": "count", "symlinks": "count", "omissions": "count",
    "bytes_watched": "count", "tree_sha256": "digest", "bytes_stored": "count", "bytes_shared": "count",
    "needed": "count", "allowed": "count", "format": "text", "store": "text", "reason": "text", "detail": "text",
    "manifest_sha256": "digest", "not_covered": "@not_covered[]", "not_covered_count": "count?"
   }
  },
  "staged": {
   "required": {
    "files": "count", "directories": "count", "symlinks": "count", "bytes": "count", "not_preserved": "count"
   }
  },
  "surface": {
   "required": {"excluded": "count", "shared": "count", "protected": "count"}
  },
  "tool": {
   "required": {"name": "text", "version": "text", "format": {"is": "docket/receipt/v1"}, "fold": "text"}
  },
  "tools": {
   "required": {"calls": "count", "names": "text[]", "failures": "count"}
  },
  "totals": {
   "required": {
    "calls": "count", "input_tokens": "count", "cached_input_tokens": "count", "output_tokens": "count",
    "total_tokens": "count", "cost_usd": "amount", "cost_basis": "text", "usage_reported_calls": "count",
    "usage_estimated_calls": "count", "asserted_calls": "count", "assumed_price_models": "text[]",
    "by_model": "@model_sum[]"
   }
  },
  "v1_appendix": {
   "open": true,
   "required": {"usage": "@v1_row[]", "proof_included": "flag"}
  },
  "v1_caps": {
   "open": true,
   "required": {"exceeded": "count", "warnings": "count"}
  },
  "v1_evidence": {
   "open": true,
   "required": {"ledger_complete": "flag", "unwritten_events": "count"}
  },
  "v1_family": {
   "open": true,
   "required": {"pattern": "text", "input": "text", "output": "text"}
  },
  "v1_files": {
   "open": true,
   "required": {
    "changed": "count", "added": "count", "modified": "count", "removed": "count", "violations": "count",
    "top_paths": "text[]"
   }
  },
  "v1_ledger": {
   "open": true,
   "required": {
    "format": {"is": "docket/ledger/v1"}, "events": "count", "head": "digest", "genesis": "digest",
    "merkle_root": "digest", "file_sha256": "digest"
   }
  },
  "v1_model_calls": {
   "open": true,
   "required": {"count": "count", "by_provider": "count{}", "denied": "count", "errors": "count"}
  },
  "v1_network": {
   "open": true,
   "required": {"tunnels_allowed": "count", "tunnels_denied": "count"}
  },
  "v1_policy": {
   "open": true,
   "required": {"name": "text", "digest": "digest", "document": "object"}
  },
  "v1_price_document": {
   "open": true,
   "required": {"families": "@v1_family[]"}
  },
  "v1_price_table": {
   "open": true,
   "required": {"digest": "digest", "document": "@v1_price_document"}
  },
  "v1_row": {
   "open": true,
   "required": {
    "seq": "count", "model": "text", "provider": "text", "input_tokens": "count", "cached_input_tokens": "count",
    "output_tokens": "count", "usage_source": ["reported", "estimated"], "cost_usd": "amount",
    "event_hash": "digest"
   },
   "optional": {"merkle_path": "proof", "latency_ms": "count?", "cache_key": "text?", "asserted_by": "text?"}
  },
  "v1_session": {
   "open": true,
   "required": {
    "id": "text", "argv": "text[]", "exit_code": "integer?", "duration_seconds": "text?", "breached": "text?",
    "interrupted": "flag?", "cwd": "text?"
   }
  },
  "v1_tool": {
   "open": true,
   "required": {"name": "text", "version": "text"},
   "optional": {"format": {"is": "docket/receipt/v1"}}
  },
  "v1_tools": {
   "open": true,
   "required": {"calls": "count", "names": "text[]", "failures": "count"}
  },
  "v1_totals": {
   "open": true,
   "required": {
    "calls": "count", "input_tokens": "count", "cached_input_tokens": "count", "output_tokens": "count",
    "total_tokens": "count", "cost_usd": "amount", "cost_basis": "text", "usage_reported_calls": "count",
    "usage_estimated_calls": "count", "asserted_calls": "count", "assumed_price_models": "text[]",
    "by_model": "@model_sum[]"
   }
  },
  "window": {
   "required": {
    "window_id": "text", "id": "text?", "name": "text", "asked_by": "@asked_by?", "before": "@window_before?",
    "after": "@window_after?", "delta": "@window_delta?"
   },
   "optional": {"repository": "text", "provider": "text", "session_id": "text", "turn_id": "text", "mode": "text"}
  },
  "window_after": {
   "required": {"seq": "count", "ok": "flag"}
  },
  "window_before": {
   "required": {"seq": "count"},
   "optional": {"group_id": "text", "tree": "text", "hashes": "text", "head": "text", "reason": "text"}
  },
  "window_delta": {
   "required": {
    "seq": "count", "members": "count", "files": "count", "scope": "text", "status": "text",
    "delta_sha256": "digest", "event_hash": "digest", "merkle_path": "any[]"
   },
   "optional": {"group_id": "text", "reason": "text", "tree_before": "text", "tree_after": "text"}
  },
  "windows": {
   "required": {
    "count": "count", "complete": "count", "partial": "count", "open": "count", "groups": "count",
    "files": "count", "partial_by_reason": "count{}", "hooks_lost": "count{}", "tools": "@window[]",
    "note": "text"
   }
  },
  "workspace": {
   "required": {
    "committed": "flag", "outcome": "text", "reason": "text?", "detail": "text?",
    "not_transactional": {"is": ["network-calls", "database-writes", "processes-started", "paths-outside-the-declared-surface"]}
   },
   "optional": {
    "transaction": "text", "backend": "text", "view": "text", "settle": "text", "store": "text",
    "approval": "text", "base_sha256": "digest", "result_sha256": "digest", "diff_sha256": "digest",
    "surface": "@surface", "staged": "@staged", "changes": "@changes", "decision": "@decision",
    "approved": "flag", "plan_sha256": "digest?", "applied": "count?", "already": "count?", "refused": "count?",
    "protected_changes": "count", "base_moved": "flag", "digests_cover": {"is": "changes"}, "unread": "count",
    "refusals": "@landing_refusal[]", "not_preserved": "@refusal[]", "excluded_writes": "@excluded_write[]",
    "excluded_write_count": "count"
   }
  }
 }
};
return { DISCLOSURE, SENTENCES, RECEIPT_SHAPE };
})();

// rebuild/tally.mjs
const $rebuild_tally = (() => {
// Sums that stay exact: a number where it is a safe integer, a BigInt beyond, which no member of a receipt can equal.

const MAX = BigInt(Number.MAX_SAFE_INTEGER);

function plus(left, right) {
  if (typeof left === "number" && typeof right === "number") {
    const sum = left + right;
    if (Number.isSafeInteger(sum)) return sum;
  }
  const sum = BigInt(left) + BigInt(right);
  return sum <= MAX && sum >= -MAX ? Number(sum) : sum;
}

const sumOf = (numbers) => numbers.reduce(plus, 0);

// Counts by name, in the order in which the names came.
class Tally {
  constructor() {
    this.counts = new Map();
  }

  add(name, by = 1) {
    this.counts.set(name, plus(this.of(name), by));
  }

  of(name) {
    return this.counts.get(name) ?? 0;
  }

  total() {
    return sumOf([...this.counts.values()]);
  }

  names() {
    return [...this.counts.keys()];
  }

  toJson() {
    const json = Object.create(null);
    for (const [name, count] of this.counts) json[name] = count;
    return json;
  }
}
return { plus, sumOf, Tally };
})();

// rebuild/course.mjs
const $rebuild_course = (() => {
// The fold over the course of a run: start, policy, processes, end, gaps, budgets, network, remarks, asserted calls.

const { compareTexts } = $canonical;
const { SENTENCES } = $rebuild_lists;
const { Tally, sumOf } = $rebuild_tally;

const LIMITS = ["daily_usd", "weekly_usd", "total_usd"];
const TAKEN = ["spent_usd", "unknown_usd", "overshoot_usd", "bound_usd"];
const TOKENS = ["input_tokens", "cached_input_tokens", "output_tokens"];

const orNull = (value) => (value === undefined ? null : value);
const without = (data, ...names) => {
  const kept = Object.create(null);
  for (const name of Object.keys(data)) if (!names.includes(name)) kept[name] = data[name];
  return kept;
};

// A member of an object that is an object itself; empty where it is none.
function objectAt(value, name) {
  const member = value[name];
  return typeof member === "object" && member !== null && !Array.isArray(member) ? member : {};
}

class CourseFold {
  constructor() {
    this.startedAt = "";
    for (const name of ["start", "policy", "spawn", "exit", "end", "budget"]) this[name] = null;
    this.pools = new Map();
    this.poolUses = new Map();
    this.gaps = [];
    this.notes = new Tally();
    this.denied = new Tally();
    this.allowed = 0;
    this.ceilingReached = false;
  }

  begin({ data, ts }) {
    [this.start, this.startedAt] = [data, ts];
  }

  note(data) {
    this.notes.add(data.code);
    if (data.event === "cache.hits_ceiling_reached") this.ceilingReached = true;
  }

  get policyDocument() {
    return this.policy === null ? {} : this.policy.document;
  }

  session() {
    const { start, end } = this;
    const member = { id: start.session_id, argv: start.argv, cwd: start.cwd, agent: start.agent, host: start.host };
    for (const name of ["argv_b64", "cwd_b64"]) if (start[name] !== undefined) member[name] = start[name];
    member.started_at = this.startedAt;
    for (const name of ["exit_code", "exit_source", "duration_seconds", "breached", "interrupted"]) {
      member[name] = end === null ? null : orNull(end[name]);
    }
    member.agent_exit = this.exit;
    return member;
  }

  policyMember() {
    if (this.policy === null) return null;
    const { name, digest, document, source } = this.policy;
    return { name, digest, document, source: orNull(source) };
  }

  boundary() {
    const { admission, boundary, upstream_overrides } = this.start;
    return { admission, listener: boundary, upstream_overrides };
  }

  poolsMember() {
    if (this.pools.size === 0) return null;
    return [...this.pools.keys()].sort(compareTexts).map((pool) => {
      const [entered, use] = [this.pools.get(pool), this.poolUses.get(pool) ?? {}];
      const member = { pool };
      for (const name of LIMITS) member[name] = orNull(entered[name]);
      for (const name of TAKEN) member[name] = orNull(use[name]);
      return member;
    });
  }

  network() {
    const through = sumOf([this.denied.of("tunnel"), this.denied.of("request")]);
    const others = this.denied.names().filter((kind) => kind !== "tunnel" && kind !== "request");
    return {
      tunnels_allowed: this.allowed,
      tunnels_denied: through,
      turned_away: sumOf(others.map((kind) => this.denied.of(kind))),
    };
  }

  evidence() {
    const whole = this.gaps.length === 0;
    const first = this.gaps.map((gap) => gap.first_failing_seq);
    const note = whole ? (this.end === null ? "no_end" : "whole") : "gap";
    return {
      ledger_complete: whole && this.end !== null,
      ended: this.end !== null,
      unwritten_events: sumOf(this.gaps.map((gap) => gap.unwritten_events)),
      first_failing_seq: whole ? null : first.reduce((least, seq) => Math.min(least, seq)),
      write_failures: this.gaps.length,
      note: SENTENCES.evidence[note],
    };
  }

  isolation() {
    return this.spawn === null ? null : { launcher: this.spawn.isolation };
  }
}

// What the agent said of itself. `byAgent` tells whether it said any of it.
class AssertedFold {
  constructor() {
    this.tools = new Tally();
    this.failures = 0;
    this.calls = 0;
    this.byAgent = false;
    this.tokens = new Tally();
    this.notes = new Tally();
  }

  toolCall(data) {
    this.tools.add(data.name);
    if (data.reported_by !== undefined) this.byAgent = true;
  }

  toolResult(data) {
    if (!data.ok) this.failures += 1;
    if (data.reported_by !== undefined) this.byAgent = true;
  }

  call(data) {
    this.calls += 1;
    this.byAgent = true;
    for (const name of TOKENS) this.tokens.add(name, data[name]);
  }

  note(data) {
    this.notes.add(data.code);
    this.byAgent = true;
  }

  toolsMember() {
    return { calls: this.tools.total(), names: this.tools.names().sort(compareTexts), failures: this.failures };
  }

  member() {
    if (this.calls === 0 && this.notes.names().length === 0) return null;
    const tokens = Object.fromEntries(TOKENS.map((name) => [name, this.tokens.of(name)]));
    return { calls: this.calls, ...tokens, notes: this.notes.toJson() };
  }
}
return { orNull, without, objectAt, CourseFold, AssertedFold };
})();

// rebuild/disclosure.mjs
const $rebuild_disclosure = (() => {
// Which limits a run's receipt discloses (spec/disclosure.json): each code of the list all of whose facts hold.

const { objectAt } = $rebuild_course;
const { DISCLOSURE } = $rebuild_lists;

// The member that has exactly these codes.
function disclosureOf(codes) {
  const member = Object.fromEntries(DISCLOSURE.groups.map((group) => [group, []]));
  member.codes = [];
  for (const { code, group, sentence } of DISCLOSURE.limits) {
    if (!codes.has(code)) continue;
    member[group].push(sentence);
    member.codes.push(code);
  }
  return member;
}

const KNOWN_CODES = new Set(DISCLOSURE.limits.map(({ code }) => code));

function applying(facts) {
  const holds = (fact) => (fact.startsWith("!") ? !facts[fact.slice(1)] : facts[fact]);
  return new Set(DISCLOSURE.limits.filter(({ when }) => when.every(holds)).map(({ code }) => code));
}

// The facts of the policy and of session.start; what the other events show is added by the fold.
function factsOf(policy, start) {
  const [budget, caps] = [objectAt(policy, "budget"), objectAt(policy, "caps")];
  const models = objectAt(policy, "models");
  const tunnels = start.boundary.http_proxy === true || objectAt(policy, "egress").mode === "tunnel";
  const unknown = budget.unknown_endpoints;
  return {
    quota: budget.mode === "quota",
    usd_cap: isSet(caps.max_usd),
    strict: start.admission === "strict",
    ceiling: start.admission === "ceiling",
    sub_budgets: isFilled(caps.per_model) || isFilled(caps.per_agent),
    pools: isFilled(budget.pools),
    token_cap: isSet(caps.max_tokens),
    call_cap: isSet(caps.max_model_calls),
    wall_clock_cap: isSet(caps.max_wall_seconds),
    model_rules: isFilled(models.allow) || isFilled(models.deny),
    tunnels,
    passed_endpoints: isFilled(budget.pass_endpoints) || (unknown !== undefined && unknown !== "refuse"),
    deny_write: isFilled(objectAt(policy, "files").deny_write),
    upstream_overrides: isFilled(start.upstream_overrides),
    signed: isSet(start.proof?.signature),
    sealed: isSet(start.proof?.seal),
    redacted: isSet(start.redaction),
  };
}

const isSet = (value) => value !== undefined && value !== null;

// There, and not null, false, 0 or empty.
function isFilled(value) {
  if (typeof value !== "object" || value === null) return Boolean(value);
  return Object.keys(value).length > 0;
}
return { disclosureOf, KNOWN_CODES, applying, factsOf };
})();

// rows.mjs
const $rows = (() => {
// Checks of the usage rows: their proofs, the events they cite, their cost (spec/receipt.md, Component rows).

const { DAMAGED, NO_LEDGER, fail, pass, skip } = $case;
const { isInteger, isObject, isText } = $canonical;
const { rootFromPath } = $merkle;
const { canonicalMicros, microsOf, spelledUsd } = $money;
const { ProofPath } = $proof_path;
const { familiesOf } = $families;
const { shown } = $refused;
const { countOf } = $wording;

const name = (index, row) => `appendix.usage[${index}] (event ${row.seq})`;
const SOURCES = ["reported", "estimated"];

// The rows that the replies of a ledger give, and the first reply of another writer that gives none.
class LedgerRows {
  constructor() {
    this.rows = [];
    this.fault = null;
    this.texts = new Map();
  }

  // One text for all equal ones, so that a row does not keep the text of its line.
  one(text) {
    if (!this.texts.has(text)) this.texts.set(text, text);
    return this.texts.get(text);
  }

  observe(event) {
    if (event.type !== "model.response" || !event.known) return;
    const { data } = event;
    const last = data.components.length - 1;
    const cacheKey = data.cache?.stored === true ? data.cache.key : undefined;
    data.components.forEach((component, index) => {
      this.rows.push({
        seq: event.seq,
        model: this.one(component.model),
        provider: this.one(data.provider),
        input_tokens: component.input_tokens,
        cached_input_tokens: component.cached_input_tokens,
        output_tokens: component.output_tokens,
        usage_source: this.one(data.usage_source),
        cost_usd: component.cost_usd,
        latency_ms: index === last ? data.latency_ms : undefined,
        cache_key: index === last ? cacheKey : undefined,
        asserted_by: undefined,
      });
    });
  }

  observePublic(event) {
    if (event.type === "model.response") this.takeReply(event);
    else if (event.type === "model.cache_hit") {
      const { origin } = event.data;
      const named = isObject(origin) && isInteger(origin.seq) && isText(origin.hash);
      if (!named) this.fault ??= `event ${event.seq}: origin does not name an event`;
    }
  }

  takeReply({ seq, data }) {
    const row = publicRow(seq, data);
    if (isText(row)) this.fault ??= `event ${seq}: ${row}`;
    else this.rows.push(row);
  }
}

// The row of another writer's reply, or what of it cannot be read.
function publicRow(seq, data) {
  const { usage, cache, latency_ms: latency, reported_by: asserted } = data;
  if (!isObject(usage)) return "usage is not an object";
  if (!SOURCES.includes(data.usage_source)) return "usage_source is not a known one";
  for (const member of ["model", "provider"]) if (!isText(data[member])) return `${member} is not a text`;
  const tokens = {};
  for (const member of ["input_tokens", "cached_input_tokens", "output_tokens"]) {
    tokens[member] = usage[member] === undefined ? 0 : usage[member];
    if (!isInteger(tokens[member]) || tokens[member] < 0) return `usage.${member} is not a count`;
  }
  const micros = microsOf(data.cost_usd);
  if (micros === null) return "cost_usd is not an amount";
  return {
    seq,
    model: data.model,
    provider: data.provider,
    ...tokens,
    usage_source: data.usage_source,
    cost_usd: spelledUsd(micros),
    latency_ms: isInteger(latency) ? latency : undefined,
    cache_key: isObject(cache) && cache.stored === true && isText(cache.key) ? cache.key : undefined,
    asserted_by: isText(asserted) ? asserted : undefined,
  };
}

const NEEDED = ["seq", "model", "provider", "input_tokens", "cached_input_tokens", "output_tokens", "usage_source", "cost_usd"];
// Absent and null say the same.
const OPTIONAL = ["latency_ms", "cache_key", "asserted_by"];

function differing(row, wanted, ledger) {
  for (const member of NEEDED) if (row[member] !== wanted[member]) return member;
  for (const member of OPTIONAL) if ((row[member] ?? undefined) !== wanted[member]) return member;
  return row.event_hash === ledger.hashes.hex(wanted.seq) ? null : "event_hash";
}

class UsageRowsRebound {
  constructor(course) {
    this.found = course.follow("rows", LedgerRows);
  }

  finish({ ledger, receipt }) {
    if (ledger === null) return skip(NO_LEDGER);
    if (!ledger.sound) return skip(DAMAGED);
    if (ledger.payloadFault !== null) return skip("the replies in the ledger could not be read");
    const { rows, fault } = this.found;
    if (fault !== null) return fail(fault);
    for (const [index, row] of receipt.rows.slice(0, rows.length).entries()) {
      const member = differing(row, rows[index], ledger);
      if (member !== null) {
        const found = member === "event_hash" ? ledger.hashes.hex(rows[index].seq) : rows[index][member];
        return fail(`${name(index, row)}: ${member} is ${shown(row[member])}, the ledger gives ${shown(found)}`);
      }
    }
    if (receipt.rows.length !== rows.length) {
      return fail(`the receipt has ${countOf(receipt.rows.length, "usage row")}, the ledger gives ${rows.length}`);
    }
    return pass(`${countOf(rows.length, "row")} as the ledger's events say`);
  }
}

// Whether a row's path is exactly that of its event in the tree; two checks ask.
function isOnItsPath(tree, row) {
  const path = row.merkle_path ?? [];
  if (path.tree === tree && path.leaf === row.seq) return true;
  const held = tree.isPath(row.seq, path);
  if (held && path instanceof ProofPath) [path.tree, path.leaf] = [tree, row.seq];
  return held;
}

// Whether a row's event leads to the stated root. Where the sound ledger has that root, the row's path is compared with
// the tree's own, which leads there and needs no hashing.
function leadsToRoot({ ledger, receipt }, row) {
  const root = receipt.part("ledger", "merkle_root");
  if (ledger?.sound && row.seq < ledger.events && ledger.tree.root() === root) {
    if (ledger.hashes.hex(row.seq) === row.event_hash && isOnItsPath(ledger.tree, row)) return true;
  }
  return rootFromPath(row.event_hash, row.merkle_path ?? []) === root;
}

class UsageInclusionProofs {
  finish(given) {
    const { receipt } = given;
    if (receipt.rows.length === 0) return pass("no usage row to prove");
    if (receipt.part("appendix", "proof_included") !== true) return skip("the receipt carries no proofs");
    for (const [index, row] of receipt.rows.entries()) {
      if (!leadsToRoot(given, row)) {
        return fail(`${name(index, row)}: its path does not lead to ledger.merkle_root`);
      }
    }
    return pass(`${countOf(receipt.rows.length, "row")} with a path to the root`);
  }
}

class CostRecomputation {
  finish({ receipt }) {
    const families = familiesOf(receipt);
    if (isText(families)) return fail(families);
    for (const [index, row] of receipt.rows.entries()) {
      const micros = families.cost(row.model, row);
      if (micros === null) return fail(`${name(index, row)}: no family of the table prices ${shown(row.model)}`);
      if (micros !== canonicalMicros(row.cost_usd)) {
        return fail(`${name(index, row)}: cost_usd is ${row.cost_usd}, its tokens cost ${spelledUsd(micros)}`);
      }
    }
    return pass(`${countOf(receipt.rows.length, "row")} priced from the embedded table`);
  }
}
return { LedgerRows, UsageRowsRebound, isOnItsPath, UsageInclusionProofs, CostRecomputation };
})();

// latency.mjs
const $latency = (() => {
// The summary of latencies by nearest rank (spec/receipt.md, Latency).

const { plain } = $canonical;

const LATENCY_METHOD = "nearest-rank";

// The object over the measured latencies, or null where none was measured.
function latencySummary(measured, totalRows) {
  if (measured.length === 0) return null;
  const sorted = Float64Array.from(measured).sort();
  const rank = (percent) => sorted[Math.max(Math.ceil((percent * sorted.length) / 100), 1) - 1];
  return plain({
    method: LATENCY_METHOD,
    measured_calls: sorted.length,
    total_rows: totalRows,
    total_ms: sorted.reduce((sum, one) => sum + one, 0),
    max_ms: sorted.at(-1),
    p50_ms: rank(50),
    p95_ms: rank(95),
    p99_ms: rank(99),
  });
}
return { latencySummary };
})();

// rebuild/calls.mjs
const $rebuild_calls = (() => {
// The fold over model calls: totals, the counts of calls, latency. The usage rows are `LedgerRows`.

const { compareTexts } = $canonical;
const { latencySummary } = $latency;
const { microsOf, spelledUsd } = $money;
const { SENTENCES } = $rebuild_lists;
const { Tally, plus, sumOf } = $rebuild_tally;

const TOKENS = ["input_tokens", "cached_input_tokens", "output_tokens"];
const USAGE = [
  ...TOKENS,
  "cache_write_tokens",
  "cache_write_5m_tokens",
  "cache_write_30m_tokens",
  "cache_write_1h_tokens",
  "cache_write_12h_tokens",
  "reasoning_tokens",
  "audio_input_tokens",
  "audio_output_tokens",
  "web_searches",
  "file_searches",
];
const USAGE_WHERE_SOME = ["image_input_tokens", "image_output_tokens", "code_sessions", "audio_seconds"];

class CallsFold {
  constructor(rows) {
    this.rows = rows;
    this.requests = 0;
    this.altered = 0;
    this.responses = 0;
    this.estimated = 0;
    this.others = 0;
    this.assumed = new Set();
    for (const name of ["providers", "outcomes", "denials", "errors", "usage"]) this[name] = new Tally();
  }

  request(data) {
    this.requests += 1;
    if (data.altered?.length > 0) this.altered += 1;
  }

  response(data) {
    this.responses += 1;
    this.providers.add(data.provider);
    this.outcomes.add(data.outcome);
    if (data.usage_source === "estimated") this.estimated += 1;
    for (const name of Object.keys(data.usage)) this.usage.add(name, data.usage[name]);
    const base = data.components.at(-1);
    if (data.assumed_price && base !== undefined) this.assumed.add(base.model);
  }

  denied(data) {
    this.denials.add(data.reason);
  }

  error(data) {
    this.errors.add(data.reason);
  }

  other() {
    this.others += 1;
  }

  // `isAssumed` says of a model whether the table prices it by its fallback.
  totals(isAssumed) {
    const sums = new Map();
    for (const row of this.rows) {
      if (!sums.has(row.model)) sums.set(row.model, []);
      sums.get(row.model).push(row);
    }
    const models = [...sums.keys()];
    const ranked = models.map((model) => ({ model, micros: costOf(sums.get(model)), rows: sums.get(model) }));
    ranked.sort((a, b) => (a.micros === b.micros ? compareTexts(a.model, b.model) : a.micros > b.micros ? -1 : 1));
    const estimated = this.rows.filter((row) => row.usage_source === "estimated").length;
    const reported = this.rows.length - estimated;
    const whole = tokensOf(this.rows);
    return {
      calls: this.rows.length,
      ...whole,
      total_tokens: plus(whole.input_tokens, whole.output_tokens),
      cost_usd: spelledUsd(costOf(this.rows)),
      cost_basis: SENTENCES.cost_basis[reported && estimated ? "mixed" : estimated ? "estimated" : "reported"],
      usage_reported_calls: reported,
      usage_estimated_calls: estimated,
      asserted_calls: 0,
      assumed_price_models: [...new Set([...this.assumed, ...models.filter(isAssumed)])].sort(compareTexts),
      by_model: ranked.map(({ model, micros, rows }) => ({
        model,
        calls: rows.length,
        ...tokensOf(rows),
        cost_usd: spelledUsd(micros),
      })),
    };
  }

  modelCalls() {
    const usage = Object.fromEntries(USAGE.map((name) => [name, this.usage.of(name)]));
    for (const name of USAGE_WHERE_SOME) if (this.usage.of(name) !== 0) usage[name] = this.usage.of(name);
    const errors = this.errors.total();
    return {
      count: this.responses,
      by_provider: this.providers.toJson(),
      denied: this.denials.total(),
      errors,
      admitted: this.requests,
      unsettled: this.requests - this.responses - errors,
      outcomes: this.outcomes.toJson(),
      denied_by_reason: this.denials.toJson(),
      errors_by_reason: this.errors.toJson(),
      estimated: this.estimated,
      altered: this.altered,
      other_exchanges: this.others,
      usage,
    };
  }

  // Null where no row was measured.
  latency() {
    const measured = this.rows.map((row) => row.latency_ms).filter((ms) => ms !== undefined);
    return latencySummary(measured, this.rows.length);
  }
}

const tokensOf = (rows) => Object.fromEntries(TOKENS.map((name) => [name, sumOf(rows.map((row) => row[name]))]));
const costOf = (rows) => rows.reduce((sum, row) => sum + microsOf(row.cost_usd), 0n);
return { CallsFold };
})();

// rebuild/operations.mjs
const $rebuild_operations = (() => {
// The fold over pacing, breakers and injected faults: the receipt member `ops` (spec/receipt.md, Operations).

const { compareTexts } = $canonical;
const { objectAt, orNull } = $rebuild_course;
const { Tally, sumOf } = $rebuild_tally;

const NO_REPLY = new Set(["upstream_unreachable", "upstream_broken", "injected_fault"]);
const ANSWERED = new Set(["upstream_status", "upstream_error_event"]);
const WORST_FIRST = ["open", "half_open", "closed"];

class OperationsFold {
  constructor() {
    this.breakers = new Map();
    for (const name of ["openings", "failures", "successes", "injected"]) this[name] = new Tally();
    this.waitsMs = [];
    this.rateLimited = 0;
    this.plan = null;
    this.asked = 0;
  }

  breaker(data) {
    if (!this.breakers.has(data.provider)) this.breakers.set(data.provider, new Map());
    this.breakers.get(data.provider).set(data.upstream, data);
    if (data.state === "open") this.openings.add(data.provider);
  }

  error(data) {
    const failed = NO_REPLY.has(data.reason) || (ANSWERED.has(data.reason) && data.status >= 500);
    if (failed) this.failures.add(data.provider);
    else if (data.reason === "upstream_status") this.successes.add(data.provider);
  }

  response(data) {
    const failed = data.outcome === "upstream_broken" || data.status >= 500;
    (failed ? this.failures : this.successes).add(data.provider);
  }

  fault(data) {
    this.injected.add(data.kind);
    if (data.asked) this.asked += 1;
  }

  member(policy, admitted) {
    const breakers = Object.create(null);
    for (const provider of this.breakers.keys()) breakers[provider] = this.breakerOf(provider);
    const member = { circuit_breaker: breakers, rate_limiter: this.limiter(policy, admitted) };
    if (this.plan === null) return member;
    const { seed, spec } = this.plan;
    const [injections, byKind] = [this.injected.total(), this.injected.toJson()];
    const faults = { seed, spec, injections, upstream_asked: this.asked, by_kind: byKind };
    return { ...member, chaos_run: true, fault_injection: faults };
  }

  // That of the upstream in the worst state, of several the first by name.
  breakerOf(provider) {
    const changes = this.breakers.get(provider);
    const ordered = [...changes.keys()].sort(compareTexts).map((upstream) => changes.get(upstream));
    const state = WORST_FIRST.find((name) => ordered.some((change) => change.state === name));
    const worst = ordered.find((change) => change.state === state);
    return {
      state,
      consecutive_failures: worst.failures,
      total_failures: this.failures.of(provider),
      total_successes: this.successes.of(provider),
      openings: this.openings.of(provider),
      cooldown_ms: worst.cooldown_ms,
    };
  }

  limiter(policy, admitted) {
    const limits = objectAt(policy, "resilience");
    const [minute, second] = [orNull(limits.max_calls_per_minute), orNull(limits.max_calls_per_second)];
    if (minute === null && second === null) return null;
    return {
      per_minute: minute,
      per_second: second,
      allowed: admitted,
      refused: this.rateLimited,
      waited: this.waitsMs.length,
      waited_ms: sumOf(this.waitsMs),
      longest_wait_ms: this.waitsMs.reduce((most, ms) => Math.max(most, ms), this.waitsMs[0] ?? 0),
    };
  }
}
return { OperationsFold };
})();

// rebuild/prices.mjs
const $rebuild_prices = (() => {
// The fold over `x-docket.price`: the table that a receipt embeds (spec/receipt.md, Price table).

const { encode, utf8 } = $canonical;
const { moreSpecificFirst, rankOf } = $families;
const { sha256Hex } = $sha256;
const { orNull } = $rebuild_course;
const { SENTENCES } = $rebuild_lists;

const SCHEMA = "docket/prices/v1";
const PLACEHOLDER = { pattern: "(no call was priced)", input: "0", output: "0", source: "placeholder" };

// The member of the families that the ledger names, in its order; `source` is `prices` of session.start.
function priceTable(families, source) {
  const asOf = orNull(source.as_of);
  const fixed = { schema: SCHEMA, currency: "USD", unit: "per_million_tokens", fallback_marker: "assumed" };
  const document = {
    _meta: { as_of: asOf, from: source, note: SENTENCES.price_table, ...fixed },
    families: families.length === 0 ? [PLACEHOLDER] : ordered(families),
  };
  return { schema: SCHEMA, as_of: asOf, digest: sha256Hex(utf8(encode(document))), document };
}

// By rank, which is made once of each: a pattern may be long.
function ordered(families) {
  const ranked = families.map((family) => ({ family, rank: rankOf(family) }));
  return ranked.sort((one, other) => moreSpecificFirst(one.rank, other.rank)).map(({ family }) => family);
}
return { priceTable };
})();

// rebuild/replays.mjs
const $rebuild_replays = (() => {
// The fold over the response cache and kept bodies: the receipt members `cache` and `responses`.

const { encode } = $canonical;
const { microsOf, spelledUsd } = $money;
const { objectAt } = $rebuild_course;
const { SENTENCES } = $rebuild_lists;
const { plus, sumOf } = $rebuild_tally;

class CacheFold {
  constructor() {
    this.groups = new Map();
  }

  hit({ seq, hash, type, data }) {
    const { origin, key, model, usage, usage_source, avoided_cost_usd } = data;
    const name = encode([type, origin, key, model, usage, usage_source, avoided_cost_usd]);
    if (!this.groups.has(name)) this.groups.set(name, { type, data, seq, hash, hits: 0, last: seq });
    const group = this.groups.get(name);
    group.hits += 1;
    group.last = seq;
  }

  // `pathOf` gives the path of an event by its number. Null where there was no cache.
  member(policy, ceilingReached, pathOf) {
    const section = objectAt(policy, "cache");
    const enabled = section.enabled === true;
    if (!enabled && this.groups.size === 0) return null;
    const groups = [...this.groups.values()];
    const several = groups.filter((group) => group.type !== "model.cache_hit");
    const member = {
      enabled,
      policy: section,
      ...sums(groups.filter((group) => group.type === "model.cache_hit"), pathOf),
      hits_ceiling_reached: ceilingReached,
      note: SENTENCES.cache,
    };
    return several.length === 0 ? member : { ...member, component_hits: sums(several, pathOf) };
  }
}

// Groups stand in the order of their first hits, in which the map has them.
function sums(groups, pathOf) {
  const saved = (group) => microsOf(group.data.avoided_cost_usd) * BigInt(group.hits);
  const tokens = ({ data, hits }) => times(plus(data.usage.input_tokens, data.usage.output_tokens), hits);
  return {
    hits: sumOf(groups.map((group) => group.hits)),
    saved_usd: spelledUsd(groups.reduce((sum, group) => sum + saved(group), 0n)),
    avoided_tokens: sumOf(groups.map(tokens)),
    by_origin: groups.map((group) => ({
      key: group.data.key,
      origin_seq: group.data.origin.seq,
      origin_hash: group.data.origin.hash,
      model: group.data.model,
      usage: group.data.usage,
      usage_source: group.data.usage_source,
      avoided_usd_per_hit: group.data.avoided_cost_usd,
      avoided_usd_total: spelledUsd(saved(group)),
      hits: group.hits,
      first_seq: group.seq,
      last_seq: group.last,
      event_hash: group.hash,
      merkle_path: pathOf(group.seq),
    })),
  };
}

const times = (count, by) => plus(BigInt(count) * BigInt(by), 0);

class ResponsesFold {
  constructor() {
    this.kept = 0;
    this.keptBytes = 0;
    this.truncated = 0;
    this.notKept = 0;
  }

  response(data) {
    if (data.response_retained === true) this.kept += 1;
    if (data.response_retained === false) this.notKept += 1;
    if (data.response_truncated === true) this.truncated += 1;
    this.keptBytes = plus(this.keptBytes, data.response_stored_bytes ?? 0);
  }

  member(policy) {
    if (objectAt(policy, "evidence").record_responses !== true) return null;
    return { kept: this.kept, kept_bytes: this.keptBytes, truncated: this.truncated, not_kept: this.notKept };
  }
}
return { CacheFold, ResponsesFold };
})();

// rebuild/tree.mjs
const $rebuild_tree = (() => {
// The fold over the passes and changes of the watched tree: `files`, `ops.snapshot`, `ops.rollback`.

const { orNull, without } = $rebuild_course;
const { Tally } = $rebuild_tally;

const FIRST_PATHS = 25;
const ESCAPED = (byte) => `\\x${byte.toString(16).padStart(2, "0")}`;

class TreeFold {
  constructor() {
    this.changes = new Tally();
    this.paths = [];
    this.passes = new Map();
    this.violations = new Tally();
    this.notCovered = [];
    this.refused = null;
    this.rollback = null;
  }

  change(data) {
    this.changes.add(data.change);
    if (this.paths.length < FIRST_PATHS) this.paths.push(data.path ?? shownPath(data.path_b64));
  }

  pass(data) {
    this.passes.set(data.phase, data);
  }

  violation(data) {
    this.violations.add(data.rule);
  }

  omitted(data) {
    if (data.phase !== "contents") return;
    const left = Math.max(FIRST_PATHS - this.notCovered.length, 0);
    for (const item of data.omissions.slice(0, left)) this.notCovered.push(without(item, "detail"));
  }

  get bothPasses() {
    return this.passes.has("before") && this.passes.has("after");
  }

  // The most paths that one pass left out.
  get omissions() {
    const counts = [...this.passes.values()].map((pass) => pass.omissions);
    return Math.max(0, ...counts);
  }

  files() {
    const passes = {};
    for (const phase of ["before", "after"]) {
      passes[phase] = this.passes.has(phase) ? without(this.passes.get(phase), "phase") : null;
    }
    return {
      changed: this.changes.total(),
      added: this.changes.of("added"),
      modified: this.changes.of("modified"),
      removed: this.changes.of("removed"),
      retyped: this.changes.of("retyped"),
      violations: this.violations.total(),
      violations_by_rule: this.violations.toJson(),
      top_paths: this.paths,
      passes,
    };
  }

  snapshotMember() {
    if (this.refused !== null) return { taken: false, ...this.refused };
    const pass = this.passes.get("contents");
    if (pass === undefined) return null;
    return {
      taken: true,
      ...without(pass, "phase", "not_covered"),
      not_covered: this.notCovered,
      not_covered_count: orNull(pass.not_covered),
    };
  }

  rollbackMember() {
    return this.rollback === null ? null : { applied: this.rollback.applied, ...this.rollback.data };
  }
}

// Bytes that are no UTF-8 as they are shown: each byte that is no part of a character stands as \xNN.
function shownPath(coded) {
  const bytes = Uint8Array.from(atob(coded), (character) => character.charCodeAt(0));
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let shown = "";
  for (let at = 0; at < bytes.length; ) {
    const length = characterLength(bytes[at]);
    const character = length === 0 ? null : decoded(decoder, bytes.subarray(at, at + length));
    shown += character ?? ESCAPED(bytes[at]);
    at += character === null ? 1 : length;
  }
  return shown;
}

function characterLength(first) {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

function decoded(decoder, bytes) {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}
return { TreeFold };
})();

// rebuild/windows.mjs
const $rebuild_windows = (() => {
// The fold over tool windows: the receipt member `windows` (spec/receipt.md, Tool windows; spec/windows.md, Cost).

const { microsOf, spelledUsd } = $money;
const { orNull, without } = $rebuild_course;
const { SENTENCES } = $rebuild_lists;
const { Tally, sumOf } = $rebuild_tally;

const KEY = ["repository", "provider", "session_id", "turn_id", "mode"];

class WindowsFold {
  constructor() {
    this.windows = new Map();
    this.lost = new Tally();
    this.asked = new Map();
  }

  // Which reply asked for a tool use, and the share of its cost: the first replies and the first ids count.
  response({ seq, data }) {
    const ids = data.tool_use_ids ?? [];
    if (ids.length === 0) return;
    const [cost, count] = [microsOf(data.cost_usd), BigInt(ids.length)];
    for (const [place, id] of ids.entries()) {
      if (this.asked.has(id)) continue;
      const share = cost / count + (BigInt(place) < cost % count ? 1n : 0n);
      this.asked.set(id, { call: data.call, seq, tools: ids.length, share_usd: spelledUsd(share), derived: true });
    }
  }

  call({ seq, data }) {
    if (data.window === undefined) return;
    this.named(data.window.window_id, data).begun = { seq, window: data.window };
  }

  result({ seq, data }) {
    if (data.window_id === undefined) return;
    this.named(data.window_id, data).after = { seq, ok: data.ok };
  }

  delta({ seq, hash, data }) {
    this.named(data.window_id, data).delta = { seq, hash, data };
  }

  hookLost(data) {
    this.lost.add(data.kind, data.count);
  }

  named(id, data) {
    if (!this.windows.has(id)) {
      this.windows.set(id, { id: orNull(data.id), name: data.name, begun: null, after: null, delta: null });
    }
    return this.windows.get(id);
  }

  // `pathOf` gives the path of an event by its number. Null where there is nothing to tell.
  member(pathOf) {
    if (this.windows.size === 0 && this.lost.names().length === 0) return null;
    const deltas = [...this.windows.values()].filter(({ delta }) => delta !== null).map(({ delta }) => delta.data);
    const complete = deltas.filter((delta) => delta.status === "complete");
    const groups = deltas.filter((delta) => delta.scope === "concurrent_group").map((delta) => delta.group_id);
    const reasons = new Tally();
    for (const { reason } of deltas) if (reason !== undefined) reasons.add(reason);
    return {
      count: this.windows.size,
      complete: complete.length,
      partial: deltas.length - complete.length,
      open: this.windows.size - deltas.length,
      groups: new Set(groups).size,
      files: sumOf([...new Map(complete.map((delta) => [delta.delta_sha256, delta.files])).values()]),
      partial_by_reason: reasons.toJson(),
      hooks_lost: this.lost.toJson(),
      tools: [...this.windows].map(([windowId, window]) => this.entry(windowId, window, pathOf)),
      note: SENTENCES.windows,
    };
  }

  entry(windowId, { id, name, begun, after, delta }, pathOf) {
    const key = begun === null ? {} : Object.fromEntries(KEY.map((member) => [member, begun.window[member]]));
    return {
      window_id: windowId,
      id,
      name,
      ...key,
      asked_by: id === null ? null : orNull(this.asked.get(id)),
      before: begun === null ? null : { seq: begun.seq, ...without(begun.window, "window_id", ...KEY) },
      after,
      delta: delta === null ? null : proven(delta, pathOf),
    };
  }
}

function proven({ seq, hash, data }, pathOf) {
  return { seq, ...without(data, "window_id", "id", "name"), event_hash: hash, merkle_path: pathOf(seq) };
}
return { WindowsFold };
})();

// rebuild/workspace.mjs
const $rebuild_workspace = (() => {
// The fold over a workspace transaction: the receipt member `workspace` (spec/receipt.md, Workspace).

const { orNull } = $rebuild_course;

const NOT_TRANSACTIONAL = [
  "network-calls",
  "database-writes",
  "processes-started",
  "paths-outside-the-declared-surface",
];

class WorkspaceFold {
  constructor() {
    for (const name of ["opened", "refused", "intent", "settled"]) this[name] = null;
  }

  member() {
    if (this.opened !== null) {
      return {
        ...ofOpening(this.opened),
        ...ofOutcome(this.settled),
        ...ofIntent(this.intent),
        not_transactional: NOT_TRANSACTIONAL,
      };
    }
    if (this.refused === null) return null;
    const { reason, detail } = this.refused;
    return { committed: false, outcome: "not-opened", reason, detail, not_transactional: NOT_TRANSACTIONAL };
  }
}

function ofOpening(opened) {
  const member = {
    base_sha256: opened.manifest_sha256,
    surface: { excluded: opened.excluded, shared: opened.shared, protected: opened.protected },
    staged: {
      files: opened.files,
      directories: opened.directories,
      symlinks: opened.symlinks,
      bytes: opened.bytes_staged,
      not_preserved: opened.not_preserved,
    },
  };
  for (const name of ["transaction", "backend", "view", "settle", "approved", "store"]) member[name] = opened[name];
  return opened.unread === undefined ? member : { ...member, digests_cover: "changes", unread: opened.unread };
}

function ofOutcome(settled) {
  if (settled === null) return { committed: false, outcome: "unsettled", reason: null, detail: null };
  const member = { committed: settled.outcome === "committed", outcome: settled.outcome };
  for (const name of ["reason", "detail", "plan_sha256", "applied", "already", "refused"]) {
    member[name] = orNull(settled[name]);
  }
  return { ...member, refusals: settled.refusals ?? [] };
}

function ofIntent(intent) {
  if (intent === null) return {};
  const member = {
    decision: { is: intent.decision, reason: orNull(intent.reason), detail: orNull(intent.detail) },
    changes: {
      added: intent.added,
      modified: intent.modified,
      removed: intent.removed,
      retyped: intent.retyped,
    },
    protected_changes: intent.protected,
  };
  for (const name of ["result_sha256", "diff_sha256", "approval", "base_moved", "not_preserved"]) {
    member[name] = intent[name];
  }
  return {
    ...member,
    excluded_writes: intent.excluded_writes,
    excluded_write_count: intent.excluded_write_count,
  };
}
return { WorkspaceFold };
})();

// rebuild/fold.mjs
const $rebuild_fold = (() => {
// `docket/fold/v1`: everything a receipt derives, from the events of a ledger of docket's own (spec/receipt.md).
//
// Events are taken one by one; what is kept grows with the usage rows alone. An event of an unknown type is counted.

const { Families } = $families;
const { LedgerRows, isOnItsPath } = $rows;
const { CallsFold } = $rebuild_calls;
const { AssertedFold, CourseFold, orNull } = $rebuild_course;
const { applying, disclosureOf, factsOf } = $rebuild_disclosure;
const { SENTENCES } = $rebuild_lists;
const { OperationsFold } = $rebuild_operations;
const { priceTable } = $rebuild_prices;
const { CacheFold, ResponsesFold } = $rebuild_replays;
const { Tally } = $rebuild_tally;
const { TreeFold } = $rebuild_tree;
const { WindowsFold } = $rebuild_windows;
const { WorkspaceFold } = $rebuild_workspace;

const FORMAT = "docket/receipt/v1";
const USAGE = "receipt.appendix.usage";
// What a receipt's proof has even where session.start says nothing of it.
const NO_PROOF = { previous: null, signature: null, seal: null };

class LedgerFold {
  constructor(course) {
    this.rows = course.follow("rows", LedgerRows).rows;
    this.counts = new Tally();
    this.lastAt = "";
    this.families = [];
    this.calls = new CallsFold(this.rows);
    this.course = new CourseFold();
    this.asserted = new AssertedFold();
    this.tree = new TreeFold();
    this.operations = new OperationsFold();
    this.cache = new CacheFold();
    this.responses = new ResponsesFold();
    this.windows = new WindowsFold();
    this.workspace = new WorkspaceFold();
  }

  observe(event) {
    this.counts.add(event.type);
    this.lastAt = event.ts;
    if (Object.hasOwn(TAKERS, event.type)) TAKERS[event.type](this, event);
  }

  // The receipt without its usage rows, seal and signature; null where the ledger has no session.start.
  receipt({ events, head, genesis, tree, fileSha256 }) {
    const { course } = this;
    if (course.start === null) return null;
    const pathOf = (seq) => tree.path(seq);
    const table = priceTable(this.families, course.start.prices);
    const families = new Families(table.document.families);
    const receipt = { ...this.derived(families), ...this.whereThere(pathOf), price_table: table };
    receipt.ledger = {
      format: "docket/ledger/v1",
      events,
      head,
      genesis,
      merkle_root: tree.root(),
      file_sha256: fileSha256,
      chain: SENTENCES.chain,
    };
    receipt.appendix = { proof_included: true, note: SENTENCES.appendix };
    return receipt;
  }

  // The first row of the receipt whose path is not the tree's, in words, or null; all else of the rows is compared one by
  // one as usage-rows-rebound.
  differenceOfPaths(stated, { events, tree }) {
    const at = stated.findIndex((row) => row.seq < events && !isOnItsPath(tree, row));
    return at < 0 ? null : `${USAGE}[${at}].merkle_path is not the path of event ${stated[at].seq}`;
  }

  derived(families) {
    const { calls, course } = this;
    const { start } = course;
    return {
      format: FORMAT,
      docket_number: start.docket_number,
      label: orNull(start.label),
      created_at: this.lastAt,
      tool: { name: start.tool, version: start.version, format: FORMAT, fold: start.fold },
      session: course.session(),
      policy: course.policyMember(),
      boundary: course.boundary(),
      totals: calls.totals((model) => families.isAssumed(model)),
      model_calls: calls.modelCalls(),
      budget: course.budget,
      tools: this.asserted.toolsMember(),
      files: this.tree.files(),
      network: course.network(),
      caps: { exceeded: this.counts.of("cap.exceeded"), warnings: this.counts.of("cap.warning") },
      notes: course.notes.toJson(),
      event_counts: this.counts.toJson(),
      evidence: course.evidence(),
      ops: {
        ...this.operations.member(course.policyDocument, calls.requests),
        snapshot: this.tree.snapshotMember(),
        rollback: this.tree.rollbackMember(),
      },
      isolation: course.isolation(),
      findings: [],
      limits_disclosure: disclosureOf(applying(this.facts())),
    };
  }

  // The members that are absent where there is nothing to tell.
  whereThere(pathOf) {
    const { course } = this;
    const policy = course.policyDocument;
    const members = {
      latency: this.calls.latency(),
      pools: course.poolsMember(),
      asserted: this.asserted.member(),
      cache: this.cache.member(policy, course.ceilingReached, pathOf),
      responses: this.responses.member(policy),
      workspace: this.workspace.member(),
      windows: this.windows.member(pathOf),
      proof: course.start.proof === undefined ? null : { ...NO_PROOF, ...course.start.proof },
      redaction: orNull(course.start.redaction),
    };
    for (const name of Object.keys(members)) if (members[name] === null) delete members[name];
    return members;
  }

  facts() {
    const { calls, course, tree } = this;
    return {
      ...factsOf(course.policyDocument, course.start),
      both_passes: tree.bothPasses,
      omissions: tree.omissions > 0,
      gap: course.gaps.length > 0,
      ended: course.end !== null,
      subreaper: course.spawn !== null && course.spawn.isolation.includes("subreaper"),
      calls: calls.responses > 0,
      estimates: calls.estimated > 0,
      assumed_prices: calls.assumed.size > 0,
      asserted: this.asserted.byAgent,
    };
  }
}

const put = (name) => ({ course }, { data }) => {
  course[name] = data;
};
const staged = (name) => ({ workspace }, { data }) => {
  workspace[name] = data;
};

const TAKERS = {
  "session.start": ({ course }, event) => course.begin(event),
  "policy.applied": put("policy"),
  "proc.spawn": put("spawn"),
  "proc.exit": put("exit"),
  "session.end": put("end"),
  "x-docket.budget": put("budget"),
  "x-docket.pool": ({ course }, { data }) => course.pools.set(data.pool, data),
  "x-docket.pool-use": ({ course }, { data }) => course.poolUses.set(data.pool, data),
  "x-docket.evidence-gap": ({ course }, { data }) => course.gaps.push(data),
  "net.allowed": ({ course }) => (course.allowed += 1),
  "net.denied": ({ course }, { data }) => course.denied.add(data.kind, data.count),
  note: ({ asserted, course }, { data }) => (data.reported_by === undefined ? course : asserted).note(data),
  "x-docket.asserted-call": ({ asserted }, { data }) => asserted.call(data),
  "tool.call": ({ asserted, windows }, event) => {
    asserted.toolCall(event.data);
    windows.call(event);
  },
  "tool.result": ({ asserted, windows }, event) => {
    asserted.toolResult(event.data);
    windows.result(event);
  },
  "x-docket.tool-delta": ({ windows }, event) => windows.delta(event),
  "x-docket.hook-lost": ({ windows }, { data }) => windows.hookLost(data),
  "model.request": ({ calls }, { data }) => calls.request(data),
  "model.response": ({ calls, operations, responses, windows }, event) => {
    calls.response(event.data);
    operations.response(event.data);
    responses.response(event.data);
    windows.response(event);
  },
  "model.error": ({ calls, operations }, { data }) => {
    calls.error(data);
    operations.error(data);
  },
  "model.denied": ({ calls, operations }, { data }) => {
    calls.denied(data);
    if (data.reason === "rate_limited") operations.rateLimited += 1;
  },
  "model.cache_hit": ({ cache }, event) => cache.hit(event),
  "x-docket.cache-hit": ({ cache }, event) => cache.hit(event),
  "x-docket.other": ({ calls }) => calls.other(),
  "x-docket.price": ({ families }, { data }) => families.push(data),
  "x-docket.paced": ({ operations }, { data }) => operations.waitsMs.push(data.waited_ms),
  "x-docket.breaker": ({ operations }, { data }) => operations.breaker(data),
  "x-docket.fault-plan": ({ operations }, { data }) => (operations.plan = data),
  "x-docket.fault": ({ operations }, { data }) => operations.fault(data),
  "fs.change": ({ tree }, { data }) => tree.change(data),
  "fs.snapshot": ({ tree }, { data }) => tree.pass(data),
  "policy.violation": ({ tree }, { data }) => tree.violation(data),
  "x-docket.omissions": ({ tree }, { data }) => tree.omitted(data),
  "x-docket.snapshot-refused": ({ tree }, { data }) => (tree.refused = data),
  "x-docket.rollback-applied": ({ tree }, { data }) => (tree.rollback = { applied: true, data }),
  "x-docket.rollback-refused": ({ tree }, { data }) => (tree.rollback = { applied: false, data }),
  "x-docket.workspace-opened": staged("opened"),
  "x-docket.workspace-refused": staged("refused"),
  "x-docket.workspace-intent": staged("intent"),
  "x-docket.workspace-settled": staged("settled"),
};
return { LedgerFold };
})();

// rebuild/public.mjs
const $rebuild_public = (() => {
// The fold over a ledger of another writer: what docket/receipt/v1 itself derives (spec/receipt.md, Other writers).
//
// Members are read where they stand and have the right type; what is not there is not compared.

const { isInteger, isObject, isText, compareTexts } = $canonical;
const { microsOf } = $money;
const { Tally } = $rebuild_tally;

const FIRST_PATHS = 25;
const COUNTS = ["input_tokens", "cached_input_tokens", "output_tokens"];

class PublicFold {
  constructor() {
    for (const name of ["counts", "providers", "changes"]) this[name] = new Tally();
    this.replies = 0;
    this.toolNames = new Set();
    this.toolFailures = 0;
    this.paths = [];
    this.start = null;
    this.policy = {};
    this.end = {};
  }

  observePublic({ type, data }) {
    this.counts.add(type);
    if (type === "session.start") this.start ??= data;
    else if (type === "policy.applied") this.policy = data;
    else if (type === "session.end") this.end = data;
    else if (type === "model.response") this.reply(data);
    else if (type === "fs.change") this.change(data);
    else if (type === "tool.call" && isText(data.name)) this.toolNames.add(data.name);
    else if (type === "tool.result" && data.ok === false) this.toolFailures += 1;
  }

  // A reply that cannot be read gives no row, which is a failure of usage-rows-rebound.
  reply(data) {
    if (!isReadable(data)) return;
    this.replies += 1;
    this.providers.add(data.provider);
  }

  change({ change, path }) {
    this.changes.add(isText(change) ? change : "");
    if (isText(path) && this.paths.length < FIRST_PATHS) this.paths.push(path);
  }

  // What derives, as nested objects.
  members() {
    const { counts, changes } = this;
    const start = this.start ?? {};
    return {
      ...named(start, { docket_number: "docket_number", label: "label" }),
      session: {
        ...named(start, { id: "session_id", argv: "argv", cwd: "cwd" }),
        ...named(this.end, { exit_code: "exit_code", breached: "breached", interrupted: "interrupted" }),
      },
      policy: named(this.policy, { name: "name", digest: "digest", document: "document" }),
      model_calls: {
        count: this.replies,
        by_provider: this.providers.toJson(),
        denied: counts.of("model.denied"),
        errors: counts.of("model.error"),
      },
      tools: {
        calls: counts.of("tool.call"),
        names: [...this.toolNames].sort(compareTexts),
        failures: this.toolFailures,
      },
      files: {
        changed: counts.of("fs.change"),
        added: changes.of("added"),
        modified: changes.of("modified"),
        removed: changes.of("removed"),
        violations: counts.of("policy.violation"),
        top_paths: this.paths,
      },
      network: { tunnels_allowed: counts.of("net.allowed"), tunnels_denied: counts.of("net.denied") },
      caps: { exceeded: counts.of("cap.exceeded"), warnings: counts.of("cap.warning") },
      event_counts: counts.toJson(),
    };
  }
}

const isCount = (value) => value === undefined || (isInteger(value) && value >= 0);

function isReadable({ cost_usd, model, provider, usage, usage_source }) {
  return (
    isText(model) &&
    isText(provider) &&
    isObject(usage) &&
    COUNTS.every((name) => isCount(usage[name])) &&
    (usage_source === "reported" || usage_source === "estimated") &&
    microsOf(cost_usd) !== null
  );
}

function named(data, names) {
  const found = Object.keys(names).filter((name) => data[names[name]] !== undefined);
  return Object.fromEntries(found.map((name) => [name, data[names[name]]]));
}
return { PublicFold };
})();

// rebuild/checks.mjs
const $rebuild_checks = (() => {
// The checks that make a receipt's members again: receipt-rebuild and limits-disclosure (spec/receipt.md, Checks).

const { DAMAGED, NO_LEDGER, fail, pass, skip } = $case;
const { GENESIS } = $ledger;
const { shown } = $refused;
const { countOf } = $wording;
const { difference, differenceOfSome } = $rebuild_compare;
const { KNOWN_CODES, disclosureOf } = $rebuild_disclosure;
const { LedgerFold } = $rebuild_fold;
const { PublicFold } = $rebuild_public;

class LimitsDisclosure {
  finish({ ours, receipt }) {
    const stated = receipt.document.limits_disclosure;
    if (!ours) {
      const groups = Object.values(stated).filter((group) => Array.isArray(group) || typeof group === "string");
      const count = groups.reduce((sum, group) => sum + group.length, 0);
      return count > 0 ? pass(countOf(count, "statement")) : fail("limits_disclosure states nothing");
    }
    const codes = stated.codes ?? [];
    const unknown = codes.find((code) => !KNOWN_CODES.has(code));
    if (unknown !== undefined) return fail(`limits_disclosure.codes has ${shown(unknown)}, which is no known code`);
    const found = difference(stated, disclosureOf(new Set(codes)), "limits_disclosure");
    return found === null ? pass(`${countOf(codes.length, "known code")}, each with its sentence`) : fail(found);
  }
}

class ReceiptRebuild {
  constructor(course) {
    this.fold = course.follow("fold", LedgerFold);
    this.public = course.follow("public fold", PublicFold);
  }

  finish({ ledger, ours, receipt }) {
    const hasFindings = ours && receipt.part("findings").length > 0;
    if (hasFindings) return fail("it has findings, and what is found in a record is no part of it");
    if (ledger === null) return skip(NO_LEDGER);
    if (!ledger.sound) return skip(DAMAGED);
    if (ours && !ledger.ours) return fail("the receipt names docket/fold/v1, the ledger does not");
    const { seal, signature, ...stated } = receipt.document;
    if (!ledger.ours) {
      const found = differenceOfSome(stated, this.public.members(), "receipt");
      return found === null ? pass("what v1 derives equals the ledger") : fail(found);
    }
    const wanted = ledger.payloadFault === null ? this.fold.receipt({ ...figures(ledger), genesis: GENESIS }) : null;
    if (wanted === null) return skip("an event's payload was refused");
    const { usage, ...appendix } = Object(stated.appendix);
    const found = difference({ ...stated, appendix }, wanted, "receipt") ?? this.fold.differenceOfPaths(usage, ledger);
    return found === null ? pass("every member equals what the ledger gives") : fail(found);
  }
}

const figures = ({ events, fileSha256, head, tree }) => ({ events, fileSha256, head, tree });
return { LimitsDisclosure, ReceiptRebuild };
})();

// rollback.mjs
const $rollback = (() => {
// The check of rollback: no receipt older than one that the same verifier accepted before (spec/checkpoint.md, State).

const { fail, pass, skip } = $case;
const { decodeDocument, encodeTo } = $canonical;
const { hexOf, longSha256 } = $digests;
const { fingerprint } = $ed25519;
const { Refused } = $refused;
const { toHex } = $sha256;
const { SESSION_ID, array, constant, count, digest, formed, record } = $shapes;

const FORMAT = "docket/verifier-state/v1";
const UNSIGNED = "unsigned";
// Each fault is what an attack looks like, and what something harmless may look like too: that, and what to do then.
const OVERLAPPED = "runs that overlap are verified in the order of their numbers, and an older one without a state";
const OTHER_MAKE = "a redacted copy is another one too: give copies a state of their own";
const PUT_BACK = "after a project's state was put back to an older one, start a new state";

const positive = (value, where) => count(value, where) ?? (value > 0 ? null : `${where} is 0`);

// An entry that no receipt can have taught is refused: passing it over would let an older receipt through.
const runShape = record({
  key: formed(/^(?:unsigned|[0-9a-f]{64})$/, "64 lower-case hexadecimal digits or unsigned"),
  project: formed(/^[0-9a-f]{32}$/, "32 lower-case hexadecimal digits"),
  run: positive,
  session: formed(SESSION_ID, "1 to 64 letters, digits, _ and -"),
  receipt_sha256: digest,
});
const originShape = record({
  origin: formed(/^docket\.local\/(?:unsigned|[0-9a-f]{16})\/[0-9A-Za-z_-]{1,64}$/, "an origin, docket.local/KEY/SESSION"),
  size: positive,
  root: digest,
});
const stateShape = record({ format: constant(FORMAT), projects: array(runShape), origins: array(originShape) });

// What a state remembers, of the bytes of its document; Refused where it is none.
function readState(bytes) {
  const document = decodeDocument(bytes);
  const fault = stateShape(document, "the state");
  if (fault !== null) throw new Refused("wrong-value", fault);
  const { projects, origins } = document;
  const unique = (names) => new Set(names).size === names.length;
  if (!unique(projects.map(({ key, project }) => `${key} ${project}`)) || !unique(origins.map(({ origin }) => origin))) {
    throw new Refused("wrong-value", "it names a project by one key, or an origin, twice");
  }
  return { projects, origins };
}

class Rollback {
  finish({ receipt, ledger, ours, remembered, keys }) {
    if (remembered === null) return skip("no state of earlier verifications was named");
    const proof = receipt.part("proof");
    if (!ours || !(proof?.run > 0) || receipt.part("ledger", "events") === 0) {
      return fail("the record does not say which run of its project it is: it cannot be told from an older one");
    }
    const key = proof.signature?.public_key ?? UNSIGNED;
    const [bySigner, bySeal] = named(receipt, keys);
    const ofProject = remembered.projects.filter((one) => one.project === proof.project);
    // What a key signed that the caller named is held against that key's runs; all else against those of any.
    const known = ofProject
      .filter((one) => !bySigner || key === UNSIGNED || one.key === key)
      .reduce((highest, one) => (highest && highest.run >= one.run ? highest : one), undefined);
    const older = (known && olderRun(receipt, proof, known)) ?? (bySigner || bySeal ? null : otherKey(key, ofProject));
    const fault = older ?? smallerHead(receipt, ledger, remembered, proof.origin);
    if (fault !== null) return fail(fault);
    const before = known === undefined ? "the first of its project that this state knows" : `the highest before was ${known.run}`;
    return pass(`run ${proof.run}, ${before}`);
  }
}

// Whether the caller named the key of the signature, and that of the seal; whether they hold is told by other checks.
function named(receipt, { publicKeys, sealKeys }) {
  const signer = receipt.part("signature", "public_key");
  const seal = receipt.part("seal", "key_id");
  return [publicKeys.some((key) => toHex(key) === signer), sealKeys.some((key) => fingerprint(key) === seal)];
}

// Once runs of a project were signed, another key, or none, has to be named.
function otherKey(key, ofProject) {
  const signers = ofProject.map((one) => one.key).filter((one) => one !== UNSIGNED);
  if (signers.length === 0 || signers.includes(key)) return null;
  const [by, advice] =
    key === UNSIGNED
      ? ["no key", "sign it, or give unsigned runs and copies a state of their own"]
      : [`the key ${key}`, "name the one that you expect"];
  return `the key of its project changed: ${signers.at(-1)} signed what was verified before, ${by} this; ${advice}`;
}

function olderRun(receipt, { run, previous }, known) {
  if (run < known.run) {
    return `it is run ${run} of its project, and run ${known.run} was verified before; ${OVERLAPPED}, ${PUT_BACK}`;
  }
  if (run === known.run) {
    const hash = longSha256();
    encodeTo(receipt.document, (piece) => hash.update(piece));
    const same = hexOf(hash) === known.receipt_sha256;
    return same ? null : `another receipt of run ${run} was verified before; ${OTHER_MAKE}, ${PUT_BACK}`;
  }
  if (previous?.session === known.session && previous.receipt_sha256 !== known.receipt_sha256) {
    return `it names another receipt of run ${known.run} as the one before than was verified; ${OTHER_MAKE}`;
  }
  return null;
}

function smallerHead(receipt, ledger, { origins }, origin) {
  const known = origins.find((one) => one.origin === origin);
  const { events, merkle_root: root } = receipt.part("ledger");
  if (known === undefined) return null;
  if (events < known.size) return `its ledger has ${events} events, and ${known.size} were verified before`;
  if (events === known.size) return root === known.root ? null : `another ledger of ${events} events was verified before`;
  if (!ledger?.sound || ledger.events < known.size || ledger.tree.rootAt(known.size) === known.root) return null;
  return `its ledger does not begin with the ${known.size} events that were verified before`;
}
return { readState, Rollback };
})();

// receipt_shape.mjs
const $receipt_shape = (() => {
// The two shapes of a receipt: docket's own, closed in every member, and v1 as other writers fill it. What they are is
// spec/receipt-shape.json, of which `rebuild/lists.mjs` holds a copy; what its words mean is spec/receipt.md, Shape.

const { merklePath } = $proof_path;
const { RECEIPT_SHAPE } = $rebuild_lists;
const {
  amount, anything, array, constant, count, digest, flag, instant, integer, mapping, nullable, object, oneOf, record, text,
} = $shapes;

const FORMAT = "docket/receipt/v1";

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
const checkReceipt = (document, isOurs) => (isOurs ? ours : v1)(document, "receipt");
return { FORMAT, checkReceipt };
})();

// statements.mjs
const $statements = (() => {
// Checks of what a receipt says of itself: its format, the digests of what it embeds, its completeness.

const { fail, pass, skip } = $case;
const { encode, utf8 } = $canonical;
const { FOLD } = $ledger;
const { FORMAT } = $receipt_shape;
const { shown } = $refused;
const { sha256Hex } = $sha256;

class Format {
  finish({ ledger, receipt }) {
    const named = [["the receipt", receipt.part("tool", "fold")], ["the ledger", ledger?.fold]];
    for (const [name, fold] of named) {
      if (fold !== undefined && fold !== null && fold !== FOLD) {
        return fail(`${name} derives by ${shown(fold)}, which this version does not know`);
      }
    }
    return pass(FORMAT);
  }
}

function digest(document, stated, where) {
  const found = sha256Hex(utf8(encode(document)));
  if (found !== stated) return fail(`${where}.digest is ${shown(stated)}, the embedded document has ${found}`);
  return pass(`${where}.digest is that of the embedded document`);
}

class PolicyDigest {
  finish({ receipt }) {
    const policy = receipt.part("policy");
    if (policy === null) return skip("the record ends before a policy was applied");
    return digest(policy.document, policy.digest, "policy");
  }
}

class PriceTableDigest {
  finish({ receipt }) {
    const table = receipt.part("price_table");
    return digest(table.document, table.digest, "price_table");
  }
}

class EvidenceCompleteness {
  finish({ ledger, receipt }) {
    const complete = receipt.part("evidence", "ledger_complete");
    if (ledger?.sound && complete && !ledger.ended) {
      return fail("evidence says the ledger is complete, the ledger has no session.end");
    }
    if (receipt.part("session", "exit_code") === null) {
      return fail("the record has no end: what happened after its last event is unknown");
    }
    const unwritten = receipt.part("evidence", "unwritten_events");
    if (!complete || unwritten !== 0) {
      return fail(`the record itself says that it is incomplete: ${unwritten} events could not be written`);
    }
    return pass("every event reached the ledger, which has its end");
  }
}

// Whether the receipt itself says that its record is not whole.
const declaresIncomplete = (receipt) => receipt.part("evidence", "ledger_complete") === false;
return { Format, PolicyDigest, PriceTableDigest, EvidenceCompleteness, declaresIncomplete };
})();

// sums.mjs
const $sums = (() => {
// Checks of the receipt's sums against its own rows.

const { fail, pass, skip } = $case;
const { compareTexts, isInteger, isText } = $canonical;
const { latencySummary } = $latency;
const { microsOf, spelledUsd } = $money;
const { familiesOf } = $families;
const { shown } = $refused;
const { countOf } = $wording;

const sum = (rows, member) => rows.reduce((total, row) => total + row[member], 0);
const cost = (rows) => spelledUsd(rows.reduce((total, row) => total + microsOf(row.cost_usd), 0n));

function compare(receipt, wanted) {
  for (const [member, value] of Object.entries(wanted)) {
    const stated = receipt.part("totals", member);
    if (stated !== value) return fail(`totals.${member} is ${shown(stated)}, the rows give ${shown(value)}`);
  }
  return pass(Object.entries(wanted).map(([member, value]) => `${member} ${shown(value)}`).join(", "));
}

class Totals {
  finish({ receipt }) {
    return compare(receipt, { calls: receipt.rows.length, cost_usd: cost(receipt.rows) });
  }
}

class TokenTotals {
  finish({ receipt }) {
    const input = sum(receipt.rows, "input_tokens");
    const output = sum(receipt.rows, "output_tokens");
    return compare(receipt, { input_tokens: input, output_tokens: output, total_tokens: input + output });
  }
}

class CachedTotals {
  finish({ receipt }) {
    return compare(receipt, { cached_input_tokens: sum(receipt.rows, "cached_input_tokens") });
  }
}

class AssumedPrices {
  finish({ receipt, ours }) {
    const families = familiesOf(receipt);
    if (isText(families)) return fail(families);
    const models = new Set(receipt.rows.map((row) => row.model));
    const fallback = [...models].filter((model) => families.isAssumed(model)).sort(compareTexts);
    if (families.isSpent) return fail("the table has more patterns than can be compared with the models of the rows");
    const stated = receipt.part("totals", "assumed_price_models");
    const named = new Set(stated);
    const allowed = ours ? models : new Set(fallback);
    const isWhole = named.size === stated.length && fallback.every((model) => named.has(model));
    if (!isWhole || !stated.every((model) => allowed.has(model))) {
      return fail(`totals.assumed_price_models is ${shown(stated)}, the table's fallback prices ${shown(fallback)}`);
    }
    return pass(`${countOf(stated.length, "model")} with an assumed price`);
  }
}

const SUMS = ["input_tokens", "cached_input_tokens", "output_tokens"];

class ByModelTotals {
  finish({ receipt }) {
    const left = new Map();
    for (const row of receipt.rows) {
      if (!left.has(row.model)) left.set(row.model, []);
      left.get(row.model).push(row);
    }
    for (const [index, entry] of receipt.part("totals", "by_model").entries()) {
      const rows = left.get(entry.model);
      if (rows === undefined) return fail(`totals.by_model[${index}]: no row is left for ${shown(entry.model)}`);
      left.delete(entry.model);
      const isSum = SUMS.every((member) => entry[member] === sum(rows, member));
      if (!isSum || entry.calls !== rows.length || entry.cost_usd !== cost(rows)) {
        return fail(`totals.by_model[${index}] of ${shown(entry.model)} differs from the sum of its rows`);
      }
    }
    if (left.size > 0) return fail(`totals.by_model has no entry for ${shown([...left.keys()].sort(compareTexts)[0])}`);
    return pass("every model's sum equals its rows");
  }
}

function sources(rows) {
  const estimated = rows.filter((row) => row.usage_source === "estimated").length;
  const asserted = rows.filter((row) => row.asserted_by !== undefined && row.asserted_by !== null).length;
  return { reported: rows.length - estimated, estimated, asserted };
}

class UsageSourceCounts {
  finish({ receipt }) {
    const { reported, estimated, asserted } = sources(receipt.rows);
    return compare(receipt, { usage_reported_calls: reported, usage_estimated_calls: estimated, asserted_calls: asserted });
  }
}

class CostBasis {
  finish({ receipt }) {
    const { reported, estimated, asserted } = sources(receipt.rows);
    const word = estimated === 0 ? "reported" : reported > 0 ? "mixed" : "estimated";
    const stated = receipt.part("totals", "cost_basis");
    if (stated.split(":", 1)[0] !== word) return fail(`totals.cost_basis is ${shown(stated)}, the rows are ${word}`);
    if (stated.includes("asserted") !== asserted > 0) {
      return fail(`totals.cost_basis is ${shown(stated)}, ${asserted} rows were asserted by the agent`);
    }
    return pass(`the rows are ${word}`);
  }
}

class LatencySummary {
  finish({ receipt }) {
    const stated = receipt.part("latency") ?? null;
    const measured = receipt.rows.map((row) => row.latency_ms).filter(isInteger);
    const found = latencySummary(measured, receipt.rows.length);
    if (stated === null && found === null) return skip("no latency was measured");
    const held = stated !== null && found !== null && Object.keys(found).every((member) => found[member] === stated[member]);
    if (!held) return fail(`latency is ${shown(stated)}, the rows give ${shown(found)}`);
    return pass(`${countOf(measured.length, "row")} measured`);
  }
}
return { Totals, TokenTotals, CachedTotals, AssumedPrices, ByModelTotals, UsageSourceCounts, CostBasis, LatencySummary };
})();

// registry.mjs
const $registry = (() => {
// All checks after receipt-format and receipt-shape, by their registered names and in their order
// (spec/receipt.md, Checks). A class is made anew for each verification and is given its Course.

const checkpoints = $checkpoints;
const course = $course_checks;
const keys = $keys;
const ledger = $chain;
const rebuild = $rebuild_checks;
const rollback = $rollback;
const rows = $rows;
const statements = $statements;
const sums = $sums;

const CHECKS = [
  ["format", statements.Format],
  ["ledger-chain", ledger.LedgerChain],
  ["retained-responses", course.RetainedResponses],
  ["head", ledger.Head],
  ["event-count", ledger.EventCount],
  ["merkle-root", ledger.MerkleRoot],
  ["ledger-file-digest", ledger.LedgerFileDigest],
  ["usage-inclusion-proofs", rows.UsageInclusionProofs],
  ["usage-rows-rebound", rows.UsageRowsRebound],
  ["cost-recomputation", rows.CostRecomputation],
  ["totals", sums.Totals],
  ["token-totals", sums.TokenTotals],
  ["cached-totals", sums.CachedTotals],
  ["assumed-prices", sums.AssumedPrices],
  ["by-model-totals", sums.ByModelTotals],
  ["usage-source-counts", sums.UsageSourceCounts],
  ["cost-basis", sums.CostBasis],
  ["latency-summary", sums.LatencySummary],
  ["cache-savings", course.CacheSavings],
  ["cache-hit-origins", course.CacheHitOrigins],
  ["cache-hit-proofs", course.CacheHitProofs],
  ["seal", keys.Seal],
  ["signature", keys.Signature],
  ["limits-disclosure", rebuild.LimitsDisclosure],
  ["evidence-completeness", statements.EvidenceCompleteness],
  ["ledger-payloads", course.LedgerPayloads],
  ["session-shape", course.SessionShape],
  ["event-order", course.EventOrder],
  ["components", course.Components],
  ["cap-limits", course.CapLimits],
  ["policy-digest", statements.PolicyDigest],
  ["price-table-digest", statements.PriceTableDigest],
  ["receipt-rebuild", rebuild.ReceiptRebuild],
  ["tool-windows", course.ToolWindows],
  ["tool-deltas", course.ToolDeltas],
  ["proof-facts", keys.ProofFacts],
  ["checkpoints", checkpoints.Checkpoints],
  ["rollback", rollback.Rollback],
];
return { CHECKS };
})();

// verdict.mjs
const $verdict = (() => {
// One word for a document, from the statuses of its checks (spec/receipt.md, Verdicts).

const { declaresIncomplete } = $statements;

class Verdict {
  constructor({ word, required, docketNumber = null, checks = [], detail = "" }) {
    this.verdict = word;
    this.docket_number = docketNumber;
    this.checks = checks;
    this.detail = detail;
    this.ok = (required === "verified" ? ["verified"] : ["verified", "consistent"]).includes(word);
    this.failures = checks.filter(({ status }) => status === "fail").map(({ name, detail: why }) => `${name}: ${why}`);
  }

  // What `--json` prints.
  toJSON() {
    const { ok, verdict, docket_number, checks, failures, detail } = this;
    const told = { ok, verdict, docket_number, checks, failures };
    return verdict === "unreadable" ? { ...told, detail } : told;
  }
}

// `vouched`: a key that the caller named vouches for the receipt.
function wordOf(given, checks, vouched) {
  const failed = checks.filter(({ status }) => status === "fail");
  if (failed.length === 0) return vouched && given.ledger?.sound && given.ledger.ended ? "verified" : "consistent";
  if (failed.length === 1 && failed[0].name === "evidence-completeness" && declaresIncomplete(given.receipt)) return "incomplete";
  return "failed";
}
return { Verdict, wordOf };
})();

// verify.mjs
const $verify = (() => {
// Verifies a receipt, with its ledger where one is given: `verify` gives the verdict and never throws for what the
// bytes hold.

const { Case, Course, Receipt } = $case;
const { isText } = $canonical;
const { eachChunk } = $chunks;
const { readPayload } = $course_checks;
const { hexOf, isNative, longSha256 } = $digests;
const { FOLD, LedgerReader } = $ledger;
const { Refused, shown } = $refused;
const { CHECKS } = $registry;
const { FORMAT, checkReceipt } = $receipt_shape;
const { ReceiptReader } = $receipt_reader;
const { sha256Hex, toHex } = $sha256;
const { Verdict, wordOf } = $verdict;

const NO_RECEIPT = "the document has not the form of a receipt";

// The receipt as an object, its form unchecked; Refused where it is none.
async function readReceipt(source) {
  const reader = new ReceiptReader();
  await eachChunk(source, (chunk) => reader.push(chunk));
  return reader.end();
}

// The digest of a file that is at hand by the platform, which makes it beside the reading; null where it has none.
function platformDigest(source) {
  const subtle = globalThis.crypto?.subtle;
  if (subtle === undefined || !(source instanceof Uint8Array) || isNative) return null;
  return subtle.digest("SHA-256", source).then((digest) => toHex(new Uint8Array(digest)), () => sha256Hex(source));
}

// Reads the ledger and shows its events to the course.
async function readLedger(source, course) {
  const found = { ours: false, fold: undefined, payloadFault: null, last: "", keptPaths: new Set() };
  const reader = new LedgerReader((event) => {
    if (event.seq === 0 && event.type === "session.start") found.fold = event.data.fold;
    if (event.seq === 0) found.ours = found.fold === FOLD;
    found.last = event.type;
    const fault = found.ours ? readPayload(event) : null;
    found.payloadFault ??= fault;
    if (fault !== null) return;
    const { data, type } = event;
    if (type === "model.response" && data.response_retained === true) found.keptPaths.add(data.response_path);
    course.show(event, found.ours);
  });
  const aside = platformDigest(source);
  const digest = aside === null ? longSha256() : null;
  await eachChunk(source, (chunk) => {
    digest?.update(chunk);
    reader.push(chunk);
  });
  const { events, hashes, head, tree, damage, torn, sound } = reader.end();
  const whole = digest === null ? await aside : hexOf(digest);
  const ended = found.last === "session.end";
  return { events, hashes, head, tree, fileSha256: whole, damage, torn, sound, ended, ...found };
}

// All of `options` but `receipt` may be left out:
// - `receipt`, `ledger`: bytes, a Blob, or an iterable of pieces; `checkpoints`: bytes; each but `receipt` may be null.
// - `responses`: a Map from path to bytes (or as above; null: there, and not to be read), or a function that gives one for
//   the paths that the ledger names; `deltas`: a Map from digest to bytes. Null where the folder is not there.
// - `ledger`, `deltas` and `checkpoints` may be functions of the decoded receipt, whose form is not checked yet.
// - `heads`: each as readHeadWords gives it; `remembered`: what readState gives.
// - `publicKeys`, `sealKeys`: arrays of bytes; `either`: one kind of them is enough.
// - `required`: the word that `ok` asks for.
async function verify(options) {
  const required = options.required ?? "consistent";
  let document;
  try {
    document = await readReceipt(options.receipt);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return new Verdict({ word: "unreadable", required, detail: error.message });
  }
  return judge(document, options, required);
}

async function judge(document, options, required) {
  const docketNumber = isText(document.docket_number) ? document.docket_number : null;
  const ended = (word, checks) => new Verdict({ word, required, docketNumber, checks });
  const course = new Course();
  course.checks = CHECKS.map(([, Type]) => new Type(course));
  // A ledger that cannot be read is told before the receipt is found to be none.
  const source = given(options.ledger, document) ?? null;
  const ledger = source === null ? null : await readLedger(source, course);
  if (document.format !== FORMAT) {
    const detail = `format is ${shown(document.format)}, not ${FORMAT}`;
    return ended("failed", [named("receipt-format", "fail", detail), named("receipt-shape", "skip", NO_RECEIPT), ...notRun()]);
  }
  const first = named("receipt-format", "pass", FORMAT);
  const ours = document.tool?.fold === FOLD || (ledger !== null && ledger.ours);
  const fault = checkReceipt(document, ours);
  if (fault !== null) return ended("failed", [first, named("receipt-shape", "fail", fault), ...notRun()]);
  const receipt = new Receipt(document, ours);
  const found = new Case({ receipt, ledger, course, ...beside(options, document, ledger) });
  const shape = ours ? "docket/fold/v1, exactly its members" : "another writer's, with the members of v1";
  const { checks, vouched } = await answers(found);
  const all = [first, named("receipt-shape", "pass", shape), ...checks];
  return ended(wordOf(found, all, vouched), all);
}

// What is given as it stands, or as a function of something that is known only now.
const given = (value, known) => (typeof value === "function" ? value(known) : value);

// What stands beside the ledger, and the keys that were named.
function beside(options, document, ledger) {
  const { checkpoints, heads, remembered, deltas, responses, publicKeys = [], sealKeys = [], either = false } = options;
  return {
    bodies: ledger === null ? null : given(responses, [...ledger.keptPaths].filter(isText)),
    deltas: given(deltas, document),
    checkpoints: given(checkpoints, document) ?? null,
    heads,
    remembered,
    keys: { publicKeys, sealKeys, either },
  };
}

async function answers(found) {
  const checks = [];
  let vouched = false;
  for (const [at, check] of found.course.checks.entries()) {
    const { status, detail, vouches } = await check.finish(found);
    vouched ||= vouches === true;
    checks.push(named(CHECKS[at][0], status, detail));
  }
  return { checks, vouched };
}

const named = (name, status, detail) => ({ name, status, detail });
const notRun = () => CHECKS.map(([name]) => named(name, "skip", NO_RECEIPT));
return { verify };
})();

// index.mjs
const $index = (() => {
// What the module offers.
return { decodeReceipt: $receipt_reader.decodeReceipt, verify: $verify.verify, fingerprint: $ed25519.fingerprint, readPublicKey: $key_texts.readPublicKey, readSealKey: $key_texts.readSealKey, readTrust: $key_texts.readTrust, readHeadWords: $notes.readHeadWords, readState: $rollback.readState, Refused: $refused.Refused, sha256Hex: $sha256.sha256Hex };
})();

export const { Refused, decodeReceipt, fingerprint, readHeadWords, readPublicKey, readSealKey, readState, readTrust, sha256Hex, verify } = $index;
