// What a receipt or a ledger is given as: its bytes, a Blob of them, or pieces of them one after another.

import { hexOf, longSha256 } from "./digests.mjs";

const CHUNK_BYTES = 1 << 17;
const WRONG = "a file is given as its bytes, a Blob, or pieces that are bytes";

// The bytes in pieces of about one size, none of which is copied.
export function* slices(bytes) {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

// Pieces of bytes as one.
export function joined(parts) {
  const made = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    made.set(part, at);
    at += part.length;
  }
  return made;
}

async function* ofBlob(blob) {
  for (let at = 0; at < blob.size; at += CHUNK_BYTES) {
    yield new Uint8Array(await blob.slice(at, at + CHUNK_BYTES).arrayBuffer());
  }
}

// Bytes may be another window's, whose classes are not ours.
function bytesOf(piece) {
  if (!ArrayBuffer.isView(piece)) throw new TypeError(WRONG);
  return piece instanceof Uint8Array ? piece : new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength);
}

function piecesOf(source) {
  if (ArrayBuffer.isView(source)) return [source];
  if (typeof Blob === "function" && source instanceof Blob) return ofBlob(source);
  if (source?.[Symbol.asyncIterator] ?? source?.[Symbol.iterator]) return source;
  throw new TypeError(WRONG);
}

// Calls `take` with each piece in order, none longer than that; pieces of an iterable may be overwritten once the next is
// asked for. Ends early where `take` gives true.
export async function eachChunk(source, take) {
  for await (const piece of piecesOf(source)) {
    for (const chunk of slices(bytesOf(piece))) if (take(chunk) === true) return;
  }
}

// The size and the digest of a source, read no further than is told; null where it cannot be read.
export async function measured(source, most) {
  const hash = longSha256();
  let size = 0;
  try {
    await eachChunk(source, (chunk) => {
      hash.update(chunk);
      size += chunk.length;
      return size > most;
    });
  } catch {
    return null;
  }
  return { size, digest: hexOf(hash) };
}
