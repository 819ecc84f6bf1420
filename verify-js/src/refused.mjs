// A document that cannot be read or has not its form: `reason` is the code of spec/canonical.md or null, `message` the
// sentence.
export class Refused extends Error {
  constructor(reason, detail) {
    super(detail);
    this.name = "Refused";
    this.reason = reason;
  }
}

const LONGEST = 200;

// A value as it may stand in a sentence: one line, no control characters, cut where it is long.
export function shown(value) {
  const text = value === undefined ? "missing" : JSON.stringify(value);
  const safe = text.replace(/[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (character) => `\\u${hex4(character)}`);
  return safe.length > LONGEST ? `${safe.slice(0, LONGEST)}…` : safe;
}

const hex4 = (character) => character.charCodeAt(0).toString(16).padStart(4, "0");
