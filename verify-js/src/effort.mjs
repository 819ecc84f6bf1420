// How much comparing of names with patterns is done at most (spec/receipt.md, Limits of a reader).

export const GLOB_STEPS = 2 ** 17;
const MOST_STEPS = 2 ** 30;
const BESIDE = 16;

// How much a name or a pattern counts: its characters, and what comes with any. Given as a text, or as its characters.
export function weight(text) {
  if (Array.isArray(text)) return text.length + BESIDE;
  let pairs = 0;
  for (let at = 0; at < text.length; at += 1) if ((text.charCodeAt(at) & 0xfc00) === 0xdc00) pairs += 1;
  return text.length - pairs + BESIDE;
}

export function weightOf(texts) {
  let sum = 0;
  for (const text of texts) sum += weight(text);
  return sum;
}

// What is left of the steps of one use.
export class Effort {
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
