// One word for a document, from the statuses of its checks (spec/receipt.md, Verdicts).

import { declaresIncomplete } from "./statements.mjs";

export class Verdict {
  constructor({ word, required, docketNumber = null, checks = [], detail = "" }) {
    this.verdict = word;
    this.docket_number = docketNumber;
    this.checks = checks;
    this.detail = detail;
    this.ok = (required === "verified" ? ["verified"] : ["verified", "consistent"]).includes(word);
    this.failures = checks.filter(({ status }) => status === "fail").map(({ name, detail: why }) => `${name}: ${why}`);
  }

  // What `--json` prints.
  toJSON() {
    const { ok, verdict, docket_number, checks, failures, detail } = this;
    const told = { ok, verdict, docket_number, checks, failures };
    return verdict === "unreadable" ? { ...told, detail } : told;
  }
}

// `vouched`: a key that the caller named vouches for the receipt.
export function wordOf(given, checks, vouched) {
  const failed = checks.filter(({ status }) => status === "fail");
  if (failed.length === 0) return vouched && given.ledger?.sound && given.ledger.ended ? "verified" : "consistent";
  if (failed.length === 1 && failed[0].name === "evidence-completeness" && declaresIncomplete(given.receipt)) return "incomplete";
  return "failed";
}
