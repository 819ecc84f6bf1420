// Asks how texts are read: each line of the standard input is [name, text], each line of the output what that gives.

import { createInterface } from "node:readline";

import { stripped, wordsOf } from "../../verify-js/src/blanks.mjs";
import { utf8 } from "../../verify-js/src/canonical.mjs";
import { readPublicKey, readSealKey } from "../../verify-js/src/key_texts.mjs";
import { isPrintable, lowered } from "../../verify-js/src/letters.mjs";
import { readHeadWords } from "../../verify-js/src/notes.mjs";
import { Refused } from "../../verify-js/src/refused.mjs";
import { readState as readStateBytes } from "../../verify-js/src/rollback.mjs";

const readState = (text) => readStateBytes(utf8(text));
const asked = { stripped, wordsOf, lowered, isPrintable, readPublicKey, readSealKey, readHeadWords, readState };

for await (const line of createInterface({ input: process.stdin })) {
  const [name, text] = JSON.parse(line);
  let made;
  try {
    made = asked[name](text);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    made = "refused";
  }
  if (made instanceof Uint8Array) made = Buffer.from(made).toString("hex");
  process.stdout.write(`${JSON.stringify(made)}\n`);
}
