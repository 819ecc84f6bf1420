// The course of a workspace transaction in a ledger (spec/course.md, Transactions); a part of session-shape.

const OUTCOMES = {
  commit: ["committed", "refused", "interrupted", "discarded"],
  review: ["left-for-review"],
  discard: ["discarded"],
};

export class Transaction {
  constructor() {
    this.begun = false;
    this.opened = null;
    this.intent = null;
  }

  take(type, data, hasProcess, hasPassAfter) {
    if (type === "x-docket.workspace-opened" || type === "x-docket.workspace-refused") {
      if (this.begun || hasProcess) return "a transaction is opened or refused once, before any process";
      this.begun = true;
      if (type === "x-docket.workspace-refused") return null;
      this.opened = data;
      const unread = data.unread ?? null;
      return unread === null || (unread > 0 && unread <= data.files) ? null : "more is unread than was staged, or nothing";
    }
    if (type === "x-docket.workspace-intent" && !hasPassAfter) return "it stands before the pass after";
    if (this.opened === null || this.opened.transaction !== data.transaction) return "it is about another transaction";
    if (type === "x-docket.workspace-settled") return this.#settled(data);
    this.intent = data;
    return ofIntent(data, this.opened);
  }

  #settled(data) {
    const { intent } = this;
    if (intent === null) return data.outcome === "discarded" ? null : "the stage was settled without an intent";
    if (!OUTCOMES[intent.decision].includes(data.outcome)) return `${data.outcome} is no outcome of ${intent.decision}`;
    return data.outcome === "committed" ? landed(data, intent) : notLanded(data);
  }
}

function ofIntent(intent, opened) {
  if (intent.approval !== (opened.approved ? "run" : "none")) return "the opening does not bear out the approval";
  if ((intent.decision === "commit") !== (intent.reason === undefined)) return "a reason stands with a commit, or is missing";
  if (intent.excluded_write_count < intent.excluded_writes.length) return "excluded_write_count is less than what is named";
  return null;
}

function landed(settled, intent) {
  if (intent.protected !== 0 && intent.approval === "none") return "protected paths landed without an approval";
  const changes = [intent.added, intent.modified, intent.removed, intent.retyped].reduce((sum, n) => sum + BigInt(n), 0n);
  if (settled.plan_sha256 === undefined) return "it landed without a plan";
  if (BigInt(settled.applied ?? 0) + BigInt(settled.already ?? 0) !== changes) return "what landed is not what was meant";
  return settled.reason === undefined ? null : "a reason stands beside what landed";
}

function notLanded(settled) {
  if (settled.reason === undefined) return "nothing landed, and no reason is given";
  for (const name of ["plan_sha256", "applied", "already"]) if (settled[name] !== undefined) return "nothing landed, and a plan is named";
  return (settled.refused ?? 0) < (settled.refusals ?? []).length ? "refused is less than what is named" : null;
}
