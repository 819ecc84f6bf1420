// The check of checkpoints: what the ledger was at earlier sizes (spec/checkpoint.md).

import { fail, pass, skip } from "./case.mjs";
import { isInteger } from "./canonical.mjs";
import { checkpointFault, readCheckpoints } from "./notes.mjs";
import { Refused, shown } from "./refused.mjs";
import { fromHex } from "./sha256.mjs";
import { countOf } from "./wording.mjs";

const TYPE = "x-docket.checkpoint";

export class Checkpoints {
  constructor() {
    this.made = [];
  }

  observe(event) {
    if (event.type === TYPE) this.made.push({ seq: event.seq, ...event.data });
  }

  async finish(given) {
    const { checkpoints, heads, ours } = given;
    if (!ours) return heads.length > 0 ? fail("another writer's record has no head") : skip("another writer's record");
    try {
      const fault = this.eventsFault(given) ?? headsFault(given) ?? (await this.fileFault(given));
      if (fault !== null) return fail(fault);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      return fail(error.message);
    }
    if (checkpoints !== null) return pass(`${countOf(readCheckpoints(checkpoints).length, "checkpoint")} of this ledger`);
    if (heads.length > 0) return pass(`${countOf(heads.length, "head")} written down earlier: beginnings of this ledger`);
    return skip("no file of checkpoints was given");
  }

  eventsFault({ ledger }) {
    if (ledger === null || !ledger.sound) return null;
    let last = 0;
    for (const [at, made] of this.made.entries()) {
      const fault = eventFault(ledger.tree, made, at + 1, last);
      if (fault !== null) return `event ${made.seq} (${TYPE}): ${fault}`;
      last = made.size;
    }
    return null;
  }

  async fileFault(given) {
    const { checkpoints, receipt, ledger } = given;
    if (checkpoints === null) return null;
    const text = receipt.part("proof", "signature", "public_key");
    const key = text === undefined ? null : (fromHex(text, 32) ?? new Uint8Array(0));
    const kept = readCheckpoints(checkpoints);
    const told = ledger?.sound ? this.made.length : numberOfEvents(receipt);
    const ended = receipt.part("evidence", "ended") === true;
    if (kept.length !== told + 1 && (ended || kept.length !== told)) {
      return `the file holds ${countOf(kept.length, "checkpoint")}, the ledger tells of ${told} before the last`;
    }
    let last = 0;
    for (const one of kept) {
      const fault = this.noteFault(given, one, last) ?? (await checkpointFault(one, key));
      if (fault !== null) return `checkpoint ${one.number}: ${fault}`;
      last = one.head.size;
    }
    const events = receipt.part("ledger", "events");
    return ended && last !== events ? `the last checkpoint is of ${last} events, the ledger has ${events}` : null;
  }

  noteFault({ receipt, ledger }, { head, number }, last) {
    const events = receipt.part("ledger", "events");
    if (head.origin !== receipt.part("proof", "origin")) return `it is ${shown(head.origin)}'s, and not the receipt's`;
    if (head.size <= last || head.size > events) return `it is of ${head.size} events, between ${last + 1} and ${events} are possible`;
    if (head.size === events && head.root !== receipt.part("ledger", "merkle_root")) return "its root is not the receipt's";
    if (!ledger?.sound) return null;
    const made = this.made[number - 1];
    if (made !== undefined && (made.size !== head.size || made.root !== head.root)) return "the ledger tells of another size or root";
    if (head.size <= ledger.events && ledger.tree.rootAt(head.size) === head.root) return null;
    return `its root is not that of the first ${head.size} events`;
  }
}

function eventFault(tree, { seq, number, size, root }, next, last) {
  if (number !== next) return `its number is ${number}, the next one is ${next}`;
  if (size <= last || size > seq) return `it is of ${size} events, between ${last + 1} and ${seq} are possible`;
  return tree.rootAt(size) === root ? null : `its root is not that of the first ${size} events`;
}

function numberOfEvents(receipt) {
  const count = receipt.part("event_counts", TYPE);
  return isInteger(count) ? count : 0;
}

function headsFault({ heads, receipt, ledger }) {
  for (const head of heads) {
    const fault = headFault(receipt, ledger, head);
    if (fault !== null) return `the head that was written down, of ${head.size} events: ${fault}`;
  }
  return null;
}

function headFault(receipt, ledger, { origin, size, root }) {
  const events = receipt.part("ledger", "events");
  if (origin !== receipt.part("proof", "origin")) return `it is ${shown(origin)}'s, and not the receipt's`;
  if (size > events) return `the ledger has ${events} now`;
  if (!ledger?.sound) {
    const whole = size === events && root === receipt.part("ledger", "merkle_root");
    return whole ? null : "without a whole ledger it cannot be told for a beginning of it";
  }
  if (size > ledger.events) return `the ledger has ${ledger.events} now`;
  return ledger.tree.rootAt(size) === root ? null : "the ledger does not begin so";
}
