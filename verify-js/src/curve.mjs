// The curve of Ed25519 (RFC 8032, 5.1) in whole numbers: which bytes are points, and the equation of a signature. It is
// asked where the platform knows no Ed25519. Nothing here is secret, so nothing needs to take equally long.

import { toHex } from "./sha256.mjs";

export const P = 2n ** 255n - 19n;
export const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const MASK = 2n ** 255n - 1n;

const mod = (value) => ((value % P) + P) % P;

function power(base, exponent) {
  let made = 1n;
  let square = mod(base);
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) made = (made * square) % P;
    square = (square * square) % P;
  }
  return made;
}

const inverse = (value) => power(value, P - 2n);
const D = mod(-121665n * inverse(121666n));
const ROOT_OF_MINUS_ONE = power(2n, (P - 1n) / 4n);

export const littleEndian = (bytes) => BigInt(`0x${toHex(bytes.slice().reverse())}`);
export const yOf = (point) => littleEndian(point) & MASK;

// The x of a y and a sign, or null where there is none.
function xOf(y, sign) {
  const squared = (y * y) % P;
  const wanted = (mod(squared - 1n) * inverse(D * squared + 1n)) % P;
  let x = power(wanted, (P + 3n) / 8n);
  if ((x * x) % P !== wanted) x = (x * ROOT_OF_MINUS_ONE) % P;
  if ((x * x) % P !== wanted || (x === 0n && sign)) return null;
  return (x & 1n) === BigInt(sign) ? x : P - x;
}

// A point as [X, Y, Z, T] with x = X/Z, y = Y/Z, xy = T/Z; null where the 32 bytes are none.
export function pointOf(bytes) {
  const y = yOf(bytes);
  const x = y < P ? xOf(y, bytes[31] >> 7) : null;
  return x === null ? null : [x, y, 1n, (x * y) % P];
}

const NEUTRAL = [0n, 1n, 1n, 0n];
const BASE_Y = (4n * inverse(5n)) % P;
const BASE = [xOf(BASE_Y, 0), BASE_Y, 1n, (xOf(BASE_Y, 0) * BASE_Y) % P];

// RFC 8032, 5.1.4: complete, so it doubles too.
function added([x1, y1, z1, t1], [x2, y2, z2, t2]) {
  const a = mod((y1 - x1) * (y2 - x2));
  const b = mod((y1 + x1) * (y2 + x2));
  const c = mod(2n * t1 * t2 * D);
  const d = mod(2n * z1 * z2);
  const [e, f, g, h] = [b - a, d - c, d + c, b + a];
  return [mod(e * f), mod(g * h), mod(f * g), mod(e * h)];
}

function times(number, point) {
  let made = NEUTRAL;
  let doubled = point;
  for (let left = number; left > 0n; left >>= 1n) {
    if (left & 1n) made = added(made, doubled);
    doubled = added(doubled, doubled);
  }
  return made;
}

const isNeutral = ([x, y, z]) => x === 0n && y === z;

// Whether the order of a point divides 8.
export const isOfSmallOrder = (point) => isNeutral(times(8n, point));

// Whether [S]B = R + [k]A, for a key that is a point, without the cofactor; `digest` is SHA-512(R, A, message).
export function equationHolds(publicKey, signature, digest) {
  const [r, a] = [pointOf(signature.subarray(0, 32)), pointOf(publicKey)];
  if (r === null || a === null) return false;
  const [x, y, z] = added(r, times(littleEndian(digest) % ORDER, a));
  const [u, v, w] = times(littleEndian(signature.subarray(32)), BASE);
  return mod(x * w - u * z) === 0n && mod(y * w - v * z) === 0n;
}
