// The check of rollback: no receipt older than one that the same verifier accepted before (spec/checkpoint.md, State).

import { fail, pass, skip } from "./case.mjs";
import { decodeDocument, encodeTo } from "./canonical.mjs";
import { hexOf, longSha256 } from "./digests.mjs";
import { fingerprint } from "./ed25519.mjs";
import { Refused } from "./refused.mjs";
import { toHex } from "./sha256.mjs";
import { SESSION_ID, array, constant, count, digest, formed, record } from "./shapes.mjs";

const FORMAT = "docket/verifier-state/v1";
const UNSIGNED = "unsigned";
// Each fault is what an attack looks like, and what something harmless may look like too: that, and what to do then.
const OVERLAPPED = "runs that overlap are verified in the order of their numbers, and an older one without a state";
const OTHER_MAKE = "a redacted copy is another one too: give copies a state of their own";
const PUT_BACK = "after a project's state was put back to an older one, start a new state";

const positive = (value, where) => count(value, where) ?? (value > 0 ? null : `${where} is 0`);

// An entry that no receipt can have taught is refused: passing it over would let an older receipt through.
const runShape = record({
  key: formed(/^(?:unsigned|[0-9a-f]{64})$/, "64 lower-case hexadecimal digits or unsigned"),
  project: formed(/^[0-9a-f]{32}$/, "32 lower-case hexadecimal digits"),
  run: positive,
  session: formed(SESSION_ID, "1 to 64 letters, digits, _ and -"),
  receipt_sha256: digest,
});
const originShape = record({
  origin: formed(/^docket\.local\/(?:unsigned|[0-9a-f]{16})\/[0-9A-Za-z_-]{1,64}$/, "an origin, docket.local/KEY/SESSION"),
  size: positive,
  root: digest,
});
const stateShape = record({ format: constant(FORMAT), projects: array(runShape), origins: array(originShape) });

// What a state remembers, of the bytes of its document; Refused where it is none.
export function readState(bytes) {
  const document = decodeDocument(bytes);
  const fault = stateShape(document, "the state");
  if (fault !== null) throw new Refused("wrong-value", fault);
  const { projects, origins } = document;
  const unique = (names) => new Set(names).size === names.length;
  if (!unique(projects.map(({ key, project }) => `${key} ${project}`)) || !unique(origins.map(({ origin }) => origin))) {
    throw new Refused("wrong-value", "it names a project by one key, or an origin, twice");
  }
  return { projects, origins };
}

export class Rollback {
  finish({ receipt, ledger, ours, remembered, keys }) {
    if (remembered === null) return skip("no state of earlier verifications was named");
    const proof = receipt.part("proof");
    if (!ours || !(proof?.run > 0) || receipt.part("ledger", "events") === 0) {
      return fail("the record does not say which run of its project it is: it cannot be told from an older one");
    }
    const key = proof.signature?.public_key ?? UNSIGNED;
    const [bySigner, bySeal] = named(receipt, keys);
    const ofProject = remembered.projects.filter((one) => one.project === proof.project);
    // What a key signed that the caller named is held against that key's runs; all else against those of any.
    const known = ofProject
      .filter((one) => !bySigner || key === UNSIGNED || one.key === key)
      .reduce((highest, one) => (highest && highest.run >= one.run ? highest : one), undefined);
    const older = (known && olderRun(receipt, proof, known)) ?? (bySigner || bySeal ? null : otherKey(key, ofProject));
    const fault = older ?? smallerHead(receipt, ledger, remembered, proof.origin);
    if (fault !== null) return fail(fault);
    const before = known === undefined ? "the first of its project that this state knows" : `the highest before was ${known.run}`;
    return pass(`run ${proof.run}, ${before}`);
  }
}

// Whether the caller named the key of the signature, and that of the seal; whether they hold is told by other checks.
function named(receipt, { publicKeys, sealKeys }) {
  const signer = receipt.part("signature", "public_key");
  const seal = receipt.part("seal", "key_id");
  return [publicKeys.some((key) => toHex(key) === signer), sealKeys.some((key) => fingerprint(key) === seal)];
}

// Once runs of a project were signed, another key, or none, has to be named.
function otherKey(key, ofProject) {
  const signers = ofProject.map((one) => one.key).filter((one) => one !== UNSIGNED);
  if (signers.length === 0 || signers.includes(key)) return null;
  const [by, advice] =
    key === UNSIGNED
      ? ["no key", "sign it, or give unsigned runs and copies a state of their own"]
      : [`the key ${key}`, "name the one that you expect"];
  return `the key of its project changed: ${signers.at(-1)} signed what was verified before, ${by} this; ${advice}`;
}

function olderRun(receipt, { run, previous }, known) {
  if (run < known.run) {
    return `it is run ${run} of its project, and run ${known.run} was verified before; ${OVERLAPPED}, ${PUT_BACK}`;
  }
  if (run === known.run) {
    const hash = longSha256();
    encodeTo(receipt.document, (piece) => hash.update(piece));
    const same = hexOf(hash) === known.receipt_sha256;
    return same ? null : `another receipt of run ${run} was verified before; ${OTHER_MAKE}, ${PUT_BACK}`;
  }
  if (previous?.session === known.session && previous.receipt_sha256 !== known.receipt_sha256) {
    return `it names another receipt of run ${known.run} as the one before than was verified; ${OTHER_MAKE}`;
  }
  return null;
}

function smallerHead(receipt, ledger, { origins }, origin) {
  const known = origins.find((one) => one.origin === origin);
  const { events, merkle_root: root } = receipt.part("ledger");
  if (known === undefined) return null;
  if (events < known.size) return `its ledger has ${events} events, and ${known.size} were verified before`;
  if (events === known.size) return root === known.root ? null : `another ledger of ${events} events was verified before`;
  if (!ledger?.sound || ledger.events < known.size || ledger.tree.rootAt(known.size) === known.root) return null;
  return `its ledger does not begin with the ${known.size} events that were verified before`;
}
