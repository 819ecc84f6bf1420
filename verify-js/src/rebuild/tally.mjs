// Sums that stay exact: a number where it is a safe integer, a BigInt beyond, which no member of a receipt can equal.

const MAX = BigInt(Number.MAX_SAFE_INTEGER);

export function plus(left, right) {
  if (typeof left === "number" && typeof right === "number") {
    const sum = left + right;
    if (Number.isSafeInteger(sum)) return sum;
  }
  const sum = BigInt(left) + BigInt(right);
  return sum <= MAX && sum >= -MAX ? Number(sum) : sum;
}

export const sumOf = (numbers) => numbers.reduce(plus, 0);

// Counts by name, in the order in which the names came.
export class Tally {
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
