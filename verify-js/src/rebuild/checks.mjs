// The checks that make a receipt's members again: receipt-rebuild and limits-disclosure (spec/receipt.md, Checks).

import { DAMAGED, NO_LEDGER, fail, pass, skip } from "../case.mjs";
import { GENESIS } from "../ledger.mjs";
import { shown } from "../refused.mjs";
import { countOf } from "../wording.mjs";
import { difference, differenceOfSome } from "./compare.mjs";
import { KNOWN_CODES, disclosureOf } from "./disclosure.mjs";
import { LedgerFold } from "./fold.mjs";
import { PublicFold } from "./public.mjs";

export class LimitsDisclosure {
  finish({ ours, receipt }) {
    const stated = receipt.document.limits_disclosure;
    if (!ours) {
      const groups = Object.values(stated).filter((group) => Array.isArray(group) || typeof group === "string");
      const count = groups.reduce((sum, group) => sum + group.length, 0);
      return count > 0 ? pass(countOf(count, "statement")) : fail("limits_disclosure states nothing");
    }
    const codes = stated.codes ?? [];
    const unknown = codes.find((code) => !KNOWN_CODES.has(code));
    if (unknown !== undefined) return fail(`limits_disclosure.codes has ${shown(unknown)}, which is no known code`);
    const found = difference(stated, disclosureOf(new Set(codes)), "limits_disclosure");
    return found === null ? pass(`${countOf(codes.length, "known code")}, each with its sentence`) : fail(found);
  }
}

export class ReceiptRebuild {
  constructor(course) {
    this.fold = course.follow("fold", LedgerFold);
    this.public = course.follow("public fold", PublicFold);
  }

  finish({ ledger, ours, receipt }) {
    const hasFindings = ours && receipt.part("findings").length > 0;
    if (hasFindings) return fail("it has findings, and what is found in a record is no part of it");
    if (ledger === null) return skip(NO_LEDGER);
    if (!ledger.sound) return skip(DAMAGED);
    if (ours && !ledger.ours) return fail("the receipt names docket/fold/v1, the ledger does not");
    const { seal, signature, ...stated } = receipt.document;
    if (!ledger.ours) {
      const found = differenceOfSome(stated, this.public.members(), "receipt");
      return found === null ? pass("what v1 derives equals the ledger") : fail(found);
    }
    const wanted = ledger.payloadFault === null ? this.fold.receipt({ ...figures(ledger), genesis: GENESIS }) : null;
    if (wanted === null) return skip("an event's payload was refused");
    const { usage, ...appendix } = Object(stated.appendix);
    const found = difference({ ...stated, appendix }, wanted, "receipt") ?? this.fold.differenceOfPaths(usage, ledger);
    return found === null ? pass("every member equals what the ledger gives") : fail(found);
  }
}

const figures = ({ events, fileSha256, head, tree }) => ({ events, fileSha256, head, tree });
