// Ed25519 (RFC 8032) with nothing taken on trust (spec/receipt.md, Keys 4): what makes a key or a signature none is
// asked here, before the platform is.

import { joined } from "./chunks.mjs";
import { ORDER, P, equationHolds, isOfSmallOrder, littleEndian, pointOf, yOf } from "./curve.mjs";
import { longSha512 } from "./digests.mjs";
import { sha256, toHex } from "./sha256.mjs";

// What is wrong with a public key; null for one that can vouch for something.
export function keyFault(publicKey) {
  if (publicKey.length !== 32) return "a public key is 32 bytes";
  const y = yOf(publicKey);
  if (y >= P) return "the public key is a point in another spelling than its own";
  if (y === 1n || y === P - 1n) return "the public key is a point of small order";
  const point = pointOf(publicKey);
  if (point === null) return "the public key is no point of the curve";
  return isOfSmallOrder(point) ? "the public key is a point of small order" : null;
}

// What is wrong with a signature, whatever it is of; null for one that may hold.
function signatureFault(signature) {
  if (signature.length !== 64) return "a signature is 64 bytes";
  if (littleEndian(signature.subarray(32)) >= ORDER) return "the signature's number S is not below the group's order";
  if (yOf(signature.subarray(0, 32)) >= P) return "the signature's point R is in another spelling than its own";
  return null;
}

// The answer of the platform's own Ed25519, or null where it has none.
async function platformHolds(subtle, publicKey, signature, message) {
  try {
    const key = await subtle.importKey("raw", publicKey, { name: "Ed25519" }, false, ["verify"]);
    return await subtle.verify({ name: "Ed25519" }, key, signature, message);
  } catch {
    return null;
  }
}

async function ownHolds(subtle, publicKey, signature, message) {
  const text = joined([signature.subarray(0, 32), publicKey, message]);
  return equationHolds(publicKey, signature, new Uint8Array(await subtle.digest("SHA-512", text)));
}

// The fault of the key that was asked about last: a file of checkpoints has thousands of signatures by one.
const last = { key: "", fault: null };

function knownFault(publicKey) {
  const key = toHex(publicKey);
  if (last.key !== key) Object.assign(last, { key, fault: keyFault(publicKey) });
  return last.fault;
}

const OTHER = "the signature is not one of this text by this key";

const formFault = (publicKey, signature) => knownFault(publicKey) ?? signatureFault(signature);

// Why `signature` is not one of `message` by the key; null where it is. `asksPlatform` false: the equation is asked here.
export async function signatureOfFault(publicKey, signature, message, asksPlatform = true) {
  const fault = formFault(publicKey, signature);
  if (fault !== null) return fault;
  const subtle = globalThis.crypto?.subtle;
  if (subtle === undefined) return "it cannot be checked: this platform has no WebCrypto";
  let holds = asksPlatform ? await platformHolds(subtle, publicKey, signature, message) : null;
  holds ??= await ownHolds(subtle, publicKey, signature, message);
  return holds ? null : OTHER;
}

// WebCrypto is given a text as a whole. A longer one is hashed as it comes, where that can be done.
const MOST_AT_ONCE_BYTES = 1 << 20;

// The same of a text that `message(take)` gives in pieces.
export async function signatureOfPiecesFault(publicKey, signature, message) {
  let pieces = [];
  let bytes = 0;
  let hash = null;
  message((piece) => {
    bytes += piece.length;
    if (hash === null) pieces.push(piece);
    else hash.update(piece);
    if (hash !== null || bytes <= MOST_AT_ONCE_BYTES) return;
    hash = longSha512();
    if (hash === null) return;
    for (const part of [signature.subarray(0, 32), publicKey, ...pieces]) hash.update(part);
    pieces = [];
  });
  if (hash === null) return signatureOfFault(publicKey, signature, joined(pieces));
  const fault = formFault(publicKey, signature);
  return fault ?? (equationHolds(publicKey, signature, new Uint8Array(hash.digest())) ? null : OTHER);
}

// What a key is called by where it is not written out: the first 16 digits of its SHA-256.
export const fingerprint = (key) => toHex(sha256(key)).slice(0, 16);
