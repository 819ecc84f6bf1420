// The fold over a workspace transaction: the receipt member `workspace` (spec/receipt.md, Workspace).

import { orNull } from "./course.mjs";

const NOT_TRANSACTIONAL = [
  "network-calls",
  "database-writes",
  "processes-started",
  "paths-outside-the-declared-surface",
];

export class WorkspaceFold {
  constructor() {
    for (const name of ["opened", "refused", "intent", "settled"]) this[name] = null;
  }

  member() {
    if (this.opened !== null) {
      return {
        ...ofOpening(this.opened),
        ...ofOutcome(this.settled),
        ...ofIntent(this.intent),
        not_transactional: NOT_TRANSACTIONAL,
      };
    }
    if (this.refused === null) return null;
    const { reason, detail } = this.refused;
    return { committed: false, outcome: "not-opened", reason, detail, not_transactional: NOT_TRANSACTIONAL };
  }
}

function ofOpening(opened) {
  const member = {
    base_sha256: opened.manifest_sha256,
    surface: { excluded: opened.excluded, shared: opened.shared, protected: opened.protected },
    staged: {
      files: opened.files,
      directories: opened.directories,
      symlinks: opened.symlinks,
      bytes: opened.bytes_staged,
      not_preserved: opened.not_preserved,
    },
  };
  for (const name of ["transaction", "backend", "view", "settle", "approved", "store"]) member[name] = opened[name];
  return opened.unread === undefined ? member : { ...member, digests_cover: "changes", unread: opened.unread };
}

function ofOutcome(settled) {
  if (settled === null) return { committed: false, outcome: "unsettled", reason: null, detail: null };
  const member = { committed: settled.outcome === "committed", outcome: settled.outcome };
  for (const name of ["reason", "detail", "plan_sha256", "applied", "already", "refused"]) {
    member[name] = orNull(settled[name]);
  }
  return { ...member, refusals: settled.refusals ?? [] };
}

function ofIntent(intent) {
  if (intent === null) return {};
  const member = {
    decision: { is: intent.decision, reason: orNull(intent.reason), detail: orNull(intent.detail) },
    changes: {
      added: intent.added,
      modified: intent.modified,
      removed: intent.removed,
      retyped: intent.retyped,
    },
    protected_changes: intent.protected,
  };
  for (const name of ["result_sha256", "diff_sha256", "approval", "base_moved", "not_preserved"]) {
    member[name] = intent[name];
  }
  return {
    ...member,
    excluded_writes: intent.excluded_writes,
    excluded_write_count: intent.excluded_write_count,
  };
}
