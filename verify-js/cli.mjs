#!/usr/bin/env node
// Verifies a receipt on the command line. What it prints with `--json` is what `docket verify --json` prints.

import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";

import {
  Refused, fingerprint, readHeadWords, readPublicKey, readSealKey, readState, readTrust, verify,
} from "./docket-verify.mjs";

const USAGE = `Usage: node cli.mjs RECEIPT [--ledger FILE] [--public-key KEY|FILE]... [--seal-key FILE]... [--trust FILE]
                   [--checkpoints FILE] [--head HEAD]... [--state FILE] [--require consistent|verified] [--json]`;
const USAGE_ERROR = 2;
const PIECE_BYTES = 1 << 17;
const MAX_KEY_FILE_BYTES = 16 * 1024;
const MAX_TRUST_BYTES = 1024 * 1024;
const MAX_STATE_BYTES = 16 * 1024 * 1024;
const MAX_CHECKPOINTS_BYTES = 64 * 1024 * 1024;
const MAX_DELTA_BYTES = 256 * 1024 * 1024;
const BEGINNING_BYTES = 4096;
const BEGINS_A_RECEIPT = /^\s*\{\s*"format"\s*:\s*"docket\/receipt\//;
const NOTHING = new Uint8Array(0);
const SESSION_ID = /^[0-9A-Za-z_-]{1,64}$/;
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
class Unreadable extends Error {}

// The bytes of a regular file; null where there is none.
function read(path, most) {
  try {
    if (standing(path) === null) return null;
    const parts = [];
    let length = 0;
    for (const piece of filled(opened(path))) {
      parts.push(piece.slice());
      length += piece.length;
      if (length > most) throw new UsageError(`${path} has more than ${most} bytes`);
    }
    const { buffer, byteOffset } = Buffer.concat(parts, length);
    return new Uint8Array(buffer, byteOffset, length);
  } catch (error) {
    throw error.code === undefined ? error : new UsageError(`${path} cannot be read: ${error.code}`);
  }
}

// What stands at a path, or null; a link is not followed where `look` is lstatSync.
const standing = (path, look = statSync) => look(path, { throwIfNoEntry: false }) ?? null;

// Whether a folder stands at a path that can be reached.
function isFolder(path) {
  try {
    return standing(path)?.isDirectory() === true;
  } catch {
    return false;
  }
}

// A receipt or what belongs to it: what is there and cannot be read is told as what cannot be decoded is.
function evidence(path, what, most) {
  let bytes = null;
  try {
    bytes = read(path, most);
  } catch (error) {
    throw new Unreadable(`${what}: ${error.message}`);
  }
  if (bytes === null) throw new UsageError(`${what}: ${path} is not there`);
  return bytes;
}

// The pieces of a receipt or a ledger as they are asked for, each in the place of the one before.
function* pieces(path, what) {
  try {
    yield* filled(opened(path));
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") throw new Unreadable(`${what}: ${path} is not there`);
    if (error.code !== undefined) throw new Unreadable(`${what}: ${path} cannot be read: ${error.code}`);
    throw error instanceof UsageError ? new Unreadable(`${what}: ${error.message}`) : error;
  }
}

function* filled(file) {
  const room = new Uint8Array(PIECE_BYTES);
  try {
    for (;;) {
      const length = readSync(file, room);
      if (length === 0) return;
      yield room.subarray(0, length);
    }
  } finally {
    closeSync(file);
  }
}

// A regular file, opened: what is none must not be waited for, and may have come in its place since it was looked at.
function opened(path) {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  if (fstatSync(file).isFile()) return file;
  closeSync(file);
  throw new UsageError(`${path} is not a regular file`);
}

// Refuses what it refuses with the name of what it is about in front.
function told(name, work) {
  try {
    return work();
  } catch (error) {
    throw error instanceof Refused || error instanceof UsageError ? new UsageError(`${name}: ${error.message}`) : error;
  }
}

// What a file that an option names holds, as `decode` gives it of the bytes.
function ofFile(option, path, most, decode) {
  return told(option, () => {
    const bytes = read(path, most);
    if (bytes === null) throw new UsageError(`${path} is not there`);
    return told(path, () => decode(bytes));
  });
}

// A mark in front is none of a key.
const textOf = (bytes) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

function keyOf(option, given) {
  try {
    return readPublicKey(given);
  } catch (error) {
    const bytes = told(option, () => read(given, MAX_KEY_FILE_BYTES));
    if (bytes === null) throw new UsageError(`${option}: ${error.message}, and there is no such file`);
    return told(`${option}: ${given}`, () => readPublicKey(textOf(bytes)));
  }
}

// The keys that the command line names: {publicKeys, sealKeys, either}.
function keysOf(values) {
  const publicKeys = values["public-key"].map((given) => keyOf("--public-key", given));
  const sealKeyOf = (option, path) => ofFile(option, path, MAX_KEY_FILE_BYTES, (bytes) => readSealKey(textOf(bytes)));
  const sealKeys = values["seal-key"].map((path) => sealKeyOf("--seal-key", path));
  if (values.trust === undefined) return { publicKeys, sealKeys, either: false };
  const { signers, sealKeys: listed } = ofFile("--trust", values.trust, MAX_TRUST_BYTES, readTrust);
  const either = signers.length > 0 && listed.length > 0 && publicKeys.length + sealKeys.length === 0;
  publicKeys.push(...signers.map(({ publicKey }) => publicKey));
  for (const { keyId, file } of listed) {
    const key = sealKeyOf("--trust", resolve(dirname(values.trust), file));
    if (fingerprint(key) !== keyId) throw new UsageError(`--trust: ${file} holds another key than ${keyId}`);
    sealKeys.push(key);
  }
  return { publicKeys, sealKeys, either };
}

// Refuses what a person named as the file of an option, and is none.
function fileNamed(option, path) {
  if (path === "") throw new UsageError(`${option} names no file: a variable that is empty?`);
  let found = null;
  try {
    found = standing(path, lstatSync) && statSync(path);
  } catch {
    throw new UsageError(`${option}: ${path} is not a regular file`);
  }
  if (found === null) throw new UsageError(`${option}: ${path} is not there`);
  if (!found.isFile()) throw new UsageError(`${option}: ${path} is not a regular file`);
}

// Refuses a receipt that was named as the ledger, by its beginning; what cannot be read is told by what reads it.
function ledgerNamed(path) {
  fileNamed("--ledger", path);
  if (BEGINS_A_RECEIPT.test(beginningOf(path))) {
    throw new UsageError(
      `--ledger: ${path} is a receipt; the ledger is runs/SESSION.jsonl, the receipt is named without an option`,
    );
  }
}

function beginningOf(path) {
  try {
    for (const piece of filled(opened(path))) return Buffer.from(piece.subarray(0, BEGINNING_BYTES)).toString("latin1");
  } catch {
    // Read as empty.
  }
  return "";
}

// The ledger that stands in the folder of a receipt's evidence.
function ledgerBeside(receipt, document) {
  const id = document?.session?.id;
  if (typeof id !== "string" || !SESSION_ID.test(id)) return null;
  const folder = dirname(realpathSync(receipt));
  return [dirname(folder), folder].map((above) => ledgerAt(join(above, "runs"), `${id}.jsonl`)).find((path) => path !== null) ?? null;
}

// The ledger of a folder, or null. What stands in its place and is none is told: a link leads to what nobody named.
function ledgerAt(runs, name) {
  const path = join(runs, name);
  let found;
  try {
    found = standing(path, lstatSync);
  } catch {
    return null;
  }
  if (found === null) return null;
  if (found.isFile() && lstatSync(runs).isDirectory()) return path;
  throw new Unreadable(`the ledger: ${path} is a link, or no file: name the ledger with --ledger`);
}

// The name of a file without its ending.
function stemOf(path) {
  const name = basename(path);
  const at = name.lastIndexOf(".");
  return at > 0 && at < name.length - 1 ? name.slice(0, at) : name;
}

const leadsOut = (path) => path.includes("\0") || path.split("/").some((part) => ["", ".", ".."].includes(part));

// What is there and cannot be read, be it a link that leads nowhere, is one that holds nothing.
function readOr(path, most) {
  try {
    return read(path, most) ?? (standing(path, lstatSync) === null ? null : NOTHING);
  } catch {
    return NOTHING;
  }
}

// What gives the pieces of a kept response once they are asked for; undefined where there is none.
function bodyAt(path) {
  try {
    return standing(path, lstatSync) === null ? undefined : piecesOf(path);
  } catch {
    return undefined;
  }
}

function* piecesOf(path) {
  yield* filled(opened(path));
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
  const own = `responses/${stemOf(ledger)}`;
  const found = new Map();
  let isThere = false;
  for (const path of paths.filter((one) => !leadsOut(one))) {
    isThere ||= isFolder(dirname(join(root, path)));
    const body = bodyAt(join(root, path));
    if (body !== undefined) found.set(path, body);
  }
  const others = namesIn(join(root, own)).map((name) => `${own}/${name}`);
  for (const path of others.sort()) if (!found.has(path)) found.set(path, null);
  return isThere || found.size > 0 ? found : null;
}

// The deltas of windows beside a ledger by their digests, each read when it is asked for.
const deltasBeside = (ledger) => ({
  get(digest) {
    if (!/^[0-9a-f]{64}$/.test(digest)) return undefined;
    return readOr(join(dirname(dirname(ledger)), "windows", "deltas", `${digest}.json`), MAX_DELTA_BYTES) ?? undefined;
  },
});

// The file that was named, or the one that stands beside the ledger; null where there is none.
function checkpointsOf(named, ledger) {
  if (named !== undefined) return evidence(named, "the file of checkpoints", MAX_CHECKPOINTS_BYTES);
  return ledger === null ? null : readOr(join(dirname(ledger), `${stemOf(ledger)}.checkpoints`), MAX_CHECKPOINTS_BYTES);
}

// What was verified before; a file that is not there knows nothing yet. Nothing is written: docket verify does that.
function stateOf(path) {
  if (path === "") throw new UsageError("--state names no file: a variable that is empty?");
  const bytes = told("--state", () => read(path, MAX_STATE_BYTES));
  return bytes === null ? { projects: [], origins: [] } : told(`--state: ${path}`, () => readState(bytes));
}

// ASCII alone, so that nothing that a file holds drives a terminal, and in `line` nothing begins another.
const line = (text) => ascii(text).replaceAll("\n", "\\n");
const ascii = (text) => text.replace(/[^\n\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

function print(verdict, ledger, asJson) {
  if (asJson) return ascii(JSON.stringify(verdict, null, 2));
  const width = Math.max(...verdict.checks.map(({ name }) => name.length));
  const lines = verdict.checks.map(({ name, status, detail }) => `${status.toUpperCase()}  ${name.padEnd(width)}  ${line(detail)}`);
  const used = ledger === null ? "no ledger" : `the ledger ${ledger}`;
  return [...lines, "", `${line(verdict.docket_number ?? "?")}  ${verdict.verdict}, checked with ${line(used)}`].join("\n");
}

// An option and its value as one argument, so that a value may begin with a dash, as PEM does.
function joined(given) {
  const made = [];
  for (let at = 0; at < given.length; at += 1) {
    const takes = OPTIONS[/^--(.+)$/.exec(given[at])?.[1]]?.type === "string" && at + 1 < given.length;
    made.push(takes ? `${given[at]}=${given[(at += 1)]}` : given[at]);
  }
  return made;
}

// The verdict where a file cannot be read.
const unreadable = (detail) => ({ ok: false, verdict: "unreadable", docket_number: null, checks: [], failures: [], detail });

async function main() {
  const { values, positionals } = parseArgs({ args: joined(process.argv.slice(2)), options: OPTIONS, allowPositionals: true });
  if (values.help) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  if (positionals.length !== 1 || !["consistent", "verified"].includes(values.require)) throw new UsageError(USAGE);
  const [path] = positionals;
  if (path === "") throw new UsageError("no receipt is named: a variable that is empty?");
  const keys = keysOf(values);
  if (values.ledger !== undefined) ledgerNamed(values.ledger);
  if (values.checkpoints !== undefined) fileNamed("--checkpoints", values.checkpoints);
  let ledger = null;
  const asked = {
    receipt: pieces(path, "the receipt"),
    ledger: (document) => {
      ledger = values.ledger ?? ledgerBeside(path, document);
      return ledger === null ? null : pieces(ledger, "the ledger");
    },
    responses: (paths) => responsesBeside(ledger, paths),
    deltas: () => (ledger === null ? null : deltasBeside(ledger)),
    checkpoints: () => checkpointsOf(values.checkpoints, ledger),
    heads: values.head.map((text) => told("--head", () => readHeadWords(text))),
    remembered: values.state === undefined ? null : stateOf(values.state),
    ...keys,
    required: values.require,
  };
  let fault = null;
  const verdict = await verify(asked).catch((error) => {
    if (!(error instanceof Unreadable)) throw error;
    fault = error.message;
    return unreadable(fault);
  });
  if (verdict.verdict === "unreadable" && !values.json) {
    process.stderr.write(`${ascii(fault ?? `${path}: ${verdict.detail}`)}\n`);
    return 1;
  }
  process.stdout.write(`${print(verdict, ledger, values.json)}\n`);
  return verdict.ok ? 0 : 1;
}

try {
  process.exitCode = await main();
} catch (error) {
  const kinds = [UsageError, Refused];
  const isKnown = kinds.some((kind) => error instanceof kind) || error.code?.startsWith("ERR_PARSE_ARGS");
  if (!isKnown) throw error;
  process.stderr.write(`${ascii(error.message)}\n`);
  process.exitCode = USAGE_ERROR;
}
