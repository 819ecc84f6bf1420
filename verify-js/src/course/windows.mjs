// tool-windows and tool-deltas: the course of tool windows in a ledger, their sums and proofs in a receipt, and the
// deltas that are at hand (spec/course.md, Windows; spec/windows.md).

import { DAMAGED, NO_LEDGER, fail, pass, skip } from "../case.mjs";
import { encode, utf8 } from "../canonical.mjs";
import { merklePath } from "../proof_path.mjs";
import { rootFromPath } from "../merkle.mjs";
import { sha256Hex } from "../sha256.mjs";
import { countOf } from "../wording.mjs";
import { readDelta } from "./delta.mjs";
import { isObject } from "./values.mjs";

const NO_WINDOWS = "this run had no tool windows";
const MAX_KEY_CHARACTERS = 1024;
const SHARED = ["delta_sha256", "scope", "status", "reason", "members", "files", "tree_before", "tree_after"];

export class ToolWindows {
  constructor() {
    this.fault = null;
    this.mode = "tree";
    this.isOver = false;
    this.windows = new Map();
    this.groups = new Map();
    this.trees = new Map();
  }

  observe(event) {
    const fault = event.known ? this.#wrong(event.type, event.data) : null;
    if (fault !== null) this.fault ??= `event ${event.seq} (${event.type}): ${fault}`;
  }

  finish({ ledger, receipt }) {
    if (ledger !== null && this.fault !== null) return fail(this.fault);
    const windows = receipt.part("windows") ?? null;
    if (windows === null) {
      const counts = receipt.part("event_counts");
      const told = ["x-docket.tool-delta", "x-docket.hook-lost"].find((type) => counts[type]);
      if (told === undefined || !receipt.ours) return skip(NO_WINDOWS);
      return fail(`event_counts has ${told}, the receipt has no member windows`);
    }
    if (!receipt.ours) return skip("another writer's windows are not known here");
    const fault = sums(windows) ?? proofs(windows, receipt.part("ledger", "merkle_root"));
    return fault === null ? pass(`${countOf(windows.count, "window")}, each delta with a path to the root`) : fail(fault);
  }

  #wrong(type, data) {
    if (type === "x-docket.workspace-opened") this.mode = "stage";
    else if (type === "fs.snapshot") this.isOver ||= data.phase === "after";
    else if (type === "tool.call" && data.window !== undefined) return this.#begun(data, data.window);
    else if (type === "tool.result" && data.window_id !== undefined) return this.#ended(data);
    else if (type === "x-docket.tool-delta") return this.#delta(data);
    else if (type === "x-docket.hook-lost" && data.count < 1) return "it counts no hook";
    return null;
  }

  #named(windowId, data) {
    if (!this.windows.has(windowId)) this.windows.set(windowId, { name: data.name, id: data.id, begun: null, ended: false, told: false });
    return this.windows.get(windowId);
  }

  #begun(data, window) {
    if (window.window_id !== idOf(data.id ?? "", window)) return "its window_id is not made of its key";
    if (window.mode !== this.mode) return `its window is of the ${window.mode}, the run works on the ${this.mode}`;
    const hasTree = window.tree !== undefined;
    if (hasTree === (window.reason !== undefined) || hasTree !== (window.hashes !== undefined)) {
      return "its window has a tree with what names it, or a reason why there is none";
    }
    const seen = this.#named(window.window_id, data);
    if (seen.begun !== null) return "its window has begun before";
    seen.begun = window;
    if (window.group_id !== undefined && hasTree) this.#treesOf(window.group_id).push(window.tree);
    return otherTool(seen, data);
  }

  #treesOf(groupId) {
    if (!this.trees.has(groupId)) this.trees.set(groupId, []);
    return this.trees.get(groupId);
  }

  #ended(data) {
    const seen = this.#named(data.window_id, data);
    if (seen.ended) return "its window has ended before";
    seen.ended = true;
    return otherTool(seen, data);
  }

  #delta(data) {
    const seen = this.windows.get(data.window_id);
    if (seen === undefined) return "it is about a window that nothing names";
    if (seen.told) return "its window has a delta already";
    if (this.isOver) return "it stands behind the pass after";
    seen.told = true;
    return otherTool(seen, data) ?? ofDelta(data) ?? this.#ofGroup(data, seen);
  }

  #ofGroup(data, seen) {
    const groupId = data.group_id;
    if (groupId === undefined) return data.status === "partial" && data.members === 1 ? null : "it is of no group";
    if (seen.begun !== null && seen.begun.group_id !== groupId) return "it is of another group than its window";
    const group = this.groups.get(groupId) ?? { first: data, count: 0 };
    this.groups.set(groupId, group);
    group.count += 1;
    if (group.count > data.members) return "it is one too many of its group";
    if (SHARED.some((name) => group.first[name] !== data[name])) return "it differs from those of its group";
    const trees = this.#treesOf(groupId);
    const isKnown = data.tree_before === undefined || data.members !== trees.length || trees.includes(data.tree_before);
    return isKnown ? null : "tree_before is none that stood before a tool of its group";
  }
}

const otherTool = (seen, data) => (seen.name === data.name && seen.id === data.id ? null : "it names another tool than its window");

// The id that a key makes (spec/windows.md, Identity); null where it is no key.
function idOf(toolUseId, { repository, provider, session_id, turn_id, mode }) {
  if (repository === "" || provider === "" || toolUseId === "") return null;
  if ([provider, session_id, turn_id, toolUseId].some((text) => Array.from(text).length > MAX_KEY_CHARACTERS)) return null;
  if (mode !== "tree" && mode !== "stage") return null;
  const key = { mode, provider, repository, session_id, tool_use_id: toolUseId, turn_id };
  return sha256Hex(utf8(encode(key))).slice(0, 32);
}

function ofDelta(data) {
  const isComplete = data.status === "complete";
  const hasTrees = data.tree_before !== undefined;
  if (isComplete !== (data.reason === undefined)) return "a reason stands where nothing is told, and only there";
  if (hasTrees !== (data.tree_after !== undefined) || (isComplete && !hasTrees)) {
    return "both trees are named, or none; a complete delta names them";
  }
  if (!isComplete && data.files !== 0) return "it counts files of which nothing is told";
  if (data.members < 1 || (data.scope === "tool") !== (data.members === 1)) return "its scope is not that of so many windows";
  return null;
}

// The deltas of a receipt's windows: [{where, window, delta}].
function deltasOf(windows) {
  return windows.tools
    .map((window, index) => ({ where: `windows.tools[${index}].delta`, window, delta: window.delta }))
    .filter(({ delta }) => isObject(delta));
}

function sums(windows) {
  const deltas = deltasOf(windows).map(({ delta }) => delta);
  const complete = deltas.filter(({ status }) => status === "complete");
  const reasons = new Map();
  for (const { reason } of deltas) if (reason !== undefined) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const files = new Map(complete.map((delta) => [delta.delta_sha256, delta.files]));
  const groups = new Set(deltas.filter(({ scope }) => scope === "concurrent_group").map((delta) => delta.group_id));
  const wanted = {
    count: windows.tools.length,
    complete: complete.length,
    partial: deltas.length - complete.length,
    open: windows.tools.length - deltas.length,
    groups: groups.size,
    files: Number([...files.values()].reduce((sum, count) => sum + BigInt(count), 0n)),
  };
  for (const [name, value] of Object.entries(wanted)) {
    if (windows[name] !== value) return `windows.${name} is ${windows[name]}, its tools give ${value}`;
  }
  const stated = Object.entries(windows.partial_by_reason);
  const same = stated.length === reasons.size && stated.every(([reason, count]) => reasons.get(reason) === count);
  return same ? null : "windows.partial_by_reason is not what its tools give";
}

function proofs(windows, root) {
  for (const { delta, where } of deltasOf(windows)) {
    const fault = merklePath(delta.merkle_path, `${where}.merkle_path`);
    if (fault !== null) return fault;
    if (rootFromPath(delta.event_hash, delta.merkle_path) !== root) {
      return `${where}: its path does not lead to ledger.merkle_root`;
    }
  }
  return null;
}

export class ToolDeltas {
  finish({ deltas, ledger, receipt }) {
    const windows = receipt.part("windows") ?? null;
    if (windows === null || !receipt.ours) return skip(NO_WINDOWS);
    if (ledger === null) return skip(NO_LEDGER);
    if (!ledger.sound) return skip(DAMAGED);
    const known = new Map();
    for (const { where, window, delta } of deltasOf(windows)) {
      const digest = delta.delta_sha256;
      let found = known.get(digest);
      if (found === undefined) {
        const bytes = deltas?.get(digest);
        if (bytes === undefined) continue;
        found = read(bytes, digest);
        known.set(digest, found);
      }
      const fault = disagreement(found, window, delta);
      if (fault !== null) return fail(`${where}: ${fault}`);
    }
    if (known.size === 0) return skip("the deltas are not beside the ledger");
    return pass(`${countOf(known.size, "delta")} read, each the one that was named`);
  }
}

// What a receipt restates of a delta, or what is wrong with it; what changed is not kept.
function read(bytes, digest) {
  if (sha256Hex(bytes) !== digest) return { fault: "what stands beside the ledger is not the delta that was named" };
  const { fault, delta } = readDelta(bytes);
  if (fault !== null) return { fault };
  const { files, reason, scope, status, tool_uses: uses } = delta;
  return { fault, files: files.length, reason, scope, status, members: uses.length, ids: new Set(uses.map((use) => use.tool_use_id)) };
}

function disagreement(found, window, delta) {
  if (found.fault !== null) return found.fault;
  if (!found.ids.has(window.id)) return "the delta is not about this tool use";
  const same =
    delta.status === found.status &&
    delta.scope === found.scope &&
    delta.reason === found.reason &&
    delta.files === found.files &&
    delta.members === found.members;
  return same ? null : "the delta says otherwise of its status, scope, reason, files or members";
}
