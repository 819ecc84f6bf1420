// Ed25519 (RFC 8032) with nothing taken on trust (spec/receipt.md, Keys 4): what makes a key or a signature none is
// asked here, before the platform is.

import { sha256, toHex } from "./sha256.mjs";

const P = 2n ** 255n - 19n;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const MASK = 2n ** 255n - 1n;

function power(base, exponent) {
  let made = 1n;
  let square = base % P;
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) made = (made * square) % P;
    square = (square * square) % P;
  }
  return made;
}

const D = (P - ((121665n * power(121666n, P - 2n)) % P)) % P;

const littleEndian = (bytes) => BigInt(`0x${toHex(bytes.slice().reverse())}`);
const yOf = (point) => littleEndian(point) & MASK;

// The square of x that belongs to y.
function xSquared(y) {
  const squared = (y * y) % P;
  return ((squared + P - 1n) * power(D * squared + 1n, P - 2n)) % P;
}

// Whether the order of a point divides 8: doubled three times, it is the neutral one. Projective doubling needs only
// what x squared and y are: y of the double is (y² + x²) / (2 - y² + x²), by the curve's equation.
function isOfSmallOrder(point) {
  let y = point;
  for (let doubled = 0; doubled < 3; doubled += 1) {
    const x2 = xSquared(y);
    const y2 = (y * y) % P;
    y = ((y2 + x2) * power(2n + P - y2 + x2, P - 2n)) % P;
  }
  return y === 1n;
}

const isSquare = (value) => power(value, (P - 1n) / 2n) === 1n;

// What is wrong with a public key; null for one that can vouch for something.
export function keyFault(publicKey) {
  if (publicKey.length !== 32) return "a public key is 32 bytes";
  const y = yOf(publicKey);
  if (y >= P) return "the public key is a point in another spelling than its own";
  if (y === 1n || y === P - 1n) return "the public key is a point of small order";
  if (!isSquare(xSquared(y))) return "the public key is no point of the curve";
  return isOfSmallOrder(y) ? "the public key is a point of small order" : null;
}

// What is wrong with a signature, whatever it is of; null for one that may hold.
export function signatureFault(signature) {
  if (signature.length !== 64) return "a signature is 64 bytes";
  if (littleEndian(signature.subarray(32)) >= ORDER) return "the signature's number S is not below the group's order";
  if (yOf(signature.subarray(0, 32)) >= P) return "the signature's point R is in another spelling than its own";
  return null;
}

const NOT_OF_THIS = "the signature is not one of this text by this key";

// Why `signature` is not one of `message` by the key; null where it is.
export async function signatureOfFault(publicKey, signature, message) {
  const fault = keyFault(publicKey) ?? signatureFault(signature);
  if (fault !== null) return fault;
  const subtle = globalThis.crypto?.subtle;
  if (subtle === undefined) return "it cannot be checked: this platform has no WebCrypto";
  let key;
  try {
    key = await subtle.importKey("raw", publicKey, { name: "Ed25519" }, false, ["verify"]);
  } catch (error) {
    return `it cannot be checked: this platform does not take the key (${error.name})`;
  }
  return (await subtle.verify({ name: "Ed25519" }, key, signature, message)) ? null : NOT_OF_THIS;
}

// What a key is called by where it is not written out: the first 16 digits of its SHA-256.
export const fingerprint = (key) => toHex(sha256(key)).slice(0, 16);
