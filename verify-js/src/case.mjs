// What a check is given, and how it answers.
//
// A check is an object with `finish(case)`, which returns an answer or a promise of one, and, where it looks at the
// events of the ledger, `observe(event)` for a ledger of docket's own and `observePublic(event)` for any other. Each
// event is shown once, in order, before any `finish`. A check never throws for what a document holds.
//
// An event is {seq, ts, type, data, prev, hash, known}. Objects of decoded JSON inherit nothing, so `data.name` is
// undefined exactly where the member is missing, whatever its name. `known` says that the type is of the vocabulary
// and that `data` has exactly its members; an event of a known type whose payload was refused is not shown.

export const pass = (detail) => ({ status: "pass", detail });
export const fail = (detail) => ({ status: "fail", detail });
export const skip = (detail) => ({ status: "skip", detail });

export const NO_LEDGER = "no ledger was given";
export const DAMAGED = "the ledger could not be read to its end";
const OTHER_WRITER = "the ledger is another writer's";

// The receipt, whose shape was checked. `rows` are the usage rows as they stand in the document, `ours` whether the
// document or its ledger names docket/fold/v1.
export class Receipt {
  constructor(document, ours) {
    this.document = document;
    this.ours = ours;
    this.rows = document.appendix.usage;
  }

  // A nested member; undefined where a level is missing.
  part(...names) {
    let value = this.document;
    for (const name of names) {
      if (value === null || typeof value !== "object" || Array.isArray(value)) return undefined;
      value = value[name];
    }
    return value;
  }
}

// `ledger` is null or {events, hashes, head, tree, fileSha256, damage, torn, sound, ended, fold, ours, payloadFault,
// keptPaths}: the number of events, their hashes (`hashes.hex(n)`), the last hash, the tree (`tree.root()`,
// `tree.path(n)`), the digest of the file, why reading stopped, whether bytes follow the last LF, whether it could be
// read to its end, whether session.end is last, the fold it names, whether that is docket/fold/v1, the first payload
// that was refused or null, and the paths of the bodies that its replies say were kept.
// `bodies` (path to bytes, a Blob or pieces) and `deltas` (digest to bytes) are Maps, or null where their folder is not there;
// `checkpoints` are the bytes of that file or null, `heads` those that were written down, `remembered` what a state knows
// of earlier runs or null; `keys` is {publicKeys, sealKeys, either}: arrays of bytes, and whether one kind of them is
// enough.
// `course.follow(key, Type)` gives the one follower of a key, so that several checks share what one pass derived.
export class Case {
  constructor({
    receipt, ledger, course, keys, bodies = null, deltas = null, checkpoints = null, heads = [], remembered = null,
  }) {
    this.receipt = receipt;
    this.ledger = ledger;
    this.course = course;
    this.bodies = bodies;
    this.deltas = deltas;
    this.checkpoints = checkpoints;
    this.heads = heads;
    this.remembered = remembered;
    this.keys = keys;
    this.ours = receipt.ours;
  }
}

// The answer of a check that only looks at the events of docket's own ledger: `fault` is the first thing wrong, or null.
export function watched(given, fault, good) {
  if (given.ledger === null) return skip(NO_LEDGER);
  if (!given.ledger.ours) return skip(OTHER_WRITER);
  if (fault !== null) return fail(fault);
  return given.ledger.sound ? pass(good) : skip(DAMAGED);
}

// All that follows the events of one ledger. Followers see an event before the checks do.
export class Course {
  constructor() {
    this.followers = new Map();
    this.checks = [];
    this.shown = null;
  }

  follow(key, Type) {
    if (!this.followers.has(key)) this.followers.set(key, new Type(this));
    return this.followers.get(key);
  }

  // All events of a ledger are its own writer's, or all are another's; who follows them is known before the first.
  show(event, ours) {
    this.shown ??= [...this.followers.values(), ...this.checks].filter((one) => (ours ? one.observe : one.observePublic));
    for (const one of this.shown) {
      if (ours) one.observe(event);
      else one.observePublic(event);
    }
  }
}
