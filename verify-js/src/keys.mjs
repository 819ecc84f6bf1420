// Checks of what a key vouches for: the seal and the signature (spec/receipt.md, Proof and Keys).

import { fail, pass, skip } from "./case.mjs";
import { encodeTo, isText, plain } from "./canonical.mjs";
import { longSha256 } from "./digests.mjs";
import { fingerprint, signatureOfPiecesFault } from "./ed25519.mjs";
import { shown } from "./refused.mjs";
import { Sha256, fromHex, toHex } from "./sha256.mjs";
import { SESSION_ID } from "./shapes.mjs";

const SEAL = { name: "seal", other: "signature", alg: "hmac-sha256", keyMember: "key_id", digits: { key_id: 16, value: 64 } };
const SIGNATURE = {
  name: "signature", other: "seal", alg: "ed25519", keyMember: "public_key", digits: { public_key: 64, value: 128 },
};

const isHex = (value, digits) => isText(value) && value.length === digits && /^[0-9a-f]*$/.test(value);

// The canonical form of the receipt without some of its members, as what gives it in pieces.
function textWithout(receipt, names) {
  const document = plain(receipt.document);
  for (const name of names) delete document[name];
  return (take) => encodeTo(document, take);
}

// RFC 2104, with keys of any length; `message(take)` gives the text in pieces.
export function hmacSha256(key, message) {
  const short = key.length > 64 ? new Sha256().update(key).digest() : key;
  const padded = (mark) => Uint8Array.from({ length: 64 }, (_, at) => (short[at] ?? 0) ^ mark);
  const inner = longSha256();
  inner.update(padded(0x36));
  message((piece) => inner.update(piece));
  return new Sha256().update(padded(0x5c)).update(inner.digest()).digest();
}

// What the receipt's `proof` says of the key, or null.
function announced({ receipt, ours }, kind) {
  return (ours ? receipt.part("proof", kind.name) : null) ?? null;
}

// The answer where the receipt carries none; `named` are the names of the caller's keys.
function absent(given, kind, named) {
  const { receipt, keys } = given;
  const wanted = announced(given, kind);
  const killed = receipt.part("session", "exit_code") === null && receipt.part("evidence", "ended") === false;
  if (wanted !== null && killed && (named.size === 0 || named.has(wanted[kind.keyMember]))) {
    return skip(`the run was killed: its ${kind.name} was to be made at its end`);
  }
  if (wanted !== null) return fail(`proof names the key of the run's ${kind.name}, and the receipt carries none`);
  if (named.size === 0) return skip(`the receipt carries no ${kind.name}`);
  if (keys.either && receipt.part(kind.other) !== null) {
    return skip(`the receipt carries no ${kind.name}; of the keys that were named one is enough`);
  }
  return fail(`a key was named, and the receipt carries no ${kind.name}`);
}

// What is wrong with the form of a seal or a signature, or null.
function formFault(found, kind) {
  if (found.alg !== kind.alg) return `${kind.name}.alg is not ${kind.alg}`;
  const members = Object.entries(kind.digits);
  if (Object.keys(found).length !== members.length + 1) return `${kind.name} has not exactly its three members`;
  for (const [member, digits] of members) {
    if (!isHex(found[member], digits)) return `${kind.name}.${member} is not ${digits} lower-case hexadecimal digits`;
  }
  return null;
}

// What is other than `proof` announced, or null.
function otherThanAnnounced(given, kind, found) {
  if (!given.ours || !given.receipt.part("proof")) return null;
  const wanted = announced(given, kind)?.[kind.keyMember];
  if (wanted === undefined) return `proof names no key for a ${kind.name}, and the receipt carries one`;
  if (found[kind.keyMember] === wanted) return null;
  return `${kind.name}.${kind.keyMember} is ${shown(found[kind.keyMember])}, proof names ${shown(wanted)}`;
}

const byAnother = (kind, found) => fail(`${kind.name}.${kind.keyMember} is ${found[kind.keyMember]}, no key that was named`);

export class Seal {
  finish(given) {
    const { receipt, keys } = given;
    const named = new Map(keys.sealKeys.map((key) => [fingerprint(key), key]));
    const found = receipt.part("seal");
    if (found === null) return absent(given, SEAL, named);
    const fault = formFault(found, SEAL) ?? otherThanAnnounced(given, SEAL, found);
    if (fault !== null) return fail(fault);
    if (named.size === 0) return skip("no key was named to check the seal with");
    const key = named.get(found.key_id);
    if (key === undefined) return byAnother(SEAL, found);
    const value = toHex(hmacSha256(key, textWithout(receipt, ["seal", "signature"])));
    if (value !== found.value) return fail("the seal is not one of this receipt by the key that was named");
    return { ...pass(`sealed with the key ${found.key_id}, which was named`), vouches: true };
  }
}

export class Signature {
  async finish(given) {
    const { receipt, keys } = given;
    const named = new Map(keys.publicKeys.map((key) => [toHex(key), key]));
    const found = receipt.part("signature");
    if (found === null) return absent(given, SIGNATURE, named);
    const form = formFault(found, SIGNATURE) ?? otherThanAnnounced(given, SIGNATURE, found);
    const fault = form ?? (await mathematics(receipt, found));
    if (fault !== null) return fail(fault);
    if (named.size === 0) {
      return pass(`it holds by the key ${found.public_key}, which nobody named: it says who signed, not whether to believe them`);
    }
    if (!named.has(found.public_key)) return byAnother(SIGNATURE, found);
    return { ...pass(`signed by the key ${found.public_key}, which was named`), vouches: true };
  }
}

const mathematics = (receipt, { public_key: key, value }) =>
  signatureOfPiecesFault(fromHex(key, 32), fromHex(value, 64), textWithout(receipt, ["signature"]));

// The check of what a record says will vouch for it.
export class ProofFacts {
  finish({ receipt, ours }) {
    const facts = receipt.part("proof");
    if (facts === undefined || facts === null) return skip("the record does not say what vouches for it");
    if (!ours) return skip("another writer's proof is not known here");
    const fault = factsFault(facts, receipt.part("session", "id"));
    return fault === null ? pass(`run ${facts.run} of its project, ${facts.origin}`) : fail(fault);
  }
}

function factsFault({ origin, project, run, previous, signature, seal }, session) {
  const key = signature?.public_key;
  if (key !== undefined && !isHex(key, 64)) return "proof.signature.public_key is not 64 lower-case hexadecimal digits";
  if (seal && !isHex(seal.key_id, 16)) return "proof.seal.key_id is not 16 lower-case hexadecimal digits";
  if (!SESSION_ID.test(session)) return "session.id is not 1 to 64 letters, digits, _ and -: an origin is made of it";
  const wanted = `docket.local/${key === undefined ? "unsigned" : fingerprint(fromHex(key, 32))}/${session}`;
  if (origin !== wanted) return `proof.origin is ${shown(origin)}, key and session give ${shown(wanted)}`;
  if (!isHex(project, 32)) return "proof.project is not 32 lower-case hexadecimal digits";
  if (run === 0) return "proof.run is 0, runs are counted from 1";
  if (previous?.session === session) return "proof.previous names this very session";
  return previous?.events === 0 ? "proof.previous has no event" : null;
}
