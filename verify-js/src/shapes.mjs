// Shapes of JSON values as functions (value, where) that give null, or a sentence that names the member that is wrong.

import { isInteger, isObject, isText } from "./canonical.mjs";
import { canonicalMicros } from "./money.mjs";
import { shown } from "./refused.mjs";

const when = (held, where, wanted) => (held ? null : `${where} is not ${wanted}`);

export const anything = () => null;
export const text = (value, where) => when(isText(value), where, "a text");
export const formed = (form, words) => (value, where) => when(isText(value) && form.test(value), where, words);
export const flag = (value, where) => when(typeof value === "boolean", where, "true or false");
export const integer = (value, where) => when(isInteger(value), where, "an integer");
export const count = (value, where) => when(isInteger(value) && value >= 0, where, "a count");
export const isDigest = (value) => isText(value) && value.length === 64 && /^[0-9a-f]+$/.test(value);
export const digest = (value, where) => when(isDigest(value), where, "a SHA-256 in lower-case hexadecimal");
export const object = (value, where) => when(isObject(value), where, "an object");

// An amount in its one spelling.
export const amount = (value, where) => when(canonicalMicros(value) !== null, where, "an amount in canonical form");

const DAY = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])";
const TIME = "([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\\.[0-9]{1,9})?Z";
const INSTANT = new RegExp(`^${DAY}T${TIME}$`);

// canonical.md, Instants: the form alone is looked at.
const isInstant = (value) => isText(value) && INSTANT.test(value);

export const instant = (value, where) => when(isInstant(value), where, "an instant of RFC 3339 in UTC");

export const SESSION_ID = /^[0-9A-Za-z_-]{1,64}$/;

export const nullable = (shape) => (value, where) => (value === null ? null : shape(value, where));
export const constant = (wanted) => (value, where) => when(value === wanted, where, shown(wanted));
export const oneOf = (...wanted) => (value, where) => when(wanted.includes(value), where, `one of ${wanted.join(", ")}`);

export const array = (shape) => (value, where) => {
  if (!Array.isArray(value)) return `${where} is not an array`;
  for (let index = 0; index < value.length; index += 1) {
    const fault = shape(value[index], `${where}[${index}]`);
    if (fault !== null) return fault;
  }
  return null;
};

// An object of any names whose every member has the shape.
export const mapping = (shape) => (value, where) => {
  if (!isObject(value)) return `${where} is not an object`;
  for (const name of Object.keys(value)) {
    const fault = shape(value[name], `${where}.${name}`);
    if (fault !== null) return fault;
  }
  return null;
};

// An object with the members of `needed`, perhaps those of `optional`, and others only where it is not `closed`.
export function record(needed, optional = {}, { closed = true } = {}) {
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
