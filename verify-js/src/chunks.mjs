// What a receipt or a ledger is given as: its bytes, a Blob of them, or pieces of them one after another.

import { Sha256 } from "./sha256.mjs";

const CHUNK_BYTES = 1 << 17;

// The bytes in pieces of about one size, none of which is copied.
export function* slices(bytes) {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

async function* ofBlob(blob) {
  for (let at = 0; at < blob.size; at += CHUNK_BYTES) {
    yield new Uint8Array(await blob.slice(at, at + CHUNK_BYTES).arrayBuffer());
  }
}

// The size and the digest of a source, read no further than is told; null where it cannot be read.
export async function measured(source, most) {
  const hash = new Sha256();
  let size = 0;
  try {
    const isBlob = typeof Blob === "function" && source instanceof Blob;
    for await (const piece of source instanceof Uint8Array ? slices(source) : isBlob ? ofBlob(source) : source) {
      hash.update(piece);
      size += piece.length;
      if (size > most) break;
    }
  } catch {
    return null;
  }
  return { size, digest: hash.hex() };
}

// Calls `take` with each piece in order, none longer than that; pieces of an iterable may be overwritten once the next is
// asked for.
export async function eachChunk(source, take) {
  if (source instanceof Uint8Array) {
    for (const chunk of slices(source)) take(chunk);
    return;
  }
  const isBlob = typeof Blob === "function" && source instanceof Blob;
  for await (const piece of isBlob ? ofBlob(source) : source) for (const chunk of slices(piece)) take(chunk);
}
