// The first difference between what a receipt states and what the ledger gives, as a sentence that names the member.

const MAX_SHOWN = 72;

// Members whose names are values: another one beside them is a difference.
const WHOLE = new Set(["document", "by_provider", "event_counts"]);

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// Null where both are the same, types included. The order of members decides nothing.
export function difference(stated, wanted, where) {
  if (isObject(stated) && isObject(wanted)) return inObject(stated, wanted, where);
  if (Array.isArray(stated) && Array.isArray(wanted)) return inArray(stated, wanted, where);
  return stated === wanted ? null : `${where} is ${told(stated)}, the ledger gives ${told(wanted)}`;
}

// As `difference`, where `wanted` holds only some of the members of an object.
export function differenceOfSome(stated, wanted, where) {
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
