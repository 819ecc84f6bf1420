// Holds the reading of files in pieces against the reading of them as a whole. Each line of the standard input is
// {receipt, ledger, damages, seed}: two files in base64, and how many of each are to be damaged at random; or {everywhere}: a
// small receipt, to be damaged in every place. Each line of the output is {cases, refused, wrong}: how many receipts and
// ledgers were read, how many of them are none, and what of them was read otherwise. Of {rows}, a receipt of so many rows is
// made as it is read: {bytes, window, rows}, the bytes of it, the most that were held of its text, the rows that were read.
import { createInterface } from "node:readline";

import { verify } from "../../verify-js/docket-verify.mjs";
import { decodeDocument, encode, isObject } from "../../verify-js/src/canonical.mjs";
import { LedgerReader } from "../../verify-js/src/ledger.mjs";
import { ReceiptReader } from "../../verify-js/src/receipt_reader.mjs";
import { Refused } from "../../verify-js/src/refused.mjs";

// The verifier where the platform has no digests but those of WebCrypto, as in a browser.
process.getBuiltinModule = undefined;
const { verify: verifyAlone } = await import("../../verify-js/docket-verify.mjs?alone");

const bytesOf = (text) => new Uint8Array(Buffer.from(text, "base64"));
// What is refused by the thousands need not tell from where.
Error.stackTraceLimit = 0;
const SIZES = [61, 256, 1021, 5003];
const TOKENS = [
  '"', "\\", "{", "}", "[", "]", ",", ":", "0", "-", ".0", ".5", "e1", "null", "\0", "\n", " ", "é", "\u{1f600}", "\ufeff", "\\u0000",
  "\\ud800", '"merkle_path": [], ', '"merkle_path": null', '"side": "left", ', "{}", "[]", "9007199254740993", "1.0", '"a":1,',
].map((text) => Buffer.from(text));
const ODD = [Buffer.of(0xff), Buffer.of(0xc3), Buffer.of(0xe2, 0x82), Buffer.of(0xed, 0xa0, 0x80)];

// Numbers that look drawn: those of a linear congruential generator.
function drawing(seed) {
  let state = BigInt(seed);
  return (most) => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return Number((state >> 33n) % BigInt(most));
  };
}

function damaged(bytes, draw) {
  const at = draw(bytes.length);
  const token = draw(5) === 0 ? ODD[draw(ODD.length)] : TOKENS[draw(TOKENS.length)];
  const from = draw(bytes.length);
  const parts = [
    () => [bytes.subarray(0, at), token, bytes.subarray(at)],
    () => [bytes.subarray(0, at), token, bytes.subarray(at + token.length)],
    () => [bytes.subarray(0, at), bytes.subarray(at + 1 + draw(40))],
    () => [bytes.subarray(0, at), bytes.subarray(from, from + draw(3000)), bytes.subarray(at)],
    () => [bytes.subarray(0, at)],
    () => [bytes.subarray(0, at), Buffer.of(bytes[at] ^ (1 << draw(8))), bytes.subarray(at + 1)],
  ];
  return new Uint8Array(Buffer.concat(parts[draw(parts.length)]()));
}

// Pieces that stand in one place after another, as those of a file may.
function* pieces(bytes, size) {
  const room = new Uint8Array(size + 5);
  for (let at = 0; at < bytes.length; at += size) {
    const length = Math.min(size, bytes.length - at);
    room.set(bytes.subarray(at, at + length), at % 5);
    yield room.subarray(at % 5, (at % 5) + length);
    room.fill(0x78);
  }
}

function refusedOr(read) {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refused) return null;
    throw error;
  }
}

const wholeReceipt = (bytes) => {
  const value = decodeDocument(bytes);
  return isObject(value) ? encode(value) : null;
};

function receiptIn(bytes, size) {
  const reader = new ReceiptReader();
  for (const piece of pieces(bytes, size)) reader.push(piece);
  return encode(reader.end());
}

function ledgerIn(bytes, size) {
  const types = [];
  const reader = new LedgerReader((event) => types.push(event.type));
  for (const piece of pieces(bytes, size)) reader.push(piece);
  const { damage, torn, events, head, tree } = reader.end();
  return JSON.stringify({ damage, torn, events, head, types, root: tree.root() });
}

async function* slowly(bytes, size) {
  for (const piece of pieces(bytes, size)) yield await Promise.resolve(piece);
}

async function verdictsDiffer(receipt, ledger) {
  const whole = JSON.stringify(await verify({ receipt, ledger }));
  const others = [
    { receipt: new Blob([receipt]), ledger: new Blob([ledger]) },
    { receipt: slowly(receipt, 1021), ledger: () => slowly(ledger, 777) },
    { receipt: [receipt], ledger: pieces(ledger, 4096) },
    { receipt: new DataView(receipt.buffer, receipt.byteOffset, receipt.length), ledger: [Buffer.from(ledger)] },
  ];
  for (const given of others) if (JSON.stringify(await verify(given)) !== whole) return true;
  // What breaks off while it is read is not judged by its beginning.
  const broken = function* broken() {
    yield ledger;
    throw new Error("gone");
  };
  const told = await verify({ receipt, ledger: broken() }).catch((error) => error.message);
  if (told !== "gone") return true;
  const alone = [{ receipt, ledger }, { receipt: new Blob([receipt]), ledger: new Blob([ledger]) }];
  for (const given of alone) if (JSON.stringify(await verifyAlone(given)) !== whole) return true;
  return false;
}

// Every token in every place, by turns before what stands there and instead of it, and each byte left out.
function* everywhere(bytes) {
  for (let at = 0; at <= bytes.length; at += 1) {
    const [before, behind] = [bytes.subarray(0, at), bytes.subarray(at)];
    for (const [turn, token] of [...TOKENS, ...ODD].entries()) yield Buffer.concat([before, token, behind.subarray((turn + at) % 2)]);
    yield Buffer.concat([before, behind.subarray(1)]);
  }
}

function sweep(bytes) {
  const found = { cases: 0, refused: 0, wrong: [] };
  for (const one of everywhere(bytes)) {
    const wanted = refusedOr(() => wholeReceipt(one));
    found.cases += 1;
    if (wanted === null) found.refused += 1;
    const size = found.cases % 3 === 0 ? 200 : one.length + 1;
    if (refusedOr(() => receiptIn(one, size)) !== wanted) found.wrong.push({ size, receipt: one.toString() });
  }
  return found;
}

// The text of a receipt of so many rows, in pieces.
function* written(rows) {
  const step = (at) => `{\n            "side": "left",\n            "hash": "${String(at).padStart(64, "0")}"\n          }`;
  yield '{"appendix": {"usage": [';
  for (let at = 0; at < rows; at += 1) {
    const path = Array.from({ length: 17 }, (_, level) => step(at + level)).join(",\n          ");
    yield `${at === 0 ? "" : ", "}{"seq": ${at}, "model": "m", "merkle_path": [${path}]}`;
  }
  yield ']}}';
}

function held(rows) {
  const reader = new ReceiptReader();
  const found = { bytes: 0, window: 0 };
  for (const text of written(rows)) {
    const piece = Buffer.from(text);
    reader.push(piece);
    found.bytes += piece.length;
    found.window = Math.max(found.window, reader.window.bytes.length);
  }
  const { usage } = reader.end().appendix;
  const isRead = usage.every((row, at) => row.seq === at && row.merkle_path.length === 17);
  return { ...found, rows: isRead ? usage.length : null };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { damages, seed, ...files } = JSON.parse(line);
  if (files.everywhere !== undefined || files.rows !== undefined) {
    const answer = files.rows === undefined ? sweep(bytesOf(files.everywhere)) : held(files.rows);
    process.stdout.write(`${JSON.stringify(answer)}\n`);
    continue;
  }
  const [receipt, ledger] = [bytesOf(files.receipt), bytesOf(files.ledger)];
  const draw = drawing(seed);
  const found = { cases: 0, refused: 0, wrong: [] };
  for (let turn = 0; turn <= damages; turn += 1) {
    const [one, other] = turn === 0 ? [receipt, ledger] : [damaged(receipt, draw), damaged(ledger, draw)];
    const size = turn === 0 ? 1 : SIZES[turn % SIZES.length];
    const wanted = refusedOr(() => wholeReceipt(one));
    found.cases += 1;
    if (wanted === null) found.refused += 1;
    if (refusedOr(() => receiptIn(one, size)) !== wanted) found.wrong.push({ turn, size, receipt: Buffer.from(one).toString("base64") });
    if (ledgerIn(other, size) !== ledgerIn(other, other.length + 1)) found.wrong.push({ turn, size, ledger: Buffer.from(other).toString("base64") });
  }
  if (await verdictsDiffer(receipt, ledger)) found.wrong.push("the verdicts differ");
  process.stdout.write(`${JSON.stringify(found)}\n`);
}
