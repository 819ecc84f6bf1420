// Checks the vectors beside this file with an implementation of its own: canonical form, chain and tree, and the
// manifests, plans and records of restores (documents.mjs), and of records of runs what needs no fold (records.mjs).
// Usage: node check.mjs [FOLDER]; prints one line a subject, exit 1 at the first vector that disagrees.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { canonical, decode } from "./canonical.mjs";
import { Broken, READERS } from "./documents.mjs";
import { against, sidesOf } from "./records.mjs";

const folder = process.argv[2] ?? import.meta.dirname ?? new URL(".", import.meta.url).pathname;
const load = (name) => JSON.parse(readFileSync(join(folder, name), "utf8"));
const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256"));
const hex = (...parts) => sha256(...parts).digest("hex");
const raw = (...parts) => sha256(...parts).digest();

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isDigest = (value) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);

function isEvent(value) {
  return (
    isObject(value) &&
    Object.keys(value).sort().join() === "data,hash,prev,seq,ts,type" &&
    isObject(value.data) &&
    [value.prev, value.hash].every(isDigest) &&
    Number.isSafeInteger(value.seq) &&
    [value.ts, value.type].every((text) => typeof text === "string")
  );
}

function follow(bytes) {
  let prev = hex("docket/genesis/v1");
  const hashes = [];
  let start = 0;
  for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
    const event = decode(bytes.subarray(start, end));
    const { hash, ...body } = event;
    if (!isEvent(event)) throw new Error("not an event");
    if (event.seq !== hashes.length || event.prev !== prev || hex(canonical(body)) !== hash) throw new Error("chain");
    hashes.push(hash);
    prev = hash;
    start = end + 1;
  }
  return { hashes, torn: bytes.length - start };
}

function root(hashes) {
  if (hashes.length === 0) return hex("");
  let level = hashes.map((hash) => raw("\0", Buffer.from(hash, "hex")));
  while (level.length > 1) {
    const above = [];
    for (let i = 0; i + 1 < level.length; i += 2) above.push(raw("\x01", level[i], level[i + 1]));
    if (level.length % 2) above.push(level.at(-1));
    level = above;
  }
  return level[0].toString("hex");
}

function climb(hash, path) {
  let node = raw("\0", Buffer.from(hash, "hex"));
  for (const step of path) {
    const other = Buffer.from(step.hash, "hex");
    node = step.side === "left" ? raw("\x01", other, node) : raw("\x01", node, other);
  }
  return node.toString("hex");
}

function refuses(work) {
  try {
    work();
  } catch {
    return true;
  }
  return false;
}

function expect(held, name) {
  if (!held) {
    console.error(`vector disagrees: ${name}`);
    process.exit(1);
  }
}

const bytesOf = (vector) => ("hex" in vector ? Buffer.from(vector.hex, "hex") : Buffer.from(vector.text));

function checkCanonical({ accepted, refused }) {
  for (const vector of accepted) {
    expect(canonical(vector.value) === vector.canonical, vector.name);
    expect(hex(vector.canonical) === vector.sha256, vector.name);
    expect(canonical(decode(Buffer.from(vector.canonical))) === vector.canonical, vector.name);
  }
  for (const vector of refused) expect(refuses(() => decode(bytesOf(vector))), vector.name);
  return accepted.length + refused.length;
}

function checkLedger({ genesis, accepted, refused }) {
  expect(genesis === hex("docket/genesis/v1"), "genesis");
  for (const vector of accepted) {
    const bytes = bytesOf(vector);
    const { hashes, torn } = follow(bytes);
    expect(hashes.length === vector.events && (hashes.at(-1) ?? genesis) === vector.head, vector.name);
    expect(torn === vector.torn_bytes && root(hashes) === vector.merkle_root, vector.name);
    expect(hex(bytes) === vector.file_sha256, vector.name);
  }
  for (const vector of refused) expect(refuses(() => follow(bytesOf(vector))), vector.name);
  return accepted.length + refused.length;
}

function checkMerkle({ event_hashes: hashes, roots, paths }) {
  roots.forEach((expected, size) => expect(root(hashes.slice(0, size)) === expected, `root of ${size}`));
  for (const { size, index, path } of paths) {
    expect(climb(hashes[index], path) === roots[size], `path of ${index} in ${size}`);
  }
  return roots.length + paths.length;
}

function sameFigures(left, right) {
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((name) => left[name] === right[name]);
}

function checkDocuments(subject) {
  const names = readdirSync(join(folder, subject)).filter((name) => name.endsWith(".json")).sort();
  for (const name of names) {
    const { accepted, refused } = load(join(subject, name));
    const bytes = bytesOf(accepted);
    expect(hex(bytes) === accepted.sha256, `${subject}/${name}`);
    expect(sameFigures(READERS[subject](bytes), accepted.figures), `${subject}/${name}`);
    if (refused === undefined) continue;
    let broken = null;
    try {
      READERS[subject](bytesOf(refused));
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      broken = error.rule;
    }
    expect(broken === refused.rule, `${subject}/${name}: ${broken} instead of ${refused.rule}`);
  }
  return names.length;
}

for (const [name, check] of [
  ["canonical.json", checkCanonical],
  ["ledger.json", checkLedger],
  ["merkle.json", checkMerkle],
]) {
  console.log(`${name}: ${check(load(name))} vectors hold`);
}

for (const subject of Object.keys(READERS).filter((name) => existsSync(join(folder, name)))) {
  console.log(`${subject}/: ${checkDocuments(subject)} vectors hold`);
}

if (existsSync(join(folder, "records"))) {
  const names = readdirSync(join(folder, "records")).filter((name) => name.endsWith(".json")).sort();
  const scenarios = new Map(names.map((name) => [name.slice(0, -".json".length), load(join("records", name))]));
  for (const [name, scenario] of scenarios) {
    for (const side of sidesOf(scenario, scenarios)) {
      const fault = against(side, { follow, root, climb });
      expect(fault === null, `records/${name}: ${fault}`);
    }
  }
  console.log(`records/: ${names.length} vectors hold`);
}
