// Asks verify-js whether events of docket's own are well formed. Each line of the standard input is one, in canonical
// form, of its members `data`, `ts` and `type` alone; each line of the output is the sentence that refuses it, or empty.
import { createInterface } from "node:readline";

import { decodeCanonical, utf8 } from "../../verify-js/src/canonical.mjs";
import { readPayload } from "../../verify-js/src/course/checks.mjs";

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const fault = readPayload({ seq: 0, ...decodeCanonical(utf8(line)) });
  process.stdout.write(`${(fault ?? "").replaceAll("\n", " ")}\n`);
}
