// Checks of the ledger as a chain, against the figures that the receipt states of it.

import { DAMAGED, NO_LEDGER, fail, pass, skip } from "./case.mjs";
import { isInteger } from "./canonical.mjs";
import { GENESIS } from "./ledger.mjs";
import { shown } from "./refused.mjs";
import { countOf } from "./wording.mjs";

export class LedgerChain {
  finish({ ledger, receipt }) {
    if (ledger === null) return skip(NO_LEDGER);
    if (ledger.damage !== null) return fail(ledger.damage);
    if (ledger.torn) return fail(`event ${ledger.events}: the file ends inside its line`);
    if (ledger.events === 0) return fail("the ledger is empty");
    if (receipt.part("ledger", "genesis") !== GENESIS) return fail("ledger.genesis is not the genesis of docket/ledger/v1");
    return pass(`${countOf(ledger.events, "event")}, every hash and link recomputed`);
  }
}

function same(stated, found, where) {
  if (stated !== found) return fail(`${where} is ${shown(stated)}, the ledger gives ${shown(found)}`);
  return pass(`${where} is ${shown(found)}`);
}

export class Head {
  finish({ ledger, receipt }) {
    if (ledger === null) return skip(NO_LEDGER);
    if (!ledger.sound || ledger.head === null) return skip(DAMAGED);
    return same(receipt.part("ledger", "head"), ledger.head, "ledger.head");
  }
}

export class EventCount {
  finish({ ledger, receipt }) {
    const counts = Object.values(receipt.part("event_counts")).filter(isInteger);
    const total = counts.reduce((sum, count) => sum + count, 0);
    const stated = receipt.part("ledger", "events");
    if (total !== stated) return fail(`event_counts add up to ${total}, ledger.events is ${stated}`);
    if (ledger === null) return skip(NO_LEDGER);
    if (!ledger.sound) return skip(DAMAGED);
    return same(stated, ledger.events, "ledger.events");
  }
}

export class MerkleRoot {
  finish({ ledger, receipt }) {
    if (ledger === null) return skip(NO_LEDGER);
    if (!ledger.sound) return skip(DAMAGED);
    return same(receipt.part("ledger", "merkle_root"), ledger.tree.root(), "ledger.merkle_root");
  }
}

export class LedgerFileDigest {
  finish({ ledger, receipt }) {
    if (ledger === null) return skip(NO_LEDGER);
    return same(receipt.part("ledger", "file_sha256"), ledger.fileSha256, "ledger.file_sha256");
  }
}
