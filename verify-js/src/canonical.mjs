// JSON as spec/canonical.md has it: two readers, one writer.
//
// 1. Integers are numbers of ±(2^53 - 1), texts hold no half of a surrogate pair, arrays are arrays.
// 2. An object is a `Plain`, which inherits nothing: a member that is not there is undefined, whatever its name.
// 3. The canonical reader accepts exactly what the writer writes. It checks the spelling while it reads instead of
//    writing again; a test holds the two against each other.
// 4. Whatever is refused is a `Refused` with the reason of the spec. Nothing here recurses deeper than 64.

import { Refused } from "./refused.mjs";

const MAX_DEPTH = 64;

export function Plain() {}
Plain.prototype = Object.create(null);

// A Plain with the members of an ordinary object.
export const plain = (members) => Object.assign(new Plain(), members);

export const isObject = (value) => value instanceof Plain;
export const isText = (value) => typeof value === "string";
export const isInteger = (value) => typeof value === "number";

// The order of code points, which is that of UTF-8 and not that of UTF-16 units.
export function compareTexts(left, right) {
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
export function encode(value) {
  if (typeof value === "string") return spelled(value);
  if (value === null || typeof value !== "object") return String(value === 0 ? 0 : value);
  if (Array.isArray(value)) return `[${value.map(encode).join(",")}]`;
  if (typeof value.spelled === "function") return value.spelled();
  const names = Object.keys(value).sort(compareTexts);
  return `{${names.map((name) => `${spelled(name)}:${encode(value[name])}`).join(",")}}`;
}

// Gives `take` the canonical form of a value in pieces of bytes. Values of the upper levels are never there as a whole.
export function encodeTo(value, take) {
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

export const utf8 = (text) => TO_UTF8.encode(text);

// The text of bytes that are UTF-8; refused are others, and a byte order mark where a document begins.
export function textOf(bytes, isBeginning = true) {
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
export class Scanner {
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
export const decodeDocument = (bytes) => decode(bytes, false);

// The value of bytes in canonical form.
export const decodeCanonical = (bytes) => decode(bytes, true);
