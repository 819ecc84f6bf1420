// Verifies many receipts in one process: each line of the standard input is a JSON object {receipt, ledger} of texts
// in base64, `ledger` null where there is none, and optionally `publicKeys` and `sealKeys`, arrays of hexadecimal,
// `checkpoints` and `state`, files in base64, and `heads`, an array of heads in words. Each line of the output is a verdict as
// `--json` prints it.

import { createInterface } from "node:readline";

import { readHeadWords, readState, verify } from "./docket-verify.mjs";

const bytes = (text) => (text === null || text === undefined ? null : new Uint8Array(Buffer.from(text, "base64")));
const hex = (texts) => (texts ?? []).map((text) => new Uint8Array(Buffer.from(text, "hex")));
// ASCII alone: no reader of lines then takes another character for the end of one.
const ascii = (text) => text.replace(/[^\n\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
const map = (entries) => (entries ? new Map(Object.entries(entries).map(([name, text]) => [name, bytes(text)])) : null);

for await (const line of createInterface({ input: process.stdin })) {
  const given = JSON.parse(line);
  const verdict = await verify({
    receipt: bytes(given.receipt),
    ledger: bytes(given.ledger),
    responses: map(given.responses),
    deltas: map(given.deltas),
    checkpoints: bytes(given.checkpoints),
    heads: (given.heads ?? []).map(readHeadWords),
    remembered: given.state ? readState(bytes(given.state)) : null,
    publicKeys: hex(given.publicKeys),
    sealKeys: hex(given.sealKeys),
    required: given.required ?? "consistent",
  });
  process.stdout.write(`${ascii(JSON.stringify(verdict))}\n`);
}
