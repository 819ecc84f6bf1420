// Checks of what a receipt says of itself: its format, the digests of what it embeds, its completeness.

import { fail, pass, skip } from "./case.mjs";
import { encode, utf8 } from "./canonical.mjs";
import { FOLD } from "./ledger.mjs";
import { FORMAT } from "./receipt_shape.mjs";
import { shown } from "./refused.mjs";
import { sha256Hex } from "./sha256.mjs";

export class Format {
  finish({ ledger, receipt }) {
    const named = [["the receipt", receipt.part("tool", "fold")], ["the ledger", ledger?.fold]];
    for (const [name, fold] of named) {
      if (fold !== undefined && fold !== null && fold !== FOLD) {
        return fail(`${name} derives by ${shown(fold)}, which this version does not know`);
      }
    }
    return pass(FORMAT);
  }
}

function digest(document, stated, where) {
  const found = sha256Hex(utf8(encode(document)));
  if (found !== stated) return fail(`${where}.digest is ${shown(stated)}, the embedded document has ${found}`);
  return pass(`${where}.digest is that of the embedded document`);
}

export class PolicyDigest {
  finish({ receipt }) {
    const policy = receipt.part("policy");
    if (policy === null) return skip("the record ends before a policy was applied");
    return digest(policy.document, policy.digest, "policy");
  }
}

export class PriceTableDigest {
  finish({ receipt }) {
    const table = receipt.part("price_table");
    return digest(table.document, table.digest, "price_table");
  }
}

export class EvidenceCompleteness {
  finish({ ledger, receipt }) {
    const complete = receipt.part("evidence", "ledger_complete");
    if (ledger?.sound && complete && !ledger.ended) {
      return fail("evidence says the ledger is complete, the ledger has no session.end");
    }
    if (receipt.part("session", "exit_code") === null) {
      return fail("the record has no end: what happened after its last event is unknown");
    }
    const unwritten = receipt.part("evidence", "unwritten_events");
    if (!complete || unwritten !== 0) {
      return fail(`the record itself says that it is incomplete: ${unwritten} events could not be written`);
    }
    return pass("every event reached the ledger, which has its end");
  }
}

// Whether the receipt itself says that its record is not whole.
export const declaresIncomplete = (receipt) => receipt.part("evidence", "ledger_complete") === false;
