// The families of a price table: which one prices a model, and what tokens cost by it (spec/receipt.md, Price table and
// Cost and rounding).

import { stripped } from "./blanks.mjs";
import { compareTexts, isObject, isText } from "./canonical.mjs";
import { Effort, GLOB_STEPS, weight } from "./effort.mjs";
import { compiled } from "./globs.mjs";
import { lowered } from "./letters.mjs";

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
export class Families {
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
export const rankOf = ({ pattern }) => ({
  isFallback: pattern === FALLBACK, stars: count(pattern, "*"), marks: count(pattern, "?"), pattern,
});

export const moreSpecificFirst = (one, other) =>
  one.isFallback - other.isFallback ||
  one.stars - other.stars ||
  one.marks - other.marks ||
  compareTexts(one.pattern, other.pattern);

// The families of a receipt's table, or a sentence; read once for all checks of a receipt.
const read = new WeakMap();

export function familiesOf(receipt) {
  if (!read.has(receipt)) read.set(receipt, Families.of(receipt.part("price_table", "document")));
  return read.get(receipt);
}
