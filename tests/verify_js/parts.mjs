// Asks parts of verify-js by themselves. Each line of the standard input is one question: {match: [text, pattern]},
// {plan: [spec, seed, requests]} or {delta: bytes in base64}. Each line of the output is its answer.
import { createInterface } from "node:readline";

import { readDelta } from "../../verify-js/src/course/delta.mjs";
import { planned } from "../../verify-js/src/course/faults.mjs";
import { matches } from "../../verify-js/src/globs.mjs";

const ANSWERS = {
  match: ([text, pattern]) => matches(text, pattern),
  plan: ([spec, seed, requests]) => {
    const { plan, fault } = planned(spec, seed);
    return fault === null ? requests.map((request) => plan.faultFor(request)) : null;
  },
  delta: (coded) => readDelta(new Uint8Array(Buffer.from(coded, "base64"))).fault === null,
};

for await (const line of createInterface({ input: process.stdin })) {
  const [[what, given]] = Object.entries(JSON.parse(line));
  process.stdout.write(`${JSON.stringify(ANSWERS[what](given))}\n`);
}
