// The fold over the passes and changes of the watched tree: `files`, `ops.snapshot`, `ops.rollback`.

import { orNull, without } from "./course.mjs";
import { Tally } from "./tally.mjs";

const FIRST_PATHS = 25;
const ESCAPED = (byte) => `\\x${byte.toString(16).padStart(2, "0")}`;

export class TreeFold {
  constructor() {
    this.changes = new Tally();
    this.paths = [];
    this.passes = new Map();
    this.violations = new Tally();
    this.notCovered = [];
    this.refused = null;
    this.rollback = null;
  }

  change(data) {
    this.changes.add(data.change);
    if (this.paths.length < FIRST_PATHS) this.paths.push(data.path ?? shownPath(data.path_b64));
  }

  pass(data) {
    this.passes.set(data.phase, data);
  }

  violation(data) {
    this.violations.add(data.rule);
  }

  omitted(data) {
    if (data.phase !== "contents") return;
    const left = Math.max(FIRST_PATHS - this.notCovered.length, 0);
    for (const item of data.omissions.slice(0, left)) this.notCovered.push(without(item, "detail"));
  }

  get bothPasses() {
    return this.passes.has("before") && this.passes.has("after");
  }

  // The most paths that one pass left out.
  get omissions() {
    const counts = [...this.passes.values()].map((pass) => pass.omissions);
    return Math.max(0, ...counts);
  }

  files() {
    const passes = {};
    for (const phase of ["before", "after"]) {
      passes[phase] = this.passes.has(phase) ? without(this.passes.get(phase), "phase") : null;
    }
    return {
      changed: this.changes.total(),
      added: this.changes.of("added"),
      modified: this.changes.of("modified"),
      removed: this.changes.of("removed"),
      retyped: this.changes.of("retyped"),
      violations: this.violations.total(),
      violations_by_rule: this.violations.toJson(),
      top_paths: this.paths,
      passes,
    };
  }

  snapshotMember() {
    if (this.refused !== null) return { taken: false, ...this.refused };
    const pass = this.passes.get("contents");
    if (pass === undefined) return null;
    return {
      taken: true,
      ...without(pass, "phase", "not_covered"),
      not_covered: this.notCovered,
      not_covered_count: orNull(pass.not_covered),
    };
  }

  rollbackMember() {
    return this.rollback === null ? null : { applied: this.rollback.applied, ...this.rollback.data };
  }
}

// Bytes that are no UTF-8 as they are shown: each byte that is no part of a character stands as \xNN.
function shownPath(coded) {
  const bytes = Uint8Array.from(atob(coded), (character) => character.charCodeAt(0));
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let shown = "";
  for (let at = 0; at < bytes.length; ) {
    const length = characterLength(bytes[at]);
    const character = length === 0 ? null : decoded(decoder, bytes.subarray(at, at + length));
    shown += character ?? ESCAPED(bytes[at]);
    at += character === null ? 1 : length;
  }
  return shown;
}

function characterLength(first) {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
}

function decoded(decoder, bytes) {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}
