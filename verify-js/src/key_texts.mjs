// How keys are written (spec/receipt.md, Keys and Trusted keys): each form has one spelling, and what does not read back
// to itself is refused.

import { stripped, wordsOf } from "./blanks.mjs";
import { decodeDocument, isObject, isText, utf8 } from "./canonical.mjs";
import { keyFault } from "./ed25519.mjs";
import { isPrintable } from "./letters.mjs";
import { Refused } from "./refused.mjs";
import { fromHex, sha256, toHex } from "./sha256.mjs";
import { array, constant, record, text as textShape } from "./shapes.mjs";

const SPKI = fromHex("302a300506032b6570032100", 12);
const NOTE_KEY = 1;
const VKEY = /^([^+\p{White_Space}\x1c-\x1f]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/u;
const PEM = /^-----BEGIN ([A-Z0-9 ]+)-----\r?\n([^-]*)-----END \1-----$/;
const TRUST = "docket/trust/v1";

const unusable = (detail) => new Refused("key-unusable", detail);

const startsWith = (bytes, prefix) => prefix.every((byte, at) => bytes[at] === byte);

// The bytes of padded base64 in its only spelling.
export function fromBase64(coded) {
  let made;
  try {
    made = Uint8Array.from(atob(coded), (character) => character.charCodeAt(0));
  } catch {
    throw unusable("its base64 cannot be read");
  }
  const again = btoa(Array.from(made, (byte) => String.fromCharCode(byte)).join(""));
  if (again !== coded) throw unusable("its base64 does not re-encode to itself");
  return made;
}

function ofPem(bare) {
  const match = PEM.exec(bare);
  if (match === null) throw unusable("it is not one block of PEM");
  if (match[1] !== "PUBLIC KEY") throw unusable(`it is a ${match[1].toLowerCase()}, no public key`);
  const der = fromBase64(wordsOf(match[2]).join(""));
  if (der.length !== SPKI.length + 32 || !startsWith(der, SPKI)) throw unusable("it is not an Ed25519 key in its plain form");
  return der.subarray(SPKI.length);
}

// The verifier key of a C2SP signed note: NAME+HASH+BASE64.
function ofNote([, name, hash, coded]) {
  const bytes = fromBase64(coded);
  if (bytes[0] !== NOTE_KEY || bytes.length !== 33) throw unusable("it is not an Ed25519 verifier key");
  const found = toHex(noteKeyHash(name, bytes.subarray(1)));
  if (found !== hash) throw unusable("its hash is not that of its name and key");
  return bytes.subarray(1);
}

// The four bytes by which a signed note names a key.
export function noteKeyHash(name, publicKey) {
  return sha256(Uint8Array.of(...utf8(name), 10, NOTE_KEY, ...publicKey)).subarray(0, 4);
}

// The 32 bytes of a public key in hexadecimal, PEM or as a verifier key.
export function readPublicKey(text) {
  const bare = stripped(text);
  const note = VKEY.exec(bare);
  let key = fromHex(bare, 32);
  if (key === null && bare.startsWith("-----BEGIN ")) key = ofPem(bare);
  if (key === null && note !== null) key = ofNote(note);
  if (key === null) throw unusable("it is neither 64 lower-case hexadecimal digits nor a public key in PEM nor a verifier key");
  const fault = keyFault(key);
  if (fault !== null) throw unusable(fault);
  return key;
}

// The 32 bytes of the key of a seal.
export function readSealKey(text) {
  if (!/^[\0-\x7f]*$/.test(text)) throw unusable("it is not text");
  const key = fromHex(stripped(text), 32);
  if (key === null) throw unusable("it is not 64 lower-case hexadecimal digits");
  return key;
}

const trustShape = record({ format: constant(TRUST) }, {
  signers: array(record({ name: textShape, public_key: textShape })),
  seal_keys: array(record({ name: textShape, key_id: textShape, file: textShape })),
});

// Of blanks a name on one line holds the space alone.
const isName = (name) => isText(name) && stripped(name) !== "" && isPrintable(name.replaceAll(" ", ""));

// {signers, sealKeys} of a list of trusted keys: [{name, publicKey}] and [{name, keyId, file}].
export function readTrust(bytes) {
  const value = decodeDocument(bytes);
  const fault = isObject(value) ? trustShape(value, "trust") : "it is not an object";
  if (fault !== null) throw unusable(fault);
  const { signers = [], seal_keys: seals = [] } = value;
  if (signers.length + seals.length === 0) throw unusable("it names no key");
  if (![...signers, ...seals].every(({ name }) => isName(name))) throw unusable("a name is no name on one line");
  return {
    signers: signers.map(({ name, public_key: key }) => ({ name, publicKey: readPublicKey(key) })),
    sealKeys: seals.map(({ name, key_id: keyId, file }) => ({ name, keyId, file })),
  };
}
