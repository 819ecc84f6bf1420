// Checkpoints (spec/checkpoint.md): the body, the signed note around it, and the file that keeps them.

import { wordsOf } from "./blanks.mjs";
import { decodeCanonical, isInteger, isObject, isText, utf8 } from "./canonical.mjs";
import { fromBase64, noteKeyHash } from "./key_texts.mjs";
import { Refused } from "./refused.mjs";
import { fingerprint, signatureOfFault } from "./ed25519.mjs";
import { fromHex, toHex } from "./sha256.mjs";

const FORMAT = "docket/checkpoint/v1";
const MAX_SIGNATURES = 64;
const LINE = /^\u2014 ([^+\p{White_Space}\u001c-\u001f]+) (.+)$/u;
const SIZE = /^[1-9][0-9]{0,15}$/;
const NAME = /^[^+\p{White_Space}\u001c-\u001f]+$/u;

const wrong = (detail) => new Refused("wrong-value", `the checkpoint is none: ${detail}`);

function decoded(coded, what) {
  try {
    return fromBase64(coded);
  } catch {
    throw wrong(`the base64 of ${what} does not re-encode to itself`);
  }
}

// A body: {origin, size, root}, the root in hexadecimal.
function readHeadText(text) {
  const lines = text.split("\n");
  if (lines.length !== 4 || lines[3] !== "" || !NAME.test(lines[0])) {
    throw wrong("its text is not an origin, a size and a root, a line each");
  }
  const root = decoded(lines[2], "its root");
  if (root.length !== 32) throw wrong("its root is not 32 bytes in base64");
  return { origin: lines[0], size: sizeOf(lines[1]), root: toHex(root) };
}

// The head that somebody wrote down: `ORIGIN SIZE ROOT`, `docket-head` before it or not.
export function readHeadWords(text) {
  const words = wordsOf(text);
  if (words[0] === "docket:" && words[1] === "docket-head") words.shift();
  if (words[0] === "docket-head") words.shift();
  if (words.length !== 3 || !NAME.test(words[0]) || fromHex(words[2], 32) === null) {
    throw wrong("a head is an origin, a number of events and a root");
  }
  return { origin: words[0], size: sizeOf(words[1]), root: words[2] };
}

function sizeOf(text) {
  if (!SIZE.test(text)) throw wrong("its size is not a number of events in decimal digits, from 1 on");
  return Number(text);
}

// The parts of a note: {text, signatures: [{name, keyHash, value}]}.
function readNote(text) {
  if (/[\u0000-\u0009\u000b-\u001f]/.test(text)) throw wrong("it holds a control character");
  const at = text.lastIndexOf("\n\n");
  if (at < 0) throw wrong("no empty line parts a text from its signatures");
  const below = text.slice(at + 2);
  if (!below.endsWith("\n")) throw wrong("it does not end with a line of a signature");
  const lines = below.slice(0, -1).split("\n");
  if (lines.length > MAX_SIGNATURES) throw wrong(`it has more than ${MAX_SIGNATURES} signatures`);
  return { text: text.slice(0, at + 1), signatures: lines.map(readSignature) };
}

function readSignature(line) {
  const match = LINE.exec(line);
  if (match === null) throw wrong("a line of a signature is not a dash, a key's name and base64");
  const raw = decoded(match[2], "a signature");
  if (raw.length <= 4) throw wrong("the base64 of a signature is too short");
  return { name: match[1], keyHash: raw.subarray(0, 4), value: raw.subarray(4) };
}

// The lines of a file: [{number, head, note}], `note` null where the body stands alone.
export function readCheckpoints(bytes) {
  const found = [];
  let start = 0;
  while (start < bytes.length) {
    const end = bytes.indexOf(10, start);
    if (end < 0) throw wrong(`line ${found.length + 1} is not whole`);
    found.push(readLine(bytes.subarray(start, end), found.length + 1));
    start = end + 1;
  }
  if (found.length === 0) throw wrong("the file holds no line");
  return found;
}

function readLine(bytes, number) {
  const value = decodeCanonical(bytes);
  const names = isObject(value) ? Object.keys(value).sort().join(" ") : "";
  if (names !== "format note number" || value.format !== FORMAT) throw wrong(`line ${number} is not ${FORMAT}`);
  if (!isInteger(value.number) || !isText(value.note)) throw wrong(`line ${number} has members of other types`);
  if (value.number !== number) throw wrong(`its number is ${value.number}, the next one is ${number}`);
  if (!value.note.includes("\n\n")) return { number, head: readHeadText(value.note), note: null };
  const note = readNote(value.note);
  return { number, head: readHeadText(note.text), note };
}

// What is wrong with the signature of a run's own checkpoint; `key` is null where the run names none.
export async function checkpointFault({ note }, key) {
  if (key === null) return note === null ? null : "it is signed, and the run names no key";
  if (note === null) return "it is not signed, and the run names a key";
  if (note.signatures.length !== 1) return "it has other signatures than the run's";
  const [{ name, keyHash, value }] = note.signatures;
  const wanted = `docket.local/${fingerprint(key)}`;
  if (name !== wanted || toHex(keyHash) !== toHex(noteKeyHash(wanted, key))) return "it carries no signature by the key";
  return signatureOfFault(key, value, utf8(note.text));
}
