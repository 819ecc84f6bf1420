// Asks the parts of verify-js one by one: each line of the standard input is [name, argument…], each line of the output
// what that part gives, as JSON. Bytes are texts in hexadecimal; what is refused is {refused: reason}.

import { createInterface } from "node:readline";

import { decodeCanonical, decodeDocument, encode, utf8 } from "../../verify-js/src/canonical.mjs";
import { slices } from "../../verify-js/src/chunks.mjs";
import { hexOf, longSha256, quickSha256 } from "../../verify-js/src/digests.mjs";
import { signatureOfFault, signatureOfPiecesFault } from "../../verify-js/src/ed25519.mjs";
import { Families } from "../../verify-js/src/families.mjs";
import { hmacSha256 } from "../../verify-js/src/keys.mjs";
import { readPublicKey, readTrust } from "../../verify-js/src/key_texts.mjs";
import { LedgerReader } from "../../verify-js/src/ledger.mjs";
import { Hashes, MerkleTree, rootFromPath } from "../../verify-js/src/merkle.mjs";
import { Refused } from "../../verify-js/src/refused.mjs";
import { Sha256, toHex } from "../../verify-js/src/sha256.mjs";

const bytes = (text) => new Uint8Array(Buffer.from(text, "hex"));

function treeOf(texts) {
  const hashes = new Hashes();
  for (const text of texts) {
    const room = hashes.room();
    hashes.bytes.set(bytes(text), room);
    hashes.count += 1;
  }
  return new MerkleTree(hashes);
}

function isRefused(act) {
  try {
    act();
    return false;
  } catch (error) {
    if (error instanceof Refused) return true;
    throw error;
  }
}

const parts = {
  // The digest of the parts one after another.
  sha256: (texts) => texts.reduce((hasher, text) => hasher.update(bytes(text)), new Sha256()).hex(),
  // As it is made of many short texts.
  quick: (texts) => toHex(texts.reduce((hasher, text) => hasher.update(bytes(text)), quickSha256()).digest()),
  hmac: (key, text) => toHex(hmacSha256(bytes(key), (take) => take(bytes(text)))),
  ed25519: (key, signature, message) => signatureOfFault(bytes(key), bytes(signature), bytes(message)),
  // Without the platform's Ed25519.
  curve: (key, signature, message) => signatureOfFault(bytes(key), bytes(signature), bytes(message), false),
  // Of a text that comes in so many pieces.
  pieces: (key, signature, message, times) =>
    signatureOfPiecesFault(bytes(key), bytes(signature), (take) => {
      for (let turn = 0; turn < times; turn += 1) take(bytes(message));
    }),
  root: (texts) => treeOf(texts).root(),
  path: (texts, index) => treeOf(texts).path(index),
  isPath: (texts, index, path) => treeOf(texts).isPath(index, path),
  rootFromPath,
  canonical: (text) => encode(decodeCanonical(bytes(text))),
  document: (text) => encode(decodeDocument(bytes(text))),
  // Whether the reader that checks while it reads agrees with one that writes again and compares.
  rewritten: (text) => {
    const accepted = !isRefused(() => decodeCanonical(bytes(text)));
    let same = false;
    if (!isRefused(() => decodeDocument(bytes(text)))) same = toHex(utf8(encode(decodeDocument(bytes(text))))) === text;
    return accepted === same;
  },
  ledger: (text) => {
    const shown = [];
    const reader = new LedgerReader((event) => shown.push(event.type));
    const digest = longSha256();
    for (const piece of slices(bytes(text))) {
      digest.update(piece);
      reader.push(piece);
    }
    const { damage, events, head, torn, tree } = reader.end();
    return { damage, events, fileSha256: hexOf(digest), head, root: tree.root(), shown, torn };
  },
  publicKey: (text) => toHex(readPublicKey(text)),
  trust: (text) => readTrust(bytes(text)).signers.length,
  // Tables have no prototype to hide behind either: what is no object of this reader's has no families.
  cost: (table, model, tokens) => {
    const families = Families.of(decodeDocument(utf8(table)));
    return typeof families === "string" ? families : String(families.cost(model, tokens));
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...given] = JSON.parse(line);
  let answer;
  try {
    answer = await parts[name](...given);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    answer = { refused: error.reason };
  }
  process.stdout.write(`${JSON.stringify(answer ?? null)}\n`);
}
