// Readers of manifests, plans and records of restores, written from the pages beside this folder and from nothing else.
// Each returns what the document holds, counted, or throws a Broken that names the rule of its page.
import { isAcl, permissionsOf } from "./acl.mjs";
import { decode } from "./canonical.mjs";

export class Broken extends Error {
  constructor(rule) {
    super(`against ${rule}`);
    this.rule = rule;
  }
}

const KINDS = ["block-device", "character-device", "directory", "fifo", "file", "socket", "symlink", "unknown"];
const OMITTED = ["special-file", "unreadable", "changed-while-read", "vanished", "other-file-system", "excluded",
  "object-store", "too-large", "name-too-long"];
const STATUSES = ["applied", "already", "refused", "failed", "skipped"];
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function demand(held, rule) {
  if (!held) throw new Broken(rule);
}

function attempt(work, rule) {
  try {
    return work();
  } catch {
    throw new Broken(rule);
  }
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value) => typeof value === "string";
const isCount = (value, least = 0) => Number.isSafeInteger(value) && value >= least;
const isDigest = (value) => isText(value) && /^[0-9a-f]{64}$/.test(value);
const isInstant = (value) =>
  isText(value) &&
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d{1,9})?Z$/.test(value);

function whole(value, least, most) {
  if (!isText(value) || !/^(0|-?[1-9][0-9]*)$/.test(value)) return false;
  return BigInt(value) >= least && BigInt(value) <= most;
}

const isTime = (value) => whole(value, -(2n ** 63n), 2n ** 63n - 1n);
const isIdentity = (value) => whole(value, 0n, 2n ** 64n - 1n);
const isMode = (value) => isCount(value) && value <= 4095;

// The members of an object: all of `needed`, none but those and `optional`; either spelling of what is in `spelt`.
function members(value, rule, needed, optional = [], spelt = []) {
  demand(isObject(value), rule);
  const known = new Set([...needed, ...optional, ...spelt.flatMap((name) => [name, `${name}_b64`])]);
  demand(needed.every((name) => Object.hasOwn(value, name)), rule);
  demand(Object.keys(value).every((name) => known.has(name)), rule);
}

function base64(text, rule) {
  demand(isText(text), rule);
  const bytes = Buffer.from(text, "base64");
  demand(bytes.toString("base64") === text, rule);
  return bytes;
}

function isUtf8(bytes) {
  try {
    UTF8.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

// tree.md, Paths: the text, or the base64 of what is no text.
function spelling(value, name, rule) {
  const text = Object.hasOwn(value, name);
  demand(text !== Object.hasOwn(value, `${name}_b64`), rule);
  if (text) {
    demand(isText(value[name]), rule);
    return Buffer.from(value[name]);
  }
  const bytes = base64(value[`${name}_b64`], rule);
  demand(!isUtf8(bytes), rule);
  return bytes;
}

function parts(bytes) {
  const found = [];
  let start = 0;
  for (let end = bytes.indexOf(47); end >= 0; end = bytes.indexOf(47, start)) {
    found.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return [...found, bytes.subarray(start)];
}

function path(value, rule) {
  const bytes = spelling(value, "path", rule);
  demand(bytes.length <= 16384 && !bytes.includes(0), rule);
  demand(parts(bytes).every((part) => ![".", "..", ""].includes(part.toString("latin1"))), rule);
  return bytes;
}

function target(value, rule) {
  const bytes = spelling(value, "target", rule);
  demand(bytes.length > 0 && !bytes.includes(0), rule);
  return bytes;
}

// canonical.md, Text that is not Unicode: foreign bytes stand as \xNN, the exact ones beside them.
function shown(bytes) {
  let out = "";
  for (let at = 0; at < bytes.length; ) {
    const size = [1, 2, 3, 4].find((length) => at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length)));
    if (size === undefined) out += `\\x${bytes[at].toString(16).padStart(2, "0")}`;
    else out += UTF8.decode(bytes.subarray(at, at + size));
    at += size ?? 1;
  }
  return out;
}

function root(value, rule) {
  demand(isText(value.root), rule);
  let bytes = Buffer.from(value.root);
  if (Object.hasOwn(value, "root_b64")) {
    bytes = base64(value.root_b64, rule);
    demand(!isUtf8(bytes) && shown(bytes) === value.root, rule);
  }
  demand(bytes[0] === 47 && !bytes.includes(0), rule);
}

function identity(value, rule) {
  members(value, rule, ["device", "inode"]);
  demand(isIdentity(value.device) && isIdentity(value.inode), rule);
}

const inTreeOrder = (bytes) => Buffer.from(bytes).map((byte) => (byte === 47 ? 0 : byte));

function ascending(keys, rule) {
  keys.forEach((key, at) => demand(at === 0 || Buffer.compare(keys[at - 1], key) < 0, rule));
}

function below(bytes, above) {
  return bytes.length > above.length && bytes[above.length] === 47 && bytes.subarray(0, above.length).equals(above);
}

function document(bytes, rule) {
  demand(bytes.at(-1) === 10, rule);
  return attempt(() => decode(bytes.subarray(0, -1)), rule);
}

// plan.md, Steps 6; snapshot.md, Manifest 4.
function attributes(value, rule, isKnown = () => false) {
  demand(Array.isArray(value), rule);
  const names = value.map((item) => {
    members(item, rule, ["name", "value"]);
    const name = base64(item.name, rule);
    if (isKnown(name.toString("latin1"), base64(item.value, rule))) return name;
    demand(name.subarray(0, 5).equals(Buffer.from("user.")) && !name.includes(0), rule);
    demand(name.length > 5 && name.length <= 255 && base64(item.value, rule).length <= 65536, rule);
    return name;
  });
  ascending(names, rule);
}

function acls(item, names, rule) {
  for (const name of names) demand(!Object.hasOwn(item, name) || isAcl(base64(item[name], rule)), rule);
}

function someAttributes(item, rule) {
  if (!Object.hasOwn(item, "xattrs")) return;
  attributes(item.xattrs, rule);
  demand(item.xattrs.length > 0, rule);
}

const list = (value, rule) => {
  demand(Array.isArray(value), rule);
  return value;
};

// snapshot.md
export function manifest(bytes) {
  const [one, two, three, four, five, six, seven, eight, nine] = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => `Manifest ${n}`);
  const value = document(bytes, one);
  const lists = ["entries", "directories", "symlinks", "not_covered", "not_preserved"];
  const sums = ["bytes_watched", "bytes_stored", "bytes_shared"];
  demand(isObject(value) && value.format === "docket/snapshot/v1", one);
  // A root without its text is told against rule 5.
  members(value, one, ["format", "session_id", "docket_number", "root_identity", "taken_at", "tree_sha256",
    "surface", "limits", ...sums, ...lists], [], ["root"]);
  demand([value.session_id, value.docket_number].every(isText) && isDigest(value.tree_sha256), one);
  root(value, five);
  identity(value.root_identity, five);
  demand(isInstant(value.taken_at), five);
  members(value.surface, six, ["watch", "ignore", "evidence"]);
  for (const name of ["watch", "ignore"]) demand(list(value.surface[name], six).every(isText), six);
  for (const item of list(value.surface.evidence, six)) {
    members(item, six, [], [], ["path"]);
    path(item, six);
  }
  members(value.limits, one, ["max_bytes", "max_entries", "max_file_bytes"]);
  demand(Object.values(value.limits).every((number) => isCount(number)), six);
  demand(sums.every((name) => isCount(value[name])), seven);
  for (const name of lists) list(value[name], one);
  const mode = (item) => demand(isMode(item.mode), three);
  const time = (item) => demand(isTime(item.mtime_ns), three);
  for (const item of value.entries) {
    members(item, one, ["blob", "sha256", "size", "mode", "mtime_ns"], ["acl", "link_group", "sparse", "xattrs"], ["path"]);
    demand(isDigest(item.sha256) && isCount(item.size), one);
    mode(item);
    time(item);
    demand(item.blob === `${item.sha256.slice(0, 2)}/${item.sha256.slice(2)}`, four);
    if (Object.hasOwn(item, "link_group")) demand(isCount(item.link_group, 1), four);
    if (Object.hasOwn(item, "sparse")) demand(item.sparse === true, four);
    someAttributes(item, four);
    acls(item, ["acl"], four);
  }
  for (const item of value.directories) {
    members(item, one, ["mode", "mtime_ns"], ["acl", "default_acl", "xattrs"], ["path"]);
    mode(item);
    time(item);
    someAttributes(item, four);
    acls(item, ["acl", "default_acl"], four);
  }
  for (const item of value.symlinks) {
    members(item, one, ["mtime_ns"], [], ["path", "target"]);
    time(item);
    target(item, three);
  }
  for (const item of value.not_covered) {
    members(item, one, ["reason"], ["detail", "kind", "mode", "size", "sha256"], ["path"]);
    const seen = (name, test) => demand(!Object.hasOwn(item, name) || test(item[name]), eight);
    demand(OMITTED.includes(item.reason), eight);
    seen("detail", isText);
    seen("kind", (kind) => KINDS.includes(kind));
    seen("mode", isMode);
    seen("size", (size) => isCount(size));
    seen("sha256", isDigest);
  }
  for (const item of value.not_preserved) {
    members(item, nine, ["what", "count", "paths"]);
    demand(isText(item.what) && isCount(item.count, 1) && list(item.paths, nine).length === Math.min(item.count, 10), nine);
    for (const named of item.paths) members(named, nine, [], [], ["path"]);
    ascending(item.paths.map((named) => inTreeOrder(path(named, nine))), nine);
  }
  ascending(value.not_preserved.map((item) => Buffer.from(item.what)), nine);
  const places = lists.slice(0, 4).flatMap((name) => {
    const found = value[name].map((item) => path(item, three));
    ascending(found.map(inTreeOrder), two);
    return found.map((bytes) => ({ bytes, order: inTreeOrder(bytes), holds: name === "directories" }));
  });
  places.sort((left, right) => Buffer.compare(left.order, right.order));
  ascending(places.map((place) => place.order), two);
  const above = [];
  for (const place of places) {
    while (above.length && !below(place.bytes, above.at(-1).bytes)) above.pop();
    demand(above.every((holder) => holder.holds), two);
    above.push(place);
  }
  const contents = new Set(value.entries.map((item) => `${item.sha256} ${item.size}`));
  return { ...Object.fromEntries(lists.map((name) => [name, value[name].length])), contents: contents.size };
}

// A state of plan.md, Preconditions 2, and restore.md, The record 5.
function state(value, rule, mayLackDigest = false) {
  demand(isObject(value), rule);
  if (value.kind === "symlink") {
    members(value, rule, ["kind"], [], ["target"]);
    return target(value, rule);
  }
  const file = value.kind === "file";
  demand(file || value.kind === "directory", rule);
  if (file && !mayLackDigest) members(value, rule, ["kind", "mode", "size", "sha256"]);
  else members(value, rule, file ? ["kind", "mode", "size"] : ["kind", "mode"], file ? ["sha256"] : []);
  demand(isMode(value.mode), rule);
  if (file) demand(isCount(value.size) && (value.sha256 === undefined || isDigest(value.sha256)), rule);
  return null;
}

const STEPS = {
  write: [["sha256", "size", "mode"], ["mtime_ns", "sparse", "xattrs"]],
  directory: [["mode"], ["mtime_ns", "xattrs"]],
  symlink: [[], ["mtime_ns"]],
  mode: [["mode"], ["mtime_ns", "acl"]],
  link: [["to"], []],
  remove: [["kind"], []],
};

const NAMES = "Document 3";
const shortNames = (bytes) => demand(parts(bytes).every((part) => part.length <= 255), NAMES);

function precondition(step) {
  const expected = step.precondition;
  if (expected === "absent" || expected === "anything") return;
  demand(isObject(expected), "Preconditions 1");
  const unread = expected.kind === "file" && !Object.hasOwn(expected, "sha256");
  demand(!unread || !Object.hasOwn(expected, "size") || step.step === "mode", "Preconditions 3");
  const leads = state(expected, "Preconditions 2", step.step === "mode");
  demand(leads === null || leads.length <= 4095, "Preconditions 2");
  demand(step.step !== "remove" || expected.kind === step.kind, "Preconditions 2");
}

function step(line) {
  const one = "Document 1";
  const value = attempt(() => decode(line), one);
  demand(isObject(value) && Object.hasOwn(value, "step"), one);
  demand(isText(value.step) && Object.hasOwn(STEPS, value.step), "Steps 1");
  const [needed, optional] = STEPS[value.step];
  // A link without one target is told against rule 3.
  members(value, one, ["step", "precondition", ...needed], optional, value.step === "symlink" ? ["path", "target"] : ["path"]);
  const place = path(value, NAMES);
  shortNames(place);
  if (value.step === "symlink") demand(target(value, NAMES).length <= 4095, NAMES);
  if (value.step === "write") demand(isDigest(value.sha256) && isCount(value.size), one);
  if (needed.includes("mode")) demand(isCount(value.mode) && (value.mode & ~(value.step === "directory" ? 0o3777 : 0o777)) === 0, "Steps 3");
  if (Object.hasOwn(value, "mtime_ns")) demand(isTime(value.mtime_ns), "Steps 4");
  if (Object.hasOwn(value, "sparse")) demand(value.sparse === true, "Steps 5");
  const acl = (name, bytes) => {
    if (name === "system.posix_acl_default") return value.step === "directory" && isAcl(bytes) && permissionsOf(bytes) !== null;
    return name === "system.posix_acl_access" && isAcl(bytes) && permissionsOf(bytes) === (value.mode & 0o777);
  };
  if (Object.hasOwn(value, "xattrs")) attributes(value.xattrs, "Steps 6", acl);
  if (Object.hasOwn(value, "acl")) {
    const bytes = base64(value.acl, "Steps 6");
    demand(isAcl(bytes) && permissionsOf(bytes) === value.mode, "Steps 6");
  }
  if (value.step === "remove") demand(["file", "directory", "symlink"].includes(value.kind), "Steps 1");
  let to = null;
  if (value.step === "link") {
    members(value.to, one, [], [], ["path"]);
    to = path(value.to, NAMES);
    shortNames(to);
  }
  precondition(value);
  return { verb: value.step, place, order: inTreeOrder(place), to };
}

// plan.md
export function plan(bytes) {
  const one = "Document 1";
  demand(bytes.at(-1) === 10, one);
  const lines = [];
  for (let start = 0, end; start < bytes.length; start = end + 1) {
    end = bytes.indexOf(10, start);
    lines.push(bytes.subarray(start, end));
  }
  const header = attempt(() => decode(lines[0]), one);
  members(header, one, ["format", "root"]);
  demand(header.format === "docket/plan/v1", one);
  identity(header.root, "Document 2");
  const steps = lines.slice(1).map(step);
  const made = new Map(steps.map((item) => [item.place.toString("latin1"), item.verb]));
  demand(made.size === steps.length, "Document 4");
  const rank = (item) => ({ remove: 0, link: 2 })[item.verb] ?? 1;
  const compare = (left, right) => {
    const order = Buffer.compare(left.order, right.order);
    return rank(left) - rank(right) || (rank(left) === 0 ? -order : order);
  };
  steps.forEach((item, at) => demand(at === 0 || compare(steps[at - 1], item) < 0, "Document 5"));
  for (const item of steps) {
    const names = parts(item.place);
    for (let depth = 1; depth < names.length && item.verb !== "remove"; depth += 1) {
      const above = names.slice(0, depth).map((part) => part.toString("latin1")).join("/");
      demand(["directory", undefined].includes(made.get(above)), "Document 6");
    }
    if (item.to) demand(["write", "mode", undefined].includes(made.get(item.to.toString("latin1"))), "Document 6");
  }
  return Object.fromEntries(Object.keys(STEPS).map((name) => [name, steps.filter((item) => item.verb === name).length]));
}

// restore.md
export function record(bytes) {
  const [one, two, three, four, five, six] = [1, 2, 3, 4, 5, 6].map((n) => `The record ${n}`);
  const value = document(bytes, one);
  members(value, one, ["format", "session_id", "docket_number", "restored_at", "root", "root_identity", "plan_sha256",
    "manifest_sha256", "redo_of", "forced", "paths"], ["root_b64", "delta_sha256", "tool_use_id"]);
  demand(value.format === "docket/restore/v1", one);
  demand([value.session_id, value.docket_number].every(isText) && typeof value.forced === "boolean", one);
  demand(isDigest(value.plan_sha256), one);
  demand([value.manifest_sha256, value.redo_of].every((digest) => digest === null || isDigest(digest)), one);
  demand(isInstant(value.restored_at), three);
  root(value, three);
  identity(value.root_identity, three);
  const ofCall = Object.hasOwn(value, "delta_sha256");
  demand(!ofCall || isDigest(value.delta_sha256), one);
  demand(!Object.hasOwn(value, "tool_use_id") || isText(value.tool_use_id), one);
  demand(ofCall === Object.hasOwn(value, "tool_use_id") && (!ofCall || value.docket_number === ""), three);
  demand((value.manifest_sha256 === null) !== (value.redo_of === null && !ofCall), three);
  const told = { paths: 0, ...Object.fromEntries(STATUSES.map((name) => [name, 0])) };
  const keys = list(value.paths, one).map((item) => {
    demand(isObject(item), one);
    const applied = item.status === "applied";
    const states = ["was", "now", "kept"];
    if (!applied) demand(states.every((name) => !Object.hasOwn(item, name)), five);
    else demand(states.every((name) => Object.hasOwn(item, name)), five);
    members(item, one, ["verb", "status"], ["reason", "detail", ...states], ["path"]);
    demand(isText(item.verb) && /^[a-z]+(-[a-z]+)*$/.test(item.verb), four);
    demand(item.status === null || STATUSES.includes(item.status), four);
    for (const name of ["reason", "detail"]) demand(!Object.hasOwn(item, name) || isText(item[name]), four);
    if (applied) {
      for (const name of ["was", "now"]) if (item[name] !== null) state(item[name], five);
      demand(typeof item.kept === "boolean", five);
      demand(!item.kept || item.was?.kind === "file", six);
    }
    told.paths += 1;
    if (item.status !== null) told[item.status] += 1;
    return inTreeOrder(path(item, two));
  });
  ascending(keys, two);
  return told;
}

export const READERS = { snapshot: manifest, plan, restore: record };
