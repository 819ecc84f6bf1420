// The members of every event of docket's own vocabulary, and reading an event against them. What they are is
// spec/events.json, of which `events.mjs` is a copy; what its words mean is spec/ledger.md, Grammar.

import { EVENTS } from "./events.mjs";
import { isObject, micros, shown } from "./values.mjs";

export const INSTANT = new RegExp(EVENTS.instant);
const DIGEST = /^[0-9a-f]{64}$/;
const PRICE = /^(0|[1-9][0-9]{0,6})(\.[0-9]{1,6})?$/;
const BASE64 = /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const MAX_PATH_BYTES = 16384;

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
export function readPayload(event) {
  event.known = false;
  if (!INSTANT.test(event.ts)) return `event ${event.seq}: ts is not an instant`;
  if (!Object.hasOwn(EVENTS.types, event.type)) return null;
  const fault = ofRecord(EVENTS.types[event.type], event.data, event.type);
  if (fault !== null) return `event ${event.seq}: ${fault}`;
  event.known = true;
  return null;
}

function ofRecord(record, value, where) {
  if (!isObject(value)) return `${where} is not an object`;
  const { required, optional = {} } = record;
  const known = new Set();
  for (const [members, mayLack] of [[required, false], [optional, true]]) {
    for (const [name, kind] of Object.entries(members)) {
      if (kind === "path") {
        known.add("path").add("path_b64");
        const fault = ofPath(value, mayLack, where);
        if (fault !== null) return fault;
        continue;
      }
      known.add(name);
      if (!Object.hasOwn(value, name)) {
        if (!mayLack) return `${where} has no member ${name}`;
        continue;
      }
      const fault = ofKind(kind, value[name], `${where}.${name}`);
      if (fault !== null) return fault;
    }
  }
  const other = Object.keys(value).find((name) => !known.has(name));
  return other === undefined ? ofSum(record, value, where) : `${where} has the unknown member ${shown(other)}`;
}

function ofKind(kind, value, where) {
  if (Array.isArray(kind)) return kind.includes(value) ? null : `${where} is not one of ${kind.join(", ")}`;
  if (kind.endsWith("[]")) {
    if (!Array.isArray(value)) return `${where} is not an array`;
    for (const [index, item] of value.entries()) {
      const fault = ofKind(kind.slice(0, -2), item, `${where}[${index}]`);
      if (fault !== null) return fault;
    }
    return null;
  }
  if (kind.startsWith("@")) return ofRecord(EVENTS.records[kind.slice(1)], value, where);
  const [holds, wanted] = PLAIN[kind];
  return holds(value) ? null : `${where} is not ${wanted}`;
}

function ofSum({ sum, at_most: whole }, value, where) {
  if (sum === undefined) return null;
  const total = sum.reduce((so_far, name) => so_far + BigInt(value[name] ?? 0), 0n);
  return total <= BigInt(value[whole]) ? null : `${where}: its parts exceed ${whole}`;
}

function ofPath(value, mayLack, where) {
  const [text, coded] = [Object.hasOwn(value, "path"), Object.hasOwn(value, "path_b64")];
  if (!text && !coded && mayLack) return null;
  if (text === coded) return `${where} names its path as either path or path_b64`;
  const bytes = pathBytes(value);
  return bytes !== null && isPath(bytes) ? null : `${where} has no path in its one spelling`;
}

// The bytes of the member `path` or `path_b64`, or null where it has not its one spelling (spec/tree.md, Paths).
export function pathBytes(value) {
  if (Object.hasOwn(value, "path")) return typeof value.path === "string" ? new TextEncoder().encode(value.path) : null;
  const bytes = fromBase64(value.path_b64);
  return bytes === null || isUtf8(bytes) ? null : bytes;
}

// The bytes of a text in base64 in its only spelling, else null.
export function fromBase64(coded) {
  if (typeof coded !== "string" || !BASE64.test(coded)) return null;
  const raw = atob(coded);
  return btoa(raw) === coded ? Uint8Array.from(raw, (character) => character.charCodeAt(0)) : null;
}

export function isUtf8(bytes) {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

export function isPath(bytes) {
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
