#!/usr/bin/env node
// Verifies a receipt on the command line. What it prints with `--json` is what `docket verify --json` prints.

import { readFileSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { parseArgs } from "node:util";

import {
  Refused, fingerprint, readHeadWords, readPublicKey, readSealKey, readState, readTrust, verify,
} from "./docket-verify.mjs";

const USAGE = `Usage: node cli.mjs RECEIPT [--ledger FILE] [--public-key KEY|FILE]... [--seal-key FILE]... [--trust FILE]
                   [--checkpoints FILE] [--head HEAD]... [--state FILE] [--require consistent|verified] [--json]`;
const USAGE_ERROR = 2;
const MAX_FILE_BYTES = 2 ** 31 - 1;
const MAX_CHECKPOINTS_BYTES = 64 * 1024 * 1024;
const MAX_DELTA_BYTES = 64 * 1024 * 1024;
const SESSION_ID = /^[A-Za-z0-9._-]{1,128}$/;
const OPTIONS = {
  ledger: { type: "string" },
  "public-key": { type: "string", multiple: true, default: [] },
  "seal-key": { type: "string", multiple: true, default: [] },
  trust: { type: "string" },
  checkpoints: { type: "string" },
  head: { type: "string", multiple: true, default: [] },
  state: { type: "string" },
  require: { type: "string", default: "consistent" },
  json: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
};

class UsageError extends Error {}

// The bytes of a regular file; null where there is none.
function read(path, most = MAX_FILE_BYTES) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  if (!found.isFile()) throw new UsageError(`${path} is not a regular file`);
  if (found.size > most) throw new UsageError(`${path} has more than ${most} bytes`);
  const { buffer, byteOffset, length } = readFileSync(path);
  return new Uint8Array(buffer, byteOffset, length);
}

function needed(path, what) {
  const bytes = read(path);
  if (bytes === null) throw new UsageError(`${what}: ${path} is not there`);
  return bytes;
}

const textOf = (bytes) => new TextDecoder().decode(bytes);

function keyOf(option, given) {
  try {
    return readPublicKey(given);
  } catch (error) {
    const bytes = read(given);
    if (bytes === null) throw new UsageError(`${option}: ${error.message}, and there is no such file`);
    return readPublicKey(textOf(bytes));
  }
}

// The keys that the command line names: {publicKeys, sealKeys, either}.
function keysOf(values) {
  const publicKeys = values["public-key"].map((given) => keyOf("--public-key", given));
  const sealKeys = values["seal-key"].map((path) => readSealKey(textOf(needed(path, "--seal-key"))));
  if (values.trust === undefined) return { publicKeys, sealKeys, either: false };
  const { signers, sealKeys: listed } = readTrust(needed(values.trust, "--trust"));
  const either = signers.length > 0 && listed.length > 0 && publicKeys.length + sealKeys.length === 0;
  publicKeys.push(...signers.map(({ publicKey }) => publicKey));
  for (const { keyId, file } of listed) {
    const key = readSealKey(textOf(needed(join(dirname(values.trust), file), "--trust")));
    if (fingerprint(key) !== keyId) throw new UsageError(`--trust: ${file} holds another key than ${keyId}`);
    sealKeys.push(key);
  }
  return { publicKeys, sealKeys, either };
}

// The ledger that stands in the folder of a receipt's evidence.
function ledgerBeside(receipt, document) {
  const id = document?.session?.id;
  if (typeof id !== "string" || !SESSION_ID.test(id)) return null;
  const folder = dirname(realpathSync(receipt));
  const places = [dirname(folder), folder].map((above) => join(above, "runs", `${id}.jsonl`));
  return places.find((path) => statSync(path, { throwIfNoEntry: false })?.isFile()) ?? null;
}

const leadsOut = (path) => path.startsWith("/") || path.includes("\0") || path.split("/").includes("..");

// A body or delta that is there and cannot be read is one with other bytes.
function readOr(path, most) {
  try {
    return read(path, most);
  } catch {
    return new Uint8Array(0);
  }
}

function namesIn(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

// The kept responses beside a ledger, for the paths that it names.
function responsesBeside(ledger, paths) {
  const root = dirname(dirname(ledger));
  const own = `responses/${basename(ledger, ".jsonl")}`;
  const found = new Map();
  let isThere = false;
  for (const path of paths.filter((one) => one !== "" && !leadsOut(one))) {
    isThere ||= statSync(dirname(join(root, path)), { throwIfNoEntry: false })?.isDirectory() === true;
    const bytes = readOr(join(root, path));
    if (bytes !== null) found.set(path, bytes);
  }
  const others = namesIn(join(root, own)).map((name) => `${own}/${name}`);
  for (const path of others.sort()) if (!found.has(path)) found.set(path, new Uint8Array(0));
  return isThere || found.size > 0 ? found : null;
}

function deltasBeside(ledger, document) {
  const found = new Map();
  const tools = document?.windows?.tools;
  for (const tool of Array.isArray(tools) ? tools : []) {
    const digest = tool?.delta?.delta_sha256;
    if (typeof digest !== "string" || !/^[0-9a-f]{64}$/.test(digest) || found.has(digest)) continue;
    const bytes = readOr(join(dirname(dirname(ledger)), "windows", "deltas", `${digest}.json`), MAX_DELTA_BYTES);
    if (bytes !== null) found.set(digest, bytes);
  }
  return found;
}

// The file that was named, or the one that stands beside the ledger; null where there is none.
function checkpointsOf(named, ledger) {
  if (named !== undefined) return needed(named, "the file of checkpoints");
  return ledger === null ? null : readOr(ledger.replace(/(\.[^./]*)?$/, ".checkpoints"), MAX_CHECKPOINTS_BYTES);
}

// What was verified before; a file that is not there knows nothing yet. Nothing is written: docket verify does that.
function stateOf(path) {
  const bytes = read(path);
  return bytes === null ? { projects: [], origins: [] } : readState(bytes);
}

// ASCII alone, so that nothing that a file holds drives a terminal.
const ascii = (text) => text.replace(/[^\n\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

function print(verdict, ledger, asJson) {
  if (asJson) return ascii(JSON.stringify(verdict, null, 2));
  const width = Math.max(...verdict.checks.map(({ name }) => name.length));
  const lines = verdict.checks.map(({ name, status, detail }) => `${status.toUpperCase()}  ${name.padEnd(width)}  ${detail}`);
  const used = ledger === null ? "no ledger" : `the ledger ${ledger}`;
  return ascii([...lines, "", `${verdict.docket_number ?? "?"}  ${verdict.verdict}, checked with ${used}`].join("\n"));
}

// An option and its value as one argument, so that a value may begin with a dash, as PEM does.
function joined([first, second, ...rest]) {
  if (first === undefined) return [];
  const takes = first.startsWith("--") && OPTIONS[first.slice(2)]?.type === "string" && second !== undefined;
  if (takes) return [`${first}=${second}`, ...joined(rest)];
  return [first, ...(second === undefined ? [] : joined([second, ...rest]))];
}

async function main() {
  const { values, positionals } = parseArgs({ args: joined(process.argv.slice(2)), options: OPTIONS, allowPositionals: true });
  if (values.help) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  if (positionals.length !== 1 || !["consistent", "verified"].includes(values.require)) throw new UsageError(USAGE);
  const [path] = positionals;
  const keys = keysOf(values);
  const receipt = needed(path, "the receipt");
  let ledger = null;
  const verdict = await verify({
    receipt,
    ledger: (document) => {
      ledger = values.ledger ?? ledgerBeside(path, document);
      return ledger === null ? null : needed(ledger, "the ledger");
    },
    responses: (paths) => responsesBeside(ledger, paths),
    deltas: (document) => (ledger === null ? null : deltasBeside(ledger, document)),
    checkpoints: () => checkpointsOf(values.checkpoints, ledger),
    heads: values.head.map(readHeadWords),
    remembered: values.state === undefined ? null : stateOf(values.state),
    ...keys,
    required: values.require,
  });
  if (verdict.verdict === "unreadable") {
    process.stderr.write(`${ascii(`${path}: ${verdict.detail}`)}\n`);
    return 1;
  }
  process.stdout.write(`${print(verdict, ledger, values.json)}\n`);
  return verdict.ok ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  const isKnown = error instanceof UsageError || error instanceof Refused || error.code?.startsWith("ERR_PARSE_ARGS");
  if (!isKnown) throw error;
  process.stderr.write(`${ascii(error.message)}\n`);
  process.exitCode = USAGE_ERROR;
}
