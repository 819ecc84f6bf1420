// Reads a delta of a tool window, `agent_tool_delta` version 1 (spec/windows.md, Deltas): exactly what writing gives.

import { compareTexts, decodeCanonical } from "../canonical.mjs";
import { Refused } from "../refused.mjs";
import { array, constant, count, flag, oneOf, record, text } from "../shapes.mjs";
import { INSTANT, fromBase64, isPath, isUtf8, pathBytes } from "./grammar.mjs";

const MAX_DELTA_BYTES = 256 * 1024 * 1024;

const ABSENT = "000000";
const REPOSITORY = "160000";
const MODES = new Set(["100644", "100755", "120000", REPOSITORY]);
const DIGITS = { sha1: 40, sha256: 64, "content-sha256": 64 };
const REASON = /^[a-z][a-z0-9_]{0,63}$/;

const instant = (value, where) => text(value, where) ?? (INSTANT.test(value) ? null : `${where} is not an instant`);
const yes = constant(true);

const ACTOR = record({ provider: text, session_id: text, turn_id: text });
const USE = record(
  { tool_use_id: text, tool_name: text, event_id: text, actor: count },
  { command_summary: text, outcome: text },
);
const HUNK = record(
  { old_start: count, old_count: count, new_start: count, new_count: count },
  { old_lines: array(text), old_lines_b64: array(text), new_lines: array(text), new_lines_b64: array(text) },
);
const FILE = record(
  {
    operation: oneOf("create", "edit", "delete", "typechange"),
    before_hash: text,
    after_hash: text,
    before_mode: text,
    after_mode: text,
  },
  {
    path: text,
    path_b64: text,
    binary: yes,
    truncated: yes,
    old_no_eof_newline: yes,
    new_no_eof_newline: yes,
    hunks: array(HUNK),
  },
);
const DELTA = record(
  {
    version: constant(1),
    kind: constant("agent_tool_delta"),
    scope: oneOf("tool", "concurrent_group"),
    status: oneOf("complete", "partial"),
    window: record({ started_at: instant, completed_at: instant, duration_ms: count }),
    actors: array(ACTOR),
    tool_uses: array(USE),
    files: array(FILE),
    limits: record({ files_observed: count, bytes_read: count, truncated: flag }),
  },
  {
    reason: text,
    hashes: oneOf(...Object.keys(DIGITS)),
    head_before: text,
    head_after: text,
    head_moves: (value, where) => count(value, where) ?? (value > 0 ? null : `${where} is 0`),
  },
);

// {delta, fault}: the delta as it stands, or null and what is wrong with the bytes.
export function readDelta(bytes) {
  try {
    if (bytes.length > MAX_DELTA_BYTES) return broken("it has too many bytes");
    const delta = decodeCanonical(bytes);
    const fault = DELTA(delta, "the delta") ?? ofUses(delta) ?? ofStatus(delta) ?? ofFiles(delta);
    return fault === null ? { delta, fault: null } : broken(fault);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return broken(error.message);
  }
}

const broken = (detail) => ({ delta: null, fault: `the delta is none: ${detail}` });

const ordered = (items, compare) => items.every((item, index) => index === 0 || compare(items[index - 1], item) < 0);
const byActor = (left, right) =>
  compareTexts(left.provider, right.provider) ||
  compareTexts(left.session_id, right.session_id) ||
  compareTexts(left.turn_id, right.turn_id);
const byUse = (left, right) => left.actor - right.actor || compareTexts(left.tool_use_id, right.tool_use_id);

function ofUses({ actors, scope, tool_uses: uses }) {
  if (uses.length === 0) return "no tool use is named";
  if (!ordered(actors, byActor) || !ordered(uses, byUse)) return "actors and tool uses stand in their order, each once";
  const used = new Set(uses.map(({ actor }) => actor));
  if (used.size !== actors.length || [...used].some((actor) => actor >= actors.length)) return "an actor used no tool";
  return (scope === "tool") === (uses.length === 1) ? null : "its scope is not that of so many tool uses";
}

function ofStatus(delta) {
  const { files, hashes, limits, reason, status } = delta;
  if (status === "complete" && (reason !== undefined || hashes === undefined)) return "complete, with a reason or without hashes";
  if (status === "partial" && (files.length > 0 || reason === undefined || !REASON.test(reason))) {
    return "partial, with files or without a reason";
  }
  for (const name of ["head_before", "head_after"]) {
    if (delta[name] !== undefined && (hashes === "content-sha256" || !isHash(delta[name], hashes))) return `${name} is no commit`;
  }
  if (limits.files_observed < files.length) return "fewer files were observed than changed";
  return files.some((file) => file.truncated) && !limits.truncated ? "a truncated file in limits that are not" : null;
}

const isHash = (value, hashes) => hashes !== undefined && value.length === DIGITS[hashes] && /^[0-9a-f]+$/.test(value);

function ofFiles({ files, hashes }) {
  const paths = files.map((file) => (file.path === undefined) === (file.path_b64 === undefined) ? null : pathBytes(file));
  if (paths.some((path) => path === null || !isPath(path))) return "a file has no path in its one spelling";
  if (!ordered(paths, compareBytes)) return "files stand in the order of their paths, each once";
  for (const file of files) {
    const fault = ofSides(file, hashes) ?? ofContent(file) ?? ofHunks(file);
    if (fault !== null) return `${file.path ?? file.path_b64}: ${fault}`;
  }
  return null;
}

function compareBytes(left, right) {
  for (let at = 0; at < Math.min(left.length, right.length); at += 1) if (left[at] !== right[at]) return left[at] - right[at];
  return left.length - right.length;
}

const isZero = (hash) => /^0*$/.test(hash);
const kindOf = (mode) => (mode === "100755" ? "100644" : mode);

function ofSides(file, hashes) {
  for (const side of ["before", "after"]) {
    const [hash, mode] = [file[`${side}_hash`], file[`${side}_mode`]];
    if (!isHash(hash, hashes)) return `${side}_hash is no hash`;
    if (mode !== ABSENT && !MODES.has(mode)) return `${side}_mode is none`;
    if (mode === ABSENT ? !isZero(hash) : isZero(hash) && !file.truncated) return "a mode and a hash do not go together";
  }
  return file.operation === operationOf(file.before_mode, file.after_mode) ? null : "the operation is not what its modes say";
}

function operationOf(before, after) {
  if (before === ABSENT && after === ABSENT) return null;
  if (before === ABSENT) return "create";
  if (after === ABSENT) return "delete";
  return kindOf(before) === kindOf(after) ? "edit" : "typechange";
}

function ofContent(file) {
  const { binary, hunks, operation, truncated } = file;
  const [oldOpen, newOpen] = [file.old_no_eof_newline === true, file.new_no_eof_newline === true];
  if (hunks !== undefined && hunks.length === 0) return "hunks stand where there are none";
  const hasLines = hunks !== undefined || oldOpen || newOpen;
  const isRepository = [file.before_mode, file.after_mode].includes(REPOSITORY);
  if (hasLines && (binary || truncated || operation === "typechange" || isRepository)) return "it has lines";
  if (operation === "edit") return ofEdit(file, oldOpen, newOpen);
  if (operation === "typechange") return null;
  const [here, gone] = operation === "create" ? [newOpen, oldOpen] : [oldOpen, newOpen];
  if (gone || (here && hunks === undefined)) return "the side that is not there has an end";
  return (hunks ?? []).length > 1 ? "it was created or deleted in more than one hunk" : null;
}

function ofEdit(file, oldOpen, newOpen) {
  const { binary, hunks, truncated } = file;
  const isSame = file.before_hash === file.after_hash && !truncated;
  if (isSame) {
    const differs = file.before_mode !== file.after_mode && hunks === undefined && !binary && oldOpen === newOpen;
    return differs ? null : "an edit in which nothing differs";
  }
  const isTold = binary || truncated || hunks !== undefined || file.before_mode === REPOSITORY || oldOpen !== newOpen;
  return isTold ? null : "an edit of which nothing is said";
}

function ofHunks(file) {
  let [oldEnd, newEnd] = [0, 0];
  for (const [index, hunk] of (file.hunks ?? []).entries()) {
    const [before, after] = [linesOf(hunk, "old"), linesOf(hunk, "new")];
    if (before === null || after === null) return "a hunk's lines have not their one spelling";
    if (before !== hunk.old_count || after !== hunk.new_count) return "a hunk's counts are not those of its lines";
    if (before + after === 0) return "a hunk has no lines";
    if (hunk.old_start < 1 || hunk.new_start < 1) return "a hunk starts before the first line";
    const [oldKept, newKept] = [hunk.old_start - 1 - oldEnd, hunk.new_start - 1 - newEnd];
    if (oldKept !== newKept || oldKept < (index > 0 ? 1 : 0)) return "hunks overlap, touch, or do not go together";
    [oldEnd, newEnd] = [oldEnd + oldKept + before, newEnd + newKept + after];
    const isWhole = file.operation === "create" || file.operation === "delete";
    const gone = file.operation === "create" ? before : after;
    if (isWhole && (hunk.old_start !== 1 || hunk.new_start !== 1 || gone > 0)) return "a hunk has lines of what is not there";
  }
  return null;
}

// How many lines a side of a hunk has; null where they are not spelled as they are written.
function linesOf(hunk, side) {
  const [plain, coded] = [hunk[`${side}_lines`], hunk[`${side}_lines_b64`]];
  if ((plain === undefined) === (coded === undefined)) return null;
  if (plain !== undefined) return plain.some((line) => line.includes("\n")) ? null : plain.length;
  const lines = coded.map(fromBase64);
  if (lines.some((line) => line === null || line.includes(10))) return null;
  return lines.every(isUtf8) ? null : lines.length;
}
