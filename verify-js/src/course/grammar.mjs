// The members of every event of docket's own vocabulary, and reading an event against them. What they are is
// spec/events.json, of which `events.mjs` is a copy; what its words mean is spec/ledger.md, Grammar.

import { EVENTS } from "./events.mjs";
import { isObject, micros, shown } from "./values.mjs";

export const INSTANT = new RegExp(EVENTS.instant);
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
export function readPayload(event) {
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
