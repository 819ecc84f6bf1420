// Canonical JSON (canonical.md): the one spelling of a value, and reading what has it.
const SHORT = { 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\" };
const MAX_DEPTH = 64;

function quote(text) {
  let out = '"';
  for (const character of text) {
    const point = character.codePointAt(0);
    if (point >= 0xd800 && point <= 0xdfff) throw new Error("lone surrogate");
    out += SHORT[point] ?? (point < 32 ? `\\u${point.toString(16).padStart(4, "0")}` : character);
  }
  return `${out}"`;
}

function byCodePoint(left, right) {
  const a = Array.from(left, (c) => c.codePointAt(0));
  const b = Array.from(right, (c) => c.codePointAt(0));
  for (let i = 0; i < Math.min(a.length, b.length); i += 1) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}

export function canonical(value, depth = 1) {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") return quote(value);
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value)) throw new Error("not an integer within the range");
    return Object.is(value, -0) ? "0" : String(value);
  }
  if (depth > MAX_DEPTH) throw new Error("too deep");
  if (Array.isArray(value)) return `[${value.map((member) => canonical(member, depth + 1)).join(",")}]`;
  const keys = Object.keys(value).sort(byCodePoint);
  return `{${keys.map((key) => `${quote(key)}:${canonical(value[key], depth + 1)}`).join(",")}}`;
}

export function decode(bytes) {
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  const value = JSON.parse(text);
  if (!Buffer.from(canonical(value)).equals(Buffer.from(bytes))) throw new Error("not canonical");
  return value;
}
